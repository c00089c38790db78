"""Links of 1.0 that are resumed over as many connections as it takes, written from the part alone.

It shares nothing with the gateway: frames and values are octets here. It knows just what one link
that sends, or consumes, needs; its unsettled map is its own affair.
"""

from __future__ import annotations

import struct
from typing import Any, Final

from faults.cut_line import CutLine

OPEN, BEGIN, ATTACH, FLOW, TRANSFER, DISPOSITION, DETACH, END, CLOSE = range(0x10, 0x19)
SOURCE, TARGET, ACCEPTED = 0x28, 0x29, 0x24
HEADER: Final = b"AMQP\x00\x01\x00\x00"
Value = Any  # of AMQP: None, bool, int, bytes, str, list, dict, or Described


class Described(list[Value]):
    """A composite value: its fields, and its code."""

    def __init__(self, code: int, *fields: Value) -> None:
        super().__init__(fields)
        self.code = code

    def field(self, number: int) -> Value:
        return self[number] if number < len(self) else None


class Ubyte(int):
    """A number of one octet."""


class Symbol(str):
    """Text of ASCII."""


def encode(value: Value) -> bytes:
    if isinstance(value, Described):
        return b"\x00\x53" + bytes([value.code]) + _compound(0xD0, value)
    if value is None:
        return b"\x40"
    if isinstance(value, bool):
        return b"\x41" if value else b"\x42"
    if isinstance(value, Ubyte):
        return bytes([0x50, value])
    if isinstance(value, int):
        return b"\x70" + struct.pack(">I", value)
    if isinstance(value, bytes):
        return b"\xa0" + bytes([len(value)]) + value
    if isinstance(value, Symbol):
        return b"\xa3" + bytes([len(value)]) + value.encode()
    if isinstance(value, str):
        return b"\xa1" + bytes([len(value)]) + value.encode()
    return _compound(0xD1, [each for pair in value.items() for each in pair])


def _compound(code: int, values: list[Value]) -> bytes:
    body = b"".join(encode(each) for each in values)
    return bytes([code]) + struct.pack(">II", len(body) + 4, len(values)) + body


def decode(octets: bytes, at: int) -> tuple[Value, int]:
    code = octets[at]
    at += 1
    if code == 0x00:
        descriptor, at = decode(octets, at)
        value, at = decode(octets, at)
        fields = value if isinstance(value, list) else [value]
        return Described(descriptor if isinstance(descriptor, int) else 0, *fields), at
    if code in (0x40, 0x41, 0x42, 0x43, 0x44, 0x45):
        return {0x40: None, 0x41: True, 0x42: False, 0x43: 0, 0x44: 0, 0x45: []}[code], at
    size = {5: 1, 6: 2, 7: 4, 8: 8, 9: 16}.get(code >> 4, 0)
    if size:
        return int.from_bytes(octets[at : at + size]), at + size
    wide = 4 if code >> 4 in (0xB, 0xD, 0xF) else 1
    size = int.from_bytes(octets[at : at + wide])
    at += wide
    body = octets[at : at + size]
    if code >> 4 in (0xA, 0xB):
        return (body if code in (0xA0, 0xB0) else body.decode()), at + size
    return _members(code, body, wide), at + size


def _members(code: int, body: bytes, wide: int) -> Value:
    count = int.from_bytes(body[:wide])
    members: list[Value] = []
    place = wide
    if code >> 4 == 0xE or code >> 4 == 0xF:
        return members  # arrays, of which nothing is asked
    for _ in range(count):
        member, place = decode(body, place)
        members.append(member)
    if code in (0xC1, 0xD1):
        return dict(zip(members[::2], members[1::2], strict=True))
    return members


