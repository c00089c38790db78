"""A client of 0-10 whose session outlives its connections, written from the XML alone.

It shares nothing with the gateway: frames, controls and commands are octets here, and what is sent
again is its own affair. It knows just what publishing to a queue and consuming from one need.
"""

from __future__ import annotations

import struct
from typing import Final

from faults.cut_line import CutLine

CONTROL, COMMAND, HEADER, BODY = range(4)
MAX_FRAME: Final = 4096
CHANNEL: Final = 1
START, TUNE, OPEN_OK, CLOSE = 0x0101, 0x0105, 0x0108, 0x010B
ATTACHED, DETACHED, TIMEOUT, POINT = 0x0202, 0x0204, 0x0206, 0x0207
EXPECTED, COMPLETED, FLUSH, GAP = 0x0208, 0x020A, 0x020C, 0x020D
TRANSFER: Final = 0x0401
PUBLISH = bytes.fromhex("0401 0100 0300 00 00")  # accept-mode explicit
Ranges = list[tuple[int, int]]


def sequence_set(ranges: Ranges) -> bytes:
    return struct.pack(">H", 8 * len(ranges)) + b"".join(struct.pack(">II", *r) for r in ranges)


def ranges_of(octets: bytes) -> Ranges:
    (size,) = struct.unpack_from(">H", octets)
    return [struct.unpack_from(">II", octets, 2 + at) for at in range(0, size, 8)]


def str8(text: str) -> bytes:
    return bytes([len(text)]) + text.encode()


