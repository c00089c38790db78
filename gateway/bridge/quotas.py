"""What the queues hold for one user or one virtual host, and which of its publishers wait.

A message is its publisher's, wherever its copies are, until they are gone. Copies are counted for
the user in its virtual host (`Stock`), and at the end of a turn for the one and for the other
(`Quota`): so a copy costs one addition. What a restart brings back is its virtual host's alone.
"""

from __future__ import annotations

from collections import deque
from typing import Final, final

from mypy_extensions import i64 as int64

from gateway.bridge.limits import NO_QUOTA
from gateway.bridge.queues.latency import Run
from gateway.bridge.seams import Publisher
from gateway.message import Outcome

Waiting = tuple[int, Publisher, int, Outcome, Run | None, int]


@final
class Quota:
    """That of a user, or of a virtual host.

    Attributes:
        octets: copies held, as of the end of the last turn.
        high: it is used up, and three quarters of it were not reached since: publishers wait.
        full: twice as much is held: publishes are refused. That is for who does not wait.
        waiting: publishes that are held back for it.
        held_back: how many there were.
    """

    __slots__ = ("full", "held_back", "high", "most", "octets", "waiting")

    def __init__(self, most: int) -> None:
        self.most = most
        self.octets = 0
        self.high = False
        self.full = False
        self.waiting: deque[Waiting] = deque()
        self.held_back = 0

    def change(self, difference: int) -> int:
        """So much more is held, or less; the difference of what is held beyond the quota."""
        before = max(0, self.octets - self.most)
        octets = self.octets + difference
        self.octets = octets
        if octets > self.most:
            self.high = True
        elif octets * 4 <= self.most * 3:
            self.high = False
        self.full = octets > 2 * self.most
        return max(0, octets - self.most) - before

    def has_room(self, octets: int) -> bool:
        """Whether so much more would not be refused."""
        return self.octets + octets <= 2 * self.most


@final
class Stock:
    """Copies of one user's messages in one virtual host.

    Attributes:
        octets: of them, now.
        counted: how many of those the quotas know of.
        dirty: they are to be told at the end of the turn.
    """

    __slots__ = ("counted", "dirty", "host", "octets", "user")

    def __init__(self, user: Quota, host: Quota) -> None:
        self.user = user
        self.host = host
        self.octets: int64 = 0
        self.counted: int64 = 0
        self.dirty = False

    def difference(self) -> int64:
        """What the quotas do not know of; they are told now."""
        difference = self.octets - self.counted
        self.counted = self.octets
        self.dirty = False
        return difference

    def has_room(self, octets: int) -> bool:
        """Whether so much more would not be refused, with what came in this turn."""
        octets += self.octets - self.counted
        return self.user.has_room(octets) and self.host.has_room(octets)

    def high(self) -> Quota | None:
        """The quota that is used up, if one is."""
        if self.user.high:
            return self.user
        return self.host if self.host.high else None


NOBODY: Final = Stock(Quota(NO_QUOTA), Quota(NO_QUOTA))  # of copies that are not in a queue yet


@final
class Quotas:
    """All of them, and whose connection is whose.

    Attributes:
        users, hosts: by name.
        holding: those for which publishes are held back; a set.
        high: how many are used up, as of the end of the last turn.
    """

    __slots__ = (
        "_beyond_hosts",
        "_beyond_users",
        "_connections",
        "_dirty",
        "_host_most",
        "_stocks",
        "_user_most",
        "high",
        "holding",
        "hosts",
        "users",
    )

    def __init__(self, user_most: int, host_most: int) -> None:
        self._user_most = user_most
        self._host_most = host_most
        self._connections: dict[int, Stock] = {}
        self._stocks: dict[tuple[str | None, str], Stock] = {}
        self._dirty: list[Stock] = []
        self._beyond_users = 0
        self._beyond_hosts = 0
        self.high = 0
        self.users: dict[str, Quota] = {}
        self.hosts: dict[str, Quota] = {}
        self.holding: dict[Quota, None] = {}

    def join(self, connection: int, user: str, host: str) -> None:
        """What comes by that connection is this user's, in this virtual host."""
        self._connections[connection] = self._stock(user, host)

    def leave(self, connection: int) -> None:
        """The connection is gone; what came by it stays its user's."""
        self._connections.pop(connection, None)

    def of_connection(self, connection: int) -> Stock:
        """Whose it is that comes by a connection; upstreams' and the gateway's own is nobody's."""
        return self._connections.get(connection, NOBODY)

    def of_user(self, user: str, host: str) -> Stock:
        """What is known to be a user's."""
        return self._stock(user, host)

    def of_host(self, host: str) -> Stock:
        """What nobody knows the user of."""
        return self._stock(None, host)

    def _stock(self, user: str | None, host: str) -> Stock:
        stock = self._stocks.get((user, host))
        if stock is None:
            whose = Quota(NO_QUOTA) if user is None else _of(self.users, user, self._user_most)
            stock = Stock(whose, _of(self.hosts, host, self._host_most))
            self._stocks[(user, host)] = stock
        return stock

    def hold_back(self, quota: Quota, waiting: Waiting) -> None:
        """Confirm a publish when there is room in a quota."""
        quota.waiting.append(waiting)
        quota.held_back += 1
        self.holding[quota] = None

    def forget_empty(self) -> None:
        """Publishes have been confirmed."""
        self.holding = {quota: None for quota in self.holding if quota.waiting}

    def touch(self, stock: Stock) -> None:
        """It has changed."""
        stock.dirty = True
        self._dirty.append(stock)

    def settle(self) -> None:
        """The turn ends."""
        if self._dirty:
            dirty = self._dirty
            self._dirty = []
            for stock in dirty:
                difference = stock.difference()
                self._beyond_users += self._change(stock.user, difference)
                self._beyond_hosts += self._change(stock.host, difference)

    def _change(self, quota: Quota, difference: int) -> int:
        high = quota.high
        beyond = quota.change(difference)
        if quota.high != high:
            self.high += -1 if high else 1
        return beyond

    def beyond(self) -> int:
        """Octets beyond quotas: whose they are waits, and nobody else for them."""
        return max(self._beyond_users, self._beyond_hosts)


def _of(quotas: dict[str, Quota], name: str, most: int) -> Quota:
    quota = quotas.get(name)
    if quota is None:
        quota = Quota(most)
        quotas[name] = quota
    return quota
