"""Two gateways in a row without sockets: a queue of the one lives at the other."""

from __future__ import annotations

import json
import pathlib
from typing import Any

from support.net import Wire
from support.whole_gateway import WholeGateway
from twisted.internet.address import IPv4Address
from twisted.internet.error import ConnectionDone
from twisted.python.failure import Failure

from gateway.clients.client import Subscription
from gateway.clients.letter import Letter


class Chain:
    """Gateway `near`, of which queue ``orders`` lives at gateway `far`."""

    def __init__(self, directory: pathlib.Path) -> None:
        self.near = WholeGateway(
            directory / "near",
            f"upstreams={json.dumps({'far': {'hosts': ['amqp://127.0.0.1:1']}})}",
            f"nodes={json.dumps([{'queue': 'orders', 'upstream': 'far'}])}",
        ).start()
        self.far = WholeGateway(directory / "far").start()
        maker = self.far.connect_0_10()
        self.heard: list[Any] = []
        maker.declare_queue("orders", durable=True)
        maker.flush()
        self.far.run()
        _, _, factory, *_ = self.near.reactor.tcpClients[0]
        self._upstream, self._server = Wire(), Wire()
        self._out = factory.buildProtocol(IPv4Address("TCP", "127.0.0.1", 1))
        server = self.far.reactor.tcpServers[0][1]
        self._in = server.buildProtocol(IPv4Address("TCP", "127.0.0.1", 40_001))
        self._server.protocol = self._in
        self._in.makeConnection(self._server)
        self._upstream.protocol = self._out
        self._out.makeConnection(self._upstream)
        self._over = False
        self.run()

    def run(self) -> None:
        moved = True
        while moved:
            self.near.pass_time(0.01)
            self.far.pass_time(0.01)
            moved = False
            for source, target in ((self._upstream, self._in), (self._server, self._out)):
                data = source.value()
                if data:
                    source.clear()
                    target.dataReceived(data)
                    moved = True

    def sends(self, protocol: str, letter: Letter) -> None:
        near = self.near
        client: Any = near.connect_0_10() if protocol == "0-10" else near.connect_1_0()
        told: list[object] = []
        client.send("orders", letter).addCallbacks(told.append, told.append)
        client.flush()
        self.run()
        assert told == ["accepted"]

    def receives(self, protocol: str, *, near: bool = False) -> list[Any]:
        """All that is in the queue, by a client of `far`, or of `near`."""
        at = self.near if near else self.far
        client: Any = at.connect_0_10() if protocol == "0-10" else at.connect_1_0()
        got: list[Any] = []
        client.receive(Subscription("orders"), got.append)
        client.flush()
        self.run()
        for delivered in got:
            delivered.settle("accept")
        client.flush()
        self.run()
        return got

    def stop(self, whole: WholeGateway) -> None:
        whole.service.stop()
        self.run()
        if not self._over:
            self._over = True
            for end in (self._out, self._in):
                end.connectionLost(Failure(ConnectionDone()))
        for _ in range(100):
            self.near.pass_time(1)
            self.far.pass_time(1)
            if whole.stopped:
                return
        raise AssertionError("the gateway does not stop")

    def logs(self) -> tuple[pathlib.Path, pathlib.Path]:
        """The audit logs of both, when they have stopped."""
        for whole in (self.near, self.far):
            self.stop(whole)
        near, far = (whole.service.settings.data_directory for whole in (self.near, self.far))
        return near / "audit", far / "audit"
