"""Numbers are gathered in pieces, and those who ask at a time have one text."""

import gzip
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.net import Loop
from twisted.internet.defer import Deferred
from twisted.logger import capturedLogs
from twisted.web.test.requesthelper import DummyRequest

from gateway.metrics import Collector, MetricRow
from gateway.net.admin.answers import Answers
from gateway.net.admin.pieces import Pieces
from gateway.net.admin.scrape import Scrape
from gateway.wire.accounts import Account
from gateway.wire.work import SHARE, WORK

ROWS = (MetricRow("gateway_depth", "gauge", "Depth."), MetricRow("gateway_width", "gauge", "W."))
PASSES = 5  # that counting takes


class Stand:
    """A scrape of two numbers that takes some passes, and a thread that waits to be let go on."""

    def __init__(self) -> None:
        self.loop = Loop()
        self.begun = 0
        self.wanted: list[tuple[str, ...]] = []
        self.depth = 0
        self.made: list[tuple[Callable[[], bytes], Deferred[bytes]]] = []
        self.texts = 0
        self.broken = False
        collector = Collector(
            ROWS,
            {"gateway_depth": lambda: [((), self.depth)], "gateway_width": lambda: [((), 1)]},
            self.count,
        )
        self.answers = Answers(Pieces(self.loop), Account())
        self.scrape = Scrape(
            collector,
            collector.registry(),
            pieces=Pieces(self.loop),
            answers=self.answers,
            in_thread=self.in_thread,
            objects=True,
        )

    def count(self, wanted: tuple[str, ...]) -> Iterator[None]:
        self.begun += 1
        self.wanted.append(wanted)
        for _ in range(PASSES):
            WORK.units += SHARE + 1
            yield
        if self.broken:
            raise ValueError("no")

    def in_thread(self, call: Callable[[], bytes]) -> Deferred[bytes]:
        made: Deferred[bytes] = Deferred()
        self.made.append((call, made))
        return made

    def passes(self, count: int = 2 * PASSES) -> None:
        for _ in range(count):
            self.loop.turn()

    def occupy(self) -> None:
        """Somebody has asked before, and is answered now."""
        self.ask()
        self.passes()

    def make_text(self) -> None:
        call, made = self.made.pop(0)
        self.texts += 1
        made.callback(call())
        self.loop.turn()  # in which who waited is answered

    def ask(self, **headers: str) -> Any:
        request: Any = DummyRequest([b"metrics"])
        request.channel = None
        for name, value in headers.items():
            request.requestHeaders.addRawHeader(name.replace("_", "-"), value)
        self.scrape.render_GET(request)
        return request


def text(request: Any) -> str:
    return b"".join(request.written).decode()


def test_numbers_are_gathered_over_several_passes_and_then_made_into_text() -> None:
    stand = Stand()
    request = stand.ask()
    stand.passes(PASSES)
    stand.depth = 7
    assert not stand.made
    stand.passes(1)
    stand.depth = 8
    stand.make_text()
    assert "gateway_depth 7.0" in text(request)
    assert request.finished
    assert request.responseHeaders.getRawHeaders("content-type")[0].startswith("text/plain")


def test_who_asks_meanwhile_waits_for_the_next_time_with_all_others() -> None:
    stand = Stand()
    first = stand.ask()
    stand.passes(2)
    later = [stand.ask() for _ in range(50)]
    stand.passes()
    stand.make_text()
    assert first.finished
    assert not any(each.finished for each in later)
    stand.depth = 3
    stand.passes()
    stand.make_text()
    assert all("gateway_depth 3.0" in text(each) for each in later)
    assert (stand.begun, stand.texts) == (2, 2)
    assert stand.answers.unread == 0


def test_each_form_has_a_text_of_its_own() -> None:
    stand = Stand()
    forms = [
        {},
        {"accept": "application/openmetrics-text; version=1.0.0"},
        {"accept_encoding": "gzip"},
        {"accept_encoding": "gzip"},
    ]
    stand.occupy()
    plain, opened, *zipped = [stand.ask(**form) for form in forms]
    some = DummyRequest([b"metrics"])
    some.channel = None
    some.args = {b"name[]": [b"gateway_width"]}
    stand.scrape.render_GET(some)
    stand.make_text()
    stand.passes()
    for _ in range(4):
        stand.make_text()
    assert (stand.begun, stand.texts, stand.made) == (2, 1 + 4, [])
    assert "# EOF" in text(opened)
    assert "# EOF" not in text(plain)
    for each in zipped:
        assert gzip.decompress(b"".join(each.written)).decode() == text(plain)
        assert each.responseHeaders.getRawHeaders("content-encoding") == ["gzip"]
    assert "gateway_width 1.0" in text(some)
    assert "gateway_depth" not in text(some)


def asks_for(stand: Stand, *patterns: bytes) -> Any:
    request: Any = DummyRequest([b"metrics", b"objects"])
    request.channel = None
    request.args = {b"match": list(patterns)}
    stand.scrape.render_GET(request)
    return request


def test_objects_are_gathered_once_for_all_who_want_the_same_of_them() -> None:
    stand = Stand()
    stand.occupy()
    asked = [asks_for(stand, *each) for each in ([b"a*"], [b"b", b"c"], [b"a*"], [])]
    stand.make_text()
    for _ in range(3):
        stand.passes()
        stand.make_text()
    assert sorted(stand.wanted[1:]) == [(), ("a*",), ("b", "c")]
    assert all(each.finished for each in asked)


@pytest.mark.parametrize("patterns", [[b"x"] * 11, [b"x" * 256]])
def test_who_wants_too_many_of_them_is_refused(patterns: list[bytes]) -> None:
    stand = Stand()
    request = asks_for(stand, *patterns)
    assert (request.responseCode, request.finished, stand.begun) == (400, 1, 0)


def test_who_has_gone_meanwhile_is_not_answered() -> None:
    stand = Stand()
    stand.occupy()
    gone, there = stand.ask(), stand.ask()
    stand.make_text()
    stand.passes()
    gone.processingFailed(ValueError())
    stand.make_text()
    assert there.finished
    assert not gone.written


def test_what_breaks_it_off_is_told_and_does_not_stop_the_next() -> None:
    stand = Stand()
    stand.broken = True
    request = stand.ask()
    with capturedLogs() as logs:
        stand.passes()
    assert (request.responseCode, request.finished) == (500, 1)
    assert [each["log_format"] for each in logs] == ["metrics cannot be told"]
    stand.broken = False
    again = stand.ask()
    stand.passes()
    stand.make_text()
    assert "gateway_depth" in text(again)


def test_who_wants_a_form_that_is_none_has_the_usual_one() -> None:
    stand = Stand()
    stand.occupy()
    odd = stand.ask(accept="application/openmetrics-text; version=x")
    stand.ask(accept="application/openmetrics-text; version=2.0.\u00b2")
    usual = stand.ask()
    stand.make_text()
    stand.passes()
    stand.make_text()
    assert text(odd) == text(usual) != ""
    assert not stand.made
