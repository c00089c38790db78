"""What one side of a session has sent and the other has not confirmed: kept, to be sent again.

Only for sessions whose state outlives their transport (session.request-timeout). Commands are kept
encoded, since what they were made of may change; their octets count from the first of their command
segment to the last of their body. Which of them to send again the receiver says by
session.expected; until it has, nothing is sent on a new attachment.

Its fragments are commands that have come in part. The specification does not say of which type they
are in their array: read are structs, and binaries that hold one.
"""

from __future__ import annotations

from typing import Final, final

from gateway.amqp_0_10._spec_commands import MessageTransfer
from gateway.amqp_0_10._spec_structs import CommandFragment, DeliveryProperties
from gateway.amqp_0_10.errors import InvalidArgumentError
from gateway.amqp_0_10.primitives import Ranges
from gateway.amqp_0_10.types import Array, Command, Struct32
from gateway.errors import DecodeError
from gateway.wire.buffers import Reader, Writer
from gateway.wire.serial import RangeSet, add, distance
from gateway.wire.work import LOOK, RANGE, WORK

SENT_OCTETS: Final = 256  # what a command takes beside its own octets
TRANSFER: Final = MessageTransfer.CODE.to_bytes(2, "big")
PROPERTIES: Final = DeliveryProperties.CODE.to_bytes(2, "big")
UNSYNCED: Final = 0x0100
SYNCED: Final = 0x0101
PROPERTIES_AT: Final = 4  # of a struct in a header: its size is in front of its code
FLAGS_AT: Final = 6
REDELIVERED: Final = 0x04  # in the first octet of the flags of delivery-properties


@final
class SentCommand:
    """One command as it was sent; without `header` it has no content."""

    __slots__ = ("body", "command", "empty_body", "header")

    def __init__(
        self, command: Command, sync: bool, header: bytes | None, body: bytes, empty_body: bool
    ) -> None:
        writer = Writer()
        writer.u16(command.CODE)
        writer.u16(SYNCED if sync else UNSYNCED)
        command.encode_fields(writer)
        self.command = writer.getvalue()
        self.header = header
        self.body = body
        self.empty_body = empty_body

    def size(self) -> int:
        """Octets of all its segments."""
        return len(self.command) + len(self.header or b"") + len(self.body)

    def kept(self) -> int:
        """Octets that it takes."""
        return SENT_OCTETS + self.size()

    def redeliver(self) -> None:
        """It may have come before: if it is a message, that says so from now on."""
        header = self.header
        if header is not None and self.command[:2] == TRANSFER:
            self.header = redelivered(header)


def redelivered(header: bytes) -> bytes:
    """A header segment that says so in its delivery-properties; it has them then."""
    at = 0
    while at + FLAGS_AT < len(header):
        if header[at + PROPERTIES_AT : at + FLAGS_AT] == PROPERTIES:
            flags = header[at + FLAGS_AT] | REDELIVERED
            return header[: at + FLAGS_AT] + bytes([flags]) + header[at + FLAGS_AT + 1 :]
        at += PROPERTIES_AT + int.from_bytes(header[at : at + PROPERTIES_AT], "big")
    return b"\0\0\0\x04" + PROPERTIES + bytes([REDELIVERED, 0]) + header


@final
class Replay:
    """The commands that are kept.

    Attributes:
        held: nothing is sent, old or new, before the receiver has said what it expects.
        octets: that they take.
    """

    __slots__ = ("_sent", "held", "octets")

    def __init__(self) -> None:
        self._sent: dict[int, SentCommand] = {}  # by id, ascending
        self.held = False
        self.octets = 0

    def __len__(self) -> int:
        return len(self._sent)

    def add(self, command_id: int, sent: SentCommand) -> None:
        """One more."""
        self._sent[command_id] = sent
        self.octets += sent.kept()

    def get(self, command_id: int) -> SentCommand:
        """One that is kept."""
        return self._sent[command_id]

    def redeliver(self) -> int:
        """The receiver does not know what has come: messages say so; octets that takes more."""
        before = self.octets
        WORK.units += LOOK * len(self._sent)
        for sent in self._sent.values():
            self.octets -= sent.kept()
            sent.redeliver()
            self.octets += sent.kept()
        return self.octets - before

    def all(self) -> list[tuple[int, int]]:
        """All of them, from their first octets."""
        return [(each, 0) for each in self._sent]

    def forget(self, ranges: Ranges) -> int:
        """The receiver has these for good; the octets that they took.

        Of ranges that are longer than all there is, what there is is looked through.
        """
        sent = self._sent
        before = self.octets
        for first, last in ranges:
            length = distance(first, last) + 1
            if length > len(sent):
                WORK.units += LOOK * len(sent)
                gone = [
                    each
                    for each in sent
                    if distance(first, each) >= 0 and distance(each, last) >= 0
                ]
            else:
                WORK.units += LOOK * length
                gone = [add(first, step) for step in range(length) if add(first, step) in sent]
            for command_id in gone:
                self.octets -= sent.pop(command_id).kept()
        return before - self.octets

    def wanted(
        self, commands: Ranges, fragments: dict[int, int], next_id: int
    ) -> tuple[list[tuple[int, int]], Ranges]:
        """What to send again, as ids and offsets, and what cannot be; of session.expected.

        The last of `commands` begins what the receiver has not seen. One that is expected and not
        kept was confirmed before, or sent before anything was kept. A receiver that holds nothing
        expects nothing: it is sent all that is kept.
        """
        if not commands and not fragments:
            return self.all(), []
        expected = _checked(commands, fragments, next_id)
        again: list[tuple[int, int]] = []
        missing = RangeSet()
        for first, last in expected.ranges:
            missing.add_range(first, last)
        WORK.units += RANGE * len(expected.ranges) + LOOK * len(self._sent)
        for each, sent in self._sent.items():
            if each not in expected:
                continue
            offset = fragments.get(each, 0)
            if offset > sent.size():
                raise InvalidArgumentError("a fragment behind the end of its command is expected")
            again.append((each, offset))
            missing.remove_range(each, each)
        return again, missing.ranges


def _checked(commands: Ranges, fragments: dict[int, int], next_id: int) -> RangeSet:
    """Those of the expected commands that there are."""
    expected = RangeSet()
    for at, (first, last) in enumerate(commands):
        if distance(next_id, first) > 0:
            raise InvalidArgumentError("a command is expected that was never sent")
        if at == len(commands) - 1 or distance(last, next_id) <= 0:
            last = add(next_id, -1)
        if distance(first, last) >= 0:
            expected.add_range(first, last)
    for each in fragments:
        if distance(each, next_id) <= 0:
            raise InvalidArgumentError("a fragment is expected of what was never sent")
        expected.add_range(each, each)
    return expected


def offsets(fragments: Array | None) -> dict[int, int]:
    """The octet from which each command is expected that has come in part."""
    offsets: dict[int, int] = {}
    for value in [] if fragments is None else fragments.values:
        if isinstance(value, Struct32):
            octets = value.octets
        elif isinstance(value, bytes):
            octets = value
        else:
            raise InvalidArgumentError("a fragment of a command is a struct")
        try:
            fragment = CommandFragment.decode(Reader(octets))
        except DecodeError as error:
            raise InvalidArgumentError(f"a fragment of a command: {error}") from error
        if fragment.command_id is not None and fragment.byte_ranges:
            offsets[fragment.command_id] = fragment.byte_ranges[0][0]
    return offsets
