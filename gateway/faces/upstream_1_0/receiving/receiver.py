"""One receiver link for one subscription of a client: credit, deliveries, outcomes.

The link's credit is what the inlet wants, its settlement is the client's. It outlives connections.
When the client has left, the link stays attached until the last delivery has its outcome, since to
detach gives unsettled deliveries back. Where a rule wants it, deliveries to clients that do not
settle come settled already: little credit then, since nothing of it can be given back.
"""

from __future__ import annotations

from typing import Final, final

from gateway.amqp_1_0 import _spec
from gateway.amqp_1_0._spec import DeliveryState, Error, Modified, Rejected, Released
from gateway.amqp_1_0.events import AttachReceived, DeliveryReceived
from gateway.amqp_1_0.link import Link
from gateway.amqp_1_0.session import Session
from gateway.amqp_1_0.transfers.outgoing import Outgoing
from gateway.audit.schema import Flag as AuditFlag
from gateway.bridge.remote.remote import Inlet
from gateway.errors import RemoteProtocolError
from gateway.faces.dialled.reaching import lasting
from gateway.faces.dialled.receiver_states import RECEIVER, ReceiverState
from gateway.faces.dialled.receiver_states import ReceiverInput as Input
from gateway.faces.upstream_1_0.context import UpstreamContext
from gateway.faces.upstream_1_0.errors import refusal_of, text_of
from gateway.faces.upstream_1_0.links import is_elsewhere
from gateway.faces.upstream_1_0.managing.managed import KeptBinding, ManagedBinding, Tidying
from gateway.faces.upstream_1_0.managing.management import Answer, Management
from gateway.faces.upstream_1_0.managing.queues import ManagedQueues
from gateway.faces.upstream_1_0.receiving import sources
from gateway.faces.upstream_1_0.receiving.feeder import MANAGED, feeding_refused, take_key
from gateway.faces.upstream_1_0.receiving.incoming_link import IncomingLink
from gateway.message import Condition, Outcome, Refusal
from gateway.wire.machine import Machine

# How long the peer has to say that nothing more is under way. Artemis does not always answer, and
# keeps what it had for this link from others until the link is detached.
LEAVE_MS: Final = 500
LEAVE_SETTLED_MS: Final = 5_000  # what comes after a detach would be lost
SETTLED_CREDIT_MAX: Final = 50
DRAIN_MS: Final = 200  # how long we wait for what there is where drain is not answered
TAKEN_BACK: Final = (Released, Modified, Rejected)  # the outcomes that leave it with the peer
# What ends a subscription that has been in force; all else is tried again.
FINAL: Final = (
    Condition.NOT_FOUND,
    Condition.RESOURCE_DELETED,
    Condition.UNAUTHORIZED_ACCESS,
    Condition.NOT_IMPLEMENTED,
)

# Plain numbers: they compare at no cost.
_IN_FORCE: Final = int(ReceiverState.IN_FORCE)
_DRAINING: Final = int(ReceiverState.DRAINING)
_LEAVING: Final = int(ReceiverState.LEAVING)
_QUIET: Final = int(ReceiverState.QUIET)


