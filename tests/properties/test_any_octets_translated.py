"""Whatever octets arrived as a message, its translation answers and never raises."""

from hypothesis import given
from hypothesis import strategies as st
from translate.generated import messages_0_10, messages_1_0, values_0_10
from translate.messages import (
    arrived_0_10,
    arrived_1_0,
    body_list,
    body_map,
    context,
    data,
    message_0_10,
    payload_1_0,
    sent_to_1_0,
)

from gateway.amqp_0_10._spec_structs import MessageProperties
from gateway.amqp_1_0._spec import Properties
from gateway.errors import DecodeError
from gateway.message import Message
from gateway.translate.message import to_0_10, to_1_0
from gateway.translate.view import READER

cuts = st.tuples(st.integers(0, 10_000), st.integers(0, 255))


def mutated(octets: bytes, changes: list[tuple[int, int]]) -> bytes:
    out = bytearray(octets)
    for at, octet in changes:
        if out:
            out[at % len(out)] = octet
    return bytes(out)


@given(messages_0_10(), st.lists(cuts, min_size=1, max_size=3), st.booleans())
def test_a_mutated_0_10_message_is_refused_on_arrival_or_translated(
    message: Message, changes: list[tuple[int, int]], java: bool
) -> None:
    octets = mutated(message.payload, changes)
    at = message.body_at
    try:
        arrived = arrived_0_10(octets[:at], octets[at:], message.exchange)
    except DecodeError:
        return
    to_1_0(arrived, context(java=java))
    to_0_10(arrived, context(java=java))
    READER.headers(arrived)


@given(messages_1_0(), st.lists(cuts, min_size=1, max_size=3), st.booleans())
def test_a_mutated_1_0_message_is_refused_on_arrival_or_translated(
    message: Message, changes: list[tuple[int, int]], java: bool
) -> None:
    octets = mutated(message.payload, changes)
    try:
        arrived = arrived_1_0(octets, message.exchange, message.routing_key)
    except DecodeError:
        return
    to_0_10(arrived, context(java=java))
    to_1_0(arrived, context(java=java))
    READER.headers(arrived)


TYPES = ["amqp/map", "amqp/list", "jms/map-message", "jms/stream-message", "text/plain"]
bodies = st.binary(max_size=40) | st.builds(
    mutated,
    st.lists(values_0_10, max_size=3).map(body_list)
    | st.lists(values_0_10, max_size=3).map(
        lambda v: body_map([(str(at), i) for at, i in enumerate(v)])
    ),
    st.lists(cuts, max_size=2),
)


@given(st.sampled_from(TYPES), bodies, st.booleans())
def test_any_octets_under_any_content_type_cross(
    content_type: str, body: bytes, as_value: bool
) -> None:
    ctx = context(text_body_value=as_value, escrow_max=60_000)
    message = message_0_10(None, MessageProperties(content_type=content_type), body)
    payload, losses = sent_to_1_0(message, ctx)
    assert losses == []
    back = to_0_10(arrived_1_0(payload, "", ""), ctx)
    assert back.body == body or content_type.startswith("amqp/")
    assert back.losses == []


@given(st.sampled_from([*TYPES, "application/x-amqp-1.0-value"]), bodies)
def test_any_data_of_any_content_type_comes_back_as_data(content_type: str, body: bytes) -> None:
    payload = payload_1_0(properties=Properties(content_type=content_type), body=data(body))
    made = to_0_10(arrived_1_0(payload, "", "q"), context())
    assert made.body == body
    again, losses = sent_to_1_0(arrived_0_10(made.header, made.body, ""), context())
    assert losses == []
    assert again.endswith(data(body))
