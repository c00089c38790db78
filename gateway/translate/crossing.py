"""One message on its way across: its context, the escrow it brought and gets, its losses.

Every translating function is given the `Crossing` and tells it what became of each value: kept
beside the message (`keep`), restored (`take`), or lost (`lose`), by the number of the mapping row.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64 as int64
from mypy_extensions import mypyc_attr

from gateway.errors import DecodeError
from gateway.message import Loss, Message
from gateway.translate.context import Context
from gateway.translate.escrow import (
    NOTHING_BROUGHT,
    Deposit,
    Entry,
    open_escrow,
)
from gateway.translate.mapping_rows import BY_NUMBER, number
from gateway.wire.tagged import Tagged

ESCROW_STALE: Final = number("escrow.stale")
ESCROW_MALFORMED: Final = number("escrow.malformed")
STR16_MAX: Final = 65_535


@final
@mypyc_attr(free_list_len=1)
class Crossing:
    """What the translation of one message shares.

    Attributes:
        has_escrow: the message brought an escrow. Most bring none: nothing is asked of it then, and
            no digest is made of what is visible.
        id_digest: of the message-id that leaves, its escrow included.
    """

    __slots__ = (
        "context",
        "deposit",
        "has_escrow",
        "id_digest",
        "losses",
        "message",
        "text_max",
        "withdrawal",
    )

    def __init__(self, message: Message, context: Context) -> None:
        self.message = message
        self.context = context
        self.losses: list[Loss] = []
        self.text_max = min(context.escrow_max, STR16_MAX)
        self.deposit = Deposit(self.text_max if context.escrow else 0)
        self.withdrawal = NOTHING_BROUGHT
        self.has_escrow = False
        self.id_digest: int64 = 0

    def open(self, value: object) -> None:
        """Take what stood under the escrow's name as this message's escrow, if it is one."""
        if isinstance(value, str):
            try:
                self.withdrawal = open_escrow(value, self.text_max, self.context.depth_max)
                self.has_escrow = True
            except DecodeError:
                self.lose(ESCROW_MALFORMED)
        else:
            self.lose(ESCROW_MALFORMED)

    def take(self, path: str, visible: int, row: int) -> Entry | None:
        """The original of a field, if it is in escrow and the visible value still stands."""
        entry = self.withdrawal.take(path, visible)
        if entry is not None:
            self.context.counts.restored[row] += 1
        return entry

    def take_typed(self, path: str, visible: int, row: int, code: int) -> Entry | None:
        """The original of a field, as `take` finds it, if it has the type `code`; else a loss."""
        entry = self.take(path, visible, row)
        if entry is not None and entry.present and entry.value.code != code:
            self.lose(ESCROW_MALFORMED)
            return None
        return entry

    def keep(self, path: str, visible: int, original: Tagged | None, row: int) -> bool:
        """Put the original of a field in escrow; where that cannot be, it is a loss."""
        if self.keep_quietly(path, visible, original, row):
            return True
        self.lose(row)
        return False

    def keep_quietly(self, path: str, visible: int, original: Tagged | None, row: int) -> bool:
        """Put the original of a field in escrow, if that can be; what is gained is never a loss.

        For a field that the other side gains, or whose value it can tell; `False`: no room.
        """
        if not self.deposit.keep(path, visible, original):
            return False
        self.context.counts.escrowed[row] += 1
        return True

    def lose(self, row: int) -> None:
        """Note that a value did not cross."""
        found = BY_NUMBER[row]
        self.losses.append(Loss(found.id, found.otherwise))
        self.context.counts.lost[row] += 1

    def finish(self) -> str | None:
        """Count what nobody took out of the escrow; the new escrow string, if there is one."""
        if self.has_escrow:
            for _ in range(self.withdrawal.lost()):
                self.lose(ESCROW_STALE)
        return self.deposit.text()
