"""Who a client is, as access rules ask for it."""

from __future__ import annotations

from typing import Final, final

from gateway.bridge.host import VirtualHost

NOBODY: Final = "anonymous"  # what clients without a login are called, and users where none come


@final
class Who:
    """One client.

    Attributes:
        connection: its number; 0: nobody's.
        address: where it comes from.
        user: what it is called, login or not.
        login: who it has proved to be; "" for a client without a login, whatever it is called.
        host: the virtual host that it has opened; the default one before.
    """

    __slots__ = ("address", "connection", "host", "login", "user")

    def __init__(self, connection: int, address: str, host: VirtualHost) -> None:
        self.connection = connection
        self.address = address
        self.user = ""
        self.login = ""
        self.host = host

    def described(self) -> str:
        """For people: who may not."""
        return repr(self.login) if self.login else "a client without a login"
