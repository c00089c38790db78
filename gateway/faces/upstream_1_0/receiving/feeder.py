"""One receiver link for one binding of a queue to a remote exchange: the upstream's subscription.

For a durable queue it is a durable subscription, whose name is the queue's: it goes on collecting
while there is no connection, and ends with the binding, by a closing detach.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.amqp_1_0 import _spec, sections
from gateway.amqp_1_0._spec import DeliveryState, Error
from gateway.amqp_1_0.events import AttachReceived, DeliveryReceived
from gateway.amqp_1_0.link import Link
from gateway.amqp_1_0.primitives.fields import Fields
from gateway.amqp_1_0.session import Session
from gateway.amqp_1_0.transfers.outgoing import Outgoing
from gateway.audit.schema import Flag as AuditFlag
from gateway.bridge.exchanges.exchange import HEADERS, KEYED, TOPIC
from gateway.bridge.remote.remote import Feed, LookUpWaiter
from gateway.errors import DecodeError, RemoteProtocolError
from gateway.faces.dialled.reaching import Reaching
from gateway.faces.placed import matches_headers, selector_of
from gateway.faces.upstream_1_0.context import UpstreamContext
from gateway.faces.upstream_1_0.errors import refusal_of, text_of
from gateway.faces.upstream_1_0.managing.managed import ManagedBinding, Tidying, unmanageable
from gateway.faces.upstream_1_0.managing.management import UNANSWERED, Answer, Management
from gateway.faces.upstream_1_0.receiving import sources
from gateway.faces.upstream_1_0.receiving.incoming_link import IncomingLink
from gateway.message import Condition, Outcome, Refusal
from gateway.translate import routing_key
from gateway.translate.facts import Arrival
from gateway.translate.profiles.profile import ANNOTATIONS
from gateway.wire.tagged import Tagged

EXCHANGE: Final = "x-exchange"
ROUTING_KEY: Final = "x-routing-key"
MANAGED: Final = "managed"
WILDCARDS: Final = ("*", "#")


class FeederList(Protocol):
    """Where feeders stand until they are over."""

    def forget(self, feeder: Feeder) -> None:
        """Its link is over."""


@final
class Feeder:
    """Implements `bridge.remote.remote.FeedSource`, `UpstreamLink`, `Taker`, `Prepared`.

    Attributes:
        problem: why nothing comes, for operators; "" while all is well.
    """

    def __init__(
        self,
        upstream: UpstreamContext,
        management: Management,
        tidying: Tidying,
        feeders: FeederList,
        feed: Feed,
    ) -> None:
        self.upstream = upstream
        self._feeders = feeders
        self.feed = feed
        self.problem = ""
        profile = upstream.profile
        self.kind = upstream.addresses.exchange_type(feed.host, feed.exchange)
        queue = feed.queue_name
        self.managed: ManagedBinding | None = None
        if profile.subscriptions == MANAGED:
            self.managed = ManagedBinding(upstream, management, tidying, feed, self)
            self.durable = False  # the queue at the upstream may be, the link is not
            self.address = profile.queue_address(self.managed.queue)
        else:
            self.durable = feed.durable and profile.durable_subscriptions
            self.address = upstream.addresses.subscription_address(
                feed.host, feed.exchange, feed.key, queue, durable=self.durable
            )
        self._shared = bool(self.durable and upstream.settings.group)
        if self._shared:
            name = sources.shared_name(upstream.settings.group, queue, feed.exchange, feed.key)
        elif self.durable:
            name = f"{queue}|{feed.exchange}|{feed.key}"
        else:
            name = upstream.link_name(f"{feed.exchange}|{feed.key}")
        keyed = profile.subscriptions == "filter" and self.kind in KEYED
        self._filter: Fields | None = sources.filters_of_binding(
            feed.key, self.kind if keyed else "", selector_of(feed.arguments)
        )
        self._incoming = IncomingLink(upstream, feed, name, self.address, copy=False)
        self._intake = self._incoming.intake
        self._reaching = Reaching(upstream)
        self._left = False
        self._moved = False
        self._over = False
        refusal = feeding_refused(
            upstream, feed.host, feed.exchange, queue, feed.key, feed.arguments
        )
        if refusal is not None:
            self._refused(refusal.description)
        elif self.managed is not None:
            self.managed.prepare()
        else:
            self._incoming.ask(self)

    def _tell(self, problem: str) -> None:
        feed = self.feed
        self.problem = problem
        self.upstream.health.note_problem(
            f"nothing comes from exchange {feed.exchange!r} with key {feed.key!r} for queue"
            f" {feed.queue_name!r}: {problem}"
        )
        self._reaching.answer(None)

    def _refused(self, problem: str) -> None:
        self.upstream.counts.feeds_refused += 1
        self._tell(problem)

    # What `ManagedBinding` tells.

    def on_prepared(self) -> None:
        """The queue there is bound: read it."""
        self._reaching.answer(None)
        if not self._left and self._incoming.slot is None:
            self._incoming.ask(self, stays=True)

    def on_unprepared(self, answer: Answer) -> None:
        """It could not be made, or bound; that is tried again."""
        if answer.status == UNANSWERED:
            self._tell(answer.text)
        else:
            self._refused(answer.text)

    # As a `FeedSource`.

    def reach(self, waiter: LookUpWaiter, token: int) -> bool:
        """While the upstream is asked."""
        return self.upstream.health.connected and self.awaits(waiter, token)

    def awaits(self, waiter: LookUpWaiter, token: int) -> bool:
        """Have `waiter` hear when there is a link, or a problem; `False`: there is one."""
        if self._incoming.link is not None or self.problem or self._left:
            return False
        self._reaching.wait(waiter, token)
        return True

    def on_published(self, token: int, outcome: Outcome) -> None:
        """A message is safe in the queue, or could not be kept."""
        self._incoming.settle(token, outcome)
        self._finish()

    def on_credit(self) -> None:
        """Look at what is wanted at the end of the turn."""
        self._incoming.owe(self)

    def on_moved(self) -> None:
        """The exchange lives elsewhere: what a durable subscription has stays in it."""
        self._moved = True
        self.on_left()

    def on_left(self) -> None:
        """The binding is gone."""
        self._left = True
        self._reaching.answer_soon()
        if self.managed is not None and not self._moved:
            self.managed.owe()
        link = self._incoming.link
        if link is not None and link.credit:
            link.send_flow(credit=0)
            self.upstream.touch()
        self._finish()

    def _finish(self) -> None:
        if not self._left or self._intake.outstanding or self._over:
            return
        self._over = True
        self._feeders.forget(self)
        self.upstream.takers.forget(self)
        self._incoming.drop(closed=not (self._moved and self.durable))
        managed = self.managed
        if managed is not None and self._moved and self.feed.durable:
            managed.leave()
        elif managed is not None:
            managed.release()

    def outstanding(self) -> int:
        """Deliveries without an outcome."""
        return self._intake.outstanding

    # As an `UpstreamLink`.

    def attach(self, session: Session) -> Link:
        """Subscribe, or come back to a durable subscription."""
        source = _spec.Source(
            durable=_spec.DURABLE_UNSETTLED_STATE if self.durable else None,
            expiry_policy=sources.NEVER if self.durable else None,
            filter=self._filter,
            capabilities=self._capabilities(),
        )
        return self._incoming.attach(
            session, source, target=self.feed.queue_name, snd_settle_mode=_spec.SND_UNSETTLED
        )

    def _capabilities(self) -> list[str] | None:
        wanted = self.upstream.profile.subscription_capabilities
        return [*wanted, *sources.SHARED] if self._shared else wanted or None

    def on_attach(self, event: AttachReceived) -> None:
        """The subscription is in force, if the peer applies its key and its selector."""
        asked = self._filter
        if asked is not None and not sources.binding_in_place(event.attach.source, asked):
            self._incoming.drop()
            self._refused(f"a filter of the subscription to {self.address!r} is ignored there")
            return
        self.problem = ""
        feed = self.feed
        self._incoming.begin(event.link, feed.link, feed.node, AuditFlag.PUBLISHER)
        self._reaching.answer(None)
        self.on_credit()

    def on_flow(self) -> None:
        """Nothing is drained."""

    def on_room(self) -> None:
        """A delivery was given up, and its credit with it."""
        self.on_credit()

    def on_delivery(self, event: DeliveryReceived) -> None:
        """One message for the queue."""
        intake = self._intake
        if self._left:
            intake.release(event)
            return
        key = take_key(event)
        arrival = intake.read(event)
        if arrival is None:
            self.on_credit()
            return
        exchange = self.feed.exchange
        if self.managed is not None:  # another binding of the queue may have brought it
            exchange = _annotated(event.payload, EXCHANGE) or exchange
        if key is None or self.upstream.profile.keys_in == ANNOTATIONS:
            key = self._key(arrival, event.payload)
        taken = intake.take(event, arrival, exchange=exchange, routing_key=key)
        if taken is not None:
            self.feed.receive(taken.message, taken.token)
        self.on_credit()

    def _key(self, arrival: Arrival, payload: bytes) -> str:
        """The routing key that the message was published with upstream."""
        keys_in = self.upstream.profile.keys_in
        key: str | None = None
        if keys_in == ANNOTATIONS:
            key = _annotated(payload, ROUTING_KEY)
        elif keys_in == "subject":
            key = arrival.subject
        if key is None:
            key = self._addressed_key(arrival)
        if key is not None:
            return key
        pattern = self.kind == TOPIC and is_pattern(self.feed.key)
        return "" if pattern else self.feed.key

    def _addressed_key(self, arrival: Arrival) -> str | None:
        """The key in the address that the message was sent to, if that is one of the exchange."""
        template = self.upstream.profile.exchange
        if template is None or arrival.to is None:
            return None
        parts = template.read(arrival.to)
        if parts is None or parts.get("exchange", self.feed.exchange) != self.feed.exchange:
            return None
        return parts.get("key")

    def on_settled(self, delivery_ids: set[int], state: DeliveryState | None) -> None:
        """The peer has settled what is in the queue, or about to be; it comes again at worst."""
        self._incoming.forget(delivery_ids)
        self._finish()

    def on_disposition(
        self, delivery: Outgoing, state: DeliveryState | None, settled: bool
    ) -> None:
        """Receivers send no deliveries."""

    def on_detach(self, error: Error | None, closed: bool) -> None:
        """The peer does not want the subscription, or not any more: try again, it is configured."""
        self._let_go(error)
        if refusal_of(error) is None:
            self._tell(text_of(error))
        else:
            self._refused(text_of(error))
        self._again()

    def on_failed(self, error: RemoteProtocolError) -> None:
        """The peer broke a rule, or is late."""
        self._let_go(None)
        self._tell(str(error))
        self._again()

    def on_lost(self) -> None:
        """It comes back with the next connection."""
        self._let_go(None)
        # What is read has to be made again first.
        if self.managed is not None and self._incoming.drop():
            self.managed.prepare()

    def _let_go(self, error: Error | None) -> None:
        self._incoming.lose(error)
        self._finish()

    def _again(self) -> None:
        if self.managed is None:
            self._incoming.retry()
        elif self._incoming.drop():
            self.managed.prepare_later()

    # Credit, at the end of a turn.

    def flush(self) -> None:
        """Have the link's credit follow what is wanted."""
        link = self._incoming.link
        if link is None or self._left:
            return
        wanted = min(self.feed.wanted(), self._incoming.room())
        if self._intake.is_due(link, wanted):
            link.send_flow(credit=wanted)


