"""Controls: which input of a connection each is; put together from their frames and decoded.

Most controls are one frame. Those that are not are kept by channel, under one limit for them all.
"""

from __future__ import annotations

from typing import Final, final

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_controls import CLIENT_CONTROLS, CONTROLS, SERVER_CONTROLS
from gateway.amqp_0_10.errors import FramingError
from gateway.amqp_0_10.frames import WHOLE_SEGMENT, FrameParser, SegmentBuffer
from gateway.amqp_0_10.states import ConnectionInput, Role
from gateway.amqp_0_10.types import Control
from gateway.errors import DecodeError
from gateway.wire.accounts import Account
from gateway.wire.buffers import Reader
from gateway.wire.limits import Limits
from gateway.wire.work import ARGUMENT, CONTROL, WORK

# Life-cycle input of a connection, by the code of a received control.
RECEIVED: Final = {
    spec.ConnectionStart.CODE: ConnectionInput.RECV_START,
    spec.ConnectionStartOk.CODE: ConnectionInput.RECV_START_OK,
    spec.ConnectionSecure.CODE: ConnectionInput.RECV_SECURE,
    spec.ConnectionSecureOk.CODE: ConnectionInput.RECV_SECURE_OK,
    spec.ConnectionTune.CODE: ConnectionInput.RECV_TUNE,
    spec.ConnectionTuneOk.CODE: ConnectionInput.RECV_TUNE_OK,
    spec.ConnectionOpen.CODE: ConnectionInput.RECV_OPEN,
    spec.ConnectionOpenOk.CODE: ConnectionInput.RECV_OPEN_OK,
    spec.ConnectionRedirect.CODE: ConnectionInput.RECV_REDIRECT,
    spec.ConnectionClose.CODE: ConnectionInput.RECV_CLOSE,
    spec.ConnectionCloseOk.CODE: ConnectionInput.RECV_CLOSE_OK,
}


def named(received: ConnectionInput) -> str:
    """The control that is this input, by its name in the specification."""
    return "connection." + received.name.removeprefix("RECV_").lower().replace("_", "-")


@final
class ControlReader:
    """The controls of one connection."""

    __slots__ = ("_account", "_depth_max", "_handled", "_kept", "_room_max", "_segments")

    def __init__(self, role: Role, limits: Limits, account: Account) -> None:
        self._handled = SERVER_CONTROLS if role == Role.SERVER else CLIENT_CONTROLS
        self._depth_max = limits.depth_max
        self._room_max = limits.table_size_max
        self._account = account
        self._kept = 0
        self._segments: dict[int, SegmentBuffer] = {}

    def read(self, parser: FrameParser) -> Control | None:
        """The control that the parser's frame is, or completes; `None` while it is not whole.

        `FramingError` when it cannot be decoded, or is not for our role.
        """
        if parser.flags & WHOLE_SEGMENT == WHOLE_SEGMENT and not self._segments:
            return self._decode(Reader(parser.buf, parser.start, parser.end))
        octets = self._collect(parser)
        return None if octets is None else self._decode(Reader(octets))

    def reset(self) -> None:
        """Forget those that are not whole."""
        self._segments = {}
        self._account.give(self._kept)
        self._kept = 0

    def _collect(self, parser: FrameParser) -> bytes | None:
        segment = self._segments.get(parser.channel)
        if segment is None:
            segment = SegmentBuffer()
            self._segments[parser.channel] = segment
        # None is given back before all is whole: who interleaves forever runs out of it.
        octets = parser.end - parser.start
        if self._kept + octets > self._room_max or not self._account.take(octets):
            raise FramingError("unfinished controls of more than the allowed octets")
        self._kept += octets
        if not segment.add(parser.flags, parser.buf[parser.start : parser.end]):
            return None
        del self._segments[parser.channel]
        if not self._segments:
            self._account.give(self._kept)
            self._kept = 0
        return segment.take()

    def _decode(self, reader: Reader) -> Control:
        try:
            code = reader.u16()
            decode = CONTROLS.get(code)
            if decode is None or code not in self._handled:
                raise FramingError(f"control 0x{code:04x} is unknown, or not for this side")
            return decode(reader, self._depth_max)
        except DecodeError as error:
            raise FramingError(f"a control cannot be decoded: {error}") from error
        finally:
            WORK.units += CONTROL + ARGUMENT * reader.elements
