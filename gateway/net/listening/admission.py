"""How many connections an address may have, and how many that have not opened are heard at a time.

Those beyond wait for their turn, unheard, in the order in which they came: a thousand clients that
come back at once through one load balancer are all let in, and whoever opens none of its
connections holds up its own address and no other. Nor that one for long: while others wait, who
says nothing lends its place on, and is heard all the same.

A connection has its place as long as its transport: whoever was cut off with a thousand others, and
comes back at once, must not be refused because their ends wait for their turn (`turn_shares`).
"""

from __future__ import annotations

import ipaddress
from collections import deque
from collections.abc import Callable
from functools import lru_cache
from typing import Final, final

from gateway.net.counts import NetCounts
from gateway.net.turn_shares import TurnShare, TurnShares

WITH_ENDING: Final = 2  # times a limit: so many connections with those that wait for their end
LOOKED_UP: Final = 1000  # addresses of which is known whose share they take
PREFIX_6: Final = 64  # who has an IPv6 address has all of that prefix


@lru_cache(LOOKED_UP)  # it takes as long as all else that the end of a connection's transport does
def share_of(address: str) -> str:
    """Whose share of the limits a connection from `address` takes."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, PREFIX_6), strict=False))


@final
class Callers:
    """The connections of one address.

    Attributes:
        connections: all of them, but for those whose transports are gone; `ending`: these.
        entering: those that are heard and have not opened, but for those that lent their place on.
        waiting: what lets those in that are not heard yet, by their numbers, in their order.
        turn_share: what those that have not opened may have done in one turn.
        nameless_share: what those may that have, without a login.
    """

    __slots__ = ("connections", "ending", "entering", "nameless_share", "turn_share", "waiting")

    def __init__(self, strangers: TurnShares, users: TurnShares) -> None:
        self.turn_share = TurnShare(strangers)
        self.nameless_share = TurnShare(users, self.turn_share)
        self.connections = 0
        self.ending = 0
        self.entering: set[int] = set()
        self.waiting: dict[int, Callable[[], None]] = {}


@final
class Admission:
    """Who calls from each address that has connections."""

    def __init__(
        self,
        counts: NetCounts,
        in_turn: Callable[[Callable[[], None]], object],
        strangers: TurnShares,
        users: TurnShares,
        *,
        per_address_max: int,
        entering_max: int,
    ) -> None:
        self._counts = counts
        self._in_turn = in_turn
        self._strangers = strangers
        self._users = users
        self._per_address_max = per_address_max
        self._entering_max = entering_max
        self._callers: dict[str, Callers] = {}

    def come(self, address: str) -> bool:
        """One more connection; `False`: it is one too many."""
        name = share_of(address)
        callers = self._callers.get(name)
        if callers is None:
            callers = Callers(self._strangers, self._users)
        elif self._is_full(callers):
            self._counts.refused["address_limit"] += 1
            return False
        callers.connections += 1
        self._callers[name] = callers
        return True

    def _is_full(self, callers: Callers) -> bool:
        most = self._per_address_max
        there = callers.connections
        return there >= most or there + callers.ending >= WITH_ENDING * most

    def turn_share(self, address: str) -> TurnShare:
        """That of the connections of an address that have not opened."""
        return self._callers[share_of(address)].turn_share

    def nameless_share(self, address: str) -> TurnShare:
        """That of those of an address that have, without a login: nothing else tells them apart."""
        return self._callers[share_of(address)].nameless_share

    def enter(self, address: str, number: int, let_in: Callable[[], None]) -> bool:
        """Connection `number` wants to be heard; `False`: it is let in when its turn comes."""
        callers = self._callers[share_of(address)]
        if len(callers.entering) >= self._entering_max:
            callers.waiting[number] = let_in
            self._counts.waiting += 1
            return False
        callers.entering.add(number)
        return True

    def lend_on(self, silent: Callable[[int], bool]) -> None:
        """Where others wait, those that say nothing take nobody's place any longer."""
        for callers in self._callers.values():
            if callers.waiting:
                callers.entering -= {number for number in callers.entering if silent(number)}
                self._next(callers)

    def entered(self, address: str, number: int) -> None:
        """It has opened: the next one's turn."""
        callers = self._callers[share_of(address)]
        callers.entering.discard(number)
        self._next(callers)

    def vacate(self, address: str, number: int) -> None:
        """Its transport is gone: its place is free, though it has not ended."""
        callers = self._callers[share_of(address)]
        callers.connections -= 1
        callers.ending += 1
        callers.entering.discard(number)
        if callers.waiting.pop(number, None) is not None:
            self._counts.waiting -= 1
        self._next(callers)

    def gone(self, address: str) -> None:
        """One whose place was free is over; the share of the address was its, too, till now."""
        name = share_of(address)
        callers = self._callers[name]
        callers.ending -= 1
        if not callers.connections and not callers.ending:
            del self._callers[name]

    def _next(self, callers: Callers) -> None:
        turns: deque[Callable[[], None]] = deque()
        while callers.waiting and len(callers.entering) < self._entering_max:
            number = next(iter(callers.waiting))
            turns.append(callers.waiting.pop(number))
            callers.entering.add(number)
            self._counts.waiting -= 1
        for let_in in turns:
            # In a call of its own: it must not break whoever has just opened, or ended.
            self._in_turn(let_in)
