"""Connections of the project's own clients to a process of its own, driven by whoever waits."""

from __future__ import annotations

import contextlib
import select
import socket
import time
from collections.abc import Callable
from typing import Any

from gateway.clients.client import Client, Login
from gateway.clients.client_0_10 import Client010
from gateway.clients.client_1_0 import Client10

PATIENCE_S = 60.0
WRITE_OCTETS = 1 << 18


class Line:
    """A client on a socket.

    Attributes:
        waiting: octets that the other side does not take yet.
    """

    def __init__(self, client: Client, port: int) -> None:
        self.client = client
        self.waiting = bytearray()
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)

    def write(self) -> None:
        """Write what is to be written, as far as the other side takes it."""
        deadline_ms = self.client.next_deadline()
        if deadline_ms is not None and deadline_ms <= now_ms():
            self.client.handle_deadline(now_ms())
        self.waiting += self.client.data_to_send()
        if self.waiting:
            with contextlib.suppress(BlockingIOError):
                taken = self.socket.send(self.waiting[:WRITE_OCTETS])
                del self.waiting[:taken]

    def read(self) -> None:
        """Read what has come."""
        octets = self.socket.recv(1 << 18)
        if not octets:
            raise ConnectionError("the gateway has closed the connection")
        self.client.receive_data(octets, now_ms())


class Lines:
    """All connections to one port, driven by whoever waits for something."""

    def __init__(self, port: int, login: Login | None = None) -> None:
        self.port = port
        self.login = login or Login()
        self.lines: list[Line] = []

    def connect_0_10(self) -> Client010:
        client = Client010(self.login, now_ms())
        self._connect(client)
        return client

    def connect_1_0(self) -> Client10:
        client = Client10(self.login, now_ms())
        self._connect(client)
        return client

    def _connect(self, client: Client) -> None:
        self.lines.append(Line(client, self.port))
        self.wait_for(client.ready())

    def turn(self, seconds: float = 0.05) -> None:
        """Write what is to be written, read what has come."""
        for line in self.lines:
            line.write()
        by_socket = {line.socket: line for line in self.lines}
        full = [line.socket for line in self.lines if line.waiting]
        for one in select.select(list(by_socket), full, [], seconds)[0]:
            by_socket[one].read()

    def run_until(self, condition: Callable[[], bool], within_s: float = PATIENCE_S) -> None:
        deadline = time.monotonic() + within_s
        while not condition():
            assert time.monotonic() < deadline, "waited too long"
            self.turn()

    def wait_for(self, deferred: Any) -> Any:  # Any: a Deferred of anything, and its result
        """What a Deferred fires with."""
        results: list[Any] = []
        deferred.addBoth(results.append)
        self.run_until(lambda: bool(results))
        if isinstance(results[0], Exception) or hasattr(results[0], "raiseException"):
            results[0].raiseException()
        return results[0]

    def hang_up(self) -> None:
        """Close the sockets without a word."""
        for line in self.lines:
            line.socket.close()
        self.lines.clear()


def now_ms() -> int:
    return int(time.monotonic() * 1000)