class LastingRaw:
    """One session, over as many connections as it takes.

    Attributes:
        bodies: of the transfers that have come, in their order.
        granted_s: the timeout that it was granted.
        replayed: commands that were sent again.
    """

    def __init__(self, name: str) -> None:
        self.name = name.encode()
        self.bodies: list[bytes] = []
        self.granted_s = 0
        self.replayed = 0
        self._sent: dict[int, list[bytes]] = {}  # segments of what is not completed
        self._next = 0
        self._attached_once = False
        self._overlaps = False
        self._come = 0  # commands of the gateway that have come whole
        self._heard: list[int] = []  # transfers that are not accepted

    # What it does.

    def declare(self, queue: str) -> None:
        self._command(bytes.fromhex("0801 0100 0900") + str8(queue))

    def publish(self, queue: str, body: bytes) -> None:
        properties = struct.pack(">HH", 0x0401, 0x1002) + b"\x02" + str8(queue)
        header = struct.pack(">I", len(properties)) + properties
        self._command(PUBLISH, header, body)

    def subscribe(self, queue: str) -> None:
        self._command(bytes.fromhex("0407 0100 0f00") + str8(queue) + str8("d") + b"\0\0")
        for unit in (0, 1):
            flow = str8("d") + bytes([unit]) + b"\xff" * 4
            self._command(bytes.fromhex("040a 0100 0700") + flow)

    def in_doubt(self) -> int:
        """Commands that are not known to be completed."""
        return len(self._sent)

    def _command(self, *segments: bytes) -> None:
        self._sent[self._next] = list(segments)
        self._next += 1

    # Its connections.

    def connect(self, line: CutLine) -> None:
        """Attach the session; what is in doubt and what is expected of it is sent again."""
        self._line = line
        self._overlaps = not self._overlaps
        self._again = dict(self._sent)
        self._pending = b""
        self._parts: list[bytes] = []
        self._pointed = -1
        line.say(b"AMQP\x01\x01\x00\x0a")
        while len(self._pending) < 8:
            self._pending += line.hear()
        assert self._pending[:8] == b"AMQP\x01\x01\x00\x0a"
        self._pending = self._pending[8:]
        self._until(START)
        self._say(0x0102, bytes.fromhex("0f00 00000004 00000000") + str8("ANONYMOUS")
                  + struct.pack(">I", 0) + str8("en_US"), channel=0)  # fmt: skip
        self._until(TUNE)
        self._say(0x0106, struct.pack(">HHHH", 0x0700, 10, MAX_FRAME, 0), channel=0)
        self._say(0x0107, bytes.fromhex("0100 00"), channel=0)
        self._until(OPEN_OK)
        self._say(0x0201, struct.pack(">HH", 0x0300, len(self.name)) + self.name)
        self._until(ATTACHED)
        if not self.granted_s:
            self._say(0x0205, struct.pack(">HI", 0x0100, 60))
            answer = self._until(TIMEOUT)
            (self.granted_s,) = struct.unpack_from(">I", answer, 2)
        self._say(0x020C, bytes.fromhex("0500"))  # expected, completed
        expected = ranges_of(self._until(EXPECTED)[2:])
        at = expected[0][0] if expected else min(self._sent, default=self._next)
        if self._overlaps:  # again from the first that was in doubt, whatever has come
            at = min(at, *self._again, at)
        assert bool(expected) or not self._attached_once, "the gateway has lost the state"
        assert at <= self._next, "more is expected than was sent"
        if expected:
            missing = [each for each in range(expected[0][0], self._next) if each not in self._sent]
            assert not missing, f"expected, but completed: {missing}"
        self.replayed += self._next - at if self._attached_once else 0
        self._attached_once |= bool(expected)
        self._say(POINT, struct.pack(">HIQ", 0x0300, at, 0))
        self._written = at

    def go_on(self) -> None:
        """Send what has not been sent on this connection, and hear something."""
        while self._written < self._next:
            segments = self._sent.get(self._written) or self._again[self._written]
            self._written += 1
            self._write(segments)
        self._take(*self._frame())

    def settle(self) -> None:
        """Accept what has come since the last time."""
        for command_id in self._heard:
            accept = sequence_set([(command_id, command_id)])
            self._command(bytes.fromhex("0402 0100 0100") + accept)
        self._heard = []

    # Octets.

    def _say(self, code: int, fields: bytes, channel: int = CHANNEL) -> None:
        payload = struct.pack(">H", code) + fields
        self._line.say(self._framed(0x0F, CONTROL, payload, channel))

    @staticmethod
    def _framed(flags: int, kind: int, payload: bytes, channel: int = CHANNEL) -> bytes:
        track = 0 if kind == CONTROL else 1
        head = struct.pack(">BBHBBHI", flags, kind, len(payload) + 12, 0, track, channel, 0)
        return head + payload

    def _write(self, segments: list[bytes]) -> None:
        room = MAX_FRAME - 12
        octets = b""
        for number, segment in enumerate(segments):
            first = 0x08 if number == 0 else 0
            last = 0x04 if number == len(segments) - 1 else 0
            pieces = [segment[at : at + room] for at in range(0, len(segment), room)] or [b""]
            for place, piece in enumerate(pieces):
                begins = 0x02 if place == 0 else 0
                ends = 0x01 if place == len(pieces) - 1 else 0
                octets += self._framed(first | last | begins | ends, COMMAND + number, piece)
        self._line.say(octets)

    def _frame(self) -> tuple[int, int, bytes]:
        while True:
            if len(self._pending) >= 12:
                flags, kind, size = struct.unpack_from(">BBH", self._pending)
                if len(self._pending) >= size:
                    payload = self._pending[12:size]
                    self._pending = self._pending[size:]
                    return flags, kind, payload
            self._pending += self._line.hear()

    def _until(self, code: int) -> bytes:
        """Hear all until that control; its packing flags and fields."""
        while True:
            flags, kind, payload = self._frame()
            if kind == CONTROL and struct.unpack_from(">H", payload)[0] == code:
                return payload[2:]
            self._take(flags, kind, payload)

    def _take(self, flags: int, kind: int, payload: bytes) -> None:
        if kind == CONTROL:
            self._take_control(struct.unpack_from(">H", payload)[0], payload[2:])
            return
        assert self._pointed >= 0, "a command before a command-point"
        if flags & 0x0A == 0x0A:
            self._parts = []
        if flags & 0x02:
            self._parts.append(b"")
        self._parts[-1] += payload
        if flags & 0x05 == 0x05:
            self._take_command(self._pointed, self._parts)
            self._pointed += 1

    def _take_control(self, code: int, fields: bytes) -> None:
        if code == POINT:
            _, self._pointed, offset = struct.unpack_from(">HIQ", fields)
            assert offset == 0
        elif code == COMPLETED:
            for first, last in ranges_of(fields[2:]):
                for each in [each for each in self._sent if first <= each <= last]:
                    del self._sent[each]
        elif code == FLUSH:
            if fields[0] & 0x01:
                self._say(EXPECTED, b"\x01\x00" + sequence_set([(self._come, self._come)]))
            self._complete()
        elif code in (DETACHED, CLOSE):
            raise AssertionError(f"the gateway has had enough: {code:#x} {fields.hex()}")
        assert code != GAP, "a gap: something was completed that is expected"

    def _complete(self) -> None:
        if self._come:
            self._say(COMPLETED, b"\x01\x00" + sequence_set([(0, self._come - 1)]))

    def _take_command(self, command_id: int, segments: list[bytes]) -> None:
        if command_id < self._come:
            return  # again
        assert command_id == self._come, f"{command_id} where {self._come} comes next"
        self._come += 1
        (code,) = struct.unpack_from(">H", segments[0])
        assert code >> 8 != 3, f"an exception or a result: {segments[0].hex()}"
        if code == TRANSFER:
            self._heard.append(command_id)
            self.bodies.append(segments[-1])
        self._complete()
