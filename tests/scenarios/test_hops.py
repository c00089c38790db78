"""The same protocol in and out: octets kept but for what a hop must write."""

import pytest
from hypothesis import given
from support.rules import rule
from translate.cases import new_message, s, sym
from translate.generated import messages_0_10, messages_1_0
from translate.messages import (
    NOW_MS,
    arrived_0_10,
    arrived_1_0,
    context,
    data,
    message_0_10,
    payload_1_0,
    sent_to_0_10,
    view_0_10,
    view_1_0,
)

from gateway.amqp_0_10._spec_constants import STR16
from gateway.amqp_0_10._spec_structs import DeliveryProperties, MessageProperties
from gateway.amqp_1_0 import sections
from gateway.amqp_1_0 import types as new
from gateway.amqp_1_0._spec import Header, Properties
from gateway.message import Message
from gateway.translate.context import Translated10
from gateway.translate.escrow import ANNOTATION, HEADER, Deposit, digest_number
from gateway.translate.message import to_0_10, to_1_0
from gateway.translate.segment import open_header
from gateway.translate.towards_1_0.hop import (
    delivery_payload,
    expired,
    header_section,
    onward_to_1_0,
)
from gateway.wire.tagged import Tagged


def whole(made: Translated10) -> bytes:
    """All of it but its header section."""
    return made.head + made.data_head + made.body[made.body_at :]


@rule("1.0", "3.2", "bare-message-keeps-its-encoding")
@rule("1.0", "3.2", "no-section-is-inserted")
@rule("1.0", "3.2.4", "properties-stay")
@rule("1.0", "3.2.9", "footer-stays")
@given(messages_1_0())
def test_the_bare_message_and_the_footer_keep_their_octets(message: Message) -> None:
    found = sections.scan(message.payload)
    made = to_1_0(message, context())
    assert whole(made).endswith(message.payload[found.bare_at :])
    assert made.losses == []
    again = delivery_payload(message, made, message.delivery_count, NOW_MS)
    assert view_1_0(again) == view_1_0(message.payload)


def test_delivery_annotations_end_and_the_header_is_written_anew() -> None:
    header = Header(durable=True, priority=3, ttl=1000, delivery_count=2)
    plain = payload_1_0(header, Properties(to="q"), body=data(b"x"))
    at = plain.index(b"\x00\x53\x73")
    payload = plain[:at] + b"\x00\x53\x71\xc1\x05\x02\xa3\x01a\x40" + plain[at:]
    message = arrived_1_0(payload, "", "q")
    sent = delivery_payload(message, to_1_0(message, context()), 5, NOW_MS + 400)
    assert b"\x00\x53\x71" not in sent
    found = sections.header(sent, sections.scan(sent))
    assert found == Header(durable=True, priority=3, ttl=600, delivery_count=5)


def test_the_first_acquirer_is_the_one_without_failed_deliveries_before() -> None:
    message = new_message()
    first = header_section(message, -1, 0, NOW_MS)
    assert sections.header(first, sections.scan(first)) == Header(
        durable=False, first_acquirer=True
    )


def test_first_deliveries_of_like_messages_have_the_same_header_section() -> None:
    for priority in (0, 4, 255, 4):
        for durable in (False, True, False):
            header = Header(durable=durable, priority=priority)
            message = arrived_1_0(payload_1_0(header, body=data(b"x")))
            octets = header_section(message, message.priority, 0, NOW_MS)
            found = sections.header(octets, sections.scan(octets))
            assert found == Header(durable=durable, priority=priority, first_acquirer=True)


def test_annotations_of_a_modified_outcome_are_merged() -> None:
    own = [(sym("a"), s("1")), (sym("b"), s("2"))]
    message = new_message(annotations=own)
    merged = new.to_bytes(Tagged(new.MAP, [(sym("b"), s("3")), (sym("c"), s("4"))]))
    made = onward_to_1_0(message, merged)
    seen = view_1_0(whole(made))["annotations"]
    assert [item[1] for item in seen.values()] == ["1", "3", "4"]
    bare = onward_to_1_0(new_message(), merged)
    assert len(view_1_0(whole(bare))["annotations"]) == 2
    unread = onward_to_1_0(message, b"\xc1\xff")
    assert len(view_1_0(whole(unread))["annotations"]) == 2


