"""What is made, at an upstream whose management we speak, for one binding to its exchange.

At the upstream a queue collects for the local one: `GATEWAY.QUEUE`, or `GROUP.QUEUE`, which all
durable bindings of that queue share, so that a message that several of them match comes once; and
`GATEWAY.QUEUE.transient` for the others, which ends with the connection. They are declared and
bound again on each connection, and are gone with the last binding (`tidying`).
"""

from __future__ import annotations

from typing import Final, Protocol, cast, final

from gateway.amqp_1_0 import types
from gateway.bridge.durable.debts import BindingRow
from gateway.bridge.seams import KeptThere
from gateway.faces.upstream_1_0.context import UpstreamContext
from gateway.faces.upstream_1_0.managing.management import Answer, Management
from gateway.faces.upstream_1_0.managing.queues import queue_body, queue_path, text
from gateway.message import Kind
from gateway.wire.tagged import Tagged

# Tokens: what was asked.
DECLARED: Final = 1
BOUND: Final = 2
TRANSIENT: Final = ".transient"
SCOPE: Final = "x-scope"


class Wanted(Protocol):
    """What is to be bound: as a `Feed` says it."""

    @property
    def host(self) -> str:
        """The virtual host."""

    @property
    def exchange(self) -> str:
        """The upstream's exchange."""

    @property
    def key(self) -> str:
        """The binding key."""

    @property
    def arguments(self) -> dict[str, Tagged]:
        """Of the binding, in neutral kinds."""

    @property
    def queue_name(self) -> str:
        """What is collected for, by a name of the gateway's."""

    @property
    def durable(self) -> bool:
        """It goes on collecting while there is no connection."""


@final
class KeptBinding:
    """Of a client's durable subscription, which the upstream keeps. Implements `Wanted`."""

    def __init__(self, host: str, kept: KeptThere) -> None:
        self.host = host
        self.exchange = kept.exchange
        self.key = kept.key
        self.arguments = kept.arguments
        self.queue_name = kept.name
        self.durable = True


class Prepared(Protocol):
    """The link that reads what is made."""

    def on_prepared(self) -> None:
        """The queue at the upstream is made, and bound: read it."""

    def on_unprepared(self, answer: Answer) -> None:
        """It could not be made, or bound; that is tried again."""


class Tidying(Protocol):
    """Who removes what was made."""

    def remove(self, row: BindingRow) -> None:
        """A binding of the gateway's is gone: what was made for it alone goes, too."""


@final
class ManagedBinding:
    """Implements `Asker`, `Sleeper`.

    Attributes:
        queue: the name of the upstream's queue.
    """

    def __init__(
        self,
        upstream: UpstreamContext,
        management: Management,
        tidying: Tidying,
        feed: Wanted,
        link: Prepared,
    ) -> None:
        self._upstream = upstream
        self._management = management
        self._tidying = tidying
        self._feed = feed
        self._link = link
        self._failures = 0
        self._over = False
        self.queue = _queue_there(upstream, feed)
        self._arguments = arguments_there(feed.arguments)

    def prepare(self) -> None:
        """Declare and bind; `Prepared.on_prepared` follows once that is done."""
        wanted = queue_body(durable=self._feed.durable)
        self._ask("PUT", queue_path(self.queue), wanted, DECLARED)

    def prepare_later(self) -> None:
        """The same, after a while."""
        self._failures += 1
        upstream = self._upstream
        upstream.wake_in(self, upstream.settings.back_off_ms(self._failures))

    def handle_deadline(self, now_ms: int) -> None:
        """The time has come to prepare again."""
        if not self._over:
            self.prepare()

    def owe(self) -> None:
        """The local binding is gone: what was made for it is to go, even after a restart."""
        if self._feed.durable:
            self._upstream.bridge.debts.owe(self._row())

    def release(self) -> None:
        """The binding is gone, and the upstream's queue with the last; its link is forgotten."""
        self.leave()
        self._tidying.remove(self._row())

    def _row(self) -> BindingRow:
        feed = self._feed
        return BindingRow(
            self._upstream.name, feed.exchange, self.queue, feed.key, feed.arguments, b""
        )

    def leave(self) -> None:
        """Nothing more is to be prepared; what was made stays."""
        self._over = True
        self._upstream.unwake(self)

    def _ask(self, method: str, path: str, body: Tagged, token: int) -> None:
        self._management.ask(method, path, body, self, token, patient=True)

    def on_answer(self, token: int, answer: Answer) -> None:
        """One step is done, or will be tried again."""
        if self._over:
            return
        if not answer.done:
            self.prepare_later()
            self._link.on_unprepared(answer)
        elif token == DECLARED:
            self._bind()
        else:
            self._failures = 0
            self._link.on_prepared()

    def _bind(self) -> None:
        feed = self._feed
        body: types.Map = [
            (text("source"), text(feed.exchange)),
            (text("destination_queue"), text(self.queue)),
            (text("binding_key"), text(feed.key)),
            (text("arguments"), Tagged(types.MAP, self._arguments)),
        ]
        self._ask("POST", "/bindings", Tagged(types.MAP, body), BOUND)


def unmanageable(arguments: dict[str, Tagged]) -> str:
    """The name of an argument of a binding that cannot be said there; "" if there is none."""
    for name, tagged in arguments.items():
        if name != SCOPE and tagged.code not in CODES:
            return name
    return ""


CODES: Final = {
    int(Kind.STRING): types.STRING,
    int(Kind.INTEGER): types.LONG,
    int(Kind.BOOLEAN): types.BOOLEAN,
}


def arguments_there(arguments: dict[str, Tagged]) -> types.Map:
    """A binding's arguments as management takes them."""
    return [
        (text(name), Tagged(CODES[tagged.code], tagged.value))
        for name, tagged in arguments.items()
        if name != SCOPE and tagged.code in CODES
    ]


def same_arguments(found: Tagged | None, wanted: types.Map) -> bool:
    """Whether a binding of the upstream's has the arguments that are wanted."""
    if found is None or found.code != types.MAP:
        return False
    has = {key.value: value.value for key, value in cast(types.Map, found.value)}
    return has == {key.value: value.value for key, value in wanted}


def _queue_there(upstream: UpstreamContext, feed: Wanted) -> str:
    settings = upstream.settings
    whose = settings.group if settings.group and feed.durable else settings.container_id
    name = f"{whose}.{feed.queue_name}"
    if feed.host != upstream.bridge.default_host.name:
        name = f"{whose}.{feed.host}.{feed.queue_name}"
    return name if feed.durable else name + TRANSIENT