def take_key(event: DeliveryReceived) -> str | None:
    """The key that a gateway annotated the message with; it is taken off."""
    if event.message_format != 0:
        return None
    try:
        key, event.payload = routing_key.take(event.payload)
    except DecodeError:
        return None  # as the intake will see
    return key


def is_pattern(key: str) -> bool:
    """Whether a topic key has wildcards, and so is none that a message can have."""
    return any([word in WILDCARDS for word in key.split(".")])


def _annotated(payload: bytes, wanted: str) -> str | None:
    """One of the message's annotations."""
    try:
        found = sections.scan(payload)
        for name, value in sections.annotations(payload, found.message_annotations):
            if name.value == wanted and isinstance(value.value, str):
                return value.value
    except DecodeError:
        return None
    return None


def feeding_refused(
    upstream: UpstreamContext,
    host: str,
    exchange: str,
    queue: str,
    key: str,
    arguments: dict[str, Tagged],
) -> Refusal | None:
    """Why a binding cannot be a subscription upstream, by the profile and the rules."""
    profile = upstream.profile
    if profile.subscriptions == "none":
        return _unable(upstream, "let others subscribe to an exchange")
    able = profile.shared or profile.subscriptions == MANAGED
    if not able and upstream.shares(host, queue):
        return _unable(upstream, "share a subscription between gateways")
    if selector_of(arguments) and not profile.selector:
        return _unable(upstream, "select")
    if profile.subscriptions == MANAGED:
        name = unmanageable(arguments)
        return _unable(upstream, f"take argument {name!r} of a binding") if name else None
    addresses = upstream.addresses
    if addresses.exchange_type(host, exchange) == HEADERS and matches_headers(arguments):
        return _unable(upstream, "match headers for a subscription")
    if not addresses.subscription_address(host, exchange, key, queue):
        return _unable(upstream, f"have an address for key {key!r} of exchange {exchange!r}")
    return None


def _unable(upstream: UpstreamContext, what: str) -> Refusal:
    return Refusal(Condition.NOT_IMPLEMENTED, f"upstream {upstream.name} does not {what}")
