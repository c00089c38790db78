"""What keeps messages from a subscription, or from the queue of a binding.

A selector of a binding is among its arguments, by the name that clients give it there.
"""

from __future__ import annotations

from typing import Final, cast, final

from gateway.bridge.seams import Filter
from gateway.message import Condition, Kind, Message, Refusal
from gateway.selectors.selector import Selector, read_selector
from gateway.selectors.tree import Literal
from gateway.selectors.values import FALSE
from gateway.wire.accounts import VALUE
from gateway.wire.tagged import Tagged

SELECTOR_ARGUMENTS: Final = ("x-filter-jms-selector", "x-apache-selector")


@final
class NoLocal:
    """Implements `seams.Filter`: nothing that came by the same connection, or one before it."""

    __slots__ = ("_earlier", "connection_id", "octets")

    def __init__(self, connection_id: int) -> None:
        self.octets = VALUE
        self.connection_id = connection_id
        self._earlier: set[int] = set()

    def also(self, connection_id: int) -> None:
        """It goes on with another connection."""
        self._earlier.add(self.connection_id)
        self.connection_id = connection_id

    def accepts(self, message: Message) -> bool:
        """Whether somebody else published it."""
        publisher = message.publisher
        return publisher != self.connection_id and publisher not in self._earlier


@final
class Both:
    """Implements `seams.Filter`: what two filters accept."""

    __slots__ = ("_first", "_second", "octets")

    def __init__(self, first: Filter, second: Filter) -> None:
        self.octets = VALUE + first.octets + second.octets
        self._first = first
        self._second = second

    def accepts(self, message: Message) -> bool:
        """Whether both accept it."""
        return self._first.accepts(message) and self._second.accepts(message)


def together(first: Filter | None, second: Filter | None) -> Filter | None:
    """The two as one."""
    if first is None or second is None:
        return first or second
    return Both(first, second)


def selector_text(arguments: dict[str, Tagged]) -> str | Refusal:
    """The selector among the arguments of a binding; "" if there is none."""
    for name in SELECTOR_ARGUMENTS:
        given = arguments.get(name)
        if given is None or given.code == Kind.NULL or given.value == "":
            continue
        if given.code != Kind.STRING:
            return Refusal(Condition.INVALID_ARGUMENT, f"{name} is no text")
        return cast(str, given.value)
    return ""


def selector_as_kept(text: str) -> Selector:
    """One that was understood once; if it is not any more it accepts nothing."""
    selector = read_selector(text)
    return Selector("", Literal(FALSE)) if isinstance(selector, Refusal) else selector


def kept_selector(arguments: dict[str, Tagged]) -> Selector | None:
    """That of a binding that was made before; what is not understood any more accepts nothing."""
    selector = binding_selector(arguments)
    return Selector("", Literal(FALSE)) if isinstance(selector, Refusal) else selector


def binding_selector(arguments: dict[str, Tagged]) -> Selector | Refusal | None:
    """The selector of a binding with those arguments."""
    text = selector_text(arguments)
    if isinstance(text, Refusal):
        return text
    return read_selector(text) if text else None
