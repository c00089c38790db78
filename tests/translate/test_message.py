"""What a translation costs, by the values in the message."""

import pytest
from support.work import grows_linearly, units_of
from translate.cases import Seen, in_1_0, new_message, old_message
from translate.messages import body_list, body_map, context, data, message_0_10, sent_to_1_0, value

from gateway.amqp_0_10 import _spec_constants as old
from gateway.amqp_1_0 import sections
from gateway.amqp_1_0 import types as new
from gateway.errors import LimitError
from gateway.translate.facts import arrival_0_10, arrival_1_0, body_digest_1_0
from gateway.translate.message import to_0_10, to_1_0
from gateway.wire.tagged import Tagged
from gateway.wire.work import CONVERSION, CROSSING, ELEMENTS_MAX

NULL = Tagged(new.NULL, None)


def cost_to_0_10(number: int) -> int:
    message = new_message(body=value(Tagged(new.LIST, [NULL] * number)))
    return units_of(lambda: to_0_10(message, context()))


def cost_to_1_0(number: int) -> int:
    body = body_list([Tagged(old.VOID, None)] * number)
    message = old_message(body, content_type="amqp/list")
    return units_of(lambda: to_1_0(message, context()))


def test_a_translation_costs_the_values_that_are_translated() -> None:
    assert grows_linearly(cost_to_0_10(500), cost_to_0_10(5000), 10)
    assert grows_linearly(cost_to_1_0(500), cost_to_1_0(5000), 10)
    # The way back is tried out, too.
    assert cost_to_0_10(5000) <= CROSSING + 2 * 5000 * CONVERSION + 1000


def test_a_body_of_too_many_values_costs_next_to_nothing() -> None:
    few = ELEMENTS_MAX // 10
    assert cost_to_0_10(50 * ELEMENTS_MAX) < cost_to_0_10(few)
    assert cost_to_1_0(50 * ELEMENTS_MAX) < cost_to_1_0(few)


def test_headers_of_too_many_values_are_a_counted_loss() -> None:
    headers = [("list", Tagged(old.LIST, [Tagged(old.VOID, None)] * (ELEMENTS_MAX + 1)))]
    made = to_1_0(old_message(b"body", headers=headers), context())
    assert [loss.row for loss in made.losses] == ["header.malformed"]
    assert b"body" in made.body


def test_sections_and_structs_are_counted_before_they_are_taken_for_a_message() -> None:
    with pytest.raises(LimitError):
        arrival_1_0(data(*[b""] * (ELEMENTS_MAX + 1)))
    structs = b"\x00\x00\x00\x02\x7f\x7f" * (ELEMENTS_MAX + 1)
    with pytest.raises(LimitError):
        arrival_0_10(structs, len(structs))


def test_a_body_of_too_many_values_is_opaque_and_goes_back_as_it_was() -> None:
    body = value(Tagged(new.LIST, [NULL] * (ELEMENTS_MAX + 1)))
    seen = Seen(new_message(to="q", body=body))
    assert (seen.body, seen.mp.content_type) == (body, "application/x-amqp-1.0-value")
    assert seen.losses == ["body.opaque"]
    assert sent_to_1_0(message_0_10(seen.dp, seen.mp, seen.body), context())[0].endswith(body)
    message = old_message(body_list([Tagged(old.VOID, None)] * 20_000), content_type="amqp/list")
    made = in_1_0(message)
    assert (made["body"], made["content_type"]) == ([message.body()], "amqp/list")


def body_of_entries(number: int) -> bytes:
    return body_map([(str(key), Tagged(old.VOID, None)) for key in range(number)])


def test_an_entry_of_a_map_counts_the_same_in_both_protocols() -> None:
    for number in (ELEMENTS_MAX, ELEMENTS_MAX + 1):
        body = body_of_entries(number)
        payload, losses = sent_to_1_0(old_message(body, content_type="amqp/map"), context())
        assert losses == ([] if number == ELEMENTS_MAX else ["body.unread"])
        pairs = [(Tagged(new.STRING, str(key)), NULL) for key in range(number)]
        seen = Seen(new_message(to="q", body=value(Tagged(new.MAP, pairs))))
        assert seen.losses == ([] if number == ELEMENTS_MAX else ["body.opaque"])
        if number == ELEMENTS_MAX:
            assert payload.endswith(value(Tagged(new.MAP, pairs)))
            assert seen.body == body


def test_all_sections_of_a_message_have_no_more_values_together_than_one_may() -> None:
    def seen(entries: int) -> list[str]:
        pairs = [(Tagged(new.STRING, str(key)), NULL) for key in range(entries)]
        headers, body = pairs[: ELEMENTS_MAX // 2], value(Tagged(new.MAP, pairs))
        return Seen(new_message(to="q", application=headers, body=body)).losses

    assert seen(ELEMENTS_MAX // 2) == []
    assert seen(ELEMENTS_MAX // 2 + 1) == ["body.opaque"]


def a_deep_list(levels: int) -> Tagged:
    deep = Tagged(old.LIST, [])
    for _ in range(levels):
        deep = Tagged(old.LIST, [deep])
    return deep


def a_java_map(entries: int) -> bytes:
    return entries.to_bytes(4, "big") + b"".join(b"%d\0\x0b" % key for key in range(entries))


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("amqp/map", body_of_entries(ELEMENTS_MAX + 1)),
        ("amqp/list", body_list([a_deep_list(40)])),
        ("jms/map-message", a_java_map(ELEMENTS_MAX + 1)),
        ("jms/stream-message", b"\x0b" * (ELEMENTS_MAX + 1)),
    ],
)
def test_a_0_10_body_that_is_not_read_is_a_counted_loss_and_the_same_octets(
    content_type: str, body: bytes
) -> None:
    message = old_message(body, content_type=content_type)
    made = to_1_0(message, context())
    assert [loss.row for loss in made.losses] == ["body.unread"]
    assert not made.body_changed
    again = new_message(to="q", body=data(body), content_type=content_type)
    seen = Seen(again)
    assert (seen.body, seen.mp.content_type, seen.losses) == (body, content_type, [])


def test_a_0_10_body_that_is_no_map_is_data_as_it_is() -> None:
    for content_type in ("amqp/map", "amqp/list", "jms/map-message", "jms/stream-message"):
        message = old_message(b"none", content_type=content_type)
        assert to_1_0(message, context()).losses == []


def test_a_large_body_that_becomes_a_data_section_is_not_copied() -> None:
    content = b"\x00\x53\x75\xa0\x01" * 100_000  # which is no section itself
    message = old_message(content)
    made = to_1_0(message, context())
    assert made.body is message.payload
    assert made.data_head == b"\x00\x53\x75\xb0" + len(content).to_bytes(4, "big")
    assert (made.body[made.body_at : made.body_end], made.body_changed) == (content, False)
    payload, _ = sent_to_1_0(message, context())
    found = sections.scan(payload)
    assert sections.data(payload, found) == [content]
    assert body_digest_1_0(payload, found.body_at, found.body_end) == message.body_digest


def test_a_1_0_body_is_not_copied_on_its_way_to_1_0() -> None:
    message = new_message(body=data(b"body" * 100_000))
    made = to_1_0(message, context())
    assert made.body is message.payload
    assert made.body[made.body_at : made.body_end] == data(b"body" * 100_000)
