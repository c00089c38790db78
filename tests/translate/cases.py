"""How the tests exercise mapping rows: the registry, and short forms to write cases in."""

from collections.abc import Callable
from typing import Any

from translate.messages import (
    arrived_1_0,
    context,
    message_0_10,
    payload_1_0,
    sent_to_0_10,
    sent_to_1_0,
    view_1_0,
)

from gateway.amqp_0_10._spec_structs import DeliveryProperties, MessageProperties
from gateway.amqp_1_0 import types as new
from gateway.amqp_1_0._spec import Header, Properties
from gateway.message import Message
from gateway.translate.context import Context
from gateway.translate.segment import open_header
from gateway.wire.tagged import Tagged

TO_1_0 = "to_1_0"
TO_0_10 = "to_0_10"
Case = Callable[[], None]
CASES: dict[tuple[str, str], Case] = {}
LOSSES: dict[str, Callable[[], Message]] = {}


def row(row_id: str, *directions: str) -> Callable[[Case], Case]:
    """The decorated function exercises a row in these directions."""

    def register(case: Case) -> Case:
        for direction in directions:
            assert (row_id, direction) not in CASES
            CASES[row_id, direction] = case
        return case

    return register


def loses(*row_ids: str) -> Callable[[Callable[[], Message]], Callable[[], Message]]:
    """The decorated function makes a message with a value that only escrow can carry."""

    def register(build: Callable[[], Message]) -> Callable[[], Message]:
        for row_id in row_ids:
            LOSSES[row_id] = build
        return build

    return register


# Short forms.

U = bytes(range(16))


def s(text: str) -> Tagged:
    return Tagged(new.STRING, text)


def sym(text: str) -> Tagged:
    return Tagged(new.SYMBOL, text)


def old_message(
    body: bytes | None = b"", exchange: str = "", dp: Any = None, headers: Any = None, **mp: Any
) -> Message:
    properties = MessageProperties(application_headers=headers, **mp)
    return message_0_10(dp or DeliveryProperties(), properties, body, exchange)


def new_message(
    exchange: str = "",
    key: str = "q",
    body: bytes = b"\x00\x53\x75\xa0\x00",
    header: Header | None = None,
    application: Any = None,
    annotations: Any = None,
    footer: Any = None,
    **properties: Any,
) -> Message:
    payload = payload_1_0(header, Properties(**properties), application, annotations, body, footer)
    return arrived_1_0(payload, exchange, key)


def in_1_0(message: Message, ctx: Context | None = None) -> dict[str, Any]:
    return view_1_0(sent_to_1_0(message, ctx or context())[0])


class Seen:
    """A translated 0-10 message."""

    def __init__(self, message: Message, ctx: Context | None = None) -> None:
        header, body, self.losses = sent_to_0_10(message, ctx or context())
        self.body = body or b""
        self.has_body = body is not None
        segment = open_header(header, len(header), 32)
        self.dp = segment.delivery
        self.mp = segment.properties
        self.headers = dict(self.mp.application_headers or [])


def annotation(seen: dict[str, Any], name: str) -> Any:
    return seen["annotations"].get(repr((new.SYMBOL, name)))


def prop(seen: dict[str, Any], name: str) -> Any:
    return seen["application"].get(repr((new.STRING, name)))
