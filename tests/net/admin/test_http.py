"""The admin port answers with what it is given, and only whom it is to."""

import json
import os
import pathlib

import pytest
from support.net import Loop, Net, counting_defects
from support.work import units_of
from twisted.internet.defer import succeed
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.logger import capturedLogs, formatEvent
from twisted.web.resource import Resource

from gateway.config import Settings, load
from gateway.metrics import Collector, MetricRow
from gateway.net.admin.answers import Answers
from gateway.net.admin.channel import AHEAD, BODY_MAX, LINGER_S, READ_S, REQUEST_S
from gateway.net.admin.http import IDLE_S, admin_site
from gateway.net.admin.pieces import Pieces
from gateway.net.admin.tokens import Tokens
from gateway.net.admin.unread import HEAD_MAX
from gateway.net.counts import AdminCounts, NetCounts
from gateway.net.stalls import STALL_MS, Stalls
from gateway.wire.accounts import Account
from gateway.wire.work import ASKED, ASKED_OCTET, SHARE


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
    def __init__(
        self, *changes: str, connections_max: int = 100, collector: Collector | None = None
    ) -> None:
        self.reason: str | None = None
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


def test_it_is_ready_until_it_says_why_not_but_always_alive() -> None:
    made = Site()
    assert get(made, "/readyz") == (200, "ok\n")
    made.reason = "draining"
    assert get(made, "/readyz") == (503, "draining\n")
    assert get(made, "/healthz") == (200, "ok\n")


def test_nothing_else_is_there() -> None:
    made = Site()
    for path in ("/", "/metrics/nothing", "/nothing/at/all"):
        assert get(made, path) == (404, "there is nothing here\n")


def test_metrics_are_at_both_addresses() -> None:
    made = Site()
    assert set(made.site.resource.children[b"metrics"].children) == {b"", b"objects"}


@pytest.mark.parametrize(
    "path", ["/healthz", "/readyz", "/metrics", "/metrics/", "/metrics/objects"]
)
def test_head_is_answered_as_get_is_without_a_body(path: str) -> None:
    with capturedLogs() as captured:
        assert get(Site(), path, "HEAD") == (200, "")
    assert captured == []


