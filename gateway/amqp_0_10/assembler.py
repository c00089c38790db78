"""A session's incoming commands, put together from their frames.

Also the place of the limits on what one command may be: command and header segments, which become
objects, and body segments, which become one piece of memory.
"""

from __future__ import annotations

from typing import Final, final

from gateway.amqp_0_10._spec_commands import (
    COMMANDS,
    CONTENT_COMMANDS,
    FileStage,
    MessageTransfer,
    StreamPublish,
)
from gateway.amqp_0_10.errors import (
    CommandInvalidError,
    FramingError,
    NotAllowedError,
    ResourceLimitExceededError,
)
from gateway.amqp_0_10.frames import (
    BODY,
    COMMAND,
    FIRST_SEGMENT,
    HEADER,
    LAST_FRAME,
    LAST_SEGMENT,
    WHOLE_SEGMENT,
    SegmentBuffer,
    read_command_head,
)
from gateway.amqp_0_10.types import Command
from gateway.errors import DecodeError, LimitError
from gateway.wire.accounts import Account
from gateway.wire.buffers import Reader
from gateway.wire.limits import Limits
from gateway.wire.work import ARGUMENT, WORK

IDLE: Final = 0
NAMES: Final = {COMMAND: "command", HEADER: "header", BODY: "body"}
TRANSFER: Final = 0x0401  # of nearly all commands; for either role
MESSAGES: Final = (MessageTransfer, StreamPublish)  # what brings one, whole
STAGE: Final = FileStage.CODE
PART_MIN: Final = 16 * 1024  # octets of a body that are handed over before it is whole
UNFINISHED: Final = "too much of unfinished commands"


