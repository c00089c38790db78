"""What keeps messages from a subscription or a binding."""

import pytest
from support.bridge_world import World

from gateway.bridge.exchanges.filters import NoLocal, binding_selector, kept_selector, together
from gateway.message import Kind, Refusal
from gateway.selectors.selector import Selector
from gateway.wire.tagged import Tagged


def text(value: str) -> Tagged:
    return Tagged(Kind.STRING, value)


def test_no_local_and_a_selector_both_have_to_accept() -> None:
    world = World()
    selector = binding_selector({"x-apache-selector": text("TRUE")})
    never = binding_selector({"x-apache-selector": text("FALSE")})
    assert isinstance(selector, Selector) and isinstance(never, Selector)
    message = world.message(b"")
    others, own = NoLocal(message.publisher + 1), NoLocal(message.publisher)
    assert others.accepts(message) and not own.accepts(message)
    for first, second, expected in (
        (selector, others, True),
        (selector, own, False),
        (never, others, False),
        (selector, None, True),
        (None, own, False),
    ):
        both = together(first, second)
        assert both is not None and both.accepts(message) == expected
    assert together(None, None) is None


@pytest.mark.parametrize("value", [text(""), Tagged(Kind.NULL, None)])
def test_an_empty_selector_is_none(value: Tagged) -> None:
    assert binding_selector({"x-filter-jms-selector": value}) is None


def test_what_is_no_selector_is_refused_and_accepts_nothing_where_it_was_kept() -> None:
    for value in (Tagged(Kind.INTEGER, 1), text("a =")):
        arguments = {"x-filter-jms-selector": value}
        assert isinstance(binding_selector(arguments), Refusal)
        kept = kept_selector(arguments)
        assert kept is not None and not kept.accepts(World().message(b""))
    assert kept_selector({}) is None
