"""A message as a 0-10 upstream is sent it: to which node, and by what header segment.

To a queue it goes by the default exchange, to an exchange with the key it came with. By the
exchange `upstream.NAME` its key is an address: EXCHANGE/KEY, or the name of a queue.
"""

from __future__ import annotations

from typing import Final, final

from gateway.bridge.host import VirtualHost
from gateway.bridge.queues.queue import Queue
from gateway.bridge.remote.remote import Target
from gateway.faces.dialled.context import DialledContext
from gateway.faces.upstream_0_10.known import Node
from gateway.faces.upstream_0_10.replies import Held, Replies, node_of
from gateway.message import Delivery, Loss, Message, Refusal
from gateway.translate.contents.leaving import transfer_header
from gateway.translate.context import Context, Translated010
from gateway.translate.message import to_0_10
from gateway.translate.routing_key import lose
from gateway.translate.towards_0_10.published import addressed, lose_user_id, without_user_id

NAME_MAX: Final = 255  # octets
NOWHERE: Final = (False, "")


@final
class Made:
    """What a message has become.

    Attributes:
        header: the header segment; `None`: the way back of an answer is not made yet.
        lost: every value that does not cross.
        refusal: why it cannot be sent at all.
    """

    __slots__ = ("header", "lost", "refusal", "translated")

    def __init__(
        self,
        translated: Translated010,
        header: bytes | None,
        lost: list[Loss],
        refusal: Refusal | None = None,
    ) -> None:
        self.translated = translated
        self.header = header
        self.lost = lost
        self.refusal = refusal


@final
class Outgoing:
    """For the relay of one queue."""

    __slots__ = ("_held", "_queue", "_replies", "_upstream", "context")

    def __init__(
        self,
        upstream: DialledContext,
        host: VirtualHost,
        queue: Queue,
        replies: Replies,
        held: Held,
    ) -> None:
        self._upstream = upstream
        self._queue = queue
        self._replies = replies
        self._held = held
        self.context: Context = upstream.translation(host)

    def node(self) -> Node:
        """The one node to which all goes; `NOWHERE`: it depends, or there is none."""
        queue, addresses = self._queue, self._upstream.addresses
        if queue.target == Target.EXCHANGE:
            return (True, addresses.exchange_address(queue.host, queue.name, ""))
        return (False, addresses.queue_target(queue) or "")

    def node_of(self, message: Message) -> Node:
        """Where a message goes; `NOWHERE`: it has no address."""
        if self._queue.target != Target.ADDRESS:
            node = self.node()
        else:
            exchange, key = node_of(message.routing_key)
            node = (True, exchange) if exchange else (False, key)
        return node if 0 < len(node[1].encode("utf-8")) <= NAME_MAX else NOWHERE

    def make(self, delivery: Delivery, node: Node) -> Made:
        """What `delivery` becomes for that node."""
        message, context = delivery.message, self.context
        context.now_ms = self._upstream.bridge.now_ms
        translated = to_0_10(message, context, delivery.delivery_count, delivery.annotations)
        lost = list(translated.losses)
        if translated.refusal is not None:
            return Made(translated, b"", lost, translated.refusal)
        header: bytes | None = translated.header
        if translated.structs:
            left = transfer_header(translated.header, context)
            header = left.header
            lost += left.losses
        assert header is not None
        header = self._addressed(message, header, node, lost)
        if self._queue.target != Target.SHADOW:  # else who got the message itself answers
            header = self._replies.outgoing(message, header, lost, self._held)
        if header is not None and not self._upstream.profile.user_id:
            without = without_user_id(header)
            if without is not header:
                header = without
                lost.append(lose_user_id(context.counts))
        return Made(translated, header, lost)

    def _addressed(self, message: Message, header: bytes, node: Node, lost: list[Loss]) -> bytes:
        exchange, name = node
        if self._queue.target == Target.ADDRESS:
            key = node_of(message.routing_key)[1]
            return addressed(header, name if exchange else "", key)
        if exchange:
            return header
        if message.exchange:
            lost += lose(self.context.counts)
        return addressed(header, "", name)
