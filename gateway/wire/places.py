"""Where else there are containers, as peers are told by both protocols."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final


@final
@dataclass(init=False, slots=True)
class Place:
    """What to connect to: TLS first or not, a name or an IP address, a port."""

    tls: bool
    host: str
    port: int

    def __init__(self, tls: bool, host: str, port: int) -> None:
        self.tls = tls
        self.host = host
        self.port = port

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


@final
@dataclass(init=False, slots=True)
class Elsewhere:
    """What the clients of one virtual host are told of other places.

    Attributes:
        redirect: where they are sent instead; `None`: they may stay.
        known: where they may go when they lose us.
    """

    redirect: Place | None
    known: list[Place]

    def __init__(self, redirect: Place | None = None, known: list[Place] | None = None) -> None:
        self.redirect = redirect
        self.known = known or []


NOWHERE: Final = Elsewhere()