@pytest.mark.parametrize(("path", "code"), [("/healthz", 200), ("/readyz", 503)])
def test_head_tells_how_long_the_answer_to_get_is(path: str, code: int) -> None:
    made = Site()
    made.reason = "draining"
    caller = Caller(made)
    with capturedLogs() as captured:
        caller.say(f"HEAD {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    head, _, body = caller.wire.value().decode().partition("\r\n\r\n")
    caller.wire.clear()
    answered, told = caller.ask("GET", path)
    assert (answered, body) == (code, "")
    assert f"content-length: {len(told)}" in head.lower()
    assert captured == []


# Bodies.

HUGE = "Content-Length: 419430400"


@pytest.fixture
def guarded(tmp_path: pathlib.Path) -> Site:
    (tmp_path / "token").write_text("secret")
    return Site(f"admin_token_file={tmp_path}/token")


OWN = "Authorization: Bearer secret"


@pytest.mark.parametrize(
    ("method", "path", "headers", "code"),
    [
        ("POST", "/", [HUGE], 400),
        ("POST", "/metrics", [HUGE], 400),
        ("GET", "/healthz", ["Content-Length: 1"], 400),
        ("GET", "/healthz", ["Transfer-Encoding: chunked"], 400),
        ("POST", "/ctl/pause", [HUGE], 401),
        ("POST", "/ctl/pause", [HUGE, "Authorization: Bearer wrong"], 401),
        ("POST", "/ctl/pause", [HUGE, OWN], 413),
        ("POST", "/ctl/pause", [f"Content-Length: {BODY_MAX + 1}", OWN], 413),
        ("POST", "/ctl/pause", ["Transfer-Encoding: chunked", OWN], 411),
        ("GET", "/ctl/status", ["Content-Length: 1", OWN], 400),
    ],
)
def test_a_body_that_is_not_wanted_is_refused_before_it_is_read(
    guarded: Site,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    path: str,
    headers: list[str],
    code: int,
) -> None:
    def no_files(*_: object, **__: object) -> None:
        raise AssertionError("a body went to a file")

    monkeypatch.setattr("tempfile.TemporaryFile", no_files)
    caller = Caller(guarded)
    answer = caller.ask(method, path, *headers, "Expect: 100-continue", body=b"x" * 1000)
    assert answer[0] == code
    assert caller.wire.half_closed
    caller.say(b"x" * 100_000, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
    assert caller.answer() == (0, "")  # nothing behind it is looked at
    guarded.clock.advance(LINGER_S)
    assert caller.wire.aborted
    caller.hang_up()
    assert guarded.counts.open == 0


def test_a_body_that_is_wanted_is_read(guarded: Site) -> None:
    caller = Caller(guarded)
    length = f"Content-Length: {BODY_MAX}"
    assert caller.ask("POST", "/ctl/pause", OWN, length, body=b"x" * BODY_MAX)[1] == str(BODY_MAX)
    assert caller.ask("GET", "/healthz")[0] == 200
    caller.hang_up()


# Connections.


def test_too_many_connections_make_the_oldest_idle_one_give_way() -> None:
    made = Site(connections_max=10)
    callers = [Caller(made) for _ in range(11)]
    assert [caller.wire.aborted for caller in callers] == [True] + [False] * 10
    callers[0].hang_up()
    assert made.counts.open == 10 and made.counts.gave_way == 1
    assert callers[10].ask("GET", "/healthz") == (200, "ok\n")
    for caller in callers[1:]:
        caller.hang_up()
    assert made.counts.open == 0


def test_of_many_that_come_at_once_each_has_another_one_give_way() -> None:
    made = Site(connections_max=10)
    callers = [Caller(made) for _ in range(30)]  # no transport has ended yet
    assert [caller.wire.aborted for caller in callers] == [True] * 20 + [False] * 10
    assert (made.counts.open, made.counts.gave_way) == (10, 20)
    for caller in callers:
        caller.hang_up()
    assert made.counts.open == 0


def test_a_request_that_comes_slowly_is_cut_off_however_steadily_it_comes() -> None:
    made = Site()
    caller = Caller(made)
    for _ in range(REQUEST_S):
        assert not caller.wire.aborted
        caller.say(b"G")
        made.clock.advance(1)
    assert caller.wire.aborted
    caller.hang_up()
    kept = Caller(made)
    kept.ask("GET", "/healthz")
    made.clock.advance(REQUEST_S)
    assert not kept.wire.aborted  # it may ask again
    kept.say(b"G")
    made.clock.advance(REQUEST_S)
    assert kept.wire.aborted
    kept.hang_up()
    idle = Caller(made)
    idle.ask("GET", "/healthz")
    made.clock.advance(IDLE_S)
    assert idle.wire.disconnecting
    idle.hang_up()
    assert made.clock.getDelayedCalls() == []


MUCH = Collector(
    (MetricRow("gateway_depth", "gauge", "Depth.", ("queue",)),),
    {"gateway_depth": lambda: [((f"{number:0100}",), number) for number in range(5000)]},
)


def slow_reader(made: Site) -> Caller:
    """One who has asked for much, and takes little of the answer."""
    caller = Caller(made)
    caller.wire.takes = 1000
    caller.say(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    made.clock.advance(0)
    assert 1000 < len(caller.wire.value()) < 200_000
    return caller


def test_who_does_not_read_gives_way_to_others_and_has_a_time() -> None:
    made = Site(connections_max=1, collector=MUCH)
    one = slow_reader(made)
    other = Caller(made)
    assert (one.wire.aborted, other.wire.aborted) == (True, False)
    one.hang_up()
    assert other.ask("GET", "/healthz") == (200, "ok\n")
    other.hang_up()
    last = slow_reader(made)
    made.clock.advance(READ_S)
    assert last.wire.aborted
    last.hang_up()
    assert made.answers.unread == 0
    assert made.clock.getDelayedCalls() == []


def test_who_reads_slowly_has_all_of_it_and_may_ask_again() -> None:
    made = Site(collector=MUCH)
    caller = slow_reader(made)
    caller.wire.takes = 1 << 30
    caller.channel.resumeProducing()
    code, text = caller.answer()
    assert (code, text.count("gateway_depth{"), made.answers.unread) == (200, 5000, 0)
    made.clock.advance(REQUEST_S)
    assert caller.ask("GET", "/healthz") == (200, "ok\n")
    caller.hang_up()
    assert made.clock.getDelayedCalls() == []


# Requests one behind the other.

PROBE = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
PIPELINED = 400


def answers(caller: Caller) -> int:
    return caller.wire.value().count(b"HTTP/1.1 200 OK")


def flood(made: Site, callers: int) -> list[Caller]:
    """Connections with very many requests each; none of them is looked at yet."""
    flooding = [Caller(made) for _ in range(callers)]
    for caller in flooding:
        caller.channel.dataReceived(PROBE * PIPELINED)
    return flooding


def test_requests_of_all_connections_have_one_share_of_work_a_pass() -> None:
    made = Site()
    flooding = flood(made, 10)
    asked, passes = 0, 0
    while asked < 10 * PIPELINED:
        assert units_of(made.loop.turn) <= SHARE + ASKED + ASKED_OCTET * len(PROBE)
        before, asked = asked, sum(map(answers, flooding))
        assert asked > before
        passes += 1
    assert passes >= 10 * PIPELINED * ASKED // SHARE


def test_who_asks_once_is_answered_before_those_who_ask_very_often() -> None:
    made = Site(connections_max=200)
    flooding = flood(made, 99)
    probe = Caller(made)
    probe.channel.dataReceived(PROBE)
    while not answers(probe):
        assert made.loop.turn()
    assert all(answers(each) <= 2 for each in flooding)


def test_no_request_is_looked_at_before_the_answer_to_the_one_before_has_left() -> None:
    made = Site()
    caller = Caller(made)
    caller.wire.takes = 0
    caller.say(PROBE * PIPELINED)
    assert answers(caller) == 1
    assert made.kept.held > 0
    caller.wire.clear()
    caller.channel.resumeProducing()
    made.settle()
    assert answers(caller) == 1
    caller.wire.clear()
    caller.wire.takes = 1 << 30
    caller.channel.resumeProducing()
    made.settle()
    assert answers(caller) == PIPELINED - 2
    assert made.kept.held == 0
    caller.hang_up()
    assert made.clock.getDelayedCalls() == []


def test_what_is_not_looked_at_is_on_the_account_and_little_more_is_read() -> None:
    made = Site()
    caller = Caller(made)
    caller.wire.takes = 0
    caller.say(PROBE)
    assert caller.wire.producerState == "producing"
    answered = made.kept.held
    caller.say(PROBE.ljust(AHEAD))
    assert caller.wire.producerState == "producing"
    caller.say(b"x")
    assert caller.wire.producerState == "paused"
    assert made.kept.held == answered + AHEAD + 1
    caller.hang_up()
    assert made.kept.held == 0
    assert made.clock.getDelayedCalls() == []


@pytest.mark.parametrize("keeps", [b"", b"Connection: close\r\n"])
def test_who_does_not_read_a_short_answer_is_cut_off(keeps: bytes) -> None:
    made = Site()
    caller = Caller(made)
    caller.wire.takes = 0
    caller.say(PROBE[:-2] + keeps + b"\r\n")
    made.clock.advance(READ_S - 1)
    assert not caller.wire.aborted
    made.clock.advance(1)
    assert caller.wire.aborted
    caller.hang_up()
    assert made.kept.held == 0
    assert made.clock.getDelayedCalls() == []


def test_of_connections_that_all_wait_for_an_answer_the_oldest_gives_way() -> None:
    made = Site(connections_max=10, collector=MUCH)
    callers = [Caller(made) for _ in range(10)]
    for caller in callers:
        caller.channel.dataReceived(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    made.loop.turn()
    assert all(caller.channel.busy for caller in callers)
    probe = Caller(made)
    assert [caller.wire.aborted for caller in callers] == [True] + [False] * 9
    assert probe.ask("GET", "/healthz") == (200, "ok\n")


@pytest.mark.parametrize("behind", [b"", b"\r\n", PROBE])
def test_a_request_in_any_pieces_is_one(guarded: Site, behind: bytes) -> None:
    head = b"POST /ctl/pause HTTP/1.1\r\nHost: x\r\n" + OWN.encode() + b"\r\n"
    octets = head + b"Content-Length: 8\r\n\r\n{\r\n\r\n}xx" + behind
    for cut in range(1, len(octets)):
        caller = Caller(guarded)
        caller.say(octets[:cut], octets[cut:])
        assert caller.wire.value().count(b"\r\n\r\n8") == 1
        assert answers(caller) == 1 + (behind == PROBE)
        caller.hang_up()


def test_a_head_that_does_not_end_is_refused() -> None:
    made = Site()
    caller = Caller(made)
    caller.say(b"GET / HTTP/1.1\r\nX: " + b"x" * HEAD_MAX)
    assert caller.answer()[0] == 400
    assert caller.wire.half_closed
    assert made.kept.held == 0


def test_a_defect_ends_its_connection_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Site()
    caller = Caller(made)

    def broken() -> None:
        raise ValueError("no")

    monkeypatch.setattr(caller.channel, "allContentReceived", broken)
    with capturedLogs() as captured:
        caller.say(PROBE)
    assert [formatEvent(event) for event in captured] == ["a connection to the admin port broke"]
    assert caller.wire.aborted
    assert get(made, "/healthz") == (200, "ok\n")


def test_a_request_that_holds_the_loop_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    made, net = Site(), Net()
    made.site.requests = Pieces(made.loop, Stalls(net.now_ms, net.counts))

    def slow() -> None:
        net.clock.advance((STALL_MS + 1) / 1000)

    monkeypatch.setattr(made.site.resource.children[b"readyz"], "_ready", slow)
    with capturedLogs() as captured:
        get(made, "/healthz")
        assert get(made, "/readyz?verbose")[0] == 200
    assert [formatEvent(event) for event in captured] == [
        "the event loop was held for 101 ms by a request of the admin port: GET /readyz?verbose"
        " from 192.168.1.1"
    ]


def test_a_page_that_breaks_is_counted_as_a_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    made, counts = Site(), NetCounts()
    monkeypatch.setattr(made.site.resource.children[b"readyz"], "_ready", lambda: 1 // 0)
    with counting_defects(counts):
        assert get(made, "/readyz")[0] == 500
    assert counts.defects == 1


def test_an_amqp_client_is_told_where_it_is() -> None:
    made = Site()
    with capturedLogs() as captured:
        for _ in range(2):
            caller = Caller(made).say(b"AMQP\x00\x01\x00\x00")
            code, text = caller.answer()
            assert code == 400 and "admin port" in text
            assert caller.wire.half_closed
            caller.hang_up()
    assert [formatEvent(event) for event in captured] == [
        "an AMQP client at the admin port, from 192.168.1.1"
    ]
    assert made.counts.refused["amqp"] == 2


def test_those_who_have_strayed_there_again_and_again_have_one_line_a_second() -> None:
    made = Site()
    with capturedLogs() as captured:
        for _ in range(250):
            Caller(made).say(b"AMQP\x00\x01\x00\x00").hang_up()
        made.clock.advance(1)
        Caller(made).say(b"AMQP\x00\x01\x00\x00").hang_up()
    line = "an AMQP client at the admin port, from 192.168.1.1"
    assert [formatEvent(event) for event in captured] == [
        line,
        f"{line}; 249 more since the last such line",
    ]
    assert made.counts.refused["amqp"] == 251


# Tokens.


def test_wrong_tokens_are_told_counted_and_made_to_wait(guarded: Site) -> None:
    wrong = "Authorization: Bearer guess"
    with capturedLogs() as captured:
        codes = [get(guarded, "/ctl/status", "GET", wrong)[0] for _ in range(5)]
    assert codes == [401, 401, 401, 429, 429]
    assert get(guarded, "/ctl/status", "GET", OWN)[0] == 429
    assert get(guarded, "/healthz")[0] == 200
    assert guarded.counts.refused["wrong_token"] == 3
    assert guarded.counts.refused["throttled"] == 3
    assert [formatEvent(event) for event in captured] == [
        "a wrong token at the admin port, from 192.168.1.1"
    ]
    guarded.clock.advance(1)
    assert get(guarded, "/ctl/nothing", "POST", OWN) == (200, "0")


def test_a_token_that_nobody_can_guess_is_heard_among_wrong_ones(tmp_path: pathlib.Path) -> None:
    token = "0123456789abcdef" * 2
    (tmp_path / "token").write_text(token)
    made = Site(f"admin_token_file={tmp_path}/token")
    wrong = "Authorization: Bearer " + token[:-1]
    assert [get(made, "/ctl/status", "GET", wrong)[0] for _ in range(4)] == [401, 401, 401, 429]
    right = f"Authorization: Bearer {token}"
    assert get(made, "/ctl/nothing", "POST", right) == (200, "0")


@pytest.mark.parametrize("kind", ["pipe", "endless", "large", "gone"])
def test_nobody_waits_for_a_token_file_that_is_none(kind: str, tmp_path: pathlib.Path) -> None:
    token = tmp_path / "token"
    token.write_text("secret\n")
    made = Site(f"admin_token_file={token}")
    token.unlink()
    if kind == "pipe":
        os.mkfifo(token)
    elif kind == "endless":
        token.symlink_to("/dev/zero")
    elif kind == "large":
        token.write_text("x" * 100_000)
    shown = "Authorization: Bearer secret"
    with capturedLogs() as captured:
        for _ in range(10):  # which token is right nobody knows: none is a wrong one
            assert get(made, "/ctl/status", "GET", shown)[0] == 503
    assert len(captured) == 1
    assert (made.counts.refused["unread_token"], made.counts.refused["wrong_token"]) == (10, 0)
    assert get(made, "/ctl/status")[0] == 401
    token.unlink(missing_ok=True)
    token.write_text("secret\n")
    assert get(made, "/ctl/nothing", "POST", shown) == (200, "0")


def test_metrics_may_want_a_token_of_their_own(tmp_path: pathlib.Path) -> None:
    (tmp_path / "metrics").write_text("seen\n")
    (tmp_path / "admin").write_text("secret\n")
    made = Site(f"metrics_token_file={tmp_path}/metrics", f"admin_token_file={tmp_path}/admin")
    for path in ("/metrics", "/metrics/objects", "/%6detrics", "/m%65trics/objects", "/metrics%2f"):
        assert get(made, path, "HEAD")[0] == 401
    for path in ("/metrics", "/metrics/objects"):
        for token in ("seen", "secret"):
            assert get(made, path, "HEAD", f"Authorization: Bearer {token}")[0] == 200
        assert get(made, path, "HEAD", "Authorization: Basic seen")[0] == 401
        made.clock.advance(10)
    assert get(made, "/readyz") == (200, "ok\n")
    assert get(made, "/ctl/status", "GET", "Authorization: Bearer seen")[0] == 401
    assert made.counts.refused["no_token"] == 5


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("OPTIONS", "/metrics", "GET, HEAD"),
        ("DELETE", "/healthz", "GET, HEAD"),
        ("POST", "/readyz", "GET, HEAD"),
        ("BREW", "/ctl/status", "GET, HEAD, POST"),
    ],
)
def test_other_methods_are_refused_in_our_words(method: str, path: str, allow: str) -> None:
    caller = Caller(Site())
    caller.say(f"{method} {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    head, _, body = caller.wire.value().decode().partition("\r\n\r\n")
    if path.startswith("/ctl"):  # without a token nobody hears what there is
        assert head.startswith("HTTP/1.1 404 ")
        return
    assert head.startswith("HTTP/1.1 405 Method Not Allowed\r\n")
    assert f"Allow: {allow}" in head
    (problem,) = json.loads(body)["problems"]
    assert problem["problem"] == f"it can be asked for by {allow} only"


def test_an_answer_does_not_say_what_made_it_and_has_a_reason() -> None:
    caller = Caller(Site())
    caller.say(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
    head = caller.wire.value().decode().partition("\r\n\r\n")[0].lower()
    assert head.startswith("http/1.1 200 ok")
    assert "server:" not in head
    assert "twisted" not in head
