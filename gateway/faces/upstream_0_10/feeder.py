"""What a binding of a queue to an exchange of a 0-10 upstream is there: a queue of our own.

It is exclusive to its session and goes with it, so that nothing is left behind; what is published
while there is no connection is missed. It is bound as the binding says, and subscribed to.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.events import CommandReceived, ResultReceived
from gateway.amqp_0_10.primitives import Ranges
from gateway.amqp_0_10.session import Session
from gateway.audit.schema import Flag as AuditFlag
from gateway.bridge.exchanges.exchange import HEADERS
from gateway.bridge.remote.remote import Feed, LookUpWaiter
from gateway.faces.dialled.context import DialledContext
from gateway.faces.dialled.reaching import Reaching
from gateway.faces.placed import matches_headers, selector_of
from gateway.faces.upstream_0_10.consumer import Consumer
from gateway.faces.upstream_0_10.errors import refusal_of, text_of
from gateway.faces.upstream_0_10.intake import Answers, Intake
from gateway.faces.upstream_0_10.sessions import Sessions, SessionSlot
from gateway.message import Condition, Outcome, Refusal
from gateway.wire.tagged import Tagged

NAME_MAX: Final = 255  # octets


class FeederList(Protocol):
    """Where feeders stand until they are over."""

    def forget_feeder(self, feeder: Feeder) -> None:
        """It is over."""


@final
class Feeder:
    """Implements `bridge.remote.remote.FeedSource`, `SessionUser`, `Taker`, `Awaited`.

    Attributes:
        feed: what it feeds.
        problem: why nothing comes, for operators; "" while all is well.
    """

    def __init__(
        self,
        upstream: DialledContext,
        sessions: Sessions,
        answers: Answers,
        feeders: FeederList,
        feed: Feed,
    ) -> None:
        self._upstream = upstream
        self._sessions = sessions
        self._feeders = feeders
        self.feed = feed
        self.problem = ""
        self._exchange = upstream.addresses.exchange_address(feed.host, feed.exchange, feed.key)
        self._intake = Intake(upstream, feed, answers, copies=False)
        self._consumer = Consumer()
        self._reaching = Reaching(upstream)
        self._left = False
        self._over = False
        self._slot: SessionSlot | None = None
        refusal = feeding_refused(
            upstream, feed.host, feed.exchange, feed.queue_name, feed.key, feed.arguments
        )
        if refusal is None:
            self._slot = sessions.add(self)
        else:
            self._refused(refusal.description)

    def _tell(self, problem: str) -> None:
        feed = self.feed
        self.problem = problem
        self._upstream.health.note_problem(
            f"nothing comes from exchange {feed.exchange!r} with key {feed.key!r} for queue"
            f" {feed.queue_name!r}: {problem}"
        )
        self._reaching.answer(None)

    def _refused(self, problem: str) -> None:
        self._upstream.counts.feeds_refused += 1
        self._tell(problem)

    # As a `FeedSource`.

    def reach(self, waiter: LookUpWaiter, token: int) -> bool:
        """While the upstream is asked."""
        return self._upstream.health.connected and self.awaits(waiter, token)

    def awaits(self, waiter: LookUpWaiter, token: int) -> bool:
        """Have `waiter` hear when it is bound, or there is a problem; `False`: it is bound."""
        if self._consumer.agreed or self.problem or self._left:
            return False
        self._reaching.wait(waiter, token)
        return True

    def on_published(self, token: int, outcome: Outcome) -> None:
        """A message is safe in the queue, or could not be kept."""
        self._intake.settle(self._consumer.session, token, outcome)
        self.on_credit()
        self._finish()

    def on_credit(self) -> None:
        """Look at what is wanted at the end of the turn."""
        self._upstream.takers.owe(self)

    def on_moved(self) -> None:
        """The exchange lives elsewhere: nothing of ours stays."""
        self.on_left()

    def on_left(self) -> None:
        """The binding is gone."""
        self._left = True
        self._reaching.answer_soon()
        session = self._consumer.live()
        if session is not None and self._consumer.agreed and self._intake.outstanding:
            self._consumer.cancel(session)
            self._upstream.touch()
        self._finish()

    def _finish(self) -> None:
        if not self._left or self._intake.outstanding or self._over:
            return
        self._over = True
        session, slot = self._consumer.live(), self._slot
        if session is not None:
            self._intake.flush(session)
        self._consumer.lose()
        self._feeders.forget_feeder(self)
        self._upstream.takers.forget(self)
        self._slot = None
        if slot is not None:
            slot.drop()

    def outstanding(self) -> int:
        """Deliveries without an outcome."""
        return self._intake.outstanding

    # As a `SessionUser`.

    def on_session(self, session: Session) -> None:
        """Make the queue, bind and read it: one after the other, and whatever fails ends all."""
        feed = self.feed
        name = f"{self._sessions.name_of(session)}.{feed.queue_name}"
        queue = name.encode("utf-8")[:NAME_MAX].decode("utf-8", "ignore")
        session.send_command(spec.QueueDeclare(queue=queue, exclusive=True, auto_delete=True))
        session.send_command(
            spec.ExchangeBind(queue=queue, exchange=self._exchange, binding_key=feed.key)
        )
        self._consumer.subscribe(session, queue, acquire=True)
        self._upstream.touch()

    def on_completed(self, ranges: Ranges) -> None:
        """The subscription is in force, and with it what stands before it."""
        self._intake.on_completed(ranges)
        if self._consumer.agrees(ranges):
            self.problem = ""
            feed = self.feed
            self._upstream.note_link(
                feed.link,
                feed.node,
                address=f"{self._exchange}/{feed.key}",
                connection=self._sessions.number,
                flags=AuditFlag.PUBLISHER,
            )
            if self._slot is not None:
                self._slot.settle_down()
            self._reaching.answer(None)
            self.on_credit()
        if self._consumer.is_used_up(ranges):
            self._consumer.empty()
            self.on_credit()

    def on_result(self, event: ResultReceived) -> None:
        """Nothing is asked."""

    def on_command(self, event: CommandReceived) -> None:
        """One message for the queue."""
        if not isinstance(event.command, spec.MessageTransfer):
            event.session.complete(event.command_id, event.command_id)
            return
        self._consumer.took()
        self.on_credit()
        if self._left:
            self._intake.let_go(event)
            return
        taken = self._intake.take(event)
        if taken is not None:
            taken.message.exchange = taken.message.exchange or self.feed.exchange
            self.feed.receive(taken.message, taken.token)

    def on_exception(self, exception: spec.ExecutionException) -> None:
        """The peer does not want the subscription, or not any more: it is configured, try again."""
        self._let_go()
        if refusal_of(exception) is None:
            self._tell(text_of(exception))
        else:
            self._refused(text_of(exception))
        self._again()

    def on_ended(self, why: str) -> None:
        """The peer has detached the session."""
        self._let_go()
        self._tell(why)
        self._again()

    def on_lost(self) -> None:
        """It is made again with the next connection."""
        self._let_go()
        self._finish()

    def on_room(self) -> None:
        """Nothing waits for it."""

    def _let_go(self) -> None:
        self._consumer.lose()
        self._intake.lose()

    def _again(self) -> None:
        if self._left:
            self._finish()
        elif self._slot is not None:
            self._slot.retry()

    # Credit and outcomes, at the end of a turn.

    def flush(self) -> None:
        """Say what was settled, and have the credit follow what is wanted."""
        session = self._consumer.live()
        if session is None:
            return
        self._intake.flush(session)
        if not self._left and self._consumer.may_follow():
            self._consumer.follow(session, self._intake.allowed(self.feed.wanted()))


def feeding_refused(
    upstream: DialledContext,
    host: str,
    exchange: str,
    queue: str,
    key: str,
    arguments: dict[str, Tagged],
) -> Refusal | None:
    """Why a binding cannot be one at the upstream."""
    what = ""
    if upstream.profile.subscriptions == "none":
        what = "let others subscribe to an exchange"
    elif upstream.shares(host, queue):
        what = "share a subscription between gateways"
    elif selector_of(arguments):
        what = "select"
    elif upstream.addresses.exchange_type(host, exchange) == HEADERS and matches_headers(arguments):
        what = "match headers for a subscription"
    if not what:
        return None
    return Refusal(Condition.NOT_IMPLEMENTED, f"upstream {upstream.name} does not {what}")
