"""How long a login has to wait that others failed before: guessing passwords is made slow.

Owns the reckoning only; time is an argument. Failures are remembered by who is guessed from where
(a user from an address), by address, and by user; each is a table of limited size in which what is
old is forgotten. What it is not: a lockout that somebody can use against somebody else.

- A user from an address: after `PAIR_FREE` failures each try waits, ever longer, for up to
  `PAIR_AT_ONCE_MS`, but tries do not wait for one another: the right password may be among many
  that come at once. After `PAIR_AT_ONCE` failures each waits for the one before it. Nobody else's
  failures count for this pair.
- An address: after `ADDRESS_FREE` failures of all its users together, each try waits, so that many
  names are not guessed instead of one; but tries do not wait for one another, since an address may
  be a load balancer with thousands behind it. How many passwords are checked at a time is up to the
  fair queue (`password_threads`).
- A user: guessed from everywhere, after `USER_FREE` failures each try waits `USER_DELAY_MS`, and
  never longer. So whoever guesses alice's password from elsewhere makes her wait a second from an
  address that she was never at.
- A pair that has logged in within a day waits for its own failures only.

A try that would have to wait longer than `WAIT_MAX_MS` is refused unheard, which tells the guesser
nothing. A password that was wrong before and is sent again tells him nothing either: that is no
failure more, and is refused after `REPEATED_MS`, so that a hundred clients with the password of
yesterday do not keep out the one with that of today.

An address whose last `FLOOD` tries have all failed *floods*: of its tries by users who have failed
from there only some may wait to be checked (`password_threads`). Of pairs that have logged in
within a day each floods on its own.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from typing import Final, final

PAIR_FREE: Final = 3
PAIR_DELAY_MS: Final = 250
PAIR_DELAY_MAX_MS: Final = 4_000
PAIR_AT_ONCE: Final = 200
PAIR_AT_ONCE_MS: Final = 1_000
REPEATED_MS: Final = 1_000
FLOOD: Final = 6
ADDRESS_FREE: Final = 30
ADDRESS_DELAY_MS: Final = 50
ADDRESS_DELAY_MAX_MS: Final = 2_000
USER_FREE: Final = 30
USER_DELAY_MS: Final = 1_000
WAIT_MAX_MS: Final = 5_000
FORGOTTEN_MS: Final = 15 * 60 * 1000
KNOWN_FORGOTTEN_MS: Final = 24 * 60 * 60 * 1000
ENTRIES_MAX: Final = 10_000  # of each table, a hundred octets and some each


@final
class _Failures:
    """How often one source has failed, and when its next try may begin.

    Attributes:
        in_a_row: since it succeeded.
    """

    __slots__ = ("count", "in_a_row", "last_ms", "next_ms")

    def __init__(self) -> None:
        self.count = 0
        self.in_a_row = 0
        self.last_ms = 0
        self.next_ms = 0


@final
class _Table:
    """Sources that failed, the one that failed longest ago first."""

    def __init__(self, free: int, delay_ms: int, delay_max_ms: int) -> None:
        self._free = free
        self._delay_ms = delay_ms
        self._delay_max_ms = delay_max_ms
        self._entries: OrderedDict[bytes, _Failures] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def delay_ms(self, source: bytes, now_ms: int) -> int:
        """Between two tries of it."""
        entry = self._entries.get(source)
        if entry is None or now_ms - entry.last_ms >= FORGOTTEN_MS or entry.count < self._free:
            return 0
        doubled = min(entry.count - self._free, 16)
        return min(self._delay_ms << doubled, self._delay_max_ms)

    def wait_ms(self, source: bytes, now_ms: int) -> int:
        """Until its next try may begin, those before it included."""
        entry = self._entries.get(source)
        delay_ms = self.delay_ms(source, now_ms)
        if entry is None or delay_ms == 0:
            return 0
        return max(entry.next_ms, entry.last_ms + delay_ms) - now_ms

    def take(self, source: bytes, now_ms: int) -> None:
        """A try begins when `wait_ms` says; the one behind it later."""
        entry = self._entries.get(source)
        delay_ms = self.delay_ms(source, now_ms)
        if entry is not None and delay_ms:
            begins_ms = now_ms + max(0, self.wait_ms(source, now_ms))
            entry.next_ms = begins_ms + delay_ms

    def failed(self, source: bytes, now_ms: int) -> None:
        """Once more."""
        entry = self._entries.pop(source, None)
        if entry is None or now_ms - entry.last_ms >= FORGOTTEN_MS:
            entry = _Failures()
        entry.count += 1
        entry.in_a_row += 1
        entry.last_ms = now_ms
        self._entries[source] = entry
        while len(self._entries) > ENTRIES_MAX:
            self._entries.popitem(last=False)

    def count(self, source: bytes, now_ms: int) -> int:
        """How often it has failed."""
        entry = self._entries.get(source)
        return 0 if entry is None or now_ms - entry.last_ms >= FORGOTTEN_MS else entry.count

    def in_a_row(self, source: bytes, now_ms: int) -> int:
        """How often it has failed since it succeeded."""
        return self._entries[source].in_a_row if self.count(source, now_ms) else 0

    def succeeded(self, source: bytes) -> None:
        """It has failed before, but not this time."""
        if source in self._entries:
            self._entries[source].in_a_row = 0

    def forget(self, source: bytes) -> None:
        """It has not failed any more."""
        self._entries.pop(source, None)

    def sweep(self, now_ms: int) -> None:
        """Forget what is old."""
        while self._entries:
            source, entry = next(iter(self._entries.items()))
            if now_ms - entry.last_ms < FORGOTTEN_MS:
                return
            del self._entries[source]


@final
class Throttle:
    """Failures by pair, address and user, and the pairs that are known."""

    def __init__(self) -> None:
        self._pairs = _Table(PAIR_FREE, PAIR_DELAY_MS, PAIR_DELAY_MAX_MS)
        self._addresses = _Table(ADDRESS_FREE, ADDRESS_DELAY_MS, ADDRESS_DELAY_MAX_MS)
        self._users = _Table(USER_FREE, USER_DELAY_MS, USER_DELAY_MS)
        self._known: OrderedDict[bytes, int] = OrderedDict()

    def __len__(self) -> int:
        """Entries of all tables."""
        return len(self._pairs) + len(self._addresses) + len(self._users) + len(self._known)

    def begin(self, address: str, user: str, now_ms: int) -> int | None:
        """How long this try has to wait; `None`: it is refused unheard."""
        pair, place, name = _sources(address, user)
        in_turn = self._pairs.count(pair, now_ms) >= PAIR_AT_ONCE
        if in_turn:
            waits_ms = [self._pairs.wait_ms(pair, now_ms)]
        else:
            waits_ms = [min(self._pairs.delay_ms(pair, now_ms), PAIR_AT_ONCE_MS)]
        if not self._is_known(pair, now_ms):
            waits_ms.append(self._addresses.delay_ms(place, now_ms))
            waits_ms.append(self._users.delay_ms(name, now_ms))
        wait_ms = max(0, *waits_ms)
        if wait_ms > WAIT_MAX_MS:
            return None
        if in_turn:
            self._pairs.take(pair, now_ms)
        return wait_ms

    def floods(self, address: str, user: str, now_ms: int) -> bool:
        """Whether all that came from the address lately was wrong; of a pair that is known, its."""
        pair, place, _name = _sources(address, user)
        if self._is_known(pair, now_ms):
            return self._pairs.in_a_row(pair, now_ms) >= FLOOD
        return self._addresses.in_a_row(place, now_ms) >= FLOOD

    def has_failed(self, address: str, user: str, now_ms: int) -> bool:
        """Whether that user has failed from there lately, and not logged in since."""
        return self._pairs.count(_sources(address, user)[0], now_ms) > 0

    def knows(self, address: str, user: str, now_ms: int) -> bool:
        """Whether that user has logged in from there within a day."""
        return self._is_known(_sources(address, user)[0], now_ms)

    def _is_known(self, pair: bytes, now_ms: int) -> bool:
        return now_ms - self._known.get(pair, -KNOWN_FORGOTTEN_MS) < KNOWN_FORGOTTEN_MS

    def wait_ms(self, address: str, user: str, now_ms: int) -> int:
        """How long a try would have to wait, for callers who do not hold it back but refuse it."""
        return max(0, self._pairs.wait_ms(_sources(address, user)[0], now_ms))

    def failed(self, address: str, user: str, now_ms: int) -> None:
        """It was not this user, or there is none of the name."""
        pair, place, name = _sources(address, user)
        for table, source in (
            (self._pairs, pair),
            (self._addresses, place),
            (self._users, name),
        ):
            table.sweep(now_ms)
            table.failed(source, now_ms)

    def succeeded(self, address: str, user: str, now_ms: int) -> None:
        """It was. What the address and others have guessed wrong is not forgotten for that."""
        pair, place, _name = _sources(address, user)
        self._pairs.forget(pair)
        self._addresses.succeeded(place)
        self._known.pop(pair, None)
        self._known[pair] = now_ms
        while len(self._known) > ENTRIES_MAX:
            self._known.popitem(last=False)


def _sources(address: str, user: str) -> tuple[bytes, bytes, bytes]:
    """Short names of the pair, the address and the user, whatever their lengths."""
    place = hashlib.blake2b(address.encode(), digest_size=16).digest()
    # Names may hold lone surrogates, which have no UTF-8.
    name = hashlib.blake2b(user.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return hashlib.blake2b(place + name, digest_size=16).digest(), place, name
