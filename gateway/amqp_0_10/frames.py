"""Frames: octets are cut into them, segments put together from them, commands cut into them.

A frame is a 12-octet header - flags, segment type, size, a reserved octet, track, channel, four
reserved - and a payload. Frames make segments, segments make a command: the command segment, then a
header segment, then a body segment. Nothing here makes an object per frame: `FrameParser` shows the
current frame in its own attributes.
The track is written as the segment type demands and not read: the segment type says the same.
"""

from __future__ import annotations

from collections import deque
from io import BytesIO
from typing import Final, final

from librt.strings import read_i16_be
from mypy_extensions import i64

from gateway.amqp_0_10._spec_constants import MIN_MAX_FRAME_SIZE, SegmentType
from gateway.amqp_0_10.commands.replay import SentCommand
from gateway.amqp_0_10.errors import FramingError
from gateway.amqp_0_10.types import Command, Control
from gateway.amqp_0_10.unfinished import ANSWERS, FRAMES, Rest, Unfinished
from gateway.errors import DecodeError
from gateway.wire.buffers import Reader, Writer
from gateway.wire.work import OCTETS_COPIED, OCTETS_SENT, WORK

PROTOCOL_HEADER: Final = b"AMQP\x01\x01\x00\x0a"
FRAME_HEADER_SIZE: Final = 12

FIRST_SEGMENT: Final = 0x08
LAST_SEGMENT: Final = 0x04
FIRST_FRAME: Final = 0x02
LAST_FRAME: Final = 0x01
WHOLE_SEGMENT: Final = FIRST_FRAME | LAST_FRAME
WHOLE_COMMAND: Final = FIRST_SEGMENT | LAST_SEGMENT | FIRST_FRAME | LAST_FRAME

CONTROL: Final = int(SegmentType.CONTROL)
COMMAND: Final = int(SegmentType.COMMAND)
HEADER: Final = int(SegmentType.HEADER)
BODY: Final = int(SegmentType.BODY)

CONNECTION_CLASS: Final = 1
UNBOUNDED: Final = 1 << 62


@final
class FrameParser:
    """Cuts octets into frames.

    Attributes:
        flags, type, channel: of the current frame.
        buf, start, end: its payload is ``buf[start:end]``.
        broken: there was something that cannot be a frame, so no later one can be found.
    """

    __slots__ = (
        "_pending",
        "_pending_size",
        "_pos",
        "_wanted",
        "broken",
        "buf",
        "channel",
        "end",
        "flags",
        "start",
        "type",
    )

    def __init__(self) -> None:
        self.buf = b""
        self.flags = 0
        self.type = 0
        self.channel = 0
        self.start = 0
        self.end = 0
        self.broken = False
        self._pos: i64 = 0
        # Octets of an unfinished frame wait as they came, so that small reads stay cheap.
        self._pending: list[bytes] = []
        self._pending_size = 0
        self._wanted = 0

    def feed(self, data: bytes) -> None:
        """More octets; `next` has said before that there was no whole frame left."""
        if self._pending_size:
            self._pending.append(data)
            self._pending_size += len(data)
            if self._pending_size < self._wanted:
                return
            data = b"".join(self._pending)
            self._pending = []
            self._pending_size = 0
        self.buf = data
        self._pos = 0

    def held(self) -> int:
        """Octets of a frame of which not all have come."""
        return self._pending_size

    def take_rest(self) -> bytes:
        """What is behind the current frame; it comes again, or never does."""
        rest = self.buf[self._pos :]
        self.buf = b""
        self._pos = 0
        return rest

    def next(self, max_frame_size: i64) -> bool:
        """Go to the next frame, if there is a whole one; `FramingError` if it cannot be one."""
        buf = self.buf
        pos = self._pos
        left: i64 = len(buf) - pos
        if left < FRAME_HEADER_SIZE:
            return self._keep(FRAME_HEADER_SIZE)
        flags: i64 = buf[pos]
        kind: i64 = buf[pos + 1]
        size = i64(read_i16_be(buf, pos + 2)) & 0xFFFF
        if flags & 0xC0 or kind > BODY:
            self.broken = True
            raise FramingError(f"flags 0x{flags:02x}, segment type {kind} begin no frame")
        if size < FRAME_HEADER_SIZE or size > max_frame_size:
            self.broken = True
            raise FramingError(f"a frame of {size} octets, {max_frame_size} are allowed")
        if left < size:
            return self._keep(size)
        self.flags = flags
        self.type = kind
        self.channel = i64(read_i16_be(buf, pos + 6)) & 0xFFFF
        self.start = pos + FRAME_HEADER_SIZE
        self.end = pos + size
        self._pos = pos + size
        return True

    def _keep(self, wanted: i64) -> bool:
        rest = self.buf[self._pos :]
        if rest:
            self._pending = [rest]
            self._pending_size = len(rest)
            self._wanted = wanted
            self.buf = b""
            self._pos = 0
        return False


