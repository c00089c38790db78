"""Reply-to: a pair of exchange and routing key in 0-10, an address in 1.0.

Local nodes have addresses of their own (`addresses`). An upstream knows none of them: towards it a
node that lives at the upstream goes by the upstream's own address, any other one by that of a reply
node, which the face opens at the upstream. What an upstream's message names, and is no local node,
is an address at that upstream: {upstream.NAME, address}.
"""

from __future__ import annotations

from typing import Final, cast

from gateway.amqp_0_10._spec_structs import MessageProperties, ReplyTo
from gateway.amqp_1_0 import types as new
from gateway.amqp_1_0._spec import Properties
from gateway.translate import names
from gateway.translate.addresses import (
    Capability,
    capability_by,
    jms_kind,
    reply_to_address,
    reply_to_node,
)
from gateway.translate.context import Nodes
from gateway.translate.crossing import ESCROW_MALFORMED, Crossing
from gateway.translate.escrow import NOTHING, digest_node, digest_text
from gateway.translate.mapping_rows import number
from gateway.translate.towards_0_10.delivery import cut
from gateway.wire.tagged import Tagged

ROW_UPSTREAM: Final = number("addresses.reply-to-upstream")
ROW_NODE: Final = number("addresses.reply-node")
ROW_UNREACHABLE: Final = number("addresses.reply-to-unreachable")
# The exchange whose keys are addresses at the upstream that it is named after.
UPSTREAM_EXCHANGE: Final = "upstream."
PENDING: Final = ""

Fields = dict[str, Tagged]


def reply_to_1_0(
    crossing: Crossing, mp: MessageProperties, properties: Properties, annotations: Fields
) -> None:
    """The address of `mp`'s reply-to, and for JMS of which kind that is."""
    reply_to = mp.reply_to
    if crossing.has_escrow and _restored(crossing, reply_to, properties):
        return
    if reply_to is None:
        return
    exchange = reply_to.exchange or ""
    key = reply_to.routing_key or ""
    pair = [_text_or_null(reply_to.exchange), _text_or_null(reply_to.routing_key)]
    if crossing.context.upstream:
        properties.reply_to = _upstream_address(crossing, exchange, key, pair)
        return
    address = reply_to_address(exchange, key)
    properties.reply_to = address
    kind = jms_kind(exchange)
    if crossing.context.jms and kind is not None:
        annotations[names.JMS_REPLY_TO] = Tagged(new.BYTE, kind)
    kept = crossing.keep_quietly(
        "mp.reply-to", digest_text(address), Tagged(new.LIST, pair), names.ROW_REPLY_TO
    )
    if not kept and (address is None or not _comes_back(crossing, address, exchange, key)):
        crossing.lose(names.ROW_REPLY_TO)


def _restored(crossing: Crossing, reply_to: ReplyTo | None, properties: Properties) -> bool:
    """Restore the address that a 1.0 message had, if it is in escrow."""
    visible = NOTHING
    if reply_to is not None:
        visible = digest_node(reply_to.exchange or "", reply_to.routing_key or "")
    entry = crossing.take_typed("properties.reply-to", visible, names.ROW_REPLY_TO, new.STRING)
    if entry is None or not entry.present:
        return False
    properties.reply_to = cast(str, entry.value.value)
    return True


def _upstream_address(
    crossing: Crossing, exchange: str, key: str, pair: list[Tagged]
) -> str | None:
    """Where the upstream's clients can send a reply.

    The pair means something to this gateway only: it is restored by no other.
    """
    context = crossing.context
    row = ROW_NODE
    address: str | None = None
    if exchange == UPSTREAM_EXCHANGE + context.upstream:
        address = key
        row = ROW_UPSTREAM
    elif context.reply_address is not None:
        address = context.reply_address.address_of(exchange, key)
    if address is None:
        address = reply_to_address(exchange, key)
        crossing.lose(ROW_UNREACHABLE)
    if address == PENDING:
        return None
    pair.append(Tagged(new.STRING, context.gateway))
    crossing.keep_quietly("mp.reply-to", digest_text(address), Tagged(new.LIST, pair), row)
    return address


def _comes_back(crossing: Crossing, address: str, exchange: str, key: str) -> bool:
    node = reply_to_node(address, crossing.context.nodes)
    return node[0] == exchange and node[1] == key


def _text_or_null(text: str | None) -> Tagged:
    return Tagged(new.NULL, None) if text is None else Tagged(new.STRING, text)


def reply_to_0_10(
    crossing: Crossing, properties: Properties, mp: MessageProperties, annotations: Fields
) -> None:
    """The pair of the address in `properties`."""
    address = properties.reply_to
    entry = None
    if crossing.has_escrow:
        entry = crossing.take_typed(
            "mp.reply-to", digest_text(address), names.ROW_REPLY_TO, new.LIST
        )
    if entry is not None and entry.present:
        parts = cast("list[Tagged]", entry.value.value)
        elsewhere = len(parts) == 3 and parts[2].value != crossing.context.gateway
        if not elsewhere:
            mp.reply_to = _pair(parts)
            if mp.reply_to is not None:
                return
            crossing.lose(ESCROW_MALFORMED)
    if address is None:
        return
    nodes = crossing.context.nodes
    upstream = nodes.upstream_of(crossing.message.exchange, crossing.message.routing_key)
    exchange, key, known = _local_node(address, nodes, {} if upstream else annotations)
    if upstream and not known:
        _at_upstream(crossing, UPSTREAM_EXCHANGE + upstream, address, mp)
        return
    exchange = cut(exchange)
    key = cut(key)
    mp.reply_to = ReplyTo(exchange=exchange, routing_key=key)
    row = names.ROW_REPLY_TO if known else names.ROW_REPLY_TO_UNKNOWN
    original = Tagged(new.STRING, address)
    crossing.keep("properties.reply-to", digest_node(exchange, key), original, row)


def _local_node(address: str, nodes: Nodes, annotations: Fields) -> tuple[str, str, bool]:
    """The node of an address as `reply_to_node` has it, by the kind that a JMS client tells.

    That may be the kind of where the message itself goes, which a reply goes to as well.
    """
    told = capability_by(annotations.get(names.JMS_REPLY_TO))
    by_itself = capability_by(annotations.get(names.JMS_DEST))
    for asked in (told, Capability.ANY, by_itself if told == Capability.ANY else told):
        found = reply_to_node(address, nodes, asked)
        if found[2]:
            break
    return found


def _at_upstream(crossing: Crossing, exchange: str, address: str, mp: MessageProperties) -> None:
    key = cut(address)
    mp.reply_to = ReplyTo(exchange=exchange, routing_key=key)
    visible = digest_node(exchange, key)
    original = Tagged(new.STRING, address)
    if key == address:
        crossing.keep_quietly("properties.reply-to", visible, original, ROW_UPSTREAM)
    else:
        crossing.keep("properties.reply-to", visible, original, ROW_UPSTREAM)


def _pair(parts: list[Tagged]) -> ReplyTo | None:
    """An exact 0-10 reply-to, as the escrow has it."""
    if len(parts) < 2 or len(parts) > 3:
        return None
    texts: list[str | None] = []
    for part in parts[:2]:
        if part.code == new.NULL:
            texts.append(None)
        elif part.code == new.STRING and cut(cast(str, part.value)) == part.value:
            texts.append(part.value)
        else:
            return None
    return ReplyTo(exchange=texts[0], routing_key=texts[1])
