"""Where a container is: what was dialled, and what a redirect says of another one."""

from __future__ import annotations

from typing import final

from gateway.amqp_1_0.redirects import Redirect


@final
class Location:
    """What to connect to, and how.

    Attributes:
        network_host, port: "" and 0 where nobody has told.
        hostname: of the open, and of TLS; "": none but the configured one.
        secure: with TLS.
        reached: address and port of who answered there; "" before, and where nobody tells.
    """

    __slots__ = ("hostname", "network_host", "port", "reached", "secure")

    def __init__(
        self, *, network_host: str = "", port: int = 0, hostname: str = "", secure: bool = False
    ) -> None:
        self.network_host = network_host
        self.port = port
        self.hostname = hostname
        self.secure = secure
        self.reached = ""

    def redirected(self, redirect: Redirect) -> Location:
        """Where a redirect from this one leads; what it does not tell stays the same (2.8.18)."""
        host = redirect.network_host
        if host is None:
            return self
        return Location(
            network_host=host.lower(),
            port=redirect.port or self.port,
            hostname=redirect.hostname or "",
            secure=self.secure,
        )

    def is_at(self, other: Location) -> bool:
        """Whether a connection to `other` leads to the same."""
        return (
            self.network_host == other.network_host.lower()
            and self.port == other.port
            and self.secure == other.secure
            and self.hostname in ("", other.hostname)
        )

    def __str__(self) -> str:
        host = f"[{self.network_host}]" if ":" in self.network_host else self.network_host
        named = "" if self.hostname in ("", self.network_host) else f" ({self.hostname})"
        return f"{host}:{self.port}{named}"