@final
class FrameWriter:
    """Cuts controls and commands into frames of at most `max_frame_size` octets.

    Args:
        flush_max: beyond that many octets, a segment of many frames is not written on before the
            next flush.

    Attributes:
        out: where they go.
        silent: nothing more is written: the connection is closing, and all else is too late.
        unfinished: what is written in later flushes.
    """

    __slots__ = ("_flush_max", "_front", "max_frame_size", "out", "silent", "unfinished")

    def __init__(self, flush_max: int = UNBOUNDED) -> None:
        self.out = Writer()
        self._front = self.out  # while something is written aside
        self._flush_max: i64 = flush_max
        self.unfinished = Unfinished()
        self.silent = False
        self.max_frame_size: int = MIN_MAX_FRAME_SIZE

    def take(self) -> bytes:
        """All octets written, which are then forgotten."""
        if self.out.size() == 0:
            return b""
        return self.out.take()

    def is_unfinished(self, channel: int) -> bool:
        """Whether what is written on that channel goes behind a large segment."""
        channels = self.unfinished.channels
        return len(channels) > 0 and channel in channels

    def go_on(self) -> None:
        """Write of what is unfinished as much as one flush takes, channel by channel."""
        unfinished = self.unfinished
        if self.silent:
            unfinished.clear()
        out = self.out
        before = out.size()
        for channel in list(unfinished.channels):
            if out.size() >= self._flush_max:
                break
            waiting = unfinished.take(channel)
            while waiting and out.size() < self._flush_max:
                if not self._write_on(channel, waiting[0]):
                    break
                unfinished.done(waiting.popleft())
            unfinished.put_back(channel, waiting)
        WORK.units += (out.size() - before) // OCTETS_SENT

    def _write_on(self, channel: int, rest: Rest) -> bool:
        if rest.kind < 0:
            self.out.raw(rest.octets)
            return True
        rest.at = self._write_frames(rest.flags, rest.kind, channel, rest.octets, rest.at)
        return rest.at >= len(rest.octets)

    def _step_aside(self) -> None:
        """What is written from now on goes behind something."""
        self._front = self.out
        self.out = Writer()

    def _fall_in(self, channel: int, waiting: deque[Rest], kind: int) -> None:
        """It has been written: now it waits behind that."""
        octets = self.out.getvalue()
        self.out = self._front
        unfinished = self.unfinished
        more = unfinished.channels.pop(channel, None)
        unfinished.put_back(channel, waiting)
        unfinished.add(channel, Rest(octets, kind, 0, 0))
        if more is not None:
            unfinished.channels[channel].extend(more)

    def control(self, channel: int, control: Control) -> None:
        """Write a control."""
        if self.silent:
            return
        if self.is_unfinished(channel) and control.CODE >> 8 != CONNECTION_CLASS:
            waiting = self.unfinished.take(channel)
            self._step_aside()
            self.control(channel, control)
            self._fall_in(channel, waiting, ANSWERS)
            return
        out = self.out
        at = out.size()
        self._frame_header(WHOLE_COMMAND, CONTROL, channel, 0)
        out.u16(control.CODE)
        control.encode_fields(out)
        self._finish(at, FIRST_SEGMENT | LAST_SEGMENT, CONTROL, channel)

    def command(
        self,
        channel: int,
        command: Command,
        sync: bool,
        header: bytes | None,
        body: bytes,
        empty_body: bool = False,
    ) -> None:
        """Write a command; with `header` it has content: a header segment and a body, unless empty.

        `empty_body`: also an empty body has its segment, of one frame without octets.
        A body alone is not possible: deployed clients wait for the header segment.
        """
        if self.silent:
            return
        if self.unfinished.channels and channel in self.unfinished.channels:
            waiting = self.unfinished.take(channel)
            self._step_aside()
            self.command(channel, command, sync, header, body, empty_body)
            self._fall_in(channel, waiting, ANSWERS if header is None else FRAMES)
            return
        out = self.out
        at = out.size()
        flags = FIRST_SEGMENT if header is not None else FIRST_SEGMENT | LAST_SEGMENT
        self._frame_header(flags | WHOLE_SEGMENT, COMMAND, channel, 0)
        out.u16(command.CODE)
        out.u16(0x0101 if sync else 0x0100)
        command.encode_fields(out)
        self._finish(at, flags, COMMAND, channel)
        if header is not None:
            has_body = empty_body or len(body) > 0
            self._segment(0 if has_body else LAST_SEGMENT, HEADER, channel, header)
            if has_body:
                self._segment(LAST_SEGMENT, BODY, channel, body)

    def again(self, channel: int, sent: SentCommand, offset: int) -> None:
        """Write a command that is kept encoded, from one of its octets on."""
        if self.silent:
            return
        header = sent.header
        if self.is_unfinished(channel):
            waiting = self.unfinished.take(channel)
            self._step_aside()
            self.again(channel, sent, offset)
            self._fall_in(channel, waiting, ANSWERS if header is None else FRAMES)
            return
        flags = FIRST_SEGMENT if header is not None else FIRST_SEGMENT | LAST_SEGMENT
        offset = self._segment_from(flags, COMMAND, channel, sent.command, offset)
        if header is not None:
            has_body = sent.empty_body or len(sent.body) > 0
            flags = 0 if has_body else LAST_SEGMENT
            offset = self._segment_from(flags, HEADER, channel, header, offset)
            if has_body:
                self._segment_from(LAST_SEGMENT, BODY, channel, sent.body, offset)

    def _segment_from(self, flags: int, kind: int, channel: int, octets: bytes, offset: int) -> int:
        """Write what of a segment is behind `offset`; the offset in the next one.

        A segment that ends there has been received, but for one that has no octets at all.
        """
        size = len(octets)
        if offset == 0:
            self._segment(flags, kind, channel, octets)
        elif offset < size:
            if not self.is_unfinished(channel):
                offset = self._write_frames(flags, kind, channel, octets, offset)
            if offset < size:
                self.unfinished.add(channel, Rest(octets, kind, flags, offset))
            return 0
        return max(0, offset - size)

    def _frame_header(self, flags: int, kind: int, channel: int, size: int) -> None:
        out = self.out
        out.u8(flags)
        out.u8(kind)
        out.u16(size)
        out.u16(0 if kind == CONTROL else 1)
        out.u16(channel)
        out.u32(0)

    def _finish(self, at: i64, flags: int, kind: int, channel: int) -> None:
        """Fill in the size of the frame begun at `at`, or cut it when it has become too large."""
        out = self.out
        size: int = out.size() - at
        if size <= self.max_frame_size:
            out.patch_u16(at + 2, size)
            return
        octets = out.getvalue()[at + FRAME_HEADER_SIZE :]
        out.truncate(at)
        self._segment(flags, kind, channel, octets)

    def _segment(self, flags: int, kind: int, channel: int, octets: bytes) -> None:
        if self.unfinished.channels and channel in self.unfinished.channels:
            self.unfinished.add(channel, Rest(octets, kind, flags, 0))
            return
        room = self.max_frame_size - FRAME_HEADER_SIZE
        size = len(octets)
        if size <= room:
            self._frame_header(flags | WHOLE_SEGMENT, kind, channel, size + FRAME_HEADER_SIZE)
            self.out.raw(octets)
            return
        at = self._write_frames(flags, kind, channel, octets, 0)
        if at < size:
            self.unfinished.add(channel, Rest(octets, kind, flags, at))

    def _write_frames(self, flags: int, kind: int, channel: int, octets: bytes, at: int) -> int:
        """Write frames of a segment, one at least, as one flush takes; where it goes on."""
        room = self.max_frame_size - FRAME_HEADER_SIZE
        size = len(octets)
        out = self.out
        while True:
            piece = octets[at : at + room]
            of_segment = FIRST_FRAME if at == 0 else 0
            at += room
            if at >= size:
                of_segment |= LAST_FRAME
            self._frame_header(flags | of_segment, kind, channel, len(piece) + FRAME_HEADER_SIZE)
            out.raw(piece)
            if at >= size or out.size() >= self._flush_max:
                return at


