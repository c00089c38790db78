"""The admin port: metrics for Prometheus, and whether the gateway lives and is ready.

GET /metrics            the table in `gateway.metrics`
GET /metrics/objects    the same for each queue by name
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
from typing import final

from prometheus_client import ProcessCollector
from prometheus_client.twisted import MetricsResource
from twisted.web.http import Request
from twisted.web.pages import notFound
from twisted.web.resource import IResource, Resource
from twisted.web.server import Site

from gateway.metrics import Collector

Ready = Callable[[], str | None]


@final
class Scrape(Resource):
    """Numbers are read on this thread, where they are counted; text is made of them in another."""

    isLeaf = True  # noqa: N815  # Twisted's name

    def __init__(self, collector: Collector, formatter: IResource) -> None:
        super().__init__()
        self._collector = collector
        self._formatter = formatter

    def render_GET(self, request: Request) -> bytes | int:
        """Take the numbers, then leave the rest to prometheus_client."""
        self._collector.take()
        answer: bytes | int = self._formatter.render(request)
        return answer


class Directory(Resource):
    """A resource with children, and 404 for what is none."""

    def getChild(self, path: bytes, request: Request) -> IResource:
        """Called for a path that no child has."""
        return notFound()


@final
class Metrics(Directory):
    """``/metrics`` and below it ``/metrics/objects``."""

    def __init__(self, collector: Collector, objects: Collector) -> None:
        super().__init__()
        registry = collector.registry()
        ProcessCollector(registry=registry)
        self.putChild(b"", Scrape(collector, MetricsResource(registry)))
        self.putChild(b"objects", Scrape(objects, MetricsResource(objects.registry())))

    def render_GET(self, request: Request) -> bytes | int:
        """The same as with a slash behind it."""
        answer: bytes | int = self.children[b""].render(request)
        return answer


@final
class Probe(Resource):
    """One line for Kubernetes: 200, or 503 with the reason."""

    isLeaf = True  # noqa: N815  # Twisted's name

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
class AdminSite(Site):
    """A site without an access log, which would be a line for each scrape and probe."""

    noisy = False
    displayTracebacks = False  # noqa: N815  # Twisted's name

    def log(self, request: Request) -> None:
        """Say nothing."""


def admin_site(
    collector: Collector, objects: Collector, ready: Ready, control: IResource | None = None
) -> AdminSite:
    """The admin port's site; `ready` answers `None`, or why the gateway is not ready."""
    root = Directory()
    root.putChild(b"metrics", Metrics(collector, objects))
    root.putChild(b"healthz", Probe(lambda: None))
    root.putChild(b"readyz", Probe(ready))
    if control is not None:
        root.putChild(b"ctl", control)
    return AdminSite(root, timeout=30)
