"""A gateway between an old broker of 0-10 and a new one of 1.0, all without sockets.

Both brokers are gateways, which have queue ``orders`` in their stores. `ask` is what `ctl` asks.
"""

from __future__ import annotations

import io
import json
import pathlib
from typing import Any

from support.net import Wire
from support.whole_gateway import WholeGateway
from twisted.internet.address import IPv4Address
from twisted.internet.error import ConnectionDone
from twisted.python.failure import Failure
from twisted.web.test.requesthelper import DummyRequest

from gateway.clients.client import Subscription
from gateway.clients.letter import Letter, Typed
from gateway.net.admin.answers import Answers
from gateway.net.admin.control import Control
from gateway.net.admin.pieces import Pieces
from gateway.service.admin import control_of
from gateway.wire.accounts import Account

QUEUE = "orders"
PORTS = {"old": 1, "new": 2}
STEP_S = 0.05
NO_TIME_S = 0.0001
PROFILES = {"old": "qpid-0-10", "new": "generic"}


class Line:
    """The connection of the gateway in the middle to one of the brokers."""

    def __init__(self, near: WholeGateway, far: WholeGateway, port: int) -> None:
        dialled = [each for each in near.reactor.tcpClients if each[1] == port]
        _, _, factory, *_ = dialled[-1]
        self.near, self.far = Wire(), Wire()
        self.out = factory.buildProtocol(IPv4Address("TCP", "127.0.0.1", 1))
        self.server = far.reactor.tcpServers[0][1].buildProtocol(
            IPv4Address("TCP", "127.0.0.1", 40_001)
        )
        self.over = False
        self.far.protocol = self.server
        self.server.makeConnection(self.far)
        self.near.protocol = self.out
        self.out.makeConnection(self.near)

    def move(self) -> bool:
        moved = False
        for source, target in ((self.near, self.server), (self.far, self.out)):
            data = source.value()
            if data and not self.over:
                source.clear()
                target.dataReceived(data)
                moved = True
        return moved

    def cut(self) -> None:
        """The network is gone, with what was on its way."""
        self.over = True
        for end in (self.out, self.server):
            end.connectionLost(Failure(ConnectionDone()))


class Fork:
    """Gateway `near`; what is behind it in `brokers`, by the names of its upstreams."""

    def __init__(self, directory: pathlib.Path, **node: Any) -> None:
        self.directory = directory
        self.token = directory / "token"
        self.token.write_text("secret")
        self.brokers: dict[str, WholeGateway] = {}
        for name in PROFILES:
            self.brokers[name] = WholeGateway(directory / name).start()
            maker = self.brokers[name].connect_0_10()
            maker.declare_queue(QUEUE, durable=True)
            maker.flush()
            self.brokers[name].run()
        self.node = {"queue": QUEUE, "upstream": "old", **node}
        self.start()

    def start(self) -> None:
        upstreams = {
            name: {"hosts": [f"amqp://127.0.0.1:{PORTS[name]}"], "profile": profile}
            for name, profile in PROFILES.items()
        }
        self.near = WholeGateway(
            self.directory / "near",
            f"admin_token_file={self.token}",
            f"upstreams={json.dumps(upstreams)}",
            f"nodes={json.dumps([{key: value for key, value in self.node.items() if value}])}",
        ).start()
        self.lines = {name: Line(self.near, self.brokers[name], PORTS[name]) for name in PROFILES}
        pieces = Pieces(self.near.reactor)
        answers = Answers(Pieces(self.near.reactor), Account())
        self.control: Control = control_of(self.near.service, pieces, answers)
        self.run()

    def cut(self, name: str) -> None:
        """The connection to a broker is gone, and no other can be had."""
        self._dialled = len(self.near.reactor.tcpClients)
        self.lines[name].cut()

    def connect(self, name: str) -> None:
        """The network is back, and the gateway dials."""
        for _ in range(100):
            if len(self.near.reactor.tcpClients) > self._dialled:
                break
            self.near.pass_time(1)
        self.lines[name] = Line(self.near, self.brokers[name], PORTS[name])
        self.run()

    def kill(self) -> None:
        """The gateway in the middle is gone at once, and starts again."""
        for line in self.lines.values():
            line.cut()
        for broker in self.brokers.values():
            broker.run()
        self.near.end()
        self.near.stopped = True
        self.start()

    def run(self, seconds: float = 0.0) -> None:
        """Let so much time pass, and then everything happen that is due."""
        for _ in range(round(seconds / STEP_S)):
            self._step(STEP_S)
        for _ in range(1_000):
            if not self._step(NO_TIME_S):
                return
        raise AssertionError("it does not end")

    def _step(self, seconds: float) -> bool:
        for whole in (self.near, *self.brokers.values()):
            whole.pass_time(seconds)
        return any([line.move() for line in self.lines.values()])

    # Clients.

    def fill(self, *bodies: str, at: str = "") -> list[object]:
        """Send to the queue at a broker, or by the gateway; what became of it, as it is known."""
        client = (self.brokers[at] if at else self.near).connect_0_10()
        told: list[object] = []
        for body in bodies:
            letter = Letter(Typed("string", body), durable=True)
            client.send(QUEUE, letter).addCallbacks(told.append, told.append)
        client.flush()
        self.run()
        return told

    def takes(self, at: str = "") -> list[str]:
        """All that is in the queue, taken, in its order."""
        got = self.consume(at)
        self.run()
        bodies = [bytes(delivered.letter.body.value).decode() for delivered in got]
        for delivered in got:
            delivered.settle("accept")
        self.run()
        return bodies

    def consume(self, at: str = "") -> list[Any]:
        """Deliveries to a consumer that settles none by itself, as they come."""
        client = (self.brokers[at] if at else self.near).connect_1_0()
        got: list[Any] = []
        client.receive(Subscription(QUEUE), got.append)
        client.flush()
        self.run()
        return got

    def depth(self, at: str) -> int:
        return self.brokers[at].service.bridge.default_host.topology.queues[QUEUE].depth

    # The operator.

    def begin(self, command: str, body: object = None) -> Any:
        """A request that is under way: `answer` has what it is answered with."""
        request: Any = DummyRequest([b"ctl", command.encode()])
        request.path = b"/ctl/" + command.encode()
        request.channel = None
        request.requestHeaders.addRawHeader(b"authorization", b"Bearer secret")
        request.content = io.BytesIO(json.dumps({} if body is None else body).encode())
        render = self.control.render_GET if body is None else self.control.render_POST
        answer = render(request)
        if isinstance(answer, bytes):
            request.written.append(answer)
        return request

    def answer(self, request: Any) -> tuple[int, Any]:
        return request.responseCode or 200, json.loads(b"".join(request.written))

    def ask(self, command: str, body: object = None) -> tuple[int, Any]:
        request = self.begin(command, body)
        self.run()
        return self.answer(request)

    def move(self, number: int = 1) -> dict[str, Any]:
        """How a move is."""
        found: list[dict[str, Any]] = self.ask("moves")[1]["moves"]
        return next(each for each in found if each["move"] == number)

    def stop(self) -> None:
        """The gateway in the middle stops in order."""
        self.near.service.stop()
        self.run(1)
        for line in self.lines.values():
            line.cut()
        for _ in range(100):
            self.near.pass_time(1)
            if self.near.stopped:
                return
        raise AssertionError("the gateway does not stop")
