"""A queue and its subscriptions: who gets which copy.

Subscriptions that simply take what comes next are *takers*: they share the queue's one view, so a
copy costs constant time however many there are. *Lookers* - browsers, those with a filter, and
everybody on a queue where some copy is kept from some subscription - each walk the queue by a
cursor of their own (`looking`). Both kinds are served in turn, one copy each.
"""

from __future__ import annotations

from collections import deque
from typing import Final, Protocol, final

from gateway.bridge.queues.dispatch import Dispatcher
from gateway.bridge.queues.groups import NOBODY, Groups
from gateway.bridge.queues.looking import go_on, look, look_again, look_back, over
from gateway.bridge.queues.places import NO_PAGE, Entry
from gateway.bridge.queues.queue import Queue
from gateway.bridge.queues.subscription import Subscription
from gateway.bridge.seams import DeliverStatus
from gateway.message import Condition, Delivery, Message, Refusal
from gateway.wire.work import LINK, LOOK, OCTETS_SENT, OFFERED, SENDING, SHARE, VERB, WORK

EXCLUDED_MAX: Final = 1000  # of one copy
FEW: Final = 16  # subscriptions that end at once, however busy the turn


class Left(Protocol):
    """Who wants to know that a subscription has ended: its virtual host."""

    def on_subscription_left(self, subscription: Subscription) -> None:
        """It was cancelled, and its line has forgotten it."""

    def on_link_gone(self, subscription: Subscription) -> None:
        """It is cancelled and nothing of it is unsettled any more."""

    def on_unsendable(self, queue: Queue, entry: Entry, refusal: Refusal | None) -> None:
        """A copy of a remote queue that its only outlet cannot send; `refusal`: nor any other."""


@final
class Cancellation:
    """The end of all subscriptions of a line. Implements `Piecework`."""

    __slots__ = ("_line", "_why")

    def __init__(self, line: Line, why: Refusal) -> None:
        self._line = line
        self._why = why

    def who(self) -> str:
        """See `Piecework`."""
        return f"queue {self._line.queue.name!r}, whose subscriptions end"

    def go_on(self, end: int) -> bool:
        """See `Piecework`.

        All of a turn have ended before the first outlet is told: what it does then may end others,
        and the owner of several ends with the first.
        """
        subscriptions = self._line.subscriptions
        ended: list[Subscription] = []
        while subscriptions and WORK.units <= end:
            WORK.units += 2 * LINK  # its outlet's, too
            subscription = next(iter(subscriptions.values()))
            subscription.cancelled = True
            self._line.leave(subscription)
            ended.append(subscription)
        why = self._why
        for subscription in ended:
            subscription.outlet.on_cancelled(why.condition, why.description)
        return not subscriptions


