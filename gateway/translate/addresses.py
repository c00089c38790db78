"""Addresses: a 1.0 address names one node, a queue or an exchange, or an exchange and a key.

`EXCHANGE/KEY` where the part before the first "/" is an exchange and the whole is no queue. A queue
wins a name that both have, unless capability `topic` asks for the exchange. 0-10 names the same
nodes as pairs of exchange and routing key, where exchange "" and the queue's name mean a queue.
Some clients write the address of a link as a URL, of which the path is meant.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final, cast, final
from urllib.parse import unquote

from gateway.amqp_1_0 import sections, types
from gateway.errors import DecodeError
from gateway.translate.context import Nodes
from gateway.translate.mapping_rows import number
from gateway.translate.names import JMS_DEST
from gateway.wire.tagged import Tagged

QUEUE: Final = number("addresses.queue")
EXCHANGE: Final = number("addresses.exchange")
EXCHANGE_KEY: Final = number("addresses.exchange-key")
TOPIC_NAME: Final = number("addresses.topic-name")

TOPIC_EXCHANGE: Final = "amq.topic"
DIRECT_EXCHANGE: Final = "amq.direct"
_JMS_DEST_OCTETS: Final = JMS_DEST.encode()
_URLS: Final = ("amqp://", "amqps://")


class Capability(IntEnum):
    """What a terminus asks its node to be."""

    ANY = 0
    QUEUE = 1
    TOPIC = 2


# Kinds of JMS destinations, which annotations tell; 2 and 3 are temporary ones.
JMS_QUEUE: Final = 0
JMS_TOPIC: Final = 1
_JMS_KINDS: Final = {
    0: Capability.QUEUE,
    1: Capability.TOPIC,
    2: Capability.QUEUE,
    3: Capability.TOPIC,
}


@final
@dataclass(init=False, slots=True)
class Node:
    """What an address names.

    Attributes:
        queue: the queue's name; "" when it is an exchange.
        exchange: the exchange's name; "" when it is a queue.
        key: the key in the address; `None` when it has none.
        row: the mapping row that decided.
    """

    queue: str
    exchange: str
    key: str | None
    row: int

    def __init__(self, *, queue: str = "", exchange: str = "", key: str | None, row: int) -> None:
        self.queue = queue
        self.exchange = exchange
        self.key = key
        self.row = row


def without_host(address: str) -> str:
    """What a link's address says behind the host if it is wholly `amqp://HOST/...` or `amqps://...`.

    That is percent-encoded. Another address is as it is; so is one with a query, or without a path.
    """
    if not address.startswith(_URLS):
        return address
    host, _, path = address.partition("://")[2].partition("/")
    if not host or not path or "?" in path:
        return address
    try:
        return unquote(path, errors="strict")
    except UnicodeDecodeError:
        return address


def resolve(address: str, capability: Capability, nodes: Nodes) -> Node | None:
    """The node that an address names; `None` if there is none."""
    if not address:
        return None
    if capability != Capability.TOPIC and nodes.is_queue(address):
        return Node(queue=address, key=None, row=QUEUE)
    if capability != Capability.QUEUE:
        if nodes.is_exchange(address):
            return Node(exchange=address, key=None, row=EXCHANGE)
        name, slash, key = address.partition("/")
        if slash and name and nodes.is_exchange(name):
            return Node(exchange=name, key=key, row=EXCHANGE_KEY)
        if capability == Capability.TOPIC and nodes.is_exchange(TOPIC_EXCHANGE):
            return Node(exchange=TOPIC_EXCHANGE, key=address, row=TOPIC_NAME)
    return None


def resolve_target(address: str, capability: Capability, nodes: Nodes) -> Node | None:
    """The node that the address of a sender's target names; `None` if there is none.

    `queue` settles which node is meant where two have the name, and keeps nobody from EXCHANGE/KEY:
    JMS clients say it of each address that they answer to.
    """
    node = resolve(address, capability, nodes)
    if node is None and capability == Capability.QUEUE:
        other = resolve(address, Capability.ANY, nodes)
        if other is not None and other.row == EXCHANGE_KEY:
            return other
    return node


def capability_in(payload: bytes, body_at: int) -> Capability:
    """What a 1.0 message asks the node in its `to` to be, by the annotation of JMS clients."""
    if payload.find(_JMS_DEST_OCTETS, 0, body_at) < 0:
        return Capability.ANY
    try:
        annotations = sections.annotations(payload, sections.scan(payload).message_annotations)
    except DecodeError:
        return Capability.ANY
    for key, value in annotations:
        if key.value == JMS_DEST and capability_by(value) == Capability.TOPIC:
            return Capability.TOPIC
    return Capability.ANY


def capability_by(annotation: Tagged | None) -> Capability:
    """What an annotation of a JMS client says of a node."""
    if annotation is None or annotation.code != types.BYTE:
        return Capability.ANY
    return _JMS_KINDS.get(cast(int, annotation.value), Capability.ANY)


def jms_kind(exchange: str) -> int | None:
    """Which kind of destination a node behind an exchange is to JMS; `None`: it may be either."""
    if exchange == TOPIC_EXCHANGE:
        return JMS_TOPIC
    return JMS_QUEUE if exchange in ("", DIRECT_EXCHANGE) else None


def capability_of(symbols: list[str]) -> Capability:
    """What a terminus' capabilities ask for; both is as good as neither."""
    queue = "queue" in symbols or "temporary-queue" in symbols
    topic = "topic" in symbols or "temporary-topic" in symbols
    if queue == topic:
        return Capability.ANY
    return Capability.QUEUE if queue else Capability.TOPIC


def address_of(exchange: str, key: str) -> str | None:
    """The address of the node that a message was published to; `None` for no node at all."""
    return exchange or key or None


def reply_to_address(exchange: str, key: str) -> str | None:
    """A 0-10 reply-to as an address: {"", q} is q, {x, k} is x/k, {x, -} is "x/"."""
    if exchange:
        return f"{exchange}/{key}"
    return key or None


def reply_to_node(
    address: str, nodes: Nodes, capability: Capability = Capability.ANY
) -> tuple[str, str, bool]:
    """An address as a 0-10 reply-to: exchange, key, and whether it names a local node.

    It is read as that of a link is, by which the reply would be sent.
    """
    node = resolve_target(without_host(address), capability, nodes)
    if node is None:
        return "", address, False
    return node.exchange, node.queue or node.key or "", True
