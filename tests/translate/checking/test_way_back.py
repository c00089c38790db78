"""An honest translation is never called lossy (`scenarios.test_undeclared_loss`: others are)."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from translate.generated import messages_0_10, messages_1_0
from translate.messages import NOW_MS, arrived_0_10, arrived_1_0, context

from gateway.message import Message
from gateway.translate.checking.way_back import differences
from gateway.translate.context import Context
from gateway.translate.mapping_rows import BY_NUMBER
from gateway.translate.message import to_0_10, to_1_0
from gateway.translate.towards_1_0.hop import delivery_payload, expired

contexts = st.fixed_dictionaries(
    {
        "escrow": st.booleans(),
        "escrow_max": st.sampled_from([0, 40, 200, 65_535]),
        "text_body_value": st.booleans(),
        "timestamp": st.booleans(),
        "java": st.booleans(),
        "upstream": st.sampled_from(["", "up"]),
        "user_id": st.booleans(),
        "value_lists": st.booleans(),
        "gateway": st.just("gw"),
    }
)


def found_to_1_0(message: Message, ctx: Context) -> list[str]:
    made = to_1_0(message, ctx)
    payload = delivery_payload(message, made, message.delivery_count, NOW_MS)
    rows = differences(message, payload, b"", made.losses, ctx)
    return [BY_NUMBER[row].id for row in rows]


def found_to_0_10(message: Message, ctx: Context) -> list[str]:
    made = to_0_10(message, ctx, message.delivery_count)
    if made.refusal is not None:
        return []
    rows = differences(
        message, made.header, made.body, made.losses, ctx, empty_body=made.empty_body
    )
    return [BY_NUMBER[row].id for row in rows]


@given(messages_0_10(), contexts)
def test_an_honest_translation_to_1_0_is_never_found(
    message: Message, settings: dict[str, Any]
) -> None:
    if not expired(message, NOW_MS):
        assert found_to_1_0(message, context(**settings)) == []


@given(messages_1_0(), contexts)
def test_an_honest_translation_to_0_10_is_never_found(
    message: Message, settings: dict[str, Any]
) -> None:
    if not expired(message, NOW_MS):
        assert found_to_0_10(message, context(**settings)) == []


@given(messages_0_10(), contexts, contexts)
def test_nor_is_one_of_what_came_from_1_0_before(
    message: Message, first: dict[str, Any], second: dict[str, Any]
) -> None:
    if not expired(message, NOW_MS):
        made = to_1_0(message, context(**first))
        payload = delivery_payload(message, made, 0, NOW_MS)
        again = arrived_1_0(payload, message.exchange, message.routing_key)
        assert found_to_0_10(again, context(**second)) == []


@given(messages_1_0(), contexts, contexts)
def test_nor_is_one_of_what_came_from_0_10_before(
    message: Message, first: dict[str, Any], second: dict[str, Any]
) -> None:
    made = to_0_10(message, context(**first), 0)
    if made.refusal is None and not expired(message, NOW_MS):
        body = made.body if made.body or made.empty_body else None
        again = arrived_0_10(made.header, body, message.exchange)
        assert found_to_1_0(again, context(**second)) == []