def test_annotations_of_a_modified_outcome_cross_with_the_message() -> None:
    merged = new.to_bytes(Tagged(new.MAP, [(sym("b"), s("3")), (sym("c"), s("4"))]))
    message = new_message(annotations=[(sym("a"), s("1")), (sym("b"), s("2"))])
    crossed = to_0_10(message, context(), 1, merged)
    assert crossed.losses == []
    back = to_1_0(arrived_0_10(crossed.header, crossed.body, ""), context())
    seen = view_1_0(whole(back))["annotations"]
    assert sorted(item[1] for item in seen.values()) == ["1", "3", "4"]
    old = message_0_10(DeliveryProperties(), MessageProperties(), b"body")
    made = to_1_0(old, context(), merged)
    seen = view_1_0(whole(made))["annotations"]
    assert {"3", "4"} <= {item[1] for item in seen.values()}


def test_annotations_of_a_modified_outcome_ride_beside_a_0_10_message() -> None:
    merged = new.to_bytes(Tagged(new.MAP, [(sym("b"), s("3")), (sym("c"), s("4"))]))
    headers = [("h", Tagged(STR16, "v"))]
    old = message_0_10(
        DeliveryProperties(ttl=1000), MessageProperties(application_headers=headers), b"body", "x"
    )
    once = to_0_10(old, context(), 1, merged)
    assert (once.losses, once.body) == ([], b"body")
    seen = open_header(once.header, len(once.header), 8)
    assert (seen.delivery.redelivered, seen.delivery.exchange) == (True, "x")
    assert [name for name, _ in seen.properties.application_headers or []] == ["h", HEADER]
    again = arrived_0_10(once.header, once.body, "x")
    later = new.to_bytes(Tagged(new.MAP, [(sym("c"), s("5"))]))
    twice = to_0_10(again, context(), 1, later)
    back = to_1_0(arrived_0_10(twice.header, twice.body, "x"), context())
    annotations = view_1_0(whole(back))["annotations"]
    assert {"3", "5"} <= {item[1] for item in annotations.values()}
    assert back.losses == []


def test_other_originals_in_escrow_stay_when_annotations_are_added() -> None:
    crossed = to_0_10(new_message(message_id=s("my-id")), context())
    merged = new.to_bytes(Tagged(new.MAP, [(sym("c"), s("4"))]))
    more = to_0_10(arrived_0_10(crossed.header, crossed.body, ""), context(), 0, merged)
    back = to_1_0(arrived_0_10(more.header, more.body, ""), context())
    found = sections.properties(back.head, sections.scan(back.head))
    assert found is not None and found.message_id == s("my-id")


def test_where_annotations_of_a_modified_outcome_have_no_place_they_are_a_loss() -> None:
    merged = new.to_bytes(Tagged(new.MAP, [(sym("c"), s("4"))]))
    old = message_0_10(DeliveryProperties(), MessageProperties(), b"body")
    theirs = [(HEADER, Tagged(STR16, "not ours"))]
    taken = message_0_10(DeliveryProperties(), MessageProperties(application_headers=theirs), b"")
    foreign = arrived_1_0(b"\x01opaque", "", "q", 7)
    for losses in (
        to_0_10(old, context(escrow=False), 1, merged).losses,
        to_0_10(taken, context(), 1, merged).losses,
        to_1_0(foreign, context(), merged).losses,
    ):
        assert [loss.row for loss in losses] == ["annotations.message"]
    kept = to_0_10(taken, context(), 1, merged)
    seen = open_header(kept.header, len(kept.header), 8)
    assert seen.properties.application_headers == theirs


def test_a_foreign_format_passes_unopened_from_1_0_to_1_0() -> None:
    message = arrived_1_0(b"\x01opaque", "", "q", 7)
    made = to_1_0(message, context())
    assert delivery_payload(message, made, 0, NOW_MS) == b"\x01opaque"


