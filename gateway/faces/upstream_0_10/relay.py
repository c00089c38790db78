"""Sends what is in one queue of the bridge to its node at a 0-10 upstream: the queue's outlet.

One relay for each queue that an upstream serves, with a session of its own. A message goes to a
queue by the default exchange, to an exchange with the key it came with; accept-mode explicit, so
that a peer which rejects says so. What an exception names is refused; all else that was under way
then, or when the connection was lost, is sent again, marked, in its order.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.events import CommandReceived, ResultReceived
from gateway.amqp_0_10.primitives import Ranges
from gateway.amqp_0_10.session import Session
from gateway.audit.digests import digest
from gateway.bridge.queues.queue import Queue
from gateway.bridge.queues.subscription import UNLIMITED
from gateway.bridge.remote.remote import LookUpWaiter
from gateway.bridge.seams import DeliverStatus
from gateway.faces import losses
from gateway.faces.checking import check, wants_look
from gateway.faces.dialled.bindings_first import BindingsFirst, Bound
from gateway.faces.dialled.context import DialledContext
from gateway.faces.dialled.outflow import Outflow
from gateway.faces.dialled.reaching import Reaching
from gateway.faces.dialled.returns import Returns
from gateway.faces.upstream_0_10.errors import refusal_of, text_of
from gateway.faces.upstream_0_10.known import Known, Node
from gateway.faces.upstream_0_10.outgoing import NOWHERE, Outgoing
from gateway.faces.upstream_0_10.replies import Replies
from gateway.faces.upstream_0_10.sessions import Sessions
from gateway.faces.upstream_0_10.unconfirmed import Ended, Unconfirmed
from gateway.message import Condition, Delivery, Outcome, OutcomeKind, Refusal
from gateway.translate.context import Translated010
from gateway.translate.facts import AMQP_0_10
from gateway.translate.outcomes import of_reject

NOTHING: Final = Refusal(Condition.NONE, "")


class Serving(Protocol):
    """The upstream as the bridge knows it: the `Remote` that serves the queue."""

    def on_relay_over(self, queue: Queue) -> None:
        """The relay of `queue` has stopped, and nothing of it is unsettled."""


@final
class Relay:
    """Implements `Outlet`, `Owner`, `returns.Stopping`, `SessionUser`, `Owing`,
    `Sleeper`.

    Attributes:
        outflow: the bridge's side.
    """

    __slots__ = (
        "_behind",
        "_bindings",
        "_known",
        "_number",
        "_outgoing",
        "_queue",
        "_reaching",
        "_refusal",
        "_remote",
        "_returns",
        "_session",
        "_sessions",
        "_slot",
        "_subscribing",
        "_suspicion",
        "_unconfirmed",
        "_upstream",
        "outflow",
    )

    def __init__(
        self,
        upstream: DialledContext,
        sessions: Sessions,
        bound: Bound,
        replies: Replies,
        remote: Serving,
        queue: Queue,
    ) -> None:
        self._upstream = upstream
        self._sessions = sessions
        self._remote = remote
        self._queue = queue
        self._number = upstream.bridge.numbers.next_owner()
        host = upstream.bridge.hosts[queue.host]
        self._subscribing = host.subscribing
        self.outflow = Outflow(upstream, queue)
        self._returns = Returns(upstream, host, self.outflow, self)
        self._suspicion = self._returns.suspicion
        self._outgoing = Outgoing(upstream, host, queue, replies, self.outflow)
        self._reaching = Reaching(upstream)
        self._known = Known()
        self._unconfirmed = Unconfirmed()
        self._bindings = BindingsFirst(bound, upstream.counts, queue, self.outflow)
        self._behind: dict[str, None] = {}  # queues that were sent to in this turn; "": an exchange
        self._session: Session | None = None
        self._slot = sessions.add(self)
        self._refusal = NOTHING

    def start(self) -> None:
        """Take what the queue has, from now on."""
        subscription = self._subscribing.relay(self._queue, self, self)
        self.outflow.subscription = subscription
        subscription.grant(UNLIMITED)

    def stop(self) -> None:
        """Send nothing more; over when nothing is unsettled."""
        outflow = self.outflow
        outflow.stopped = True
        if outflow.subscription is not None:
            outflow.subscription.stop()
        self._leave()

    def abandon(self) -> None:
        """Send nothing more, and wait for no outcome: what is unsettled goes back, marked."""
        self._give_back()
        self.stop()

    def reach(self, waiter: LookUpWaiter, token: int) -> bool:
        """Have `waiter` hear whether the queue's node exists; `False`: it does, or nobody knows."""
        node = self._outgoing.node()
        if not node[1] or (self._known.is_known(node) and self._known.refusal(node) is None):
            return False
        self._reaching.wait(waiter, token)
        self._known.forget_missing()
        session = self._session
        if session is not None:
            self._ask(session, node)
        else:
            self._slot.hurry()
        return True

    def unsettled(self) -> int:
        """How many copies the upstream has and has not settled."""
        return len(self._unconfirmed)

    # As an `Owner`.

    def owner_id(self) -> int:
        """The number that the bridge knows this relay by."""
        return self._number

    def connection_id(self) -> int:
        """No client's connection."""
        return 0

    def user(self) -> str:
        """No client's."""
        return ""

    # As an `Outlet`.

    def deliver(self, delivery: Delivery) -> DeliverStatus:
        """Send one message to its node."""
        outgoing = self._outgoing
        node = outgoing.node_of(delivery.message)
        if node == NOWHERE:
            text = f"{self._queue.name!r} has no address at upstream {self._upstream.name}"
            return self._refuse(Refusal(Condition.NOT_IMPLEMENTED, text))
        session = self._ready()
        if session is None or self._bindings.waits():
            return self.outflow.block()
        if not self._known.is_known(node):
            self._ask(session, node)
            return self.outflow.block()
        refusal = self._known.refusal(node)
        if refusal is not None:
            return self._refuse(refusal)
        made = outgoing.make(delivery, node)
        if made.header is None:
            losses.take_back(outgoing.context.counts, made.lost)
            return self.outflow.block()
        if made.lost:
            bridge, message = self._upstream.bridge, delivery.message
            losses.record(bridge, made.lost, message.id, delivery.subscription)
        if made.refusal is not None:
            return self._refuse(made.refusal)
        return self._send(session, delivery, made.translated, made.header, node)

    def _ready(self) -> Session | None:
        """The session, if something can be sent by it now."""
        upstream = self._upstream
        session = self._session
        if session is None or session.ended or upstream.draining or self._sessions.full:
            return None
        if upstream.bridge.now_ms < self.outflow.wait_until_ms:
            return None
        under_way = len(self._unconfirmed)
        most = 1 if self._suspicion.one_by_one else upstream.settings.window
        return session if under_way < most else None

    def _send(
        self,
        session: Session,
        delivery: Delivery,
        translated: Translated010,
        header: bytes,
        node: Node,
    ) -> DeliverStatus:
        upstream, message = self._upstream, delivery.message
        delivery.body_digest = digest(translated.body)
        delivery.body_changed = translated.body_changed
        delivery.id_digest = translated.id_digest
        context = self._outgoing.context
        if message.encoding != AMQP_0_10 and wants_look(message.id, translated.kind, context):
            check(
                upstream.bridge,
                delivery,
                translated.header,
                translated.body,
                translated.losses,
                context,
                empty_body=translated.empty_body,
            )
        exchange, name = node
        transfer = spec.MessageTransfer(
            destination=name if exchange else "",
            accept_mode=spec.AcceptMode.EXPLICIT,
            acquire_mode=spec.AcquireMode.PRE_ACQUIRED,
        )
        command_id = session.send_command(
            transfer, header=header, body=translated.body, empty_body=translated.empty_body
        )
        queue = "" if exchange else name
        delivery.sent_us = upstream.bridge.latency.now_us
        self._unconfirmed.add(command_id, delivery, queue)
        if not self._behind:
            self._sessions.owe(self)
        self._behind[queue] = None
        upstream.counts.sent += 1
        upstream.touch()
        return DeliverStatus.TAKEN

    def refusal(self) -> Refusal:
        """Why the last delivery was refused."""
        return self._refusal

    def on_attached(self) -> None:
        """A queue in transit is local: there was nothing to wait for."""

    def on_drained(self) -> None:
        """Never asked for."""

    def on_cancelled(self, condition: Condition, description: str) -> None:
        """The queue is gone; what is under way ends as the upstream says."""
        self.outflow.stopped = True
        self._leave()

    def _refuse(self, refusal: Refusal) -> DeliverStatus:
        self._refusal = refusal
        return DeliverStatus.REFUSED

    def _ask(self, session: Session, node: Node) -> None:
        if not session.ended and not self._known.is_asked(node):
            self._known.ask(session, node)
            self._upstream.touch()

    # As a `SessionUser`.

    def on_session(self, session: Session) -> None:
        """It is attached: ask whether the node is there."""
        self._session = session
        node = self._outgoing.node()
        if node[1]:
            self.outflow.note_link(node[1], self._sessions.number)
            self._ask(session, node)
        self.outflow.resume()

    def on_completed(self, ranges: Ranges) -> None:
        """Transfers are done, and with them mostly confirmed."""
        self._end(self._unconfirmed.on_completed(ranges))

    def on_result(self, event: ResultReceived) -> None:
        """Whether a node is there."""
        answer = self._known.take(event)
        if answer is None:
            return
        exchange, name = answer.node
        if answer.refusal is None:
            if not exchange:
                self._end(self._unconfirmed.on_seen(name, answer.command_id))
        else:
            self._wait_for_missing()
            if not exchange:
                gone = self._unconfirmed.on_missing(name, answer.command_id, answer.refusal)
                self._end(gone)
        if answer.node == self._outgoing.node():
            self._reaching.answer(answer.refusal)
        self.outflow.resume()

    def on_command(self, event: CommandReceived) -> None:
        """It rejects; that it accepts is told by the completion, too."""
        command = event.command
        if isinstance(command, spec.MessageReject):
            outcome = of_reject(command.code or 0, command.text or "")
            self._unconfirmed.on_rejected(command.transfers or [], outcome)
        event.session.complete(event.command_id, event.command_id)

    def on_exception(self, exception: spec.ExecutionException) -> None:
        """What it names is refused; of all else that was under way nobody knows."""
        self._session = None
        refusal = refusal_of(exception)
        command_id = exception.command_id
        if refusal is not None and self._known.deny(command_id, refusal):
            self._wait_for_missing()
            self._reaching.answer(refusal)
        elif refusal is not None and command_id is not None:
            delivery = self._unconfirmed.take(command_id)
            if delivery is not None:
                self._returns.on_outcome(
                    delivery,
                    Outcome(
                        OutcomeKind.REJECTED,
                        condition=refusal.condition,
                        description=refusal.description,
                    ),
                )
                self._slot.settle_down()
        else:
            self.on_broken()
        self._upstream.health.note_problem(f"to {self._queue.name}: {text_of(exception)}")
        self._again()

    def on_ended(self, why: str) -> None:
        """It is over without a word against a message."""
        self._again()

    def on_lost(self) -> None:
        """Gone with the connection."""
        self._session = None
        self._reaching.answer(None)
        self._known.forget()
        self._give_back()

    def on_room(self) -> None:
        """There is room again."""
        self.outflow.resume()

    def flush(self) -> None:
        """Ask behind what was sent in this turn, and have its completion told."""
        session = self._session
        if session is None or not self._behind or session.ended:
            return
        for queue in self._behind:
            if queue:
                self._known.ask(session, (False, queue))
        self._behind.clear()
        session.send_command(spec.ExecutionSync(), sync=True)

    def handle_deadline(self, now_ms: int) -> None:
        """What was not there may be by now."""
        if self._known.forget_missing():
            self.outflow.resume()
            node = self._outgoing.node()
            session = self._session
            if node[1] and session is not None:
                self._ask(session, node)

    def on_returned(self) -> None:
        """It was stopped, and one copy less is unsettled."""
        self._leave()

    def on_broken(self) -> None:
        """The upstream is about to break what these messages were sent by, or has."""
        unsettled = self._unconfirmed.deliveries()
        if not unsettled:
            return
        suspicion = self._suspicion
        if suspicion.on_broken(unsettled):
            self._unconfirmed.take_all()
            text = "the upstream broke off each time that this message was sent alone"
            self._returns.on_poison(unsettled[0], text)
        if suspicion.one_by_one:
            self.outflow.wait(self._upstream.settings.back_off_ms(suspicion.ends - 1))

    def _wait_for_missing(self) -> None:
        self._upstream.wake_in(self, self._upstream.settings.back_off_ms(1))

    def _again(self) -> None:
        self._session = None
        self._known.forget()
        self._give_back()
        if self.outflow.stopped:
            self._leave()
        else:
            self._slot.retry()
        self.outflow.resume()

    def _end(self, ended: list[Ended]) -> None:
        run = self._upstream.settling
        for each in ended:
            run.count_one(each.delivery.sent_us)
            self._returns.on_outcome(each.delivery, each.outcome)
        if ended:
            self._slot.settle_down()
            self.outflow.resume()

    def _give_back(self) -> None:
        """The outcome of what is under way is unknown."""
        self._behind.clear()
        for delivery in self._unconfirmed.take_all():
            self._returns.on_unknown(delivery)

    def _leave(self) -> None:
        """Stopped: the session goes once the upstream has settled everything."""
        subscription = self.outflow.subscription
        if subscription is None or self.unsettled():
            return
        self.outflow.subscription = None
        subscription.cancel()
        self._session = None
        self._upstream.unwake(self)
        self._reaching.answer_soon()
        self._slot.drop()
        self._remote.on_relay_over(self._queue)
