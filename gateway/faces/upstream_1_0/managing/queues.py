"""Queues at an upstream whose management we speak: made, deleted and emptied for clients."""

from __future__ import annotations

from typing import Final, final
from urllib.parse import quote

from gateway.amqp_1_0 import types
from gateway.bridge.remote.remote import LookUpWaiter
from gateway.faces.dialled.reaching import lasting
from gateway.faces.upstream_1_0.context import UpstreamContext
from gateway.faces.upstream_1_0.managing.management import NOTHING, UNANSWERED, Answer, Management
from gateway.message import Condition, Refusal
from gateway.wire.tagged import Tagged

IS_ANOTHER: Final = 409
CONDITIONS: Final = {
    401: Condition.UNAUTHORIZED_ACCESS,
    403: Condition.UNAUTHORIZED_ACCESS,
    404: Condition.NOT_FOUND,
    409: Condition.RESOURCE_LOCKED,
}


@final
class ManagedQueues:
    """Makes, deletes and empties the queues of one upstream. Implements `Asker`."""

    def __init__(self, upstream: UpstreamContext, management: Management) -> None:
        self._upstream = upstream
        self._management = management

    def make(self, host: str, queue: str) -> bool:
        """Make a queue's node if it is missing and a rule wants that; whether one does."""
        name = self._upstream.addresses.made_name(host, queue)
        if name:
            body = queue_body(durable=True)
            self._management.ask("PUT", queue_path(name), body, self, 0, patient=True)
        return name != ""

    def remove(
        self, host: str, queue: str, waiter: LookUpWaiter, token: int, *, purge: bool = False
    ) -> Refusal | None:
        """Delete or empty a queue's node, or say why that cannot be tried; `waiter` is told."""
        upstream = self._upstream
        name = upstream.addresses.managed_name(host, queue)
        if not name:
            what = "empty" if purge else "delete"
            problem = f"upstream {upstream.name} offers no way to {what} a node"
            return Refusal(Condition.NOT_IMPLEMENTED, problem)
        path = f"{queue_path(name)}/messages" if purge else queue_path(name)
        self._management.ask("DELETE", path, NOTHING, Removal(upstream, waiter), token)
        return None

    def on_answer(self, token: int, answer: Answer) -> None:
        """The answer to `make`; who needs the queue tries again."""
        if not answer.done and answer.status != IS_ANOTHER:
            self._upstream.health.note_problem(f"cannot make a queue: {answer.text}")


@final
class Removal:
    """Implements `Asker`: a queue that is deleted or emptied for a client of the gateway's."""

    def __init__(self, upstream: UpstreamContext, waiter: LookUpWaiter) -> None:
        self._upstream = upstream
        self._waiter = waiter

    def on_answer(self, token: int, answer: Answer) -> None:
        """The queue is deleted or emptied, or why not: tell the client."""
        refusal: Refusal | None = None
        if answer.status == UNANSWERED:
            refusal = lasting(self._upstream.name, answer.text)
        elif not answer.done:
            condition = CONDITIONS.get(answer.status, Condition.PRECONDITION_FAILED)
            refusal = Refusal(condition, f"upstream {self._upstream.name}: {answer.text}")
        self._waiter.on_looked_up(token, refusal)


def queue_body(*, durable: bool) -> Tagged:
    """What is asked of a queue that is declared; one that is not durable is the connection's."""
    body: types.Map = [
        (text("durable"), _flag(durable)),
        (text("exclusive"), _flag(not durable)),
        (text("auto_delete"), _flag(False)),
        (text("arguments"), Tagged(types.MAP, [])),
    ]
    return Tagged(types.MAP, body)


def queue_path(queue: str) -> str:
    """The path of a queue."""
    return f"/queues/{quote(queue, safe='')}"


def text(value: str) -> Tagged:
    """A string, as management takes it."""
    return Tagged(types.STRING, value)


def _flag(value: bool) -> Tagged:
    return Tagged(types.BOOLEAN, value)
