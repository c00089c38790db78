"""One message on its way across: its context, the escrow it brought and gets, its losses.

Every translating function is given the `Crossing` and tells it what became of each value: kept
beside the message (`keep`), restored (`take`), or lost (`lose`), by the number of the mapping row.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import mypyc_attr

from gateway.errors import DecodeError
from gateway.message import Loss, Message
from gateway.translate.context import Context
from gateway.translate.escrow import (
    NOTHING,
    NOTHING_BROUGHT,
    Deposit,
    Entry,
    digest_number,
    digest_octets,
    digest_text,
    digest_value,
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
    """What the translation of one message shares."""

    __slots__ = ("context", "deposit", "losses", "message", "text_max", "withdrawal")

    def __init__(self, message: Message, context: Context) -> None:
        self.message = message
        self.context = context
        self.losses: list[Loss] = []
        self.text_max = min(context.escrow_max, STR16_MAX)
        self.deposit = Deposit(self.text_max if context.escrow else 0)
        self.withdrawal = NOTHING_BROUGHT

    def open(self, value: object) -> None:
        """Take what stood under the escrow's name as this message's escrow, if it is one."""
        if isinstance(value, str):
            try:
                self.withdrawal = open_escrow(value, self.text_max, self.context.depth_max)
            except DecodeError:
                self.lose(ESCROW_MALFORMED)
        else:
            self.lose(ESCROW_MALFORMED)

    # Digests of visible values for `take`: not computed where there is nothing to take.

    def brought(self) -> bool:
        """Whether the message brought an escrow of which something is left."""
        return len(self.withdrawal.entries) > 0

    def seen_text(self, text: str | None) -> int:
        """The digest of a visible text."""
        return digest_text(text) if self.withdrawal.entries else NOTHING

    def seen_octets(self, octets: bytes | None) -> int:
        """The digest of visible octets."""
        return digest_octets(octets) if self.withdrawal.entries else NOTHING

    def seen_number(self, number: int | None) -> int:
        """The digest of a visible number."""
        return digest_number(number) if self.withdrawal.entries else NOTHING

    def seen_value(self, value: Tagged | None) -> int:
        """The digest of a visible 1.0 value."""
        return digest_value(value) if self.withdrawal.entries else NOTHING

    def seen_node(self, exchange: str, key: str) -> int:
        """The digest of a visible pair of exchange and routing key."""
        return digest_text(f"{exchange}\0{key}") if self.withdrawal.entries else NOTHING

    def take(self, path: str, visible: int, row: int) -> Entry | None:
        """The original of a field, if it is in escrow and the visible value still stands."""
        entry = self.withdrawal.take(path, visible)
        if entry is not None:
            self.context.counts.restored[row] += 1
        return entry

    def take_typed(self, path: str, visible: int, row: int, code: int) -> Entry | None:
        """As `take`; an original of another type than `code` is no escrow of ours."""
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
        """As `keep`, for what is no loss: the other side gains a field, none is gone."""
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
        for _ in range(self.withdrawal.stale + len(self.withdrawal.entries)):
            self.lose(ESCROW_STALE)
        return self.deposit.text()