@final
class Assembler:
    """One command at a time.

    Attributes:
        code, command, sync: of the command whose last segment `add` has just seen.
        octets: of its command segment.
        payload, body_at: its header and body segments' content, one behind the other.
        empty_body: its body segment has no octets.
        handed: octets of its body that were handed over before it was whole (`take_part`).
    """

    __slots__ = (
        "_account",
        "_handled",
        "_header",
        "_kept",
        "_limits",
        "_segment",
        "_type",
        "body_at",
        "code",
        "command",
        "empty_body",
        "handed",
        "octets",
        "payload",
        "sync",
    )

    def __init__(self, limits: Limits, handled: frozenset[int], account: Account) -> None:
        self._limits = limits
        self._account = account
        self._kept = 0  # octets of the command that is under way, on the account
        self._handled = handled
        self._segment = SegmentBuffer()
        self._type = IDLE
        self._header = b""
        self.code = 0
        self.octets = 0
        self.command: Command | None = None
        self.sync = False
        self.payload = b""
        self.body_at = 0
        self.empty_body = False
        self.handed = 0

    def idle(self) -> bool:
        """No command is under way."""
        return self._type == IDLE

    def received(self) -> int:
        """Octets that have come of the command that is under way, in all of its segments."""
        if self._type == IDLE:
            return 0
        if self._type == COMMAND and self._segment.open:
            return self._segment.size
        return self.octets + len(self.payload) + self.handed + self._segment.size

    def has_whole(self, kind: int) -> bool:
        """Whether the segment of that kind has come of the command that is under way."""
        return kind < self._type or (kind == self._type and not self._segment.open)

    def move(self, account: Account) -> None:
        """What is kept of a command is on another account from now on."""
        self._account.give(self._kept)
        account.note(self._kept)
        self._account = account

    def reset(self) -> None:
        """Forget the command that is under way."""
        self._segment.take()
        self._type = IDLE
        self._header = b""
        self.command = None
        self.payload = b""
        self.handed = 0
        self._keep(0)

    def give_up(self, piece: bytes) -> Command | None:
        """The command is too much, if it is a message: with what has come of it in `payload`.

        `piece`: of the frame that was too much, if it is not whole.
        """
        command = self.command
        if not isinstance(command, MESSAGES):
            return None
        if self._type == BODY and self._segment.open:
            self.payload = self._segment.take() + piece  # behind the header already
        elif self._type != IDLE:
            self.payload += self._segment.take() + piece
        if self._type == HEADER:
            self.body_at = len(self.payload)
        return command

    def _keep(self, octets: int) -> bool:
        """So much of the command that is under way is kept; `False`: it may not be."""
        kept = self._kept
        if octets > kept and not self._account.take(octets - kept):
            return False
        if octets < kept:
            self._account.give(kept - octets)
        self._kept = octets
        return True

    def take_part(self, least: int) -> bytes | None:
        """What has come of a file that is staged, and was not handed over, if that much has.

        Its properties are in `payload` then. What follows is behind it.
        """
        segment = self._segment
        if self.code != STAGE or self._type != BODY or not segment.open:
            return None
        if segment.size < least or segment.size == 0:
            return None
        octets = segment.drain()
        if self.handed == 0:
            octets = octets[len(self.payload) :]
        self.handed += len(octets)
        return octets

    def settle(self) -> bool:
        """No more has come for now: what there is of a command is kept; `False`: it may not be."""
        octets = 0 if self._type == IDLE else self._segment.size + len(self.payload)
        return octets == self._kept or self._keep(octets)

    def add(self, flags: int, kind: int, buf: bytes, start: int, end: int) -> bool:
        """Add a frame; whether a command is now whole.

        `FramingError` when the frame cannot follow the one before it, `ExecutionError` when the
        command cannot be decoded, is not for our role, or is too large.
        """
        segment = self._segment
        if not segment.open:
            self._begin(flags, kind)
        elif kind != self._type:
            raise FramingError("a segment within another")
        if flags & WHOLE_SEGMENT == WHOLE_SEGMENT and not segment.open:
            if kind == COMMAND:
                self.octets = end - start
                self._decode(Reader(buf, start, end), flags)
            else:
                self._limit(kind, end - start)
                self._content(kind, buf[start:end], False)
        else:
            handed = self.handed if kind == BODY else 0
            self._limit(kind, handed + segment.size + end - start)
            unfinished = segment.size + end - start + len(self.payload)
            if not flags & LAST_FRAME and not self._keep(unfinished):
                raise ResourceLimitExceededError(UNFINISHED)
            if kind == BODY and not segment.open and self.payload:
                segment.begin_behind(self.payload)
            if not segment.add(flags, buf[start:end]):
                return False
            if kind == BODY:
                self.empty_body = self.handed + segment.size == 0
            octets = segment.take()
            if kind == BODY and self.handed:
                octets = self.payload + octets
            if kind == COMMAND:
                self.octets = len(octets)
                self._decode(Reader(octets), flags)
            else:
                self._content(kind, octets, True)
        if not flags & LAST_SEGMENT:
            return False
        self._type = IDLE
        if self._kept:
            self._keep(0)
        return True

    def _begin(self, flags: int, kind: int) -> None:
        if flags & FIRST_SEGMENT:
            if self._type != IDLE or kind != COMMAND:
                raise FramingError("a command begins within another, or with its content")
            self.payload = b""
            self.body_at = 0
            self.empty_body = False
            self.handed = 0
            self.code = 0
            self.command = None
        elif self._type == IDLE or kind <= self._type:
            raise FramingError(f"segment type {kind} is out of order")
        self._type = kind

    def _limit(self, kind: int, size: int) -> None:
        limits = self._limits
        largest = limits.message_size_max if kind == BODY else limits.table_size_max
        if size > largest:
            raise ResourceLimitExceededError(f"a {NAMES[kind]} of more than {largest} octets")

    def _decode(self, reader: Reader, flags: int) -> None:
        self.code = 0
        try:
            self.code, self.sync = read_command_head(reader)
            if self.code == TRANSFER:
                self.command = MessageTransfer.decode(reader, self._limits.depth_max)
                return
            decode = COMMANDS.get(self.code)
            if decode is None:
                raise CommandInvalidError(f"no command has code 0x{self.code:04x}")
            if self.code not in self._handled:
                raise NotAllowedError(f"command 0x{self.code:04x} is not for this side")
            if not flags & LAST_SEGMENT and self.code not in CONTENT_COMMANDS:
                # At once: decoded, it would wait for content that may never come.
                raise CommandInvalidError(f"command 0x{self.code:04x} has no content")
            self.command = decode(reader, self._limits.depth_max)
        except LimitError as limit:  # compiled, a name has one type
            raise ResourceLimitExceededError(str(limit)) from limit
        except DecodeError as error:
            raise CommandInvalidError(str(error)) from error
        finally:
            WORK.units += ARGUMENT * reader.elements

    def _content(self, kind: int, octets: bytes, joined: bool) -> None:
        """A segment of content; `joined`: a body's octets are behind the header's already."""
        if self.code != TRANSFER and self.code not in CONTENT_COMMANDS:
            raise CommandInvalidError(f"command 0x{self.code:04x} has no content")
        if kind == HEADER:
            self.payload = octets
            self.body_at = len(octets)
        elif joined:
            self.payload = octets
        elif not octets:
            self.empty_body = True
        elif self.payload:
            self.payload = self.payload + octets  # compiled, that is half of what += takes
        else:
            self.payload = octets
