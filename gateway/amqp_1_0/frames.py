"""Frames (2.3, 5.3.1): the 8-octet header, performatives, SASL frames and protocol headers.

Sizes are checked here; what a performative means is the endpoints' business.
"""

from __future__ import annotations

from typing import Final

from gateway.amqp_1_0._spec import Performative, SaslFrame
from gateway.amqp_1_0.errors import FrameSizeTooSmallError, FramingError
from gateway.wire.buffers import Reader, Writer

HEADER_SIZE: Final = 8
AMQP_FRAME: Final = 0
SASL_FRAME: Final = 1

PROTOCOL_AMQP: Final = b"AMQP\x00\x01\x00\x00"
PROTOCOL_SASL: Final = b"AMQP\x03\x01\x00\x00"


def frame_size(octets: bytes, at: int, maximum: int) -> int:
    """The size that the frame at `at` says it has; `FramingError` beyond 8 .. `maximum`."""
    size = Reader(octets, at).u32()
    if size < HEADER_SIZE:
        raise FramingError(f"a frame of {size} octets")
    if size > maximum:
        raise FramingError(f"a frame of {size} octets where {maximum} are the limit")
    return size


def enter_frame(reader: Reader, kind: int) -> int:
    """Read the rest of a frame header, behind the size, up to the body; the channel."""
    data_offset = reader.u8()
    got = reader.u8()
    if got != kind:
        raise FramingError(f"a frame of type {got}")
    channel = reader.u16()
    if data_offset < 2 or (data_offset - 2) * 4 > reader.remaining():
        raise FramingError(f"a data offset of {data_offset}")
    reader.skip((data_offset - 2) * 4)
    return channel


def begin_frame(writer: Writer, kind: int, channel: int) -> int:
    """Write a frame header with the size left open; where it starts."""
    start = int(writer.size())
    writer.u32(0)
    writer.u8(2)
    writer.u8(kind)
    writer.u16(channel)
    return start


def end_frame(writer: Writer, start: int) -> None:
    """Fill in the size of the frame that begins at `start`."""
    writer.patch_u32(start, int(writer.size()) - start)


def write_frame(writer: Writer, channel: int, performative: Performative, maximum: int) -> None:
    """One AMQP frame without payload.

    Raises:
        FrameSizeTooSmallError: the performative does not fit `maximum`; nothing was written.
    """
    body = Writer()
    performative.encode(body)
    if int(body.size()) + HEADER_SIZE > maximum:
        raise FrameSizeTooSmallError(f"{int(body.size())} octets in frames of {maximum}")
    start = begin_frame(writer, AMQP_FRAME, channel)
    writer.raw(body.getvalue())
    end_frame(writer, start)


def fits(performative: Performative, maximum: int) -> bool:
    """Whether a performative without payload fits a frame of `maximum` octets."""
    body = Writer()
    performative.encode(body)
    return int(body.size()) + HEADER_SIZE <= maximum


def write_sasl_frame(writer: Writer, frame: SaslFrame) -> None:
    """One SASL frame. A token may take it beyond the 512 octets of 5.3.1: it cannot be split."""
    start = begin_frame(writer, SASL_FRAME, 0)
    frame.encode(writer)
    end_frame(writer, start)


def write_empty_frame(writer: Writer) -> None:
    """A frame without a body, which only says that we are there (2.4.5)."""
    end_frame(writer, begin_frame(writer, AMQP_FRAME, 0))
