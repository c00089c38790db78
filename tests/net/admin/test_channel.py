"""Which requests at the admin port are read, how much of them, and who gives way."""

import pathlib

import pytest
from support.admin_site import OWN, PROBE, Caller, Site, answers, get
from support.net import Net, counting_defects
from twisted.logger import capturedLogs, formatEvent

from gateway.metrics import Collector, MetricRow
from gateway.net.admin.channel import BODY_MAX, LINGER_S, READ_S, REQUEST_S
from gateway.net.admin.http import IDLE_S
from gateway.net.admin.pieces import Pieces
from gateway.net.admin.unread import HEAD_MAX
from gateway.net.counts import NetCounts
from gateway.net.stalls import STALL_MS, Stalls

HUGE = "Content-Length: 419430400"


@pytest.fixture
def guarded(tmp_path: pathlib.Path) -> Site:
    (tmp_path / "token").write_text("secret")
    return Site(f"admin_token_file={tmp_path}/token")


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


def test_one_that_has_just_come_is_not_idle_where_all_others_are_being_answered() -> None:
    made = Site(connections_max=10, collector=MUCH)
    callers = [Caller(made) for _ in range(9)]
    for caller in callers:
        caller.channel.dataReceived(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    made.loop.turn()
    probe = Caller(made)
    late = [Caller(made) for _ in range(5)]
    assert not probe.wire.aborted  # though it has asked nothing yet
    assert probe.ask("GET", "/healthz") == (200, "ok\n")
    assert [caller.wire.aborted for caller in callers] == [True] * 5 + [False] * 4
    made.clock.advance(2)
    Caller(made)
    assert [caller.wire.aborted for caller in callers] == [True] * 6 + [False] * 3
    assert not any(each.wire.aborted for each in (probe, *late))


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
