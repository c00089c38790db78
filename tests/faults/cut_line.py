"""A blocking connection that breaks after so many octets of either direction."""

from __future__ import annotations

import socket
import struct
from typing import Final

PATIENCE_S: Final = 20
READ: Final = 65536


class CutError(Exception):
    """The connection has broken, as it was meant to."""


class CutLine:
    """One connection; what is beyond its octets is never sent, or never seen."""

    def __init__(self, port: int, up: int, down: int, *, reset: bool) -> None:
        """`up`, `down`: octets that still go each way; `reset`: it ends so, and not in order."""
        self._up, self._down = up, down
        self._socket = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
        if reset:
            linger = struct.pack("ii", 1, 0)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)

    def say(self, octets: bytes) -> None:
        """Send all of it, or what still goes."""
        said = octets[: self._up]
        self._up -= len(said)
        try:
            self._socket.sendall(said)
        except OSError as error:
            raise CutError from error
        if len(said) < len(octets):
            self.cut()

    def hear(self) -> bytes:
        """What comes next."""
        if self._down == 0:
            self.cut()
        try:
            heard = self._socket.recv(READ)[: self._down]
        except TimeoutError as error:
            raise AssertionError("the gateway says nothing more") from error
        except OSError as error:
            raise CutError from error
        self._down -= len(heard)
        if not heard:
            self.cut()
        return heard

    def cut(self) -> None:
        """It breaks now."""
        self._socket.close()
        raise CutError
