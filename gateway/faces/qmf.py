"""QMF, the management of Qpid brokers by messages: not offered, and said so to who asks.

A QMF 2 request that nobody took is answered with an ``_exception`` that names the admin API. QMF
has no specification but its clients: app-id ``qmf2``, opcode in a header, amqp/map as body, the
reply to reply-to with the request's correlation-id. One that came by 1.0 is understood by what it
is in 0-10; its answer is translated as any message is.
"""

from __future__ import annotations

from typing import Final

from gateway.amqp_0_10._spec_constants import MAP, STR16, UINT32
from gateway.amqp_0_10._spec_structs import DeliveryProperties, MessageProperties
from gateway.amqp_0_10.encoding import write_map
from gateway.amqp_0_10.structs import write_header
from gateway.amqp_0_10.types import FieldTable
from gateway.bridge.bridge import Bridge
from gateway.bridge.host import VirtualHost
from gateway.errors import DecodeError
from gateway.faces.face import FaceSettings
from gateway.message import Message
from gateway.translate.context import Context
from gateway.translate.facts import arrival_0_10, message_from_0_10
from gateway.translate.message import to_0_10
from gateway.translate.segment import open_header
from gateway.wire.buffers import Writer
from gateway.wire.tagged import Tagged

QMF_DIRECT: Final = "qmf.default.direct"
APP_ID: Final = b"qmf2"
NOT_IMPLEMENTED: Final = 3


def answer(
    bridge: Bridge, host: VirtualHost, settings: FaceSettings, payload: bytes, body_at: int
) -> bool:
    """Answer a request of 0-10, if it is one and says whereto; whether it was answered."""
    try:
        asked = open_header(payload, body_at, settings.limits.depth_max).properties
    except DecodeError:
        return False
    reply_to = asked.reply_to
    if asked.app_id != APP_ID or reply_to is None:
        return False
    exchange = reply_to.exchange or ""
    key = reply_to.routing_key or ""
    if host.topology.find_exchange(exchange) is None:
        return False
    head = _head(settings, exchange, key, asked.correlation_id)
    payload = head + _body(settings.admin_address)
    message = message_from_0_10(
        arrival_0_10(payload, len(head)),
        payload,
        len(head),
        id=bridge.numbers.next_message(),
        exchange=exchange,
        now_ms=bridge.now_ms,
        publisher=0,
        times_in_ms=False,
        reader=host.reader,
    )
    host.publishing.publish(message, None, 0)
    return True


def answer_1_0(
    bridge: Bridge, host: VirtualHost, settings: FaceSettings, message: Message, context: Context
) -> bool:
    """The same for a message of 1.0."""
    asked = to_0_10(message, context)
    if asked.refusal is not None:
        return False
    return answer(bridge, host, settings, asked.header + asked.body, len(asked.header))


def _head(settings: FaceSettings, exchange: str, key: str, correlation_id: bytes | None) -> bytes:
    headers: FieldTable = [
        ("method", Tagged(STR16, "response")),
        ("qmf.opcode", Tagged(STR16, "_exception")),
        ("qmf.agent", Tagged(STR16, settings.container_id)),
    ]
    return write_header(
        DeliveryProperties(exchange=exchange, routing_key=key),
        MessageProperties(
            app_id=APP_ID,
            content_type="amqp/map",
            correlation_id=correlation_id,
            application_headers=headers,
        ),
    )


def _body(admin_address: str) -> bytes:
    text = "QMF is not offered here"
    if admin_address:
        text += f"; the gateway's own admin API is at {admin_address}"
    values: FieldTable = [
        ("error_code", Tagged(UINT32, NOT_IMPLEMENTED)),
        ("error_text", Tagged(STR16, text)),
    ]
    writer = Writer()
    write_map(writer, [("_values", Tagged(MAP, values))])
    return writer.getvalue()
