"""Which nodes of a 0-10 upstream there are, as one session has asked.

A 0-10 broker may take a message for a queue that is not there, complete it and drop it. So a relay
asks before it sends to a queue, and again behind what it has sent: commands are carried out in
their order, so what lies between two answers that the queue is there has gone into it.
"""

from __future__ import annotations

from typing import Final, final

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.events import ResultReceived
from gateway.amqp_0_10.session import Session
from gateway.amqp_0_10.structs import open_struct
from gateway.errors import DecodeError
from gateway.message import Condition, Refusal

REMEMBERED_MAX: Final = 1_000  # queues that the exchange `upstream.NAME` has sent to


@final
class Answer:
    """What there is to know of one node.

    Attributes:
        refusal: why nothing can be sent to it; `None`: it is there.
    """

    __slots__ = ("command_id", "name", "refusal")

    def __init__(self, command_id: int, name: str, refusal: Refusal | None) -> None:
        self.command_id = command_id
        self.name = name
        self.refusal = refusal


@final
class Known:
    """What one session has asked; `exchanges`: of these, else of queues."""

    __slots__ = ("_answers", "_asked", "_denied", "_exchanges")

    def __init__(self, *, exchanges: bool) -> None:
        self._exchanges = exchanges
        self._asked: dict[int, str] = {}  # by the query's command id
        self._answers: dict[str, Refusal | None] = {}
        self._denied: dict[str, Refusal] = {}

    def forget(self) -> None:
        """The session is over. Who may not ask may not ask by the next one, for a while."""
        self._asked.clear()
        self._answers.clear()

    def forget_missing(self) -> bool:
        """Ask again for what was not there; whether there was any."""
        missing = [name for name, refusal in self._answers.items() if refusal is not None]
        for name in missing:
            del self._answers[name]
        found = len(missing) + len(self._denied) > 0
        self._denied.clear()
        return found

    def is_known(self, name: str) -> bool:
        """Whether there is an answer."""
        return name in self._answers or name in self._denied

    def refusal(self, name: str) -> Refusal | None:
        """Why nothing can be sent to a node that is known."""
        denied = self._denied.get(name)
        return self._answers.get(name) if denied is None else denied

    def is_asked(self, name: str) -> bool:
        """Whether an answer is to come."""
        return name in self._asked.values()

    def ask(self, session: Session, name: str) -> None:
        """Ask, behind all that was sent before."""
        query = spec.ExchangeQuery(name=name) if self._exchanges else spec.QueueQuery(queue=name)
        self._asked[session.send_command(query, sync=True)] = name

    def take(self, event: ResultReceived) -> Answer | None:
        """An answer; `None`: it is to no question of ours."""
        name = self._asked.pop(event.command_id, None)
        if name is None:
            return None
        refusal = None if is_there(event) else missing(name, exchange=self._exchanges)
        if len(self._answers) >= REMEMBERED_MAX:
            del self._answers[next(iter(self._answers))]
        self._answers[name] = refusal
        return Answer(event.command_id, name, refusal)

    def deny(self, command_id: int | None, refusal: Refusal) -> bool:
        """The session has ended over this command; whether that was a question."""
        name = None if command_id is None else self._asked.get(command_id)
        if name is None:
            return False
        self._denied[name] = refusal
        return True


def is_there(event: ResultReceived) -> bool:
    """Whether an answer to queue.query or exchange.query says so."""
    if event.value is None:
        return False
    try:
        found = open_struct(event.value)
    except DecodeError:
        return False
    if isinstance(found, spec.ExchangeQueryResult):
        return not found.not_found
    return isinstance(found, spec.QueueQueryResult) and bool(found.queue)


def missing(name: str, *, exchange: bool) -> Refusal:
    """What is said of a node that is not there."""
    what = "exchange" if exchange else "queue"
    return Refusal(Condition.NOT_FOUND, f"the upstream has no {what} {name!r}")
