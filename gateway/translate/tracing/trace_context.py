"""W3C Trace Context in a message: `traceparent` and `tracestate`, wherever it has them.

A publisher puts them into the application properties, an intermediary into the message-annotations,
which are asked first (Trace Context: AMQP protocol, W3C draft); in 0-10 both are headers. Deployed
clients write the text that HTTP has, as a string or as octets; the draft has the binary format.
"""

from __future__ import annotations

from typing import Final, final

from gateway.amqp_0_10.types import FieldTable
from gateway.amqp_1_0 import sections
from gateway.amqp_1_0 import types as new
from gateway.errors import DecodeError, LimitError
from gateway.message import Message
from gateway.translate import names
from gateway.translate.facts import AMQP_0_10
from gateway.translate.segment import open_header

NAME: Final = names.TRACEPARENT.encode()
DEPTH_MAX: Final = 32
TEXT: Final = 55  # of version 00; later ones may have more behind it
BINARY: Final = 29
STATE_MAX: Final = 512
RECORDED: Final = 1
DIGITS: Final = frozenset("0123456789abcdef")
SEEN: Final = (names.TRACEPARENT, names.TRACESTATE)


@final
class TraceContext:
    """Where a message belongs.

    Attributes:
        trace_id: of 128 bits.
        parent_id: the span, of 64 bits, that it was sent in.
        recorded: whether whoever sent it records the trace (the flag sampled).
        state: its `tracestate`, or "".
    """

    def __init__(self, trace_id: int, parent_id: int, recorded: bool, state: str) -> None:
        self.trace_id = trace_id
        self.parent_id = parent_id
        self.recorded = recorded
        self.state = state

    def text(self) -> str:
        """It as a `traceparent`."""
        return f"00-{self.trace_id:032x}-{self.parent_id:016x}-{1 if self.recorded else 0:02x}"


def context_of(message: Message) -> TraceContext | None:
    """What a message says of its trace; `None`: nothing, or nothing that can be read."""
    if message.message_format != 0 or message.payload.find(NAME, 0, message.body_at) < 0:
        return None
    found: dict[str, object] = {}
    try:
        if message.encoding == AMQP_0_10:
            _look_in_0_10(message, found)
        else:
            _look_in_1_0(message.payload, found)
    except (DecodeError, LimitError):
        return None
    state = found.get(names.TRACESTATE)
    is_state = isinstance(state, str) and len(state) <= STATE_MAX
    return parse(found.get(names.TRACEPARENT), str(state) if is_state else "")


def _look_in_0_10(message: Message, found: dict[str, object]) -> None:
    segment = open_header(message.payload, message.body_at, DEPTH_MAX)
    table: FieldTable = segment.properties.application_headers or []
    for name, value in table:
        if name in SEEN:
            found[name] = value.value


def _look_in_1_0(payload: bytes, found: dict[str, object]) -> None:
    """Both from one section: they belong together."""
    layout = sections.scan(payload)
    _take(sections.read_annotations(payload, layout.message_annotations, layout), found)
    if names.TRACEPARENT not in found:
        found.clear()
        _take(sections.read_application_properties(payload, layout), found)


def _take(pairs: new.Map, found: dict[str, object]) -> None:
    for key, value in pairs:
        name = key.value
        if isinstance(name, str) and name in SEEN:
            found[name] = value.value


def parse(value: object, state: str = "") -> TraceContext | None:
    """A `traceparent`, as text or in the binary format; `None` if it is none."""
    if isinstance(value, bytes):
        if len(value) == BINARY:
            return _parse_binary(value, state)
        return _parse_text(value.decode("latin-1"), state)
    return _parse_text(value, state) if isinstance(value, str) else None


def _parse_text(text: str, state: str) -> TraceContext | None:
    parts = text[:TEXT].split("-")
    if len(parts) != 4 or [len(part) for part in parts] != [2, 32, 16, 2]:
        return None
    if not DIGITS.issuperset("".join(parts)) or parts[0] == "ff":
        return None
    if len(text) > TEXT and (parts[0] == "00" or text[TEXT] != "-"):
        return None
    return _made(int(parts[1], 16), int(parts[2], 16), int(parts[3], 16), state)


def _parse_binary(octets: bytes, state: str) -> TraceContext | None:
    """Version 0: each field behind its number."""
    if octets[0] != 0 or octets[1] != 0 or octets[18] != 1 or octets[27] != 2:
        return None
    trace_id = int.from_bytes(octets[2:18], "big")
    return _made(trace_id, int.from_bytes(octets[19:27], "big"), octets[28], state)


def _made(trace_id: int, parent_id: int, flags: int, state: str) -> TraceContext | None:
    if trace_id == 0 or parent_id == 0:
        return None
    return TraceContext(trace_id, parent_id, flags & RECORDED != 0, state)
