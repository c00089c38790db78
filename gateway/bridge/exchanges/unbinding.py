"""Many bindings that go at once: with their queue, their exchange, the session they were for, or
because another is to be the only one by its key.

Those of a deleted queue or exchange are out of all books that others read, and out of the store, at
once; what is left, to take them out of the routers and the totals, may be done over several turns
(`spread`). Those of a session, or by a key, stay what they are until it is their turn.
"""

from __future__ import annotations

from typing import Protocol, final

from gateway.bridge.exchanges.exchange import Binding, Exchange
from gateway.bridge.queues.queue import Queue
from gateway.bridge.remote.remote import LookUpWaiter
from gateway.bridge.spread.spread import Spread
from gateway.wire.work import LOOK, WORK

Parts = list[tuple[Exchange, dict[str, Binding]]]


class Unbound(Protocol):
    """Who lets bindings go: `Bindings`."""

    def let_go(self, exchange: Exchange, binding: Binding) -> None:
        """A binding is in no book any more: the router and the totals are to forget it."""

    def disown(self, exchange: str, binding: Binding, owner: int) -> None:
        """`owner`, who is gone, wants it no longer."""

    def unbind_found(self, exchange: Exchange, binding: Binding) -> None:
        """Unbind it, if it is there still."""

    def on_let_go(self, queue: Queue | None) -> None:
        """All those of a deleted queue, or of an exchange, have been let go, in a later turn."""


@final
class Removal:
    """The bindings of one deleted queue, or of one exchange. Implements `Piecework`.

    Attributes:
        parts: what is left, by exchange.
        queue: that of the bindings, if it was deleted.
        late: it is not done in the turn in which it was begun.
        waiter, token: who is told at the end.
    """

    __slots__ = ("_unbound", "late", "parts", "queue", "token", "waiter")

    def __init__(self, unbound: Unbound, parts: Parts, queue: Queue | None) -> None:
        self._unbound = unbound
        self.parts = parts
        self.queue = queue
        self.late = False
        self.waiter: LookUpWaiter | None = None
        self.token = 0

    def who(self) -> str:
        """See `Piecework`."""
        return "bindings that go with " + (
            "an exchange" if self.queue is None else f"queue {self.queue.name!r}"
        )

    def go_on(self, end: int) -> bool:
        """See `Piecework`."""
        parts = self.parts
        while parts:
            exchange, keys = parts[-1]
            while keys:
                if WORK.units > end:
                    return False
                self._unbound.let_go(exchange, keys.popitem()[1])
            parts.pop()
        if self.late:
            self._unbound.on_let_go(self.queue)
        if self.waiter is not None:
            self.waiter.on_looked_up(self.token, None)
        return True


@final
class Exclusion:
    """The bindings of an exchange that another, by the same key, excludes. Implements `Piecework`.

    Attributes:
        waiter, token: who is told at the end.
    """

    __slots__ = ("_bindings", "_exchange", "_unbound", "token", "waiter")

    def __init__(self, unbound: Unbound, exchange: Exchange, bindings: list[Binding]) -> None:
        self._unbound = unbound
        self._exchange = exchange
        self._bindings = bindings
        self.waiter: LookUpWaiter | None = None
        self.token = 0

    def who(self) -> str:
        """See `Piecework`."""
        return f"bindings to {self._exchange.name!r} that another excludes"

    def go_on(self, end: int) -> bool:
        """See `Piecework`."""
        while self._bindings:
            if WORK.units > end:
                return False
            self._unbound.unbind_found(self._exchange, self._bindings.pop())
        if self.waiter is not None:
            self.waiter.on_looked_up(self.token, None)
        return True


@final
class Disowning:
    """The bindings that were for the life of one owner, who is gone. Implements `Piecework`."""

    __slots__ = ("_bindings", "_owner", "_unbound")

    def __init__(
        self, unbound: Unbound, owner: int, bindings: dict[tuple[str, str, str], Binding]
    ) -> None:
        self._unbound = unbound
        self._owner = owner
        self._bindings = bindings

    def who(self) -> str:
        """See `Piecework`."""
        return "bindings that go with a session"

    def go_on(self, end: int) -> bool:
        """See `Piecework`."""
        bindings = self._bindings
        while bindings:
            if WORK.units > end:
                return False
            WORK.units += LOOK
            key, binding = bindings.popitem()
            self._unbound.disown(key[0], binding, self._owner)
        return True


@final
class Unbinding:
    """Begins them, and knows whether the last removal or exclusion goes on."""

    __slots__ = ("_last", "_spread", "_unbound")

    def __init__(self, unbound: Unbound, spread: Spread) -> None:
        self._unbound = unbound
        self._spread = spread
        self._last: Removal | Exclusion | None = None

    def remove(self, parts: Parts, queue: Queue | None) -> bool:
        """Let these go; whether it is done."""
        removal = Removal(self._unbound, parts, queue)
        done = self._spread.begin(removal)
        removal.late = not done
        self._last = None if done else removal
        return done

    def exclude(self, exchange: Exchange, bindings: list[Binding]) -> None:
        """Unbind these, since another is to be the only one by their key."""
        exclusion = Exclusion(self._unbound, exchange, bindings)
        self._last = None if self._spread.begin(exclusion) else exclusion

    def disown(self, owner: int, bindings: dict[tuple[str, str, str], Binding]) -> None:
        """An owner is gone, for whom there were these."""
        self._spread.begin(Disowning(self._unbound, owner, bindings))

    def tell(self, waiter: LookUpWaiter, token: int) -> bool:
        """Whether the last of them goes on: `waiter` is told at its end."""
        removal, self._last = self._last, None
        if removal is None:
            return False
        removal.waiter = waiter
        removal.token = token
        return True
