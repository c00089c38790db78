"""A 1.0 client: one connection, one session, a link for each address."""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Callable
from typing import Any, Final, final

from twisted.internet.defer import Deferred

from gateway.amqp_1_0 import _spec
from gateway.amqp_1_0._spec import (
    Accepted,
    DeliveryState,
    Error,
    Modified,
    Rejected,
    Released,
    Source,
    Target,
)
from gateway.amqp_1_0.connection import Connection
from gateway.amqp_1_0.errors import NoMechanismError, SaslError
from gateway.amqp_1_0.events import (
    AttachReceived,
    BeginReceived,
    CloseReceived,
    ConnectionLost,
    DeliveryAborted,
    DeliveryReceived,
    DerivationRequested,
    DetachReceived,
    DispositionReceived,
    EndReceived,
    Event,
    FlowReceived,
    LinkViolation,
    OpenReceived,
    SessionViolation,
    Violation,
)
from gateway.amqp_1_0.link import Link
from gateway.amqp_1_0.transfers.outgoing import Outgoing
from gateway.clients import codec_1_0
from gateway.clients.client import ClientError, Login, Subscription, Take, Waiting, login_needed
from gateway.clients.letter import Letter
from gateway.errors import DecodeError
from gateway.wire.limits import Limits

COPY: Final = "copy"


@final
class Delivered10:
    """A letter that arrived as a delivery."""

    def __init__(
        self, client: Client10, taker: Taker, event: DeliveryReceived, letter: Letter
    ) -> None:
        self._client = client
        self._taker = taker
        self._event = event
        self.letter = letter

    def settle(self, outcome: str) -> None:
        """Settle it, which renews the credit."""
        states: dict[str, DeliveryState] = {
            "accept": Accepted(),
            "reject": Rejected(),
            "release": Released(),
        }
        if not self._event.settled:
            session = self._event.link.session
            session.settle_incoming(self._event.delivery_id, states[outcome])
        self._taker.renew()
        self._client.flush()


@final
class Sender:
    """A link to an address, and what waits for credit on it."""

    def __init__(self, link: Link, waiting: Waiting) -> None:
        self.link = link
        self._waiting = waiting
        self._letters: deque[tuple[bytes, Deferred[Any]]] = deque()
        self._tags = 0
        self._refused: ClientError | None = None

    def send(self, payload: bytes) -> Deferred[str]:
        """Send now, or when there is credit."""
        done: Deferred[str] = self._waiting.make()
        if self._refused is not None:
            self._waiting.fire(done, self._refused)
        else:
            self._letters.append((payload, done))
            self.pump()
        return done

    def pump(self) -> None:
        """Send as far as the credit goes."""
        while self._letters and self.link.attached and self.link.credit > 0:
            payload, done = self._letters.popleft()
            self._tags += 1
            tag = self._tags.to_bytes(8, "big")
            self.link.send_delivery(tag, b"", payload, settled=False, context=done)

    def refuse(self, error: ClientError) -> None:
        """The link is gone, and what waited for it."""
        self._refused = error
        while self._letters:
            self._waiting.fire(self._letters.popleft()[1], error)


@final
class Taker:
    """A link from an address, and who takes what comes by it."""

    def __init__(
        self, link: Link, subscription: Subscription, take: Take, attached: Deferred[Any]
    ) -> None:
        self.link = link
        self.subscription = subscription
        self.take = take
        self.attached = attached

    def renew(self) -> None:
        """Give credit again when half of it is used up."""
        subscription = self.subscription
        if not subscription.once and self.link.credit <= subscription.credit // 2:
            self.link.send_flow(credit=subscription.credit)

    def on_aborted(self) -> None:
        """A letter that had begun to come will not: another may."""
        if self.subscription.once:
            self.link.send_flow(credit=self.link.credit + 1)
        else:
            self.renew()