@final
class SegmentBuffer:
    """Puts one segment together from its frames, in one buffer that becomes its octets uncopied.

    Attributes:
        open: a segment has begun and is not finished.
        size: octets so far, without those that were there before it.
    """

    __slots__ = ("_octets", "open", "size")

    def __init__(self) -> None:
        self._octets = BytesIO()
        self.open = False
        self.size = 0

    def begin_behind(self, octets: bytes) -> None:
        """The segment comes behind these, so that they need not be joined when it is whole."""
        self._octets.write(octets)

    def add(self, flags: int, piece: bytes) -> bool:
        """Add a frame's payload; whether the segment is now whole. `FramingError` out of order."""
        if bool(flags & FIRST_FRAME) == self.open:
            raise FramingError("a segment's frames are out of order")
        self._octets.write(piece)
        self.size += len(piece)
        self.open = not flags & LAST_FRAME
        return not self.open

    def drain(self) -> bytes:
        """What has come of it, which is then forgotten; the rest is still to come."""
        octets = self.take()
        self.open = True
        return octets

    def take(self) -> bytes:
        """Its octets, behind what it came behind; then forgotten. Also of an unfinished one."""
        WORK.units += self.size // OCTETS_COPIED
        octets = self._octets.getvalue()
        self._octets = BytesIO()
        self.size = 0
        self.open = False
        return octets


def read_command_head(reader: Reader) -> tuple[int, bool]:
    """Code and sync flag of a command segment; the session header may be of any size."""
    code = reader.u16()
    size = reader.u8()
    if size > reader.remaining():
        raise DecodeError("a session header larger than its segment")
    at = reader.need(size)
    return code, size > 0 and reader.buf[at] & 1 != 0