class LinkRaw:
    """One link, and what is unsettled of it.

    Attributes:
        unsettled: by tag: the outcome, or `None`.
        bodies: of a link that consumes: what has come, in its order.
        resumed: deliveries that both sides knew when the link was attached again.
    """

    def __init__(self, name: str, queue: str, *, sends: bool, frame_size: int = 4096) -> None:
        self.name, self.queue, self.sends = name, queue, sends
        self.unsettled: dict[bytes, Value] = {}
        self.bodies: list[bytes] = []
        self.resumed = 0
        self._frame_size = frame_size
        self._messages: dict[bytes, bytes] = {}  # what is to be sent and not known to be accepted
        self._tags = 0

    def publish(self, body: bytes) -> None:
        """One message more."""
        self._tags += 1
        self._messages[b"%d" % self._tags] = body

    def in_doubt(self) -> int:
        """Messages that are not known to be accepted, or deliveries not known to be settled."""
        return len(self._messages) if self.sends else len(self.unsettled)

    # Its connections.

    def connect(self, line: CutLine, *, understands: bool) -> None:
        """Attach; `understands`: settle by the gateway's map, and send nothing a second time."""
        self._line = line
        self._pending = b""
        self._ids: dict[int, bytes] = {}
        self._next = 0
        self._count = 0
        self._credit = 0
        self._part = b""
        self._owed: list[int] = []
        line.say(HEADER)
        while len(self._pending) < 8:
            self._pending += line.hear()
        assert self._pending[:8] == HEADER
        self._pending = self._pending[8:]
        self._say(Described(OPEN, f"container of {self.name}", None, self._frame_size))
        self._until(OPEN)
        self._say(Described(BEGIN, None, 0, 1 << 20, 1 << 20))
        self._until(BEGIN)
        self._attach()
        answer, _ = self._until(ATTACH)
        theirs: dict[bytes, Value] = answer.field(7) or {}
        assert not answer.field(8), "a map that is not complete, though the frames are large"
        if self.sends:
            self._queue_up(theirs, understands=understands)
        else:
            for tag in [tag for tag in self.unsettled if tag not in theirs]:
                del self.unsettled[tag]
            self.resumed += len(self.unsettled)
            self._say(Described(FLOW, 0, 1 << 20, 0, 1 << 20, 0, 0, 500))

    def _attach(self) -> None:
        lasting = (self.queue, 0, Symbol("link-detach"), 60)
        plain = ("here",)
        self._say(
            Described(
                ATTACH,
                self.name,
                0,
                not self.sends,
                Ubyte(0) if self.sends else None,
                None,
                Described(SOURCE, *(plain if self.sends else lasting)),
                Described(TARGET, *(lasting if self.sends else plain)),
                self.unsettled,
                None,
                0 if self.sends else None,
            )
        )

    def _queue_up(self, theirs: dict[bytes, Value], *, understands: bool) -> None:
        """What is to be sent: what they have not heard of as new, the rest as they know it."""
        self._waiting: list[tuple[bytes, bool, Value]] = []
        for tag in list(self._messages):
            known = tag in theirs and tag in self.unsettled
            self.resumed += known
            state = theirs[tag] if known else None
            if state is not None:
                assert state.code == ACCEPTED
            self._waiting.append((tag, known, state if understands else None))

    def go_on(self) -> None:
        """Send as much as there is credit for, and hear something."""
        while self.sends and self._waiting and self._credit > 0:
            tag, known, state = self._waiting.pop(0)
            self._credit -= 1
            self._transfer(tag, known, state)
            if state is not None:
                self._forget(tag)
        if self.in_doubt() or not self.sends:
            self._take(*self._frame())

    def settle(self) -> None:
        """Accept what has come on this connection; the gateway is to settle it then."""
        owed, self._owed = self._owed, []
        for number in owed:
            self.unsettled[self._ids[number]] = Described(ACCEPTED)
            self._say(Described(DISPOSITION, True, number, None, False, Described(ACCEPTED)))

    def _transfer(self, tag: bytes, known: bool, state: Value) -> None:
        """One delivery, in as many frames as it takes; settled, and nothing of it, by a state."""
        self.unsettled.setdefault(tag, None)
        self._ids[self._next] = tag
        body = self._messages[tag]
        section = b"\x00\x53\x75\xb0" + struct.pack(">I", len(body)) + body
        payload = b"" if state is not None else b"\x00\x53\x70\x45" + section
        room = self._frame_size - 100
        pieces = [payload[at : at + room] for at in range(0, len(payload), room)] or [b""]
        for number, piece in enumerate(pieces):
            more = number + 1 < len(pieces)
            fields = (self._next, tag, 0, state is not None, more, None, state, known)
            self._say(Described(TRANSFER, 0, *fields), piece)
        self._next += 1
        self._count += 1

    def _forget(self, tag: bytes) -> None:
        self._messages.pop(tag, None)
        self.unsettled.pop(tag, None)

    # Frames.

    def _say(self, performative: Described, payload: bytes = b"") -> None:
        octets = encode(performative) + payload
        self._line.say(struct.pack(">IBBH", len(octets) + 8, 2, 0, 0) + octets)

    def _frame(self) -> tuple[Described, bytes]:
        while True:
            while len(self._pending) < 4 or len(self._pending) < self._size():
                self._pending += self._line.hear()
            size = self._size()
            frame, self._pending = self._pending[:size], self._pending[size:]
            if size > 8:
                performative, at = decode(frame, 8)
                return performative, frame[at:]

    def _size(self) -> int:
        return int.from_bytes(self._pending[:4])

    def _until(self, code: int) -> tuple[Described, bytes]:
        while True:
            performative, payload = self._frame()
            if performative.code == code:
                return performative, payload
            self._take(performative, payload)

    def _take(self, performative: Described, payload: bytes) -> None:
        code = performative.code
        assert code not in (DETACH, END, CLOSE), list(performative)
        if code == FLOW and self.sends and performative.field(4) is not None:
            count = performative.field(5) or 0
            self._credit = count + (performative.field(6) or 0) - self._count
        elif code == TRANSFER:
            self._take_transfer(performative, payload)
        elif code == DISPOSITION:
            self._take_disposition(performative)

    def _take_disposition(self, disposition: Described) -> None:
        first = disposition.field(1)
        last = disposition.field(2)
        for number in range(first, (first if last is None else last) + 1):
            tag = self._ids[number]
            if self.sends:
                assert disposition.field(4).code == ACCEPTED
                self._forget(tag)
            elif disposition.field(3):
                self.unsettled.pop(tag, None)

    def _take_transfer(self, transfer: Described, payload: bytes) -> None:
        if not self._part and transfer.field(1) is not None:
            self._first = transfer
        if transfer.field(5):
            self._part += payload
            return
        first, payload, self._part = self._first, self._part + payload, b""
        number, tag, resumed = first.field(1), first.field(2), bool(first.field(8))
        assert resumed == (tag in self.unsettled), "resumed, and not known; or known, and new"
        if first.field(4):
            del self.unsettled[tag]  # they have heard what it had come to
            return
        if not resumed:
            self.bodies.append(_body_of(payload))
        self._ids[number] = tag
        self._owed.append(number)
        self.unsettled.setdefault(tag, None)


def _body_of(payload: bytes) -> bytes:
    at = 0
    while at < len(payload):
        section, at = decode(payload, at)
        if section.code == 0x75:
            body: bytes = section[0]
            return body
    raise AssertionError("a message without a body")
