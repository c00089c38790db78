"""The credit of one 0-10 subscription: message.flow in both modes, in both units.

In window mode what may be sent is the allowance - the sum of the grants since the last stop or
flush - less what the peer has not completed; completion, not acceptance, gives it back. In credit
mode only another flow does.
Source: 0-10 XML, message.set-flow-mode, flow, flush and stop.
"""

from __future__ import annotations

from typing import Final, final

from gateway.bridge.queues.subscription import UNLIMITED

INFINITE: Final = 0xFFFFFFFF


@final
class Allowance:
    """What one unit of credit allows: the grants, and what the peer holds uncompleted of them."""

    __slots__ = ("granted", "uncompleted")

    def __init__(self) -> None:
        self.granted: int = 0
        self.uncompleted: int = 0

    def add(self, value: int | None) -> None:
        """message.flow: absent and 0xFFFFFFFF are infinite, and stay so until stop or flush."""
        if value is None or value == INFINITE:
            self.granted = UNLIMITED
        elif self.granted != UNLIMITED:
            self.granted += value

    def left(self) -> int:
        """What may be sent now."""
        if self.granted == UNLIMITED:
            return UNLIMITED
        return max(0, self.granted - self.uncompleted)

    def covers(self, amount: int) -> bool:
        """Whether `amount` may be sent now."""
        return self.granted == UNLIMITED or amount <= self.granted - self.uncompleted

    def spend(self, amount: int, *, window: bool) -> None:
        """So much was sent: in window mode it is uncompleted, in credit mode used up."""
        if window:
            self.uncompleted += amount
        elif self.granted != UNLIMITED:
            self.granted -= amount

    def restart(self) -> None:
        """The mode changes: what is left stays, what is uncompleted is of no account any more."""
        self.granted = self.left()
        self.uncompleted = 0


@final
class Credit:
    """What may be sent by a subscription.

    Attributes:
        window: window mode, in which a subscription begins; else credit mode.
        era: how often the mode has changed: completions of an earlier era give nothing back.
        due: completions have given something back that the bridge has not been told of.
    """

    __slots__ = ("due", "era", "messages", "octets", "window")

    def __init__(self) -> None:
        self.window = True
        self.era = 0
        self.due = False
        self.messages = Allowance()
        self.octets = Allowance()

    def set_window(self, window: bool) -> None:
        """message.set-flow-mode; what may be sent stays what it is."""
        if window != self.window:
            self.window = window
            self.era += 1
            self.messages.restart()
            self.octets.restart()

    def left(self) -> int:
        """How many messages may be sent now, as far as is known before their size is."""
        return 0 if self.octets.left() == 0 else self.messages.left()

    def end(self) -> None:
        """It is zero in both units."""
        self.messages.granted = 0
        self.octets.granted = 0

    def sent(self, octets: int) -> None:
        """A transfer of so many octets of header and body went out."""
        self.messages.spend(1, window=self.window)
        self.octets.spend(octets, window=self.window)

    def completed(self, octets: int, era: int) -> None:
        """The peer completed such a transfer, sent in `era`."""
        if era == self.era:
            self.messages.uncompleted -= 1
            self.octets.uncompleted -= octets
            self.due = True
