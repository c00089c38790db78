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


Node = tuple[bool, str]
"""Whether it is an exchange, else it is a queue; its name."""


@final
class Answer:
    """What there is to know of one node.

    Attributes:
        refusal: why nothing can be sent to it; `None`: it is there.
    """

    __slots__ = ("command_id", "node", "refusal")

    def __init__(self, command_id: int, node: Node, refusal: Refusal | None) -> None:
        self.command_id = command_id
        self.node = node
        self.refusal = refusal


@final
class Known:
    """What one session has asked."""

    __slots__ = ("_answers", "_asked", "_denied")

    def __init__(self) -> None:
        self._asked: dict[int, Node] = {}  # by the query's command id
        self._answers: dict[Node, Refusal | None] = {}
        self._denied: dict[Node, Refusal] = {}

    def forget(self) -> None:
        """The session is over. Who may not ask may not ask by the next one, for a while."""
        self._asked.clear()
        self._answers.clear()

    def forget_missing(self) -> bool:
        """Ask again for what was not there; whether there was any."""
        missing = [node for node, refusal in self._answers.items() if refusal is not None]
        for node in missing:
            del self._answers[node]
        found = len(missing) + len(self._denied) > 0
        self._denied.clear()
        return found

    def is_known(self, node: Node) -> bool:
        """Whether there is an answer."""
        return node in self._answers or node in self._denied

    def refusal(self, node: Node) -> Refusal | None:
        """Why nothing can be sent to a node that is known."""
        denied = self._denied.get(node)
        return self._answers.get(node) if denied is None else denied

    def is_asked(self, node: Node) -> bool:
        """Whether an answer is to come."""
        return node in self._asked.values()

    def ask(self, session: Session, node: Node) -> None:
        """Ask, behind all that was sent before."""
        exchange, name = node
        query = spec.ExchangeQuery(name=name) if exchange else spec.QueueQuery(queue=name)
        self._asked[session.send_command(query, sync=True)] = node

    def take(self, event: ResultReceived) -> Answer | None:
        """An answer; `None`: it is to no question of ours."""
        node = self._asked.pop(event.command_id, None)
        if node is None:
            return None
        refusal = None if is_there(event) else missing(node[1], exchange=node[0])
        if len(self._answers) >= REMEMBERED_MAX:
            del self._answers[next(iter(self._answers))]
        self._answers[node] = refusal
        return Answer(event.command_id, node, refusal)

    def deny(self, command_id: int | None, refusal: Refusal) -> bool:
        """The session has ended over this command; whether that was a question."""
        node = None if command_id is None else self._asked.get(command_id)
        if node is None:
            return False
        self._denied[node] = refusal
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


def depth_of(event: ResultReceived) -> int:
    """How many messages a queue that is there has, by the answer."""
    found = None if event.value is None else open_struct(event.value)
    return (found.message_count or 0) if isinstance(found, spec.QueueQueryResult) else 0


def missing(name: str, *, exchange: bool) -> Refusal:
    """What is said of a node that is not there."""
    what = "exchange" if exchange else "queue"
    return Refusal(Condition.NOT_FOUND, f"the upstream has no {what} {name!r}")
