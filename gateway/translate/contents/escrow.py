"""What a content class has no field for: kept in one header, in the form of the other escrow.

Message-properties that file- and stream-properties lack ride in the header `x-amqp-0-10`; so do the
structs of class file and stream where a message or the other class gets the content. The escrow of
1.0 (`x-amqp-1.0`) has the ids and addresses that a message could not hold as they came.
"""

from __future__ import annotations

from typing import Final, final

from gateway.amqp_0_10._spec_constants import STR16
from gateway.amqp_0_10._spec_structs import FileProperties, StreamProperties
from gateway.amqp_0_10.types import FieldTable
from gateway.amqp_1_0 import types
from gateway.errors import DecodeError
from gateway.message import Loss
from gateway.translate.context import Context
from gateway.translate.crossing import STR16_MAX
from gateway.translate.escrow import HEADER, Deposit, Entry, Withdrawal, open_escrow
from gateway.translate.mapping_rows import BY_NUMBER, number
from gateway.wire.buffers import Reader
from gateway.wire.tagged import Tagged

CONTENT_HEADER: Final = "x-amqp-0-10"
FILENAME: Final = "x-amqp-0-10.filename"
STRUCTS: Final = "other-structs"  # a path of both escrows
REPLY_TO: Final = "properties.reply-to"
FILE: Final = FileProperties.CODE
STREAM: Final = StreamProperties.CODE

ROW_MESSAGE_ID: Final = number("contents.message-id")
ROW_REPLY_TO: Final = number("contents.reply-to")
ROW_FILENAME: Final = number("contents.filename")
ROW_CLASS: Final = number("contents.class")
ROW_FIELDS: Final = number("contents.message-fields")
ROW_USER_ID: Final = number("contents.user-id")


@final
class Keeping:
    """One content on its way from class to class: both escrows that it brings, and both it gets.

    Attributes:
        context: where it goes.
        table: its headers, without those of the escrows.
        own, foreign: what it brings of its own escrow, and of that of 1.0.
        losses: every value that did not cross.
    """

    __slots__ = (
        "_foreign",
        "_kept",
        "_lost",
        "_own",
        "context",
        "foreign",
        "losses",
        "own",
        "table",
    )

    def __init__(self, headers: FieldTable | None, context: Context) -> None:
        self.context = context
        self.losses: list[Loss] = []
        self._kept: list[int] = []
        self._lost: list[int] = []
        text_max = min(context.escrow_max, STR16_MAX) if context.escrow else 0
        self._own = Deposit(text_max)
        self._foreign = Deposit(text_max)
        self.own = Withdrawal()
        self.foreign = Withdrawal()
        self.table: FieldTable = []
        for name, value in headers or []:
            found = self._open(value.value) if name in (CONTENT_HEADER, HEADER) else None
            if found is None:
                self.table.append((name, value))
            elif name == HEADER:
                self.foreign = found
            else:
                self.own = found

    def _open(self, text: object) -> Withdrawal | None:
        """An escrow, if it is one; else the header is like any other."""
        if not isinstance(text, str):
            return None
        try:
            return open_escrow(text, STR16_MAX, self.context.depth_max)
        except DecodeError:
            return None

    def take(self, path: str, visible: int, code: int) -> Entry | None:
        """A value that was kept by another class, of that type, where what was visible stands."""
        entry = self.own.take(path, visible)
        return entry if entry is not None and entry.present and entry.value.code == code else None

    def keep(self, path: str, visible: int, value: Tagged, row: int) -> None:
        """What this class has no field for; a loss if there is no room."""
        if self._own.keep(path, visible, value):
            self._kept.append(row)
        else:
            self.lose(row)

    def keep_original(self, path: str, visible: int, value: Tagged, row: int) -> None:
        """What 1.0 is to have as it came; a loss if there is no room."""
        if self._foreign.keep(path, visible, value):
            self._kept.append(row)
        else:
            self.lose(row)

    def lose(self, row: int) -> None:
        """A value does not cross."""
        found = BY_NUMBER[row]
        self.losses.append(Loss(found.id, found.otherwise))
        self._lost.append(row)

    def count(self) -> None:
        """What is made is used: what was kept and lost counts."""
        counts = self.context.counts
        for row in self._kept:
            counts.escrowed[row] += 1
        for row in self._lost:
            counts.lost[row] += 1

    def headers(self) -> FieldTable:
        """The headers that it goes on with: what nobody has asked for stays in the escrows."""
        for path, entry in self.foreign.entries.items():
            self._go_on(self._foreign, path, entry)
        for path, entry in self.own.entries.items():
            self._go_on(self._own, path, entry)
        for name, deposit in ((HEADER, self._foreign), (CONTENT_HEADER, self._own)):
            text = deposit.text()
            if text is not None:
                self.table.append((name, Tagged(STR16, text)))
        return self.table

    def _go_on(self, deposit: Deposit, path: str, entry: Entry) -> None:
        if not deposit.keep(path, entry.visible, entry.value if entry.present else None):
            self.lose(ROW_FIELDS)


def struct_of(structs: bytes, code: int) -> bytes:
    """The fields of the first struct of that code among whole structs; empty where there is none.

    `DecodeError` where these are no structs.
    """
    reader = Reader(structs)
    while reader.remaining():
        struct = reader.sub(reader.u32())
        if struct.u16() == code:
            return struct.take(struct.remaining())
    return b""


def without_classes(structs: bytes) -> tuple[bytes, bytes]:
    """Those of either class among whole structs, and the others."""
    of_classes: list[bytes] = []
    others: list[bytes] = []
    reader = Reader(structs)
    while reader.remaining():
        at: int = reader.pos
        struct = reader.sub(reader.u32())
        own = struct.u16() in (FILE, STREAM)
        (of_classes if own else others).append(structs[at : reader.pos])
    return b"".join(of_classes), b"".join(others)


def structs_kept(keeping: Keeping) -> bytes:
    """The structs that came as another class; empty where there are none."""
    entry = keeping.take(STRUCTS, -1, types.BINARY)
    return entry.value.value if entry is not None and isinstance(entry.value.value, bytes) else b""
