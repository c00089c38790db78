"""How answers find their way between the gateway's clients and those of a 0-10 upstream.

A request on its way there may name a node of the gateway alone in its reply-to. One queue of our
own at the upstream, exclusive to its session, is bound to amq.direct there by a key for each such
node and asker; a request goes with that key, and what comes by it is published to the node that was
named. A request that comes from there names nodes of the upstream: it goes on with the exchange
`upstream.NAME`. Rows: addresses.reply-node, reply-to-upstream, reply-to-unreachable.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.events import CommandReceived, ResultReceived
from gateway.amqp_0_10.primitives import Ranges
from gateway.amqp_0_10.session import Session
from gateway.audit.schema import Reason
from gateway.bridge.host import VirtualHost
from gateway.bridge.seams import PublishStatus
from gateway.faces.dialled.context import DialledContext
from gateway.faces.host_nodes import HostNodes
from gateway.faces.replying import Asker, Askers
from gateway.faces.safe_with import SafeWith
from gateway.faces.upstream_0_10.consumer import Consumer, names
from gateway.faces.upstream_0_10.errors import text_of
from gateway.faces.upstream_0_10.intake import Intake
from gateway.faces.upstream_0_10.sessions import Sessions, SessionSlot
from gateway.message import ACCEPTED, Condition, Loss, Message, Outcome, OutcomeKind
from gateway.translate.reply_to import UPSTREAM_EXCHANGE
from gateway.translate.towards_0_10.answers import lose_reply_to, reply_to_of, with_reply_to

DIRECT: Final = "amq.direct"
CREDIT: Final = 100
KEY_MAX: Final = 255  # octets
NOT_TAKEN: Final = Outcome(
    OutcomeKind.REJECTED, condition=Condition.NOT_FOUND, description="nobody waits for an answer"
)
Purpose = tuple[str, str, str, int]


class Held(Protocol):
    """A relay whose request waits."""

    def resume(self) -> None:
        """Perhaps it can be sent now."""


def node_of(address: str) -> tuple[str, str]:
    """Exchange and key of an address at the upstream: EXCHANGE/KEY, or the name of a queue."""
    exchange, slash, key = address.partition("/")
    return (exchange, key) if slash else ("", address)


def address_of(exchange: str, key: str) -> str:
    """The other way round."""
    return f"{exchange}/{key}" if exchange or "/" in key else key


@final
class Way:
    """By which answers come back to one node, for one asker.

    Attributes:
        bound: its key is, on the connection that there is.
    """

    __slots__ = ("asker", "bound", "number", "purpose")

    def __init__(self, number: int, purpose: Purpose, asker: Asker) -> None:
        self.number = number
        self.purpose = purpose
        self.asker = asker
        self.bound = False


@final
class Replies:
    """Of one virtual host at one upstream.

    Implements `SessionUser`, `Taker`, `Publisher`, `CommitWaiter`, `intake.Bearer`,
    `intake.Answers`.
    """

    def __init__(self, upstream: DialledContext, sessions: Sessions, host: VirtualHost) -> None:
        self._upstream = upstream
        self._sessions = sessions
        self._host = host
        settings = upstream.settings
        chance = int(settings.random() * 0xFFFFFFFF)
        self._name = f"{settings.container_id[:64]}.{host.name[:64]}.answers-{chance:08x}"
        self._link = upstream.bridge.numbers.next_link()
        self._nodes = HostNodes(host)
        self._askers = Askers(upstream.faces, upstream.bridge, host)
        self._ways: dict[int, Way] = {}
        self._by_purpose: dict[Purpose, Way] = {}
        self._last = 0
        self._binding: dict[int, Way] = {}  # by the command that binds its key
        self._held: dict[Held, None] = {}
        self._slot: SessionSlot | None = None
        self._consumer = Consumer()
        self._intake = Intake(upstream, self, self, copies=False)
        self._safe_with = SafeWith(upstream.bridge)
        self._refused = False

    # Requests.

    def outgoing(
        self, message: Message, header: bytes, lost: list[Loss], held: Held
    ) -> bytes | None:
        """The header segment as it goes to the upstream; `None`: it has to wait."""
        pair = reply_to_of(header, len(header))
        if pair is None:
            return header
        exchange, key = pair.exchange or "", pair.routing_key or ""
        if exchange == UPSTREAM_EXCHANGE + self._upstream.name:
            exchange, key = node_of(key)
        elif not self._is_here(exchange, key):
            return header
        else:
            way = self._way(message, exchange, key)
            if way is None:
                lost.append(lose_reply_to(self._upstream.faces.translated))
                return header
            if not way.bound:
                self._held[held] = None
                return None
            exchange, key = DIRECT, self._key(way)
        return with_reply_to(header, len(header), spec.ReplyTo(exchange=exchange, routing_key=key))

    def incoming(self, payload: bytes, body_at: int) -> bytes:
        """The header segment of a message as it goes on at the gateway."""
        pair = reply_to_of(payload, body_at)
        if pair is None:
            return payload[:body_at]
        exchange, key = pair.exchange or "", pair.routing_key or ""
        way = self._way_of(key) if exchange == DIRECT else None
        if way is not None:
            exchange, key = way.purpose[0], way.purpose[1]
        elif self._stays(exchange, key):
            return payload[:body_at]
        else:
            exchange, key = UPSTREAM_EXCHANGE + self._upstream.name, address_of(exchange, key)
        if len(key.encode("utf-8")) > KEY_MAX:
            lose_reply_to(self._upstream.faces.translated)
            return payload[:body_at]
        pair = spec.ReplyTo(exchange=exchange, routing_key=key)
        return with_reply_to(payload, body_at, pair)

    def _stays(self, exchange: str, key: str) -> bool:
        """Whether what comes with this reply-to is answered by it at the gateway, too."""
        nodes = self._nodes
        if nodes.upstream_of(exchange, key) == self._upstream.name:
            return True
        return self._refused and self._is_here(exchange, key)  # it may have gone there so

    def _is_here(self, exchange: str, key: str) -> bool:
        """Whether this names a node that is the gateway's alone; others are there, or nowhere."""
        nodes = self._nodes
        is_here = nodes.is_exchange(exchange) if exchange else nodes.is_queue(key)
        return is_here and nodes.upstream_of(exchange, key) != self._upstream.name

    def _key(self, way: Way) -> str:
        return f"{self._name}.{way.number}"

    def _way_of(self, key: str) -> Way | None:
        name, _, number = key.rpartition(".")
        if name != self._name or not number.isdecimal() or len(number) > 18:
            return None
        return self._ways.get(int(number))

    def _way(self, message: Message, exchange: str, key: str) -> Way | None:
        if self._refused:
            return None
        asker = self._askers.of(message)
        if not asker.may_be_answered(exchange, key):
            asker.deny(exchange, key, message.id)
            return None
        user, connection = asker.whose()
        purpose = (exchange, key, user, connection)
        way = self._by_purpose.get(purpose)
        if way is not None:
            return way
        while len(self._ways) >= self._upstream.settings.reply_nodes_max:
            self._forget(self._ways[next(iter(self._ways))])
        self._last += 1
        way = Way(self._last, purpose, asker.stay(self._host))
        self._ways[way.number] = way
        self._by_purpose[purpose] = way
        session = self._consumer.live()
        if self._slot is None:
            self._slot = self._sessions.add(self)
            self._upstream.takers.add(self)
        elif session is not None:
            self._bind(session, way)
        return way

    def _bind(self, session: Session, way: Way) -> None:
        command = spec.ExchangeBind(queue=self._name, exchange=DIRECT, binding_key=self._key(way))
        self._binding[session.send_command(command, sync=True)] = way
        self._upstream.touch()

    def _forget(self, way: Way) -> None:
        del self._ways[way.number]
        del self._by_purpose[way.purpose]
        way.asker.access.leave()
        session = self._consumer.live()
        if session is not None:
            session.send_command(
                spec.ExchangeUnbind(queue=self._name, exchange=DIRECT, binding_key=self._key(way))
            )

    def _resume(self) -> None:
        held, self._held = self._held, {}
        for each in held:
            each.resume()

    # As a `SessionUser`.

    def on_session(self, session: Session) -> None:
        """Make the queue, bind what there is, and read it."""
        session.send_command(spec.QueueDeclare(queue=self._name, exclusive=True, auto_delete=True))
        for way in self._ways.values():
            self._bind(session, way)
        self._consumer.subscribe(session, self._name, acquire=True)
        self._upstream.touch()

    def on_completed(self, ranges: Ranges) -> None:
        """Keys are bound: requests that wait can go."""
        self._intake.on_completed(ranges)
        for command_id, way in list(self._binding.items()):
            if names(ranges, command_id):
                del self._binding[command_id]
                way.bound = True
        if self._consumer.agrees(ranges):
            self._refused = False
            if self._slot is not None:
                self._slot.settle_down()
            self._upstream.note_link(
                self._link, 0, address=self._name, connection=self._sessions.number
            )
            self.on_credit()
        if self._consumer.is_used_up(ranges):
            self._consumer.empty()
        self._resume()

    def on_result(self, event: ResultReceived) -> None:
        """Nothing is asked."""

    def on_command(self, event: CommandReceived) -> None:
        """One answer."""
        if not isinstance(event.command, spec.MessageTransfer):
            event.session.complete(event.command_id, event.command_id)
            return
        self._consumer.took()
        self.on_credit()
        taken = self._intake.take(event)
        if taken is None:
            return
        message, token = taken.message, taken.token
        way = self._way_of(message.routing_key)
        if way is None:
            self.refuse(message, Reason.CANCELLED)
            self._settle(token, NOT_TAKEN)
            return
        exchange, key = way.purpose[0], way.purpose[1]
        message.exchange, message.routing_key = exchange, key
        if not way.asker.may_be_answered(exchange, key):
            self.refuse(message, Reason.NOT_ALLOWED)
            way.asker.deny(exchange, key, message.id)
            self._settle(token, NOT_TAKEN)
            self._forget(way)
            return
        status = self._host.publishing.publish(message, self, token, self._link).status
        if status == PublishStatus.DONE:
            self._settle(token, ACCEPTED)
        elif status == PublishStatus.IN_TURN:
            self._safe_with.add(token, self)
        elif status != PublishStatus.PENDING:
            self._settle(token, NOT_TAKEN)
            self._forget(way)

    def on_exception(self, exception: spec.ExecutionException) -> None:
        """We may not: requests go without a way back, until another try succeeds."""
        self._refused = True
        self._upstream.health.note_problem(f"no way for answers: {text_of(exception)}")
        self._again()

    def on_ended(self, why: str) -> None:
        """The peer has detached the session."""
        self._again()

    def _again(self) -> None:
        self.on_lost()
        if self._slot is not None:
            self._slot.retry()

    def on_lost(self) -> None:
        """It is made again, and bound by the same keys."""
        self._consumer.lose()
        self._intake.lose()
        self._safe_with.clear()
        self._binding.clear()
        for way in self._ways.values():
            way.bound = False
        self._resume()

    def on_room(self) -> None:
        """Nothing waits for it."""

    # As a `Publisher` and `CommitWaiter`.

    def on_published(self, token: int, outcome: Outcome) -> None:
        """An answer that had to wait has ended."""
        self._settle(token, outcome)

    def on_committed(self, turn: int) -> None:
        """Accept the answers of that turn."""
        for first, last in self._safe_with.take(turn):
            for token in range(first, last + 1):
                self._settle(token, ACCEPTED)

    def _settle(self, token: int, outcome: Outcome) -> None:
        self._intake.settle(self._consumer.session, token, outcome)
        self.on_credit()

    # As a `Taker` and a `Bearer`.

    @property
    def host(self) -> str:
        """The name of the virtual host."""
        return self._host.name

    def refuse(self, message: Message, reason: Reason) -> None:
        """A message has come that goes no further."""
        self._host.publishing.refuse(message, reason, self._link)

    def on_credit(self) -> None:
        """Look at it at the end of the turn."""
        self._upstream.takers.owe(self)

    def outstanding(self) -> int:
        """Deliveries without an outcome."""
        return self._intake.outstanding

    def flush(self) -> None:
        """Say what was settled, and give credit."""
        session = self._consumer.live()
        if session is None:
            return
        self._intake.flush(session)
        if self._consumer.may_follow():
            self._consumer.follow(session, self._intake.allowed(CREDIT))