@final
class Client10:
    """Implements `client.Client`.

    Attributes:
        detached: why the server detached links, in order.
    """

    def __init__(self, login: Login, now_ms: int, limits: Limits | None = None) -> None:
        self.flush: Callable[[], None] = lambda: None
        self._anonymous = login.username is None
        self._host = f"vhost:{login.virtual_host}" if login.virtual_host else None
        self._connection = Connection(
            server=False,
            container_id=f"amqp-gateway-client-{uuid.uuid4()}",
            limits=limits or Limits(),
            now_ms=now_ms,
            able=login.mechanisms(),
            hostname=self._host,
        )
        self._connection.send_open(hostname=self._host)
        self._session = self._connection.session()
        self._waiting = Waiting()
        self._ready = self._waiting.make()
        self._closed = self._waiting.make()
        self._senders: dict[str, Sender] = {}
        self._takers: list[Taker] = []
        self.detached: list[str] = []

    # The driver surface.

    @property
    def closed(self) -> bool:
        """The transport is to be closed."""
        return self._connection.closed

    def receive_data(self, data: bytes, now_ms: int) -> None:
        """Octets from the server, and all that they answer."""
        for event in self._connection.receive_data(data, now_ms):
            if isinstance(event, DerivationRequested):
                event.derivation.run()  # here: nobody else waits
                self._connection.send_derived()
                self.receive_data(b"", now_ms)
            else:
                self._take(event)

    def receive_eof(self, reason: str) -> None:
        """The transport is gone."""
        self._connection.receive_eof()
        self._end(reason)

    def data_to_send(self) -> bytes:
        """Octets for the server."""
        return self._connection.data_to_send()

    def next_deadline(self) -> int | None:
        """When `handle_deadline` wants to be called."""
        return self._connection.next_deadline()

    def handle_deadline(self, now_ms: int) -> None:
        """Empty frames; a server that is late."""
        for event in self._connection.handle_deadline(now_ms):
            self._take(event)

    # What a caller does.

    def ready(self) -> Deferred[None]:
        """Fires when the session has begun."""
        return self._ready

    def send(self, address: str, letter: Letter) -> Deferred[str]:
        """Publish unsettled; fires with the outcome."""
        sender = self._senders.get(address)
        if sender is None:
            link = self._session.attach(f"send-{uuid.uuid4()}", _spec.SENDER)
            link.context = sender = Sender(link, self._waiting)
            self._senders[address] = sender
            link.send_attach(source=Source(), target=Target(address=address))
        done = sender.send(codec_1_0.encode(letter))
        self.flush()
        return done

    def receive(self, subscription: Subscription, take: Take) -> Deferred[None]:
        """Attach a receiver; fires when the server has attached its half."""
        link = self._session.attach(f"receive-{uuid.uuid4()}", _spec.RECEIVER)
        attached: Deferred[None] = self._waiting.make()
        link.context = taker = Taker(link, subscription, take, attached)
        self._takers.append(taker)
        link.send_attach(
            source=Source(
                address=subscription.address,
                distribution_mode=COPY if subscription.browse else None,
            ),
            target=Target(),
            snd_settle_mode=_spec.SND_SETTLED if subscription.settled else _spec.SND_UNSETTLED,
        )
        self.flush()
        return attached

    def lost(self) -> Deferred[None]:
        """Never fires; fails with the reason when the connection is over."""
        return self._waiting.make()

    def close(self, now_ms: int) -> Deferred[None]:
        """Close, and fire when the server has closed, too."""
        self._connection.send_close()
        self.flush()
        return self._closed

    # Events.

    def _take(self, event: Event) -> None:
        if isinstance(event, DeliveryReceived):
            self._on_delivery(event)
        elif isinstance(event, DispositionReceived):
            self._on_disposition(event)
        elif isinstance(event, FlowReceived):
            if isinstance(event.link.context, Sender):
                event.link.context.pump()
        elif isinstance(event, OpenReceived):
            self._session.send_begin()
        elif isinstance(event, BeginReceived):
            self._waiting.fire(self._ready)
        elif isinstance(event, AttachReceived):
            self._on_attach(event.link)
        elif isinstance(event, DeliveryAborted):
            if isinstance(event.link.context, Taker):
                event.link.context.on_aborted()
        else:
            self._on_end(event)
        self.flush()

    def _on_attach(self, link: Link) -> None:
        taker = link.context
        attach = link.attach
        if isinstance(taker, Taker) and attach is not None and attach.source is not None:
            link.send_flow(credit=taker.subscription.credit)
            self._waiting.fire(taker.attached)

    def _on_delivery(self, event: DeliveryReceived) -> None:
        taker = event.link.context
        if not isinstance(taker, Taker):
            return
        try:
            letter = codec_1_0.decode(event.payload)
        except DecodeError as error:
            self._end(f"a message that cannot be read: {error}")
            return
        taker.take(Delivered10(self, taker, event, letter))

    def _on_disposition(self, event: DispositionReceived) -> None:
        for delivery in event.deliveries:
            self._on_outcome(delivery, event.state)
            if not event.settled:
                event.session.settle_outgoing(delivery, event.state)

    def _on_outcome(self, delivery: Outgoing, state: DeliveryState | None) -> None:
        if isinstance(delivery.context, Deferred):
            self._waiting.fire(delivery.context, outcome_name(state))

    def _on_end(self, event: Event) -> None:
        if isinstance(event, DetachReceived):
            self._on_detach(event.link, event.detach.error)
        elif isinstance(event, EndReceived):
            self._session.send_end()
            self._end(f"the server ended the session{_because(event.error)}")
        elif isinstance(event, CloseReceived):
            self._connection.send_close()
            self._end(f"the server closed the connection{_because(event.error)}")
        elif isinstance(event, Violation | SessionViolation | LinkViolation):
            refused = isinstance(event.error, SaslError)
            if isinstance(event.error, NoMechanismError) and self._anonymous:
                self._end(login_needed(event.error.offered))
                return
            self._end(f"{'' if refused else 'the server broke the protocol: '}{event.error}")
        elif isinstance(event, ConnectionLost):
            self._end("the connection was lost, or authentication failed")

    def _on_detach(self, link: Link, error: Error | None) -> None:
        link.send_detach()
        refused = ClientError(f"the server detached the link{_because(error)}")
        self.detached.append(str(refused))
        if isinstance(link.context, Sender):
            link.context.refuse(refused)
        elif isinstance(link.context, Taker):
            self._waiting.fire(link.context.attached, refused)

    def _end(self, reason: str) -> None:
        self._waiting.fire(self._closed)
        self._waiting.fail(reason)


def _because(error: Error | None) -> str:
    if error is None:
        return ""
    return (
        f": {error.description} ({error.condition})"
        if error.description
        else f": {error.condition}"
    )


def outcome_name(state: DeliveryState | None) -> str:
    """What became of a letter, in a word or two."""
    if isinstance(state, Accepted):
        return "accepted"
    if isinstance(state, Rejected):
        return f"rejected{_because(state.error)}"
    if isinstance(state, Released):
        return "released"
    if isinstance(state, Modified):
        return "modified: delivery failed" if state.delivery_failed else "modified"
    return "settled without an outcome"
