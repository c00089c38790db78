"""A TCP proxy that misbehaves on order: a program of its own, and its remote control.

`FaultProxy(target_port)` starts `python -P fault_proxy.py` as a child on a free loopback port and
speaks to it in lines on its standard input and output, one answer a command. What a command says
holds for the connections that are open and for later ones until another command changes it:

    pass              forward everything, at once (how it begins)
    delay SECONDS     forward everything, so much later
    stall             forward nothing, keep the connections: a half-open peer, as TCP shows it
    stall-in/-out     the same for one direction: to the client, to the server
    limit OCTETS      forward so many octets in all more, then stall
    refuse            close what comes in at once
    cut               close every connection in good order, now
    reset             reset every connection, now
    half-close        end the direction to the client, now; the other one goes on
    port PORT         dial another server for later connections
    tls FILE          later connections from clients are TLS, with the certificate and key in FILE
    counts            answer "CONNECTIONS OPEN OCTETS-IN OCTETS-OUT"
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

from twisted.internet import protocol, reactor, ssl, stdio
from twisted.internet.endpoints import TCP4ClientEndpoint
from twisted.protocols.basic import LineOnlyReceiver

LOOPBACK: Final = "127.0.0.1"


class FaultProxy:
    """The remote control of one proxy process; a context manager."""

    def __init__(self, target_port: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(Path(__file__).resolve()), str(target_port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.port = int(self._answer())

    def __enter__(self) -> FaultProxy:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End the process and all that goes through it."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def order(self, command: str) -> str:
        """Give one command; its answer, when it has taken effect."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()
        return self._answer()

    def counts(self) -> dict[str, int]:
        """Connections taken so far and open now; octets forwarded to the client and from it."""
        values = self.order("counts").split()
        return dict(
            zip(("connections", "open", "to_client", "to_server"), map(int, values), strict=True)
        )

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the fault proxy has ended")
        return line.strip()


class Faults:
    """What the proxy does to octets at the moment, and to whom."""

    def __init__(self, target_port: int) -> None:
        self.target_port = target_port
        self.delay_s = 0.0
        self.stalled = {"in": False, "out": False}
        self.refusing = False
        self.certificate = ""
        self.left: int | None = None
        self.sides: list[Side] = []
        self.taken = 0
        self.octets = {"in": 0, "out": 0}

    def may_pass(self, direction: str, size: int) -> int:
        """How many of `size` octets may go on now."""
        if self.stalled[direction]:
            return 0
        if self.left is None:
            return size
        passed = min(size, self.left)
        self.left -= passed
        return passed

    def obey(self, command: str, argument: str) -> str:
        """Carry out one command."""
        if command in ("pass", "delay", "stall", "stall-in", "stall-out", "limit"):
            self.delay_s = float(argument) if command == "delay" else 0.0
            self.left = int(argument) if command == "limit" else None
            self.stalled = {
                "in": command in ("stall", "stall-in"),
                "out": command in ("stall", "stall-out"),
            }
            self.refusing = False
            for side in list(self.sides):
                side.push()
        elif command == "refuse":
            self.refusing = True
        elif command == "port":
            self.target_port = int(argument)
        elif command == "tls":
            self.certificate = argument
        elif command == "counts":
            clients = [side for side in self.sides if side.direction == "out"]
            return f"{self.taken} {len(clients)} {self.octets['in']} {self.octets['out']}"
        elif command in ("cut", "reset", "half-close"):
            for side in list(self.sides):
                side.end(command)
        else:
            return f"no such command: {command}"
        return "ok"


class Side(protocol.Protocol):
    """One end of a connection through the proxy; what it reads goes in `direction`."""

    def __init__(self, faults: Faults, direction: str) -> None:
        self.faults = faults
        self.direction = direction
        self.other: Side | None = None
        self.held: list[bytes] = []

    def connectionMade(self) -> None:
        self.faults.sides.append(self)
        self.transport.setTcpNoDelay(True)
        if self.direction == "out":
            self.faults.taken += 1
            if self.faults.refusing:
                self.transport.abortConnection()
                return
            if self.faults.certificate:
                pem = Path(self.faults.certificate).read_text()
                self.transport.startTLS(ssl.PrivateCertificate.loadPEM(pem).options())
            self.transport.pauseProducing()
            server = Side(self.faults, "in")
            server.other, self.other = self, server
            endpoint = TCP4ClientEndpoint(reactor, LOOPBACK, self.faults.target_port)
            endpoint.connect(protocol.Factory.forProtocol(lambda: server)).addCallbacks(
                lambda _server: self.transport.resumeProducing(),
                lambda _failure: self.transport.abortConnection(),
            )

    def dataReceived(self, data: bytes) -> None:
        if self.faults.delay_s:
            reactor.callLater(self.faults.delay_s, self._forward, data)
        else:
            self._forward(data)

    def _forward(self, data: bytes) -> None:
        self.held.append(data)
        self.push()

    def push(self) -> None:
        """Pass on what may pass; read on only while nothing is held."""
        while self.held:
            data = self.held[0]
            passed = self.faults.may_pass(self.direction, len(data))
            if passed and self.other is not None and self.other.transport is not None:
                self.other.transport.write(data[:passed])
                self.faults.octets[self.direction] += passed
            if passed < len(data):
                self.held[0] = data[passed:]
                self.transport.pauseProducing()
                return
            self.held.pop(0)
        if self.transport is not None and self.transport.connected:
            self.transport.resumeProducing()

    def end(self, how: str) -> None:
        """End as ordered."""
        if how == "reset":
            self.transport.abortConnection()
        elif how == "cut":
            self.transport.loseConnection()
        elif self.direction == "out":
            self.transport.loseWriteConnection()

    def connectionLost(self, reason: object = None) -> None:
        if self in self.faults.sides:
            self.faults.sides.remove(self)
        if self.other is not None and self.other.transport is not None:
            self.other.transport.loseConnection()


class Orders(LineOnlyReceiver):
    """Standard input: one command a line."""

    delimiter = b"\n"

    def __init__(self, faults: Faults) -> None:
        self.faults = faults

    def lineReceived(self, line: bytes) -> None:
        command, _, argument = line.decode().strip().partition(" ")
        self.sendLine(self.faults.obey(command, argument).encode())

    def connectionLost(self, reason: object = None) -> None:
        reactor.stop()


def main() -> None:
    """Listen, say where, obey until standard input ends."""
    faults = Faults(int(sys.argv[1]))
    factory = protocol.Factory.forProtocol(lambda: Side(faults, "out"))
    port = reactor.listenTCP(0, factory, interface=LOOPBACK)
    orders = Orders(faults)
    stdio.StandardIO(orders)
    orders.sendLine(str(port.getHost().port).encode())
    reactor.run()


if __name__ == "__main__":
    main()
