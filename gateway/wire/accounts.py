"""Octets that the gateway keeps on somebody's behalf: a connection's, a user's, a virtual host's.

Whatever a peer can make grow and what outlives a turn is counted where it is kept, in octets of
memory: frames, commands and deliveries of which parts have come, what was decoded and waits, what
is remembered of sessions and links, answers that are not read. What a connection has on its account
counts for its user and its virtual host, too. Whole messages are the queues' (`bridge.pressure`).
"""

from __future__ import annotations

from typing import Final, final

from gateway.wire.tagged import Tagged

# Octets of memory that one octet takes, at most, when it is decoded: a null of a list.
DECODED: Final = 64

UNLIMITED: Final = 1 << 62

VALUE: Final = 64  # a value, apart from what it consists of
UNKNOWN: Final = 1024 * 1024  # one that only its protocol can look into


@final
class Account:
    """One account, and those above it for which it counts, too.

    Attributes:
        held: octets that are kept.
        limit: how many may be.
        refused: how often more was wanted.
        refused_below: how often one below it wanted more than its own limit.
        reserved: of its limit, for those users below it that have no more than `little`.
        pressed: half of it has been used, and so little is given ahead (`faces.room`).
    """

    __slots__ = (
        "_above",
        "_user",
        "held",
        "limit",
        "little",
        "pressed",
        "refused",
        "refused_below",
        "reserved",
    )

    def __init__(self, limit: int = UNLIMITED) -> None:
        self.held = 0
        self.limit = limit
        self.refused = 0
        self.refused_below = 0
        self.pressed = False
        self.reserved = 0
        self.little = 0
        self._above: list[Account] = []
        self._user: Account | None = None

    def join(self, above: Account, user: Account | None = None) -> None:
        """What is kept counts for `above`, too, from now on; also what is kept already.

        `user`: whose it is, where `above` has something reserved for users.
        """
        self._above.append(above)
        above.held += self.held
        if user is not None:
            self._user = user

    def take(self, octets: int) -> bool:
        """Keep so much more; `False`, and nothing is counted, where that passes a limit."""
        if self.held + octets > self.limit:
            self.refuse()
            return False
        for above in self._above:
            left = above.limit - above.held - octets
            if left < above.reserved and (left < 0 or not self._has_little(above, octets)):
                above.refused += 1
                return False
        self.note(octets)
        return True

    def _has_little(self, above: Account, octets: int) -> bool:
        """Whether it is for who has so little that even what is reserved is for him."""
        user = self._user
        return user is not None and user.held + octets <= above.little

    def refuse(self) -> None:
        """More was wanted of it than may be kept, by whichever rule."""
        self.refused += 1
        for above in self._above:
            above.refused_below += 1

    def note(self, octets: int) -> None:
        """So much more is kept, whatever the limits: it is bounded elsewhere."""
        self.held += octets
        for above in self._above:
            above.held += octets

    def give(self, octets: int) -> None:
        """So much is not kept any more."""
        self.note(-octets)

    def has_half(self, octets: int, least: int) -> bool:
        """Whether it and those above it are within half of their limits with so much more.

        `least`: what counts as their limit if that is less.
        """
        if 2 * (self.held + octets) > max(self.limit, least):
            return False
        return all([2 * (each.held + octets) <= max(each.limit, least) for each in self._above])

    def close(self) -> None:
        """Whoever it was is gone, with all that was kept."""
        for above in self._above:
            above.held -= self.held
        self._above = []
        self.held = 0

    def has_room(self, octets: int) -> bool:
        """Whether so much more may be kept; where not, that is counted."""
        if self.held + octets <= self.limit:
            return True
        self.refused += 1
        return False


def weigh(value: object) -> int:
    """Octets of memory that a decoded value takes, about."""
    if value is None or isinstance(value, (bool, int, float)):
        return VALUE
    if isinstance(value, str):
        return VALUE + (len(value) if value.isascii() else 4 * len(value))
    if isinstance(value, bytes):
        return VALUE + len(value)
    if isinstance(value, Tagged):
        return VALUE + weigh(value.value)
    octets = VALUE
    if isinstance(value, (list, tuple)):
        for each in value:
            octets += weigh(each)
    elif isinstance(value, dict):
        for key, each in value.items():
            octets += weigh(key) + weigh(each)
    else:
        octets = UNKNOWN
    return octets
