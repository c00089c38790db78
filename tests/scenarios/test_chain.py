"""Two gateways in a row: a message is the same one in the audit logs of both."""

from __future__ import annotations

import json
import pathlib
from typing import Any
from uuid import UUID

import pytest
from support.net import Wire
from support.whole_gateway import WholeGateway
from twisted.internet.address import IPv4Address
from twisted.internet.error import ConnectionDone
from twisted.python.failure import Failure

from gateway.audit.reader import Segment, records, segment_paths
from gateway.audit.story import Story
from gateway.cli.trace import digests_of
from gateway.clients.client import Subscription
from gateway.clients.letter import Letter, Typed

ID = "8c79d4bf-09b3-350a-9cd3-127a4be2ac36"


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

    def receives(self, protocol: str) -> Any:
        far = self.far
        client: Any = far.connect_0_10() if protocol == "0-10" else far.connect_1_0()
        got: list[Any] = []
        client.receive(Subscription("orders"), got.append)
        client.flush()
        self.run()
        (delivered,) = got
        delivered.settle("accept")
        client.flush()
        self.run()
        return delivered

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

    def steps(self, message_id: str) -> list[list[str]]:
        """What happened in each gateway to the message of that id."""
        told = []
        for whole in (self.near, self.far):
            self.stop(whole)
            log = whole.service.settings.data_directory / "audit"
            segments = [Segment(path.name, path.read_bytes()) for path in segment_paths(log)]
            lines = Story(digests_of(message_id)).lines(
                record for segment in segments for record in records(segment)
            )
            told.append([line.text.split()[2] for line in lines])
        return told


@pytest.mark.parametrize("publisher", ["0-10", "1.0"])
@pytest.mark.parametrize("consumer", ["0-10", "1.0"])
def test_a_message_is_followed_by_its_id_from_gateway_to_gateway(
    publisher: str, consumer: str, tmp_path: pathlib.Path
) -> None:
    chain = Chain(tmp_path)
    chain.sends(publisher, Letter(Typed("string", "x"), durable=True, message_id=ID))
    chain.receives(consumer)
    steps = ["received", "entered", "sent", "settled"]
    assert chain.steps(str(UUID(ID))) == [steps, steps]


def test_so_is_one_whose_id_0_10_has_no_type_for(tmp_path: pathlib.Path) -> None:
    chain = Chain(tmp_path)
    chain.sends("1.0", Letter(Typed("string", "x"), durable=True, message_id="order-17"))
    chain.receives("0-10")
    steps = ["received", "entered", "sent", "settled"]
    assert chain.steps("order-17") == [steps, steps]
