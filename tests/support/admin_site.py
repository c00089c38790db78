"""The admin port without sockets, and who calls at it."""

from support.net import Loop
from twisted.internet.defer import succeed
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.web.resource import Resource

from gateway.audit.seals import Head
from gateway.config import Settings, load
from gateway.metrics import Collector
from gateway.net.admin.answers import Answers
from gateway.net.admin.http import admin_site
from gateway.net.admin.pieces import Pieces
from gateway.net.admin.tokens import Tokens
from gateway.net.counts import AdminCounts
from gateway.wire.accounts import Account

OWN = "Authorization: Bearer secret"
PROBE = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


class Wire(StringTransport):
    """A transport that is cut off, or half closed."""

    aborted = False
    half_closed = False

    def abortConnection(self) -> None:
        self.aborted = True

    takes = 1 << 30  # octets, before it wants no more

    def write(self, data: bytes) -> None:
        super().write(data)
        if len(self.value()) > self.takes and self.producer is not None:
            self.producer.pauseProducing()

    def loseWriteConnection(self) -> None:
        self.half_closed = True


class Caller:
    """A connection to the admin port."""

    def __init__(self, made: "Site") -> None:
        self.made = made
        self.channel = made.site.buildProtocol(None)
        self.wire = Wire()
        self.channel.makeConnection(self.wire)

    def say(self, *octets: bytes) -> "Caller":
        for each in octets:
            self.channel.dataReceived(each)
            self.made.settle()
        return self

    def ask(self, method: str, path: str, *headers: str, body: bytes = b"") -> tuple[int, str]:
        lines = [f"{method} {path} HTTP/1.1", "Host: x", *headers, "", ""]
        self.say("\r\n".join(lines).encode() + body)
        return self.answer()

    def answer(self) -> tuple[int, str]:
        head, _, body = self.wire.value().decode().partition("\r\n\r\n")
        self.wire.clear()
        return (int(head.split()[1]), body) if head else (0, "")

    def hang_up(self) -> None:
        self.channel.connectionLost()


def get(made: "Site", path: str, method: str = "GET", *headers: str) -> tuple[int, str]:
    caller = Caller(made)
    answer = caller.ask(method, path, "Connection: close", *headers)
    caller.hang_up()
    return answer


class Asked(Resource):
    """Answers how long the body is."""

    isLeaf = True

    def render_POST(self, request: object) -> bytes:
        return b"%d" % len(request.content.read())  # type: ignore[attr-defined]


class Site:
    """The admin port, with its settings, its clock and its loop."""

    def __init__(
        self, *changes: str, connections_max: int = 100, collector: Collector | None = None
    ) -> None:
        self.reason: str | None = None
        self.head: Head | None = None
        self.clock = Clock()
        self.loop = Loop()
        self.requests = Pieces(self.loop)
        self.kept = Account()
        self.answers = Answers(self.requests, self.kept)
        self.settings: Settings = load(None, list(changes))
        empty = Collector((), {})
        self.counts = AdminCounts()
        tokens = Tokens(
            lambda: self.settings, lambda: int(self.clock.seconds() * 1000), self.counts
        )
        self.site = admin_site(
            collector or empty,
            empty,
            lambda: self.reason,
            Asked(),
            tokens=tokens,
            pieces=Pieces(self.clock),
            answers=self.answers,
            requests=self.requests,
            kept=self.kept,
            head=lambda: self.head,
            in_thread=lambda call: succeed(call()),
            reactor=self.clock,
            connections_max=connections_max,
        )

    def settle(self) -> None:
        """All that is due at once is done."""
        due = True
        while self.loop.turn() or due:
            self.clock.advance(0)
            now_s = self.clock.seconds()
            due = any(call.getTime() <= now_s for call in self.clock.getDelayedCalls())


def answers(caller: Caller) -> int:
    """How many it has got to probes."""
    return caller.wire.value().count(b"HTTP/1.1 200 OK")
