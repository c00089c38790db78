"""What an exchange does with each message that comes, beside routing it: it counts, or remembers.

An exchange that counts gives each message its number as a header, those too that no queue takes, or
that are refused: from 1, and anew after a restart, as a qpidd. One that remembers keeps the last
message, for queues that are bound later; it counts among what is held, for who published it.
"""

from __future__ import annotations

from typing import Final, final

from gateway.bridge.pressure import Pressure
from gateway.bridge.quotas import NOBODY, Stock
from gateway.message import NEVER, Message

NUMBER_HEADER: Final = "qpid.msg_sequence"


@final
class Marks:
    """Those of one exchange.

    Attributes:
        numbers, remembers: which of the two it does.
    """

    __slots__ = ("_last", "_number", "_pressure", "_stock", "numbers", "remembers")

    def __init__(self, *, numbers: bool, remembers: bool) -> None:
        self.numbers = numbers
        self.remembers = remembers
        self._number = 0
        self._last: Message | None = None
        self._stock: Stock = NOBODY
        self._pressure: Pressure | None = None

    def number(self, message: Message) -> Message:
        """A message that comes, with its number if they are counted."""
        if not self.numbers or message.reader is None:
            return message
        self._number += 1
        return message.reader.numbered(message, NUMBER_HEADER, self._number, wide=True)

    def remember(self, message: Message, pressure: Pressure) -> None:
        """It is the last that came."""
        if not self.remembers:
            return
        self.forget()
        self._pressure = pressure
        self._stock = pressure.stock_of(message.publisher)
        self._last = message
        pressure.entered(len(message.payload), self._stock)

    def forget(self) -> None:
        """Nothing came last."""
        last, pressure = self._last, self._pressure
        self._last = None
        if last is not None and pressure is not None:
            pressure.left(len(last.payload), self._stock)

    def last(self, now_ms: int) -> Message | None:
        """What came last, unless its time is over."""
        last = self._last
        if last is not None and last.expires_ms != NEVER and last.expires_ms <= now_ms:
            self.forget()
            return None
        return last
