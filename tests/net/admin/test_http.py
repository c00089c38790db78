"""The admin port answers with what it is given; metrics are taken before they are formatted."""

from twisted.internet.testing import StringTransport
from twisted.web.resource import Resource

from gateway.metrics import Collector
from gateway.net.admin.http import Metrics, Scrape, admin_site


def get(site, path: str) -> tuple[int, str]:  # type: ignore[no-untyped-def]  # a Site
    protocol = site.buildProtocol(None)
    transport = StringTransport()
    protocol.makeConnection(transport)
    protocol.dataReceived(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    head, _, body = transport.value().decode().partition("\r\n\r\n")
    protocol.connectionLost(None)
    return int(head.split()[1]), body


class Site:
    def __init__(self) -> None:
        self.reason: str | None = None
        empty = Collector((), {})
        self.site = admin_site(empty, empty, lambda: self.reason)


def test_it_is_ready_until_it_says_why_not_but_always_alive() -> None:
    made = Site()
    assert get(made.site, "/readyz") == (200, "ok\n")
    made.reason = "draining"
    assert get(made.site, "/readyz") == (503, "draining\n")
    assert get(made.site, "/healthz") == (200, "ok\n")


def test_nothing_else_is_there() -> None:
    made = Site()
    assert get(made.site, "/")[0] == 404
    assert get(made.site, "/metrics/nothing")[0] == 404


def test_numbers_are_taken_first_and_then_formatted() -> None:
    order: list[str] = []

    class Taken:
        def take(self) -> None:
            order.append("take")

    class Formatter(Resource):
        isLeaf = True  # noqa: N815

        def render(self, request: object) -> bytes:
            order.append("format")
            return b"text"

    made = Scrape(Taken(), Formatter())  # type: ignore[arg-type]  # a fake
    assert made.render_GET(None) == b"text"  # type: ignore[arg-type]  # not looked at
    assert order == ["take", "format"]


def test_metrics_are_at_both_addresses() -> None:
    empty = Collector((), {})
    tree = Metrics(empty, empty)
    assert set(tree.children) == {b"", b"objects"}
