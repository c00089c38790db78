"""What is made, at an upstream whose management we speak, for one binding to its exchange.

There a queue collects for the queue here: `GATEWAY.QUEUE`, which all durable bindings of that queue
share, so that a message that several of them match comes once; and `GATEWAY.QUEUE.transient` for
the others, which ends with the connection. They are declared and bound again on each connection,
and are gone with the last binding (`tidying`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast, final
from urllib.parse import quote

from gateway.amqp_1_0 import types
from gateway.bridge.durable.debts import BindingRow
from gateway.bridge.remote.remote import Feed, LookUpWaiter
from gateway.faces.upstream_1_0.errors import lasting
from gateway.faces.upstream_1_0.managing.management import NOTHING, UNANSWERED, Answer
from gateway.message import Condition, Kind, Refusal
from gateway.wire.tagged import Tagged

if TYPE_CHECKING:
    from gateway.faces.upstream_1_0.receiving.feeder import Feeder
    from gateway.faces.upstream_1_0.upstream import Upstream

# Tokens: what was asked.
DECLARED: Final = 1
BOUND: Final = 2
TRANSIENT: Final = ".transient"
IS_ANOTHER: Final = 409
CONDITIONS: Final = {
    401: Condition.UNAUTHORIZED_ACCESS,
    403: Condition.UNAUTHORIZED_ACCESS,
    404: Condition.NOT_FOUND,
    409: Condition.RESOURCE_LOCKED,
}
SCOPE: Final = "x-scope"


@final
class ManagedBinding:
    """Implements `Asker`, `Sleeper`.

    Attributes:
        queue: the name of the queue there.
    """

    def __init__(self, upstream: Upstream, feed: Feed, feeder: Feeder) -> None:
        self._upstream = upstream
        self._feed = feed
        self._feeder = feeder
        self._failures = 0
        self._over = False
        self.queue = _queue_there(upstream, feed)
        self._arguments = arguments_there(feed.arguments)

    def prepare(self) -> None:
        """Declare and bind; `Feeder.on_prepared` follows once that is done."""
        wanted = queue_body(durable=self._feed.durable)
        self._ask("PUT", queue_path(self.queue), wanted, DECLARED)

    def prepare_later(self) -> None:
        """The same, after a while."""
        self._failures += 1
        upstream = self._upstream
        upstream.wake(self, upstream.bridge.now_ms + upstream.settings.back_off_ms(self._failures))

    def handle_deadline(self, now_ms: int) -> None:
        """As a `Sleeper`."""
        if not self._over:
            self.prepare()

    def owe(self) -> None:
        """The binding is gone here: what was made for it is to go, even after a restart."""
        if self._feed.durable:
            self._upstream.bridge.debts.owe(self._row())

    def release(self) -> None:
        """The binding is gone, and the queue there with the last; its feeder is forgotten."""
        self.leave()
        self._upstream.tidier.remove(self._row())

    def _row(self) -> BindingRow:
        feed = self._feed
        return BindingRow(
            self._upstream.name, feed.exchange, self.queue, feed.key, feed.arguments, b""
        )

    def leave(self) -> None:
        """Nothing more is to be prepared; what is there stays."""
        self._over = True
        self._upstream.unwake(self)

    def _ask(self, method: str, path: str, body: Tagged, token: int) -> None:
        self._upstream.management.ask(method, path, body, self, token, patient=True)

    def on_answer(self, token: int, answer: Answer) -> None:
        """As an `Asker`."""
        if self._over:
            return
        if not answer.done:
            self.prepare_later()
            self._feeder.on_unprepared(answer)
        elif token == DECLARED:
            self._bind()
        else:
            self._failures = 0
            self._feeder.on_prepared()

    def _bind(self) -> None:
        feed = self._feed
        body: types.Map = [
            (_text("source"), _text(feed.exchange)),
            (_text("destination_queue"), _text(self.queue)),
            (_text("binding_key"), _text(feed.key)),
            (_text("arguments"), Tagged(types.MAP, self._arguments)),
        ]
        self._ask("POST", "/bindings", Tagged(types.MAP, body), BOUND)


@final
class Maker:
    """Implements `Asker`: makes missing queues that a rule wants to be made."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream

    def make(self, name: str) -> None:
        """One queue, durable; one that is there is left as it is."""
        management = self._upstream.management
        management.ask("PUT", queue_path(name), queue_body(durable=True), self, 0, patient=True)

    def on_answer(self, token: int, answer: Answer) -> None:
        """As an `Asker`; who needs the queue tries again."""
        if not answer.done and answer.status != IS_ANOTHER:
            self._upstream.note_problem(f"cannot make a queue: {answer.text}")


@final
class Removal:
    """Implements `Asker`: a queue that is deleted or emptied for a client of ours."""

    def __init__(self, upstream: Upstream, waiter: LookUpWaiter) -> None:
        self._upstream = upstream
        self._waiter = waiter

    def on_answer(self, token: int, answer: Answer) -> None:
        """As an `Asker`."""
        refusal: Refusal | None = None
        if answer.status == UNANSWERED:
            refusal = lasting(self._upstream.name, answer.text)
        elif not answer.done:
            condition = CONDITIONS.get(answer.status, Condition.PRECONDITION_FAILED)
            refusal = Refusal(condition, f"upstream {self._upstream.name}: {answer.text}")
        self._waiter.on_looked_up(token, refusal)


def removing(
    upstream: Upstream,
    host: str,
    queue: str,
    waiter: LookUpWaiter,
    token: int,
    *,
    purge: bool = False,
) -> Refusal | None:
    """Delete or empty a queue there, or say why that cannot be tried; `waiter` is told."""
    name = upstream.addresses.managed_name(host, queue)
    if not name:
        what = "empty" if purge else "delete"
        text = f"upstream {upstream.name} offers no way to {what} a node"
        return Refusal(Condition.NOT_IMPLEMENTED, text)
    path = f"{queue_path(name)}/messages" if purge else queue_path(name)
    upstream.management.ask("DELETE", path, NOTHING, Removal(upstream, waiter), token)
    return None


def queue_body(*, durable: bool) -> Tagged:
    """What is asked of a queue that is declared; one that is not durable is the connection's."""
    body: types.Map = [
        (_text("durable"), _flag(durable)),
        (_text("exclusive"), _flag(not durable)),
        (_text("auto_delete"), _flag(False)),
        (_text("arguments"), Tagged(types.MAP, [])),
    ]
    return Tagged(types.MAP, body)


def queue_path(queue: str) -> str:
    """The path of a queue."""
    return f"/queues/{quote(queue, safe='')}"


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
    """A binding's arguments as they are said there."""
    return [
        (_text(name), Tagged(CODES[tagged.code], tagged.value))
        for name, tagged in arguments.items()
        if name != SCOPE and tagged.code in CODES
    ]


def same_arguments(there: Tagged | None, wanted: types.Map) -> bool:
    """Whether a binding there has the arguments that are wanted."""
    if there is None or there.code != types.MAP:
        return False
    found = {key.value: value.value for key, value in cast(types.Map, there.value)}
    return found == {key.value: value.value for key, value in wanted}


def _queue_there(upstream: Upstream, feed: Feed) -> str:
    name = f"{upstream.settings.container_id}.{feed.queue_name}"
    if feed.host != upstream.bridge.default_host.name:
        name = f"{upstream.settings.container_id}.{feed.host}.{feed.queue_name}"
    return name if feed.durable else name + TRANSIENT


def _text(value: str) -> Tagged:
    return Tagged(types.STRING, value)


def _flag(value: bool) -> Tagged:
    return Tagged(types.BOOLEAN, value)
