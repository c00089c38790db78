"""Whether a node exists: a link to it without credit, attached and detached again.

A receiver first; where we may only send to the node, and for an exchange, a sender.
"""

from __future__ import annotations

from typing import final

from gateway.amqp_1_0 import _spec
from gateway.amqp_1_0._spec import DeliveryState, Error
from gateway.amqp_1_0.events import AttachReceived, DeliveryReceived
from gateway.amqp_1_0.link import Link
from gateway.amqp_1_0.session import Session
from gateway.amqp_1_0.transfers.outgoing import Outgoing
from gateway.bridge.remote.remote import LookUpWaiter
from gateway.errors import RemoteProtocolError
from gateway.faces.dialled.reaching import lasting
from gateway.faces.upstream_1_0.context import UpstreamContext
from gateway.faces.upstream_1_0.errors import refusal_of, text_of
from gateway.faces.upstream_1_0.receiving import sources
from gateway.faces.upstream_1_0.slot import LinkSlot
from gateway.message import Condition, Refusal


@final
class LookUp:
    """Implements `UpstreamLink`, `Sleeper`; ends with one answer to its waiter."""

    def __init__(
        self,
        upstream: UpstreamContext,
        address: str,
        waiter: LookUpWaiter,
        token: int,
        *,
        exchange: bool = False,
    ) -> None:
        self.upstream = upstream
        self.address = address
        self.waiter = waiter
        self.token = token
        self._exchange = exchange
        self._role = _spec.SENDER if exchange else _spec.RECEIVER
        self._name = upstream.link_name(f"look-up-{address}")
        self._problem = "it does not answer"
        self._slot: LinkSlot = upstream.links.add(self, alone=True, address=address)
        upstream.wake_in(self, upstream.settings.attach_timeout_ms)

    def attach(self, session: Session) -> Link:
        """A receiver that takes nothing away, or a sender."""
        profile = self.upstream.profile
        link = session.attach(self._name, self._role)
        source = _spec.Source(address=self._name)
        target = _spec.Target(address=self._name)
        capabilities = profile.queue_capabilities or None
        if self._exchange:
            capabilities = profile.exchange_capabilities or None
        if self._role == _spec.RECEIVER:
            mode = sources.COPY if profile.browse == sources.COPY else None
            source = _spec.Source(
                address=self._slot.address, distribution_mode=mode, capabilities=capabilities
            )
        else:
            target = _spec.Target(address=self._slot.address, capabilities=capabilities)
        link.send_attach(source=source, target=target)
        return link

    def on_attach(self, event: AttachReceived) -> None:
        """The node exists: its link is attached."""
        self._end(None)

    def on_detach(self, error: Error | None, closed: bool) -> None:
        """It is not, or cannot be reached so."""
        refusal = refusal_of(error)
        self._problem = text_of(error)
        if refusal is None:
            self._slot.retry()
        elif refusal.condition == Condition.UNAUTHORIZED_ACCESS and self._role:
            self._role = _spec.SENDER
            self._slot.drop()
            self._slot = self.upstream.links.add(self, alone=True, address=self.address)
        else:
            self._end(refusal)

    def on_failed(self, error: RemoteProtocolError) -> None:
        """The peer broke a rule, or is late."""
        self._problem = str(error)
        self._slot.retry()

    def on_lost(self) -> None:
        """It is asked again with the next connection."""

    def on_flow(self) -> None:
        """No credit is used."""

    def on_room(self) -> None:
        """Nothing is sent."""

    def on_delivery(self, event: DeliveryReceived) -> None:
        """Nothing comes without credit."""

    def on_disposition(
        self, delivery: Outgoing, state: DeliveryState | None, settled: bool
    ) -> None:
        """Nothing is sent."""

    def on_settled(self, delivery_ids: set[int], state: DeliveryState | None) -> None:
        """Nothing comes without credit."""

    def handle_deadline(self, now_ms: int) -> None:
        """There was no answer that means something."""
        self._end(lasting(self.upstream.name, self._problem))

    def _end(self, refusal: Refusal | None) -> None:
        self.upstream.unwake(self)
        self._slot.drop()
        self.waiter.on_looked_up(self.token, refusal)
        self.upstream.touch()
