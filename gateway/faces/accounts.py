"""The accounts above those of connections: of users, virtual hosts, upstreams, and of everybody."""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.wire.accounts import UNLIMITED, Account

# How many who wait are told of one transport that has drained.
TOLD: Final = 64

# Of what may be kept for a virtual host, for users who have little: a sixty-fourth at most.
RESERVED: Final = 8
LITTLE: Final = 64


class Waiting(Protocol):
    """A connection with a message that is larger than what may be unread for now."""

    def go_on(self) -> None:
        """Something has been read."""


@final
class Accounts:
    """What the connections of the process have together; the same for every face.

    Attributes:
        everybody: what all connections keep, those that have not logged in included.
        users, hosts: those that have connections, or had; names are those that logins can have.
        upstreams: those that are dialled, or were; each has as much as a user.
        full: connections whose transports take no more for now.
        waiting: those that go on when others have drained.
    """

    __slots__ = (
        "_host_max",
        "_user_max",
        "everybody",
        "full",
        "hosts",
        "upstreams",
        "users",
        "waiting",
    )

    def __init__(self, user_max: int = UNLIMITED, host_max: int = UNLIMITED) -> None:
        self._user_max = user_max
        self._host_max = host_max
        self.everybody = Account()
        self.users: dict[str, Account] = {}
        self.hosts: dict[str, Account] = {}
        self.upstreams: dict[str, Account] = {}
        self.full = 0
        self.waiting: list[Waiting] = []

    def user(self, name: str) -> Account:
        """That of a user."""
        return _of(self.users, name, self._user_max)

    def host(self, name: str) -> Account:
        """That of a virtual host; a few users who have much leave something to all others."""
        account = _of(self.hosts, name, self._host_max)
        account.reserved = self._host_max // RESERVED
        account.little = self._host_max // LITTLE
        return account

    def upstream(self, name: str) -> Account:
        """That of an upstream: of its own connection, and of its detours."""
        return _of(self.upstreams, name, self._user_max)

    def on_drained(self) -> None:
        """One transport that was full has drained, or is gone: others may go on."""
        self.full -= 1
        waiting = self.waiting
        if waiting:
            told = len(waiting) if self.full == 0 else TOLD
            self.waiting = waiting[told:]
            for each in waiting[:told]:
                each.go_on()

    def refusals(self) -> dict[str, int]:
        """How often a limit was met, by whose it was."""
        return {
            "connection": self.everybody.refused_below,
            "user": sum([account.refused for account in self.users.values()]),
            "virtual_host": sum([account.refused for account in self.hosts.values()]),
            "upstream": sum([account.refused for account in self.upstreams.values()]),
        }


def _of(accounts: dict[str, Account], name: str, limit: int) -> Account:
    account = accounts.get(name)
    if account is None:
        account = Account(limit)
        accounts[name] = account
    return account
