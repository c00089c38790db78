"""Of which kind a message is."""

import pytest
from translate.messages import arrived_1_0, context, data, message_0_10, payload_1_0, value

from gateway.amqp_0_10 import _spec_constants as old
from gateway.amqp_0_10._spec_structs import DeliveryProperties, MessageProperties
from gateway.amqp_1_0 import types as new
from gateway.amqp_1_0._spec import Header, Properties
from gateway.translate.message import to_0_10, to_1_0
from gateway.wire.tagged import Tagged


def old_kind(
    dp: DeliveryProperties | None = None,
    mp: MessageProperties | None = None,
    body: bytes = b"x",
    others: bytes = b"",
) -> int:
    return to_1_0(message_0_10(dp, mp, body, others=others), context()).kind


def new_kind(
    properties: Properties | None = None,
    app: dict[str, Tagged] | None = None,
    annotated: bool = False,
    body: bytes = data(b"x"),
    footer: bool = False,
) -> int:
    pair = [(Tagged(new.SYMBOL, "x-opt-a"), Tagged(new.INT, 1))]
    payload = payload_1_0(
        Header(),
        properties,
        [(Tagged(new.STRING, name), each) for name, each in (app or {}).items()],
        pair if annotated else None,
        body,
        pair if footer else None,
    )
    return to_0_10(arrived_1_0(payload, "x", "k"), context()).kind


def with_header(value: Tagged) -> MessageProperties:
    return MessageProperties(application_headers=[("h", value)])


def test_what_fields_there_are_and_of_which_types_makes_the_kind_of_a_0_10_message() -> None:
    kinds = [
        old_kind(),
        old_kind(DeliveryProperties(priority=1)),
        old_kind(DeliveryProperties(ttl=1)),
        old_kind(mp=MessageProperties(app_id=b"a")),
        old_kind(mp=MessageProperties(content_type="amqp/list")),
        old_kind(mp=with_header(Tagged(old.INT32, 1))),
        old_kind(mp=with_header(Tagged(old.STR16, "1"))),
        old_kind(mp=with_header(Tagged(old.DEC64, (2, 314)))),
        old_kind(others=b"\x00\x00\x00\x04\x04\x02\x03\x00"),
    ]
    assert [kinds.count(kind) for kind in kinds] == [1] * len(kinds)
    assert all(0 <= kind < 1 << 62 for kind in kinds)


def test_so_it_is_with_a_1_0_message() -> None:
    fields = [
        Properties(),
        Properties(message_id=Tagged(new.ULONG, 1)),
        Properties(message_id=Tagged(new.STRING, "1")),
        Properties(message_id=Tagged(new.BINARY, b"1")),
        Properties(correlation_id=Tagged(new.UUID, bytes(16))),
        *(Properties(**{name: "a"}) for name in ("to", "subject", "reply_to", "group_id")),
        *(Properties(**{name: "a"}) for name in ("content_type", "content_encoding")),
        Properties(reply_to_group_id="a"),
        Properties(user_id=b"a"),
        *(Properties(**{name: 1}) for name in ("creation_time", "absolute_expiry_time")),
        Properties(group_sequence=1),
    ]
    kinds = [new_kind(each) for each in fields] + [
        new_kind(app={"a": Tagged(new.INT, 1)}),
        new_kind(app={"a": Tagged(new.STRING, "1")}),
        new_kind(annotated=True),
        new_kind(footer=True),
        new_kind(body=data(b"x") + data(b"y")),
        new_kind(body=value(Tagged(new.INT, 70_000))),
        new_kind(body=value(Tagged(new.STRING, "1"))),
    ]
    assert [kinds.count(kind) for kind in kinds] == [1] * len(kinds)
    assert all(0 <= kind < 1 << 62 for kind in kinds)


@pytest.mark.parametrize("body", [b"x", b"another body"])
def test_what_the_values_are_does_not(body: bytes) -> None:
    assert old_kind(DeliveryProperties(priority=7), body=body) == old_kind(
        DeliveryProperties(priority=2)
    )
    assert new_kind(Properties(subject="a"), body=data(body)) == new_kind(Properties(subject="b"))