@final
class Receiver:
    """Implements `bridge.remote.remote.Source`, `UpstreamLink`, `Taker`, `Sleeper`, `CommitWaiter`,
    `Prepared`.

    Its life is `receiver_states.RECEIVER`.
    """

    def __init__(
        self,
        upstream: UpstreamContext,
        queues: ManagedQueues,
        management: Management,
        tidying: Tidying,
        inlet: Inlet,
    ) -> None:
        self.upstream = upstream
        self._queues = queues
        self.inlet = inlet
        kept = self._kept = inlet.kept_there
        self._managed: ManagedBinding | None = None
        if kept is None:
            self.address = upstream.addresses.queue_address(inlet.host, inlet.queue_name)
            self.name = upstream.link_name(inlet.queue_name)
        elif upstream.profile.subscriptions == MANAGED:
            bound = KeptBinding(inlet.host, kept)
            self._managed = ManagedBinding(upstream, management, tidying, bound, self)
            self.address = upstream.profile.queue_address(self._managed.queue)
            self.name = upstream.link_name(inlet.queue_name)
        else:
            self.address = upstream.addresses.subscription_address(
                inlet.host, kept.exchange, kept.key, kept.name, durable=True
            )
            self.name = sources.shared_name(upstream.settings.group, kept.name)
        self._routing_key = inlet.queue_name if kept is None else kept.key  # of every message
        self._incoming = IncomingLink(
            upstream, inlet, self.name, self.address, copy=not inlet.acquire
        )
        self._intake = self._incoming.intake
        moves_in = inlet.established
        start = ReceiverState.MOVING_IN if moves_in else ReceiverState.ASKING
        self._machine = Machine(RECEIVER, start)
        # Not a state: whose link the inlet has, which is the same while it leaves and is quiet.
        self._moved = False  # it has another one
        # Not a state: what the peer agreed to, attach by attach.
        self._settled = False  # it settles deliveries as it sends them
        self._drain_left = 0  # DRAINING: of the credit that was to be drained
        self._problem = "it does not answer"
        self._refusal: Refusal | None = self._impossible()
        if self._refusal is None:
            if self._managed is None:
                self._incoming.ask(self)
            else:
                self._managed.prepare()
            settings = upstream.settings
            wait_ms = settings.patience_ms if moves_in else settings.attach_timeout_ms
            upstream.wake_in(self, wait_ms)
        else:
            upstream.bridge.wait(self)  # since `Remote.open` must not answer

    def _impossible(self) -> Refusal | None:
        """What the broker is known not to do."""
        profile = self.upstream.profile
        inlet = self.inlet
        kept = self._kept
        if kept is not None:
            if not profile.shared and self._managed is None:
                return self._unable("keep a client's durable subscription for several gateways")
            refusal = feeding_refused(
                self.upstream, inlet.host, kept.exchange, kept.name, kept.key, kept.arguments
            )
            if refusal is not None:
                return refusal
        if not self.address:
            return Refusal(Condition.NOT_FOUND, f"{inlet.queue_name!r} has no address there")
        if inlet.selector and not profile.selector:
            return self._unable("select")
        if inlet.no_local:
            # To the upstream all clients are one connection: it would keep back what others sent.
            return self._unable("tell our clients apart, as no-local needs it")
        if not inlet.acquire and profile.browse != sources.COPY:
            return self._unable("browse")
        return None

    def _unable(self, what: str) -> Refusal:
        text = f"upstream {self.upstream.name} does not {what}"
        return Refusal(Condition.NOT_IMPLEMENTED, text)

    def on_committed(self, turn: int) -> None:
        """The turn of `Remote.open` is over: now it may be answered."""
        refusal = self._refusal
        if refusal is not None and not self._left:
            self._refuse(refusal)

    @property
    def _left(self) -> bool:
        return self._machine.state >= _LEAVING

    @property
    def _draining(self) -> bool:
        return self._machine.state == _DRAINING

    # As a `Source`.

    def on_published(self, token: int, outcome: Outcome) -> None:
        """The client has settled a delivery, or it has ended otherwise."""
        self._incoming.settle(token, outcome)
        if self._left:
            self._finish()
        else:
            self.on_credit()

    def retire(self, token: int, txn_id: bytes, outcome: Outcome) -> bool:
        """End a delivery in a transaction; `False`: the link that brought it has gone.

        So has one that is redirected to another container.
        """
        incoming = self._incoming
        if is_elsewhere(incoming.slot, self.upstream.links):
            return False
        return self._intake.retire(incoming.link, token, txn_id, outcome)

    def on_credit(self) -> None:
        """Look at what is wanted at the end of the turn."""
        self._incoming.owe(self)

    def on_moved(self) -> None:
        """The queue lives elsewhere: this link goes, once all that came by it has its outcome."""
        self._moved = True
        self.on_left()

    def on_left(self) -> None:
        """The client is gone: take credit back, let what comes late go, then detach."""
        if self._left:
            return
        self._machine.send(Input.LEAVE)
        self._drain_left = 0
        upstream = self.upstream
        upstream.unwake(self)
        link = self._incoming.link
        slot = self._incoming.slot
        if link is None or slot is None or not slot.attached or not link.incoming.may_bring:
            self._machine.receive(Input.NOTHING_COMES)
        else:
            link.send_flow(credit=0, echo=True)
            wait_ms = LEAVE_SETTLED_MS if self._settled else LEAVE_MS
            upstream.wake_in(self, wait_ms)
            upstream.touch()
        self._finish()

    def _finish(self) -> None:
        if self._machine.state == _QUIET and self._intake.outstanding == 0:
            self._drop()

    def _drop(self) -> None:
        self._machine.receive(Input.END)  # unless a refusal was the end
        upstream = self.upstream
        upstream.unwake(self)
        upstream.takers.forget(self)
        over = self._kept is None or self._kept.over
        managed = self._managed
        # A closing detach would end a subscription.
        self._incoming.drop(closed=over or managed is not None)
        if managed is not None and over:
            managed.release()
        elif managed is not None:
            managed.leave()

    # What `ManagedBinding` tells.

    def on_prepared(self) -> None:
        """The queue of the subscription is there, and bound: read it."""
        if not self._left and self._incoming.slot is None:
            self._incoming.ask(self)

    def on_unprepared(self, answer: Answer) -> None:
        """It could not be made, or bound, which is tried again until its time is over."""
        self._problem = answer.text

    def outstanding(self) -> int:
        """Deliveries without an outcome."""
        return self._intake.outstanding

    # As an `UpstreamLink`.

    def attach(self, session: Session) -> Link:
        """Ask for the node's messages."""
        inlet = self.inlet
        profile = self.upstream.profile
        kept = self._kept
        wanted = profile.queue_capabilities
        subscribes = kept is not None and self._managed is None
        if subscribes:
            wanted = [*profile.subscription_capabilities, sources.GLOBAL]
        source = _spec.Source(
            durable=_spec.DURABLE_UNSETTLED_STATE if subscribes else None,
            expiry_policy=sources.NEVER if subscribes else None,
            distribution_mode=None if inlet.acquire else sources.COPY,
            filter=sources.selector_filter(inlet.selector),
            capabilities=wanted or None,
        )
        return self._incoming.attach(
            session, source, target=inlet.queue_name, snd_settle_mode=self._snd_settle_mode()
        )

    def _snd_settle_mode(self) -> int:
        """Unsettled, also where the client does not settle: the upstream keeps what is not sent."""
        asked = self.inlet.wants_settled and self.upstream.profile.settled
        return _spec.SND_SETTLED if asked else _spec.SND_UNSETTLED

    def on_attach(self, event: AttachReceived) -> None:
        """The peer has attached: does it do what was asked for?"""
        refusal = self._check(event)
        if refusal is not None:
            self._refuse(refusal)
            return
        self._settled = event.attach.snd_settle_mode == _spec.SND_SETTLED
        inlet = self.inlet
        flags = AuditFlag.PUBLISHER if inlet.acquire else AuditFlag.PUBLISHER | AuditFlag.COPY
        self._incoming.begin(event.link, inlet.link, inlet.node, flags)
        first = self._machine.state != _IN_FORCE
        self._machine.send(Input.RECV_ATTACH)
        if first:
            self.upstream.unwake(self)
            self.inlet.on_attached()
        self.on_credit()

    def _check(self, event: AttachReceived) -> Refusal | None:
        inlet = self.inlet
        source = event.attach.source
        if not inlet.acquire and (source is None or source.distribution_mode != sources.COPY):
            return self._unable("browse")
        if inlet.selector and not sources.selector_in_place(source):
            return self._unable("select")
        if (
            inlet.acquire
            and not inlet.settled
            and event.attach.snd_settle_mode == _spec.SND_SETTLED
        ):
            return self._unable("wait for outcomes")
        return None

    def on_flow(self) -> None:
        """The sender's flow state: it has answered a drain, or our echo."""
        if self._left:
            self._machine.receive(Input.NOTHING_COMES)
            self._finish()
        else:
            self.on_credit()

    def on_room(self) -> None:
        """A delivery was given up, and its credit with it."""
        self.on_credit()

    def on_delivery(self, event: DeliveryReceived) -> None:
        """One message for the client."""
        intake = self._intake
        if self._left and not (event.settled and self.inlet.acquire):
            intake.release(event)
            return
        if self._drain_left:
            self._drain_left -= 1
            if self.upstream.profile.drain:
                self._watch_drain()
        if self._kept is not None:
            take_key(event)  # which another gateway wrote into it, or this one
        arrival = intake.read(event)
        if arrival is None:
            self.on_credit()
            return
        taken = intake.take(event, arrival, exchange="", routing_key=self._routing_key)
        if taken is not None:
            self.inlet.receive(taken.message, taken.token, settled=event.settled)
        self.on_credit()

    def on_settled(self, delivery_ids: set[int], state: DeliveryState | None) -> None:
        """The peer has settled deliveries that the client has not.

        As if they had come settled (2.6.12), unless it says that they are with it again.
        """
        tokens = self._incoming.forget(delivery_ids)
        if self.inlet.acquire:
            self.inlet.on_settled(tokens, taken_back=isinstance(state, TAKEN_BACK))
        if self._left:
            self._finish()
        else:
            self.on_credit()

    def on_disposition(
        self, delivery: Outgoing, state: DeliveryState | None, settled: bool
    ) -> None:
        """Receivers send no deliveries."""

    def on_detach(self, error: Error | None, closed: bool) -> None:
        """The peer does not want the link, or not any more."""
        refusal = refusal_of(error)
        state = self._machine.state
        if state == ReceiverState.ASKING:
            if error is None:
                text = f"no link from {self.address!r}, without reason"
                refusal = lasting(self.upstream.name, text)
        elif state == ReceiverState.MOVING_IN:
            refusal = None  # for a while, until `handle_deadline`
        elif refusal is not None and refusal.condition not in FINAL:
            refusal = None
        if refusal is not None and refusal.condition == Condition.NOT_FOUND:
            inlet = self.inlet
            if (
                self._kept is None
                and not self._left
                and self._queues.make(inlet.host, inlet.queue_name)
            ):
                refusal = None
        self._problem = text_of(error)
        self._let_go(error)
        if refusal is not None and not self._left:
            self._refuse(refusal)
        else:
            self._again()

    def on_failed(self, error: RemoteProtocolError) -> None:
        """The peer broke a rule."""
        self._problem = str(error)
        self._let_go(None)
        self._again()

    def on_lost(self) -> None:
        """Nothing is left of the link; it is attached again with the next connection."""
        self._let_go(None)
        if self._left:
            self._drop()

    def _let_go(self, error: Error | None) -> None:
        had_link = self._incoming.lose(error)
        self._machine.receive(Input.LOSE)
        self._drain_left = 0
        if had_link and not self._moved:
            self.inlet.lost()

    def _again(self) -> None:
        if self._left:
            self._drop()
        else:
            self._incoming.retry()

    def _refuse(self, refusal: Refusal) -> None:
        self._machine.send(Input.REFUSE)
        self._drop()
        self.inlet.on_refused(refusal.condition, refusal.description)
        self.upstream.touch()

    def handle_deadline(self, now_ms: int) -> None:
        """No attach in time, no answer to the last flow, or no more to drain."""
        if self._left:
            self._machine.receive(Input.NOTHING_COMES)
            self._finish()
        elif self._machine.state < _IN_FORCE:
            self._refuse(lasting(self.upstream.name, self._problem))
        elif self._draining:
            link = self._incoming.link
            if self.upstream.profile.drain:
                self._give_up()
            elif link is not None:
                link.send_flow(credit=0)
                self._drained()

    def _give_up(self) -> None:
        """A drain is not answered: with the link it ends, and nothing can come of it any more."""
        problem = f"no answer to a drain of {self.address!r}"
        self.upstream.health.note_problem(problem)
        if self._incoming.slot is not None:
            self._incoming.slot.give_up(RemoteProtocolError(problem))
        self.upstream.touch()

    # Credit, at the end of a turn.

    def flush(self) -> None:
        """Have the link's credit follow what is wanted."""
        link = self._incoming.link
        if link is None or self._left:
            return
        upstream = self.upstream
        if self._draining and link.credit == 0:
            # Seen only now, behind every delivery of the turn: the link itself is ahead of them.
            if self._drain_left:
                self._drained()
            else:
                self._machine.receive(Input.DRAINED)  # of this round
        link_credit = upstream.settings.limits.link_credit
        wanted = min(self.inlet.wanted(), self._incoming.room(), link_credit)
        if self._settled:
            wanted = min(wanted, SETTLED_CREDIT_MAX)
        if self.inlet.draining:
            self._drain(link, wanted)
        elif self._draining or self._intake.is_due(link, wanted):
            if self._machine.receive(Input.DRAINED):
                self._drain_left = 0
                upstream.unwake(self)
            if wanted != link.credit or link.drain:
                link.send_flow(credit=wanted)

    def _drain(self, link: Link, wanted: int) -> None:
        """Ask for what there is; it may take several rounds, each as large as a link's credit."""
        if self._draining:
            return
        if wanted == 0:
            if link.credit:
                link.send_flow(credit=0)
            if not self.inlet.is_handing_over():
                self._drained()
            return
        self._machine.send(Input.SEND_DRAIN)
        self._drain_left = wanted
        upstream = self.upstream
        if upstream.profile.drain or self._intake.is_due(link, wanted):
            link.send_flow(credit=wanted, drain=upstream.profile.drain)
        self._watch_drain()

    def _watch_drain(self) -> None:
        """How long we wait for the answer, or for the next delivery."""
        upstream = self.upstream
        wait_ms = upstream.settings.attach_timeout_ms if upstream.profile.drain else DRAIN_MS
        if self._drain_left:
            upstream.wake_in(self, wait_ms)
        else:
            upstream.unwake(self)

    def _drained(self) -> None:
        self._machine.receive(Input.DRAINED)  # refused where nothing had to be asked for
        self._drain_left = 0
        self.upstream.unwake(self)
        self.inlet.on_drained()
        self.upstream.touch()
