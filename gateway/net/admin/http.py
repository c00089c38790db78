"""The admin port: metrics for Prometheus, and whether the gateway lives and is ready.

GET /metrics            the table in `gateway.metrics`; of `metrics_token_file` it wants the token
GET /metrics/objects    the same for each queue by name; ?match=orders.* for some of them
GET /audit/head         the audit log's last seal, as JSON; it wants the same token
GET /healthz            200 while the event loop turns: also while the disk refuses, since the
                        gateway goes on by itself when it does not
GET /ctl/status, POST /ctl/...  see `control`; 404 without `admin_token_file`
GET /readyz             200 while clients are welcome, whether upstreams are up or not; 503 while
                        starting or draining, or while nothing can be committed
"""

# twisted.web has no annotations.
# mypy: disallow-untyped-calls=False

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, final

from prometheus_client import ProcessCollector
from twisted.internet.threads import deferToThread
from twisted.logger import Logger
from twisted.web.http import Request
from twisted.web.resource import IResource, Resource
from twisted.web.server import Request as SiteRequest
from twisted.web.server import Site

from gateway.audit.seals import Head
from gateway.metrics import Collector
from gateway.net.admin.answers import Answers
from gateway.net.admin.channel import AdminChannel
from gateway.net.admin.missing import Missing
from gateway.net.admin.pieces import Pieces
from gateway.net.admin.scrape import InThread, Scrape
from gateway.net.admin.tokens import Tokens
from gateway.net.listening.pace import Pace
from gateway.wire.accounts import Account

FRESH_MS: Final = 1000  # of a connection: who is there longer and asks nothing is idle
IDLE_S: Final = 30
Ready = Callable[[], str | None]


class Directory(Resource):
    """A resource with children, and 404 for what is none."""

    def getChild(self, path: bytes, request: Request) -> IResource:
        """Called for a path that no child has."""
        return Missing()


@final
class Metrics(Directory):
    """``/metrics`` and below it ``/metrics/objects``."""

    def __init__(
        self,
        collector: Collector,
        objects: Collector,
        *,
        pieces: Pieces,
        answers: Answers,
        in_thread: InThread,
    ) -> None:
        super().__init__()
        registry = collector.registry()
        ProcessCollector(registry=registry)
        for path, each, told in ((b"", collector, registry), (b"objects", objects, None)):
            scrape = Scrape(
                each,
                told or each.registry(),
                pieces=pieces,
                answers=answers,
                in_thread=in_thread,
                objects=path == b"objects",
            )
            self.putChild(path, scrape)

    def render_HEAD(self, request: Request) -> bytes | int:
        """As `render_GET`."""
        return self.render_GET(request)

    def render_GET(self, request: Request) -> bytes | int:
        """The same as with a slash behind it."""
        answer: bytes | int = self.children[b""].render(request)
        return answer


@final
class Probe(Resource):
    """One line for Kubernetes: 200, or 503 with the reason."""

    isLeaf = True  # Twisted's name

    def __init__(self, ready: Ready) -> None:
        super().__init__()
        self._ready = ready

    def render_GET(self, request: Request) -> bytes:
        """Ask, and say it."""
        reason = self._ready()
        request.setHeader(b"content-type", b"text/plain; charset=utf-8")
        if reason is not None:
            request.setResponseCode(503)
            return reason.encode() + b"\n"
        return b"ok\n"


@final
class HeadOfLog(Resource):
    """How far the audit log is sealed, for who keeps that elsewhere."""

    isLeaf = True  # Twisted's name

    def __init__(self, head: Callable[[], Head | None]) -> None:
        super().__init__()
        self._head = head

    def render_GET(self, request: Request) -> bytes:
        """One JSON object on one line."""
        head = self._head()
        if head is None:
            request.setHeader(b"content-type", b"text/plain; charset=utf-8")
            request.setResponseCode(503)
            return b"nothing is sealed yet\n"
        request.setHeader(b"content-type", b"application/json")
        request.setHeader(b"cache-control", b"no-store")
        return head.line().encode() + b"\n"


@final
class Audit(Directory):
    """``/audit/head``, and nothing else."""

    def __init__(self, head: Callable[[], Head | None]) -> None:
        super().__init__()
        self.putChild(b"head", HeadOfLog(head))

    def render(self, request: Request) -> bytes:
        """Of itself."""
        return Missing().render(request)