def test_a_message_is_expired_when_its_time_is_over() -> None:
    message = new_message(header=Header(ttl=10))
    assert not expired(message, NOW_MS + 9)
    assert expired(message, NOW_MS + 10)
    assert not expired(new_message(), NOW_MS + 10**12)
    assert not expired(message_0_10(DeliveryProperties(expiration=1)), NOW_MS)


@given(messages_0_10())
def test_a_0_10_message_passes_as_it_was(message: Message) -> None:
    header, body, losses = sent_to_0_10(message, context())
    again = arrived_0_10(header, body, message.exchange)
    assert view_0_10(again) == view_0_10(message)
    assert losses == []


def test_a_header_segment_that_says_it_all_keeps_its_octets() -> None:
    dp = DeliveryProperties(exchange="x", routing_key="k")
    message = message_0_10(dp, MessageProperties(app_id=b"a"), b"body", "x")
    made = to_0_10(message, context())
    assert made.header + made.body == message.payload


def test_redelivered_ttl_and_node_are_those_of_the_delivery() -> None:
    dp = DeliveryProperties(ttl=1000, routing_key="k")
    message = message_0_10(dp, MessageProperties(app_id=b"a"), b"body", "x")
    late = context()
    late.now_ms = NOW_MS + 300
    made = to_0_10(message, late, 1)
    seen = open_header(made.header, len(made.header), 8)
    assert seen.delivery == DeliveryProperties(
        redelivered=True, ttl=700, exchange="x", routing_key="k"
    )
    assert seen.properties == MessageProperties(app_id=b"a")


@pytest.mark.parametrize("ttl", [2**62 + 1, 2**63, 2**64 - 1])
def test_a_ttl_longer_than_the_gateway_counts_is_counted_down_and_kept(ttl: int) -> None:
    message = message_0_10(DeliveryProperties(ttl=ttl))
    late = context()
    late.now_ms = NOW_MS + 300
    made = to_0_10(message, late)
    assert made.losses == []
    assert open_header(made.header, len(made.header), 8).delivery.ttl == ttl - 300
    crossed = to_1_0(message, late)
    back = to_0_10(arrived_1_0(whole(crossed), "", "q"), late)
    assert crossed.losses + back.losses == []
    assert open_header(back.header, len(back.header), 8).delivery.ttl == ttl - 300


def test_a_ttl_in_escrow_that_no_gateway_wrote_is_bounded() -> None:
    expires_ms = 2**63 - 1
    escrow = Deposit(1000)
    escrow.keep("dp.ttl", digest_number(expires_ms), Tagged(new.ULONG, 2**64 - 1))
    note = [(sym(ANNOTATION), s(escrow.text() or ""))]
    message = new_message(annotations=note, absolute_expiry_time=expires_ms)
    made = to_0_10(message, context())
    assert open_header(made.header, len(made.header), 8).delivery.ttl == 2**64 - 1


def test_a_transfer_without_header_segment_gets_one() -> None:
    made = to_0_10(arrived_0_10(b"", b"body", "x"), context())
    seen = open_header(made.header, len(made.header), 8)
    assert (seen.delivery.exchange, seen.delivery.routing_key) == ("x", "")
    assert made.body == b"body"


def test_the_time_of_arrival_is_written_only_where_asked_for_and_where_none_is() -> None:
    old, new_one = message_0_10(), new_message()
    for java, expected in ((False, old.arrived_ms // 1000), (True, old.arrived_ms)):
        for message in (old, new_one):
            plain = to_0_10(message, context(java=java), 0)
            asked = to_0_10(message, context(java=java, timestamp=True), 0)
            assert _timestamp(plain.header) is None
            assert _timestamp(asked.header) == expected
    carried = message_0_10(DeliveryProperties(timestamp=7))
    assert _timestamp(to_0_10(carried, context(timestamp=True), 0).header) == 7
    assert _creation_time(to_1_0(old, context()).head) is None
    assert _creation_time(to_1_0(old, context(timestamp=True)).head) == old.arrived_ms


def _timestamp(header: bytes) -> int | None:
    return open_header(header, len(header), 40).delivery.timestamp


def _creation_time(head: bytes) -> int | None:
    found = sections.scan(head + data(b""))
    properties = sections.properties(head + data(b""), found)
    return None if properties is None else properties.creation_time
