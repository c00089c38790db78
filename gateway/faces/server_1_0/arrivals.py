"""The messages that come by one link: which of them it may publish, and the books of the others."""

from __future__ import annotations

from typing import final

from gateway.audit.schema import Reason
from gateway.bridge.confirming import Told
from gateway.bridge.publishing import NOWHERE
from gateway.errors import DecodeError
from gateway.faces.access.publish_access import reason_of
from gateway.faces.client import Client
from gateway.faces.server_1_0.node_access import message_refusal
from gateway.message import Condition, Message, Refusal
from gateway.translate.addresses import Node, capability_in, resolve, without_host
from gateway.translate.facts import (
    Arrival,
    arrival_1_0,
    from_foreign,
    in_part,
    message_from_1_0,
    undecodable,
)


@final
class Arrivals:
    """Those of one producer.

    Args:
        node: what its target names; `None` for the anonymous terminus.
        told: of the producer.
    """

    __slots__ = ("_client", "_each_asked", "_node", "_publishing", "_told")

    def __init__(self, client: Client, node: Node | None, told: Told) -> None:
        self._client = client
        self._publishing = client.host.publishing
        self._node = node
        self._told = told
        # Whether rules have to be asked for each message: what the target names does not decide.
        self._each_asked = node is None or (bool(node.exchange) and node.key is None)

    def read(self, payload: bytes, message_format: int) -> Message | Refusal:
        """The message, if it may be published by this link; one that may not is in the books."""
        try:
            arrival = arrival_1_0(payload) if message_format == 0 else from_foreign(payload)
        except DecodeError as error:
            self.record_unread(payload, message_format, Reason.UNDECODABLE)
            return undecodable(error)
        payload = arrival.in_order or payload
        if not self._client.may_claim(arrival):
            self._record(payload, arrival, message_format, Reason.WRONG_USER)
            return Refusal(Condition.NOT_ALLOWED, "user-id is not the connection's user")
        node = self._node
        if node is None:
            to = without_host(arrival.to or "")
            node = resolve(to, capability_in(payload, arrival.body_at), self._client.nodes)
            if node is None:
                denied = self._client.publish_access.lost_refusal(to)
                reason = Reason.NOT_FOUND if denied is None else reason_of(denied)
                self._record(payload, arrival, message_format, reason)
                if denied is not None:
                    return denied
                text = f"no node {to!r} here" if to else "the message has no address in `to`"
                return Refusal(Condition.NOT_FOUND, text)
        key = node.queue
        if node.exchange:
            key = node.key if node.key is not None else arrival.subject or ""
        if self._each_asked and self._client.access.permits.rules is not None:
            relayed = without_host(arrival.to or "") if self._node is None else ""
            denied = message_refusal(self._client, node, key, relayed)
            if denied is not None:
                self._record(payload, arrival, message_format, reason_of(denied))
                return denied
        bridge = self._client.bridge
        number = bridge.numbers.next_message()
        self._told.came(number)
        return message_from_1_0(
            arrival,
            payload,
            message_format,
            id=number,
            exchange=node.exchange,
            routing_key=key,
            now_ms=bridge.now_ms,
            publisher=self._client.peer.connection_id,
            reader=self._client.host.reader,
        )

    def _record(
        self, payload: bytes, arrival: Arrival, message_format: int, reason: Reason
    ) -> None:
        """A message is not published: it came all the same."""
        node = self._node
        bridge = self._client.bridge
        number = bridge.numbers.next_message()
        self._told.came(number)
        message = message_from_1_0(
            arrival,
            payload,
            message_format,
            id=number,
            exchange=NOWHERE if node is None else node.exchange,
            routing_key="",
            now_ms=bridge.now_ms,
            publisher=self._client.peer.connection_id,
            reader=self._client.host.reader,
        )
        self._publishing.refuse(message, reason, self._told.link)
        self._client.publish_access.record_denied(message.id)

    def record_unread(self, payload: bytes, message_format: int, reason: Reason) -> None:
        """A delivery is refused before anybody has looked what its message says.

        It may have come in part only, or be no message.
        """
        arrival = from_foreign(payload) if message_format else in_part(payload)
        self._record(arrival.in_order or payload, arrival, message_format, reason)

    def record_rest(self, messages: list[Message]) -> None:
        """What another message of their batch keeps from being published."""
        for message in messages:
            self._publishing.refuse(message, Reason.REJECTED, self._told.link)