@final
class Headless:
    """What a resource answers to HEAD, without the body that it would answer to GET."""

    def __init__(self, resource: IResource) -> None:
        self._resource = resource

    def render(self, request: Request) -> bytes | int:
        """Only how long it is; what is answered later, `Request.write` leaves out."""
        body: bytes | int = self._resource.render(request)
        if not isinstance(body, bytes):
            return body
        request.setHeader(b"content-length", b"%d" % len(body))
        return b""


@final
class AdminRequest(SiteRequest):
    """A request whose answer does not say what it was made by."""

    def setHeader(self, name: bytes, value: bytes) -> None:
        """As Twisted's."""
        if name.lower() != b"server":
            super().setHeader(name, value)

    def render(self, resrc: IResource) -> None:
        """As Twisted's, which tells in the log of each answer to HEAD that has a body."""
        super().render(Headless(resrc) if self.method == b"HEAD" else resrc)


@final
class AdminSite(Site):
    """A site without an access log, which would be a line for each scrape and probe.

    Attributes:
        tokens: who may ask what.
        requests: looks at those that have come, in turn.
        kept: the account of what was said and is not looked at, or was answered and is not read.
    """

    noisy = False
    requestFactory = AdminRequest  # Twisted's name
    displayTracebacks = False  # Twisted's name
    protocol = AdminChannel  # type: ignore[assignment]  # Twisted's is a maker of channels
    told = Logger()

    def __init__(
        self,
        root: IResource,
        tokens: Tokens,
        reactor: Any,  # Any: a reactor, in Twisted's own words
        *,
        requests: Pieces,
        kept: Account,
        connections_max: int,
    ) -> None:
        super().__init__(root, timeout=IDLE_S, reactor=reactor)
        self.tokens = tokens
        self.requests = requests
        self.kept = kept
        self._counts = tokens.counts
        self._connections_max = connections_max
        self._channels: dict[AdminChannel, int] = {}  # and when each came, by the gateway's clock
        self._strayed = Pace(tokens.now_ms)  # those who have taken the port for another one

    def log(self, request: Request) -> None:
        """Say nothing."""

    def attached(self, channel: AdminChannel) -> None:
        """One more; the oldest of those that are not being answered makes room for it.

        Of those that have come just now nobody can say that they are idle: what they ask may not
        have been read. Where all others are being answered, the oldest goes.
        """
        others = list(self._channels)
        now_ms = self.tokens.now_ms()
        self._channels[channel] = now_ms
        self._counts.open += 1
        if len(self._channels) > self._connections_max:
            self._counts.gave_way += 1
            before_ms = now_ms - FRESH_MS
            idle = (each for each in others if self._channels[each] <= before_ms and not each.busy)
            oldest = next(idle, others[0])
            self.detached(oldest)  # its transport ends later: meanwhile more may come
            oldest.give_way()

    def detached(self, channel: AdminChannel) -> None:
        """It is over."""
        if channel in self._channels:
            del self._channels[channel]
            self._counts.open -= 1

    def speaks_amqp(self, address: str) -> None:
        """Tell who has taken this for the AMQP port."""
        self._tell("amqp", "an AMQP client at the admin port", address)

    def speaks_clear(self, address: str) -> None:
        """The same of who speaks plain HTTP to it while `admin_tls` is set."""
        self._tell("clear", "plain HTTP at the admin port, which speaks HTTPS", address)

    def _tell(self, reason: str, what: str, address: str) -> None:
        self._counts.refused[reason] += 1
        if self._strayed.may_tell():
            more = self._strayed.more()
            self.told.warn("{what}, from {address}{more}", what=what, address=address, more=more)


def admin_site(
    collector: Collector,
    objects: Collector,
    ready: Ready,
    control: IResource | None = None,
    *,
    tokens: Tokens,
    pieces: Pieces,
    answers: Answers,
    requests: Pieces,
    kept: Account,
    head: Callable[[], Head | None] = lambda: None,
    in_thread: InThread = deferToThread,
    reactor: Any = None,  # Any: as Twisted's
    connections_max: int = 100,
) -> AdminSite:
    """The admin port's site; `ready` answers `None`, or why the gateway is not ready."""
    root = Directory()
    metrics = Metrics(collector, objects, pieces=pieces, answers=answers, in_thread=in_thread)
    root.putChild(b"metrics", metrics)
    root.putChild(b"audit", Audit(head))
    root.putChild(b"healthz", Probe(lambda: None))
    root.putChild(b"readyz", Probe(ready))
    if control is not None:
        root.putChild(b"ctl", control)
    return AdminSite(
        root, tokens, reactor, requests=requests, kept=kept, connections_max=connections_max
    )
