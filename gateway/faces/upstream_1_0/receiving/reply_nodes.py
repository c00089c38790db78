"""Nodes at an upstream by which replies come back to nodes of the gateway.

A 0-10 message on its way upstream may name one of the gateway's own nodes in its reply-to: the
upstream's clients cannot reach that. So a node is asked for at the upstream (a dynamic source,
3.5.3) whose address goes out in its place; what arrives at it is published to the gateway's node
that was named. It lives until its connection ends or what it stands for is gone.

It is one for each user, and the node must be one that this user may publish to: `faces.replying`.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.amqp_1_0 import _spec
from gateway.amqp_1_0._spec import DeliveryState, Error, Source, Target
from gateway.amqp_1_0.events import AttachReceived, DeliveryReceived
from gateway.amqp_1_0.link import Link
from gateway.amqp_1_0.session import Session
from gateway.amqp_1_0.transfers.outgoing import Outgoing
from gateway.audit.schema import Reason
from gateway.bridge.host import VirtualHost
from gateway.bridge.seams import PublishStatus
from gateway.errors import DecodeError, RemoteProtocolError
from gateway.faces.host_nodes import HostNodes
from gateway.faces.outcomes import OUTCOMES, rejected
from gateway.faces.replying import Asker, Askers
from gateway.faces.safe_with import SafeWith
from gateway.faces.upstream_1_0.context import UpstreamContext
from gateway.faces.upstream_1_0.slot import LinkSlot
from gateway.message import ACCEPTED, Condition, Message, Outcome, Refusal
from gateway.translate.facts import Arrival, arrival_1_0, from_foreign, message_from_1_0
from gateway.translate.outcomes import to_state

REPLY_CREDIT: Final = 100
NO_ADDRESS: Final = ""


class Held(Protocol):
    """Whose messages wait for the addresses of reply nodes: a relay."""

    def resume(self) -> None:
        """There is one more address, or there will be none."""


# Exchange and key of the gateway's node, and of whom the replies are: a user, or a connection.
Purpose = tuple[str, str, str, int]


@final
class Denied:
    """What a message may not have: answers that are published there."""

    __slots__ = ("asker", "exchange", "key", "message")

    def __init__(self, message: int, asker: Asker, exchange: str, key: str) -> None:
        self.message = message
        self.asker = asker
        self.exchange = exchange
        self.key = key


@final
class ReplyNodes:
    """Those of one relay; implements `translate.context.ReplyAddresses`.

    A message whose reply node has no address yet must wait: `take_pending` says so.

    Attributes:
        message: the one that is translated now, while it is.
    """

    __slots__ = (
        "_answered",
        "_askers",
        "_denied",
        "_held",
        "_host",
        "_nodes",
        "_pending",
        "_upstream",
        "message",
    )

    def __init__(
        self, upstream: UpstreamContext, host: VirtualHost, held: Held, *, answered: bool
    ) -> None:
        self._answered = answered  # by what its messages name, whatever that is
        self._upstream = upstream
        self._host = host
        self._held = held
        self._askers = Askers(upstream.faces, upstream.bridge, host)
        self._nodes: dict[Purpose, ReplyNode] = {}
        self._pending = False
        self._denied: Denied | None = None
        self.message: Message | None = None

    def address_of(self, exchange: str, key: str) -> str | None:
        """A node that lives at the upstream has an address of its own, others get a reply node.

        Unless who asks must not have anything published there.
        """
        upstream = self._upstream
        if not self._answered:
            return None
        if HostNodes(self._host).upstream_of(exchange, key) == upstream.name:
            host = self._host.name
            if exchange:
                return upstream.addresses.exchange_address(host, exchange, key) or None
            return upstream.addresses.queue_address(host, key) or None
        if not upstream.profile.dynamic_nodes:
            return None
        message = self.message
        assert message is not None
        asker = self._askers.of(message)
        if not asker.may_be_answered(exchange, key):
            self._denied = Denied(message.id, asker, exchange, key)
            return None
        user, connection = asker.whose()
        purpose = (exchange, key, user, connection)
        node = self._nodes.get(purpose)
        if node is None:
            self._make_room()
            node = ReplyNode(upstream, self._host, self, purpose, asker.stay(self._host))
            self._nodes[purpose] = node
            node.slot = upstream.links.add(node, alone=True)
        if node.address == NO_ADDRESS:
            self._pending = not node.refused
            return None if node.refused else NO_ADDRESS
        return node.address

    def take_pending(self) -> bool:
        """Whether an address that the last translation asked for is still on its way."""
        pending = self._pending
        self._pending = False
        return pending

    def record_denied(self, message: Message) -> None:
        """It has been sent, and if no answer to it may be published, that is told."""
        denied = self._denied
        if denied is not None:
            self._denied = None
            if denied.message == message.id:
                denied.asker.deny(denied.exchange, denied.key, message.id)

    def on_address(self) -> None:
        """A node has its address, or will have none: what waits for it can go."""
        self._held.resume()

    def forget(self, node: ReplyNode) -> None:
        """What the node stands for is gone."""
        if self._nodes.get(node.purpose) is node:
            del self._nodes[node.purpose]
            node.asker.access.leave()
            if node.slot is not None:
                node.slot.drop()

    def drop(self) -> None:
        """The relay is over."""
        for node in list(self._nodes.values()):
            node.close()

    def _make_room(self) -> None:
        if len(self._nodes) >= self._upstream.settings.reply_nodes_max:
            next(iter(self._nodes.values())).close()  # the oldest


@final
class ReplyNode:
    """Implements `UpstreamLink`, `Publisher`, `CommitWaiter`.

    Attributes:
        purpose: what it is for; asker: for whom.
        exchange, key: of the gateway's node, as the reply-to named it.
        address: of the upstream's node; `NO_ADDRESS` while there is none.
        refused: the upstream makes no such nodes.
        slot: its place at the upstream, set by `ReplyNodes`.
    """

    __slots__ = (
        "_host",
        "_link",
        "_name",
        "_nodes",
        "_number",
        "_pending",
        "_safe_with",
        "_token",
        "_upstream",
        "address",
        "asker",
        "exchange",
        "key",
        "purpose",
        "refused",
        "slot",
    )

    def __init__(
        self,
        upstream: UpstreamContext,
        host: VirtualHost,
        nodes: ReplyNodes,
        purpose: Purpose,
        asker: Asker,
    ) -> None:
        self._upstream = upstream
        self._host = host
        self._nodes = nodes
        self.asker = asker
        self.purpose = purpose
        self.exchange = purpose[0]
        self.key = purpose[1]
        self.address = NO_ADDRESS
        self.refused = False
        self.slot: LinkSlot | None = None
        self._name = upstream.link_name("reply")
        self._number = upstream.bridge.numbers.next_link()
        self._link: Link | None = None
        self._safe_with = SafeWith(upstream.bridge)  # delivery-ids
        self._token = 0
        # Token -> delivery-id, which means something on this connection only.
        self._pending: dict[int, int] = {}

    def close(self) -> None:
        """No more replies by this node."""
        self._link = None
        self._nodes.forget(self)

    # As an `UpstreamLink`.

    def attach(self, session: Session) -> Link:
        """Ask for a node that lives as long as the link."""
        link = session.attach(self._name, _spec.RECEIVER)
        link.send_attach(
            source=Source(
                dynamic=True,
                expiry_policy="link-detach",
                outcomes=OUTCOMES,
            ),
            target=Target(),
        )
        return link

    def on_attach(self, event: AttachReceived) -> None:
        """The node's address is in the peer's source."""
        source = event.attach.source
        self._link = event.link
        self.address = (source.address if source is not None else None) or NO_ADDRESS
        self.refused = self.address == NO_ADDRESS
        if self.slot is not None:
            self._upstream.note_link(
                self._number,
                self._node(),
                address=self.slot.address or self.address,
                connection=self.slot.transport.number,
                user=self.asker.access.who.user,
            )
        event.link.send_flow(credit=REPLY_CREDIT)
        self._nodes.on_address()

    def _node(self) -> int:
        """What the audit log calls the gateway's node; 0: it is not there."""
        topology = self._host.topology
        if self.exchange:
            exchange = topology.find_exchange(self.exchange)
            return 0 if exchange is None else exchange.node
        queue = topology.find_queue(self.key)
        return 0 if queue is None else queue.node

    def on_flow(self) -> None:
        """Nothing is drained."""

    def on_room(self) -> None:
        """A reply was given up, and its credit with it."""
        if self._link is not None:
            self._give_credit(self._link)

    def on_disposition(
        self, delivery: Outgoing, state: DeliveryState | None, settled: bool
    ) -> None:
        """Never: we receive by this link."""

    def on_settled(self, delivery_ids: set[int], state: DeliveryState | None) -> None:
        """A reply is published all the same; its outcome will be of no concern."""

    def on_detach(self, error: Error | None, closed: bool) -> None:
        """There is no node, or none any more: requests go without a reply address."""
        self._gone()

    def on_failed(self, error: RemoteProtocolError) -> None:
        """No reply can come by it: as if the peer had detached it."""
        self._gone()

    def on_lost(self) -> None:
        """The node went with the connection; later requests get another one."""
        self._link = None
        self.address = NO_ADDRESS
        self._safe_with.clear()
        self._pending = {}

    def _gone(self) -> None:
        had_address = self.address != NO_ADDRESS
        self.on_lost()
        self.refused = True
        if had_address:
            self._nodes.forget(self)
        self._nodes.on_address()

    # Replies.

    def on_delivery(self, event: DeliveryReceived) -> None:
        """Publish a reply to the node that asked for it."""
        upstream = self._upstream
        upstream.counts.received += 1
        try:
            message = self._message(event, _read(event))
        except DecodeError as error:
            upstream.counts.undecodable += 1
            message = self._message(event, from_foreign(event.payload))
            self._host.publishing.refuse(message, Reason.UNDECODABLE, self._number)
            self._tell(event.delivery_id, rejected(Refusal(Condition.DECODE_ERROR, str(error))))
            return
        if not self.asker.may_be_answered(self.exchange, self.key):
            self._deny(event, message)
            return
        self._token += 1
        published = self._host.publishing.publish(message, self, self._token, self._number)
        if published.status == PublishStatus.DONE:
            self._tell(event.delivery_id, to_state(ACCEPTED))
        elif published.status == PublishStatus.IN_TURN:
            self._safe_with.add(event.delivery_id, self)
        elif published.status == PublishStatus.PENDING:
            self._pending[self._token] = event.delivery_id
        else:
            refusal = published.refusal or Refusal(Condition.NOT_FOUND, "nobody waits for a reply")
            self._tell(event.delivery_id, rejected(refusal))
            self.close()

    def _deny(self, event: DeliveryReceived, message: Message) -> None:
        """By now who asked may not have it published: it comes to nothing, and so does the node."""
        self._host.publishing.refuse(message, Reason.NOT_ALLOWED, self._number)
        refusal = self.asker.deny(self.exchange, self.key, message.id)
        self._tell(event.delivery_id, rejected(refusal))
        self.close()

    def _message(self, event: DeliveryReceived, arrival: Arrival) -> Message:
        bridge = self._upstream.bridge
        return message_from_1_0(
            arrival,
            event.payload,
            event.message_format,
            id=bridge.numbers.next_message(),
            exchange=self.exchange,
            routing_key=self.key,
            now_ms=bridge.now_ms,
            publisher=0,
            reader=self._host.reader,
        )

    def on_committed(self, turn: int) -> None:
        """Accept the replies of that turn."""
        for first, last in self._safe_with.take(turn):
            for delivery_id in range(first, last + 1):
                self._tell(delivery_id, to_state(ACCEPTED))

    def on_published(self, token: int, outcome: Outcome) -> None:
        """A reply that had to wait has ended: say how."""
        delivery_id = self._pending.pop(token, None)
        if delivery_id is not None:
            self._tell(delivery_id, to_state(outcome))

    def _tell(self, delivery_id: int, state: DeliveryState) -> None:
        link = self._link
        if link is None:
            return
        link.session.settle_incoming(delivery_id, state)
        self._give_credit(link)
        self._upstream.touch()

    def _give_credit(self, link: Link) -> None:
        if link.credit * 2 <= REPLY_CREDIT:
            link.send_flow(credit=REPLY_CREDIT)


def _read(event: DeliveryReceived) -> Arrival:
    if event.message_format != 0:
        return from_foreign(event.payload)
    arrival = arrival_1_0(event.payload)
    if arrival.in_order:
        event.payload = arrival.in_order
    return arrival
