"""Removes what was made for bindings at an upstream whose management we speak.

What is to be removed is a debt of the bridge's (`bridge.durable.debts`) if it was made to stay;
it is asked for at once, or on the next connection, be it in another life of the gateway. What goes
is decided when it is asked for: the upstream's queue with the last binding, else the binding alone,
or nothing, if the same is bound again.
"""

from __future__ import annotations

from typing import Final, Protocol, cast, final
from urllib.parse import quote

from gateway.amqp_1_0 import types
from gateway.bridge.durable.debts import BindingRow
from gateway.bridge.remote.remote import Feed
from gateway.faces.upstream_1_0.context import UpstreamContext
from gateway.faces.upstream_1_0.managing.managed import arguments_there, same_arguments
from gateway.faces.upstream_1_0.managing.management import NOTHING, Answer, Management
from gateway.faces.upstream_1_0.managing.queues import queue_path
from gateway.wire.tagged import Tagged

# Tokens: what was asked.
FOUND: Final = 1
GONE: Final = 2
NOT_THERE: Final = 404


class Fed(Protocol):
    """Who knows the bindings that are in force."""

    def fed_from(self, queue: str) -> list[Feed]:
        """Those that are fed from a queue of the gateway's making at the upstream."""


@final
class Removing:
    """Implements `Asker`: one binding."""

    __slots__ = ("_arguments", "_tidier", "row")

    def __init__(self, tidier: Tidier, row: BindingRow) -> None:
        self._tidier = tidier
        self.row = row
        self._arguments = arguments_there(row.arguments)

    def begin(self, *, alone: bool) -> None:
        """`alone`: there is no other binding of that queue."""
        if alone:
            self._ask("DELETE", queue_path(self.row.queue), GONE)
        elif self._arguments:
            self._ask("GET", f"/bindings?{self._query('&')}", FOUND)
        else:
            self._ask("DELETE", f"/bindings/{self._query(';')};args=", GONE)

    def _query(self, between: str) -> str:
        row = self.row
        parts = [("src", row.exchange), ("dstq", row.queue), ("key", row.key)]
        return between.join([f"{name}={quote(value, safe='')}" for name, value in parts])

    def _ask(self, method: str, path: str, token: int) -> None:
        self._tidier.management.ask(method, path, NOTHING, self, token, patient=True)

    def on_answer(self, token: int, answer: Answer) -> None:
        """What was found, or that it is removed, or why not."""
        if not answer.done and answer.status != NOT_THERE:
            self._tidier.on_failed(self, answer.text)
        elif token == GONE or not answer.done or not self._unbind(answer.body):
            self._tidier.on_removed(self)

    def _unbind(self, found: Tagged) -> bool:
        """A binding with arguments is known by a location that the peer gives it."""
        for each in cast(list[Tagged], found.value) if found.code == types.LIST else []:
            fields = {key.value: value for key, value in cast(types.Map, each.value)}
            location = fields.get("location")
            if location is not None and same_arguments(fields.get("arguments"), self._arguments):
                self._ask("DELETE", str(location.value), GONE)
                return True
        return False


@final
class Tidier:
    """Everything that is to be removed at one upstream. Implements `managed.Tidying`."""

    def __init__(self, upstream: UpstreamContext, management: Management, fed: Fed) -> None:
        self.upstream = upstream
        self.management = management
        self._fed = fed
        self._under_way: dict[str, Removing] = {}

    def open(self) -> None:
        """There is a connection: ask for what is owed and was not asked for."""
        for row in self.upstream.bridge.debts.of(self.upstream.name):
            if row.row_key() not in self._under_way:
                self.remove(row)

    def remove(self, row: BindingRow) -> None:
        """A local binding is gone: nothing, it, or its queue goes upstream."""
        feeds = self._fed.fed_from(row.queue)
        removing = Removing(self, row)
        self._under_way[row.row_key()] = removing
        for feed in feeds:
            if (feed.exchange, feed.key) == (row.exchange, row.key):
                self.on_removed(removing)  # It was bound again meanwhile.
                return
        removing.begin(alone=not feeds)

    def on_removed(self, removing: Removing) -> None:
        """The upstream does not have it any more, or it is to stay."""
        key = removing.row.row_key()
        if self._under_way.get(key) is removing:
            del self._under_way[key]
            self.upstream.bridge.debts.paid(removing.row)

    def on_failed(self, removing: Removing, problem: str) -> None:
        """It could not be done; a debt is tried again on the next connection."""
        key = removing.row.row_key()
        if self._under_way.get(key) is removing:
            del self._under_way[key]
        queue = removing.row.queue
        self.upstream.health.note_problem(f"cannot tidy up queue {queue!r}: {problem}")
