"""How much one connection may be given to write ahead of what its transport takes.

Deliveries leave the queues only while there is room, so what a client does not read stays there.
The room is a turn's, and there is none while the transport is full. What filled the transport is on
the connection's account; while half of what may be kept for its user is, its connections have
little room, and a message that is larger waits until somebody's transport has drained.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.faces.accounts import Accounts
from gateway.faces.leaving import GONE
from gateway.wire.accounts import Account
from gateway.wire.limits import Limits

LITTLE: Final = 64 * 1024  # room that there always is, as long as the transport takes something


class Touched(Protocol):
    """A connection: it is asked for its octets at the end of the turn."""

    def touch(self) -> None:
        """There may be something to send."""


@final
class Room:
    """That of one connection.

    Attributes:
        left: octets of deliveries that it may still be given in this turn, apart from what is held
            back of its user. Who sends one takes it off; the last may be larger than what is left.
        full: its transport takes no more for now.
        unread: octets of answers that it has been given since then.
    """

    __slots__ = (
        "_account",
        "_accounts",
        "_connection",
        "_filled",
        "_held_back",
        "_largest",
        "_most",
        "_refused",
        "_short",
        "_user",
        "_waits",
        "_written",
        "full",
        "left",
        "unread",
    )

    def __init__(
        self, account: Account, accounts: Accounts, limits: Limits, connection: Touched
    ) -> None:
        self._account = account
        self._user = account
        self._accounts = accounts
        self._connection: Touched = connection
        self._largest = limits.message_size_max
        self._most = max(LITTLE, limits.unread_max)
        self._held_back = self._most - LITTLE
        self.left = self._most
        self.full = False
        self.unread = 0
        self._written = 0  # octets that were written last
        self._filled = 0  # octets by which the transport became full
        self._refused = False  # there was no room for a delivery in this turn
        self._short = False  # nor has the transport been full since: it goes on in the next one
        self._waits = False  # for another transport to drain

    def join(self, user: Account) -> None:
        """Whose connection it is."""
        self._user = user

    def has(self, size: int) -> bool:
        """Whether a message of about that size may be sent now."""
        left = self.left
        if self._user.pressed:
            left -= self._held_back
        if left <= 0:
            self._refused = True
            return False
        return size <= left or size <= LITTLE or self._may_exceed(size)

    def _may_exceed(self, size: int) -> bool:
        """The last message of a turn may be of any size, while not very much is unread."""
        # At least two of the largest messages, whatever the limits.
        if self._accounts.full == 0 or self._account.has_half(size, 4 * self._largest):
            return True
        if not self._waits:
            self._waits = True
            self._accounts.waiting.append(self)
        return False

    def unread_too_much(self, most: int) -> bool:
        """Whether more than that is unread of answers, or `LITTLE` while its user has little room.

        Then nothing more is read of it, so that there is nothing more to answer.
        """
        return self.unread >= most or (self._user.pressed and self.unread >= LITTLE)

    def on_flushed(self) -> bool:
        """What there is to send is taken; whether who waits for room may go on."""
        short = self._short
        self._short = False
        return short

    def on_written(self, octets: int) -> None:
        """So much there was to send.

        If the transport was full before, it is no deliveries, but what is answered to what the
        client goes on to send.
        """
        if self.full:
            self.unread += octets
            self._account.note(octets)
            self._user.pressed = not self._account.has_half(0, 0)
            return
        self._written = octets
        self.left = self._most
        if self._refused:
            # Seldom does a transport take so much at once; else it says now that it is full.
            self._refused = False
            self.go_on()

    def go_on(self) -> None:
        """There is room in the next turn."""
        self._waits = False
        if not self.full:
            self._short = True
            self._connection.touch()

    def on_full(self, full: bool) -> None:
        """The transport is full, or has drained."""
        if full == self.full:
            return
        self.full = full
        self._short = False
        if full:
            self.left = 0
            self._filled = self._written
            self._account.note(self._filled)
            self._accounts.full += 1
        else:
            self.left = self._most
            self._account.give(self.unread + self._filled)
            self.unread = 0
            self._accounts.on_drained()
        self._user.pressed = not self._account.has_half(0, 0)

    def ease(self) -> None:
        """A large delivery that was on the account has been written."""
        self._user.pressed = not self._account.has_half(0, 0)

    def close(self) -> None:
        """The connection is over, and its account is closed."""
        if self.full:
            self.full = False
            self._accounts.on_drained()
        self._user.pressed = not self._user.has_half(0, 0)
        self.left = 0

    def leave(self) -> None:
        """The connection is gone."""
        self._connection = GONE