@final
class Line:
    """One queue and its subscriptions. Implements `paging.Waiter`.

    Attributes:
        subscriptions: the living ones, by number.
        scheduled: it waits for its turn in the dispatcher.
        cancelled: all subscriptions end; nothing is sent any more.
    """

    __slots__ = (
        "_choosers",
        "_choosy",
        "_dispatcher",
        "_draining",
        "_gone",
        "_host",
        "_lookers",
        "_takers",
        "_waits",
        "cancelled",
        "queue",
        "scheduled",
        "subscriptions",
    )

    def __init__(self, queue: Queue, dispatcher: Dispatcher, host: Left) -> None:
        self.queue = queue
        self.subscriptions: dict[int, Subscription] = {}
        self.scheduled = False
        self.cancelled = False
        self._dispatcher = dispatcher
        self._host = host
        self._takers: deque[Subscription] = deque()
        self._lookers: deque[Subscription] = deque()
        self._draining: dict[int, Subscription] = {}
        self._gone = 0  # cancelled ones among the takers and lookers, at most
        self._choosers = 0  # consumers with a filter
        self._choosy = queue.choosy
        self._waits = False  # for a page that is away: what is left of this turn may be in it

    def join(self, subscription: Subscription) -> None:
        """A new subscription, still without credit."""
        self.subscriptions[subscription.number] = subscription
        if self.queue.groups is not None and subscription.name:
            whose = subscription.owner.owner_id()
            self.queue.groups.join(subscription.number, whose, subscription.name)
        self._dispatcher.links[subscription.number] = subscription
        self.queue.users.links += 1
        self.queue.users.subscriptions += 1
        self.queue.users.ever = True
        if subscription.exclusive:
            self.queue.entrance.alone = subscription.owner
        if subscription.acquire:
            self.queue.users.consumers += 1
            if subscription.filter is not None:
                self._choosers += 1

    def halt(self, subscription: Subscription) -> None:
        """A subscription was stopped: it is passed over while it has no credit."""

    def leave(self, subscription: Subscription) -> None:
        """A subscription was cancelled: forget it, and tell the host."""
        self._forget(subscription)
        self._host.on_subscription_left(subscription)
        if subscription.is_settled():
            self._host.on_link_gone(subscription)

    def cancel_all(self, condition: Condition, description: str) -> None:
        """End every subscription: its queue is gone, or its upstream does not have the node.

        If they are very many, it goes on over several turns; nothing is sent to them meanwhile.
        """
        self.cancelled = True
        cancellation = Cancellation(self, Refusal(condition, description))
        if len(self.subscriptions) <= FEW:
            cancellation.go_on(WORK.units + SHARE)
        else:
            self._dispatcher.copies.turns.spread.begin(cancellation)

    def _forget(self, subscription: Subscription) -> None:
        del self.subscriptions[subscription.number]
        self.queue.users.subscriptions -= 1
        if subscription.exclusive:
            self.queue.entrance.alone = None
        if self.queue.groups is not None and subscription.name:
            whose = subscription.owner.owner_id()
            self.queue.groups.leave(subscription.number, whose, subscription.name)
        if subscription.acquire:
            self.queue.users.consumers -= 1
            if subscription.filter is not None:
                self._choosers -= 1
        self._draining.pop(subscription.number, None)
        if subscription.active:
            # Passed over until it is taken out with others: there may be very many of them.
            subscription.blocked = True
            self._gone += 1
            if 2 * self._gone > len(self._takers) + len(self._lookers):
                self._gone = 0
                for ring in (self._takers, self._lookers):
                    left = [each for each in ring if not each.cancelled]
                    ring.clear()
                    ring.extend(left)

    def wake(self, subscription: Subscription) -> None:
        """A subscription may be able to take deliveries, or drains: it has a turn."""
        if subscription.cancelled:
            return
        if subscription.draining:
            self._draining[subscription.number] = subscription
        elif not self._able(subscription):
            return
        if not subscription.active:
            subscription.active = True
            ring = self._lookers if self._looks(subscription) else self._takers
            ring.append(subscription)
        if self.queue.groups is not None:
            self.queue.groups.ready[subscription.number] = None
        self._dispatcher.schedule(self)

    def on_entered(self) -> None:
        """A copy came in, or came back."""
        if self._takers or self._lookers:
            self._dispatcher.schedule(self)

    def on_returned(self, entry: Entry) -> None:
        """An acquired copy is available again: lookers that have passed it look back."""
        if self._choosers or self._choosy or self.queue.choosy:
            for subscription in self.subscriptions.values():
                if subscription.acquire and self._looks(subscription):
                    look_back(self.queue, subscription, entry)
        self.on_entered()

    def exclude(self, entry: Entry, whom: int) -> None:
        """Keep a copy from a subscription from now on, or, negative, from all of an owner."""
        excluded = entry.excluded
        if excluded is None:
            excluded = set()
            entry.excluded = excluded
        if len(excluded) >= EXCLUDED_MAX:
            excluded.discard(min(excluded, key=abs))  # it has gone, most likely
        excluded.add(whom)
        self.queue.choosy = True

    def has_ready_consumer(self, message: Message) -> bool:
        """Whether a copy of `message` that comes in now could be sent at once.

        No, where to ask all their filters would be too much work.
        """
        end = WORK.units + VERB
        groups = self.queue.groups
        owner = NOBODY if groups is None else groups.owner_of(message)
        for ring in (self._takers, self._lookers):
            for subscription in ring:
                if (
                    subscription.acquire
                    and self._able(subscription)
                    and owner in (NOBODY, subscription.number)
                    and (subscription.filter is None or subscription.filter.accepts(message))
                ):
                    return True
                if WORK.units > end:
                    WORK.refused += 1
                    return False
        return False

    def run(self) -> bool:
        """Send what can be sent within the budget; whether there is more to do at once."""
        dispatcher = self._dispatcher
        groups = self.queue.groups
        self._waits = False
        if self._may_send():
            takers = lookers = True
            if groups is not None:
                self._look_again(groups)
            while (takers or lookers) and dispatcher.budget > 0:
                if self._choosy != self.queue.choosy:
                    self._regroup()
                    takers = lookers = True
                if takers:
                    takers = self._serve_taker()
                if lookers:
                    lookers = self._serve_looker()
            if self.queue.places.away:
                self._look_ahead()
            if dispatcher.budget <= 0 or (groups is not None and groups.freed is not None):
                return True
        return len(self._draining) > 0 and not self._waits and self._finish_drains()

    def _look_ahead(self) -> None:
        """Pages of the queue are away: those are brought back that are wanted next."""
        self.queue.places.wanted.clear()
        if self.queue.users.consumers > self._choosers:
            self._dispatcher.copies.paging.look_ahead(self.queue)

    def on_page(self) -> None:
        """See `paging.Waiter`."""
        if self.queue.groups is not None:
            self.queue.groups.come()
        self._dispatcher.schedule(self)

    def _await_page(self) -> None:
        """There is nothing to send in front of a page that is away, if that is why."""
        number = self.queue.places.missed
        if number != NO_PAGE:
            self._waits = True
            self._dispatcher.copies.paging.want(self.queue, number, self)

    def _may_send(self) -> bool:
        queue = self.queue
        placement = queue.placement
        if self.cancelled:
            return False
        if placement is None or queue.inbound:
            return not self._dispatcher.stopped
        # A spool, too, is sent on no more once the gateway stops: it is safe where it is.
        return not placement.rests and (queue.transit or not self._dispatcher.stopped)

    def _looks(self, subscription: Subscription) -> bool:
        return self._choosy or not subscription.acquire or subscription.filter is not None

    def _able(self, subscription: Subscription) -> bool:
        return not subscription.blocked and subscription.allowance.some()

    def _regroup(self) -> None:
        """The queue became choosy, or no longer is: consumers without filter change their kind."""
        self._choosy = self.queue.choosy
        active = [each for each in (*self._takers, *self._lookers) if not each.cancelled]
        self._takers.clear()
        self._lookers.clear()
        for subscription in active:
            ring = self._lookers if self._looks(subscription) else self._takers
            ring.append(subscription)
        for subscription in self.subscriptions.values():
            if subscription.acquire and subscription.filter is None:
                for walk in subscription.walks:
                    walk.begin_again()

    def _look_again(self, groups: Groups) -> None:
        """Whoever looks has passed copies of groups that others had, and that are free by now."""
        freed = groups.take_freed()
        if freed is not None and (self._choosers or self._choosy):
            for subscription in self.subscriptions.values():
                if subscription.acquire:
                    look_again(subscription, freed)

    def _serve_owner(self, groups: Groups) -> bool:
        """Send a copy to a taker that has its group, and credit for it; whether one was."""
        dispatcher = self._dispatcher
        while groups.ready and dispatcher.budget > 0:
            number = next(iter(groups.ready))
            del groups.ready[number]  # until it has more, or wakes
            subscription = self.subscriptions.get(number)
            if subscription is None or self._looks(subscription) or not self._able(subscription):
                continue
            entry = groups.peek_owned(number)
            if entry is None:
                if self.queue.places.missed != NO_PAGE:
                    groups.away[number] = None
                    self._await_page()
                continue
            free = groups.peek_free()
            if free is not None and free.position < entry.position:
                entry = free
            groups.ready[number] = None
            if over(dispatcher, entry):
                dispatcher.budget -= 1
                dispatcher.copies.expire(self.queue, entry)
            elif not subscription.allowance.covers(len(entry.message.payload)):
                del groups.ready[number]
            elif self._send(subscription, entry):
                return True
        return False

    def _serve_taker(self) -> bool:
        """Send the next copy to the next taker that has credit for it; whether one was."""
        takers = self._takers
        if not takers:
            return False
        if self.queue.groups is not None and self._serve_owner(self.queue.groups):
            return True
        entry = self._next_taken()
        if entry is None:
            if self._dispatcher.budget > 0:
                self._await_page()
            return False
        size = len(entry.message.payload)
        for _ in range(len(takers)):
            subscription = takers[0]
            if not self._able(subscription):
                takers.popleft()
                subscription.active = False
                continue
            if len(takers) > 1:
                takers.rotate(-1)
            if subscription.allowance.covers(size) and self._send(subscription, entry):
                return True
            if not takers or self._dispatcher.budget <= 0:
                break
        return False

    def _next_taken(self) -> Entry | None:
        dispatcher = self._dispatcher
        while dispatcher.budget > 0:
            entry = self.queue.peek()
            if entry is None or not over(dispatcher, entry):
                return entry
            dispatcher.budget -= 1
            dispatcher.copies.expire(self.queue, entry)
        return None

    def _serve_looker(self) -> bool:
        """Let the next looker that finds a copy have it; whether one did."""
        lookers = self._lookers
        dispatcher = self._dispatcher
        for _ in range(len(lookers)):
            dispatcher.spend(LOOK)
            if dispatcher.budget <= 0:
                return True
            if not lookers:
                break
            subscription = lookers[0]
            if not self._able(subscription):
                lookers.popleft()
                subscription.active = False
                continue
            lookers.rotate(-1)
            self.queue.places.missed = NO_PAGE
            entry = look(dispatcher, self.queue, subscription)
            if entry is None:
                self._await_page()
            elif subscription.allowance.covers(len(entry.message.payload)) and self._send(
                subscription, entry
            ):
                return True
        return False

    def _send(self, subscription: Subscription, entry: Entry) -> bool:
        """Offer a copy to an outlet; whether the copy is dealt with as far as that goes."""
        dispatcher = self._dispatcher
        copies = dispatcher.copies
        queue = self.queue
        acquire = subscription.acquire
        settled = subscription.settled
        numbering = queue.numbering
        delivery = Delivery(
            entry.message if numbering is None else numbering.shown(entry),
            queue.number,
            entry.position,
            subscription.number,
            entry.delivery_count,
            acquire,
        )
        delivery.settled = settled
        delivery.annotations = entry.annotations
        ticket = entry.ticket
        if ticket is not None:
            delivery.transaction = ticket.transaction
        status = subscription.outlet.deliver(delivery)
        if numbering is not None:
            delivery.message = entry.message  # the other octets go with what is written
        if status is DeliverStatus.BLOCKED:
            subscription.blocked = True
            copies.ledger.counts.blocked += 1
            dispatcher.spend(OFFERED)
            return False
        dispatcher.budget -= 1
        work = WORK
        size = len(entry.message.payload)
        work.units += OFFERED + SENDING + size // OCTETS_SENT
        if work.units > dispatcher.end:
            dispatcher.cut()
        go_on(queue, subscription, entry)
        if status is DeliverStatus.UNDELIVERABLE:
            copies.ledger.counts.undeliverable += 1
            if queue.inbound:
                self._host.on_unsendable(queue, entry, None)
            elif acquire:
                self.exclude(entry, subscription.number)
            return True
        if status is DeliverStatus.REFUSED:
            copies.ledger.counts.undeliverable += 1
            self._host.on_unsendable(queue, entry, subscription.outlet.refusal())
            return True
        subscription.allowance.spend(size)
        subscription.sent += 1
        copies.ledger.sent(queue, entry, delivery, acquire, settled)
        if acquire:
            queue.hold(entry, subscription.number)
        if not settled:
            subscription.unsettled += 1
            if not acquire:
                queue.places.pin(entry.position, 1)
        elif acquire:
            run = subscription.runs[entry.message.encoding]
            if run.since_us == entry.entered_us:
                run.count += 1
            else:
                run.begin(entry.entered_us)
            copies.leave(queue, entry)
        return True

    def _finish_drains(self) -> bool:
        """Nothing more can be sent: whoever drains is done, but for those whose outlet is full.

        Returns:
            Whether there are more of them than are a share of work.
        """
        dispatcher = self._dispatcher
        for subscription in list(self._draining.values()):
            if subscription.draining and subscription.blocked and not dispatcher.stopped:
                continue
            if WORK.units > dispatcher.end:
                dispatcher.cut()
                return True
            del self._draining[subscription.number]
            if subscription.draining:
                subscription.draining = False
                subscription.allowance.set(0, 0)
                subscription.outlet.on_drained()
        return False
