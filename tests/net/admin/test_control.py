"""What an operator asks wrongly is said in a sentence, whatever it is, and does nothing."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.whole_gateway import WholeGateway
from twisted.internet.defer import Deferred, fail, succeed
from twisted.logger import LogLevel, capturedLogs, formatEvent
from twisted.web.test.requesthelper import DummyRequest

from gateway.amqp_0_10 import _spec as spec
from gateway.clients.letter import Letter, Typed
from gateway.errors import GatewayError, HalfDoneError
from gateway.net.admin.answers import Answers
from gateway.net.admin.channel import BODY_MAX
from gateway.net.admin.control import COMMANDS, DEFECT, Control
from gateway.net.admin.pieces import Pieces
from gateway.net.logs import writes_steps
from gateway.net.upstreams.reload import Operator
from gateway.wire.accounts import Account

CONNECTIONS = "gateway.net.connections"


class Stand:
    """A gateway with one rule, and its control."""

    def __init__(self, directory: Path) -> None:
        token = directory / "token"
        token.write_text("secret")
        upstreams = {"far": {"hosts": ["amqp://127.0.0.1:1"]}}
        self.gateway = WholeGateway(
            directory / "data",
            f"admin_token_file={token}",
            f"upstreams={json.dumps(upstreams)}",
            'nodes=[{"queue": "orders", "upstream": "far"}]',
        ).start()
        service = self.gateway.service
        self.control = Control(
            service.reloading,
            service.upstreams,
            service.bridge,
            service.tokens,
            lambda: service.settings,
            service.clock.now_ms,
            service.door,
            service.backup,
            kept=service.faces.kept,
            let_go=service.letting_go.ask,
            moves=service.moves,
            later=self.gateway.reactor,
            pieces=Pieces(self.gateway.reactor),
            answers=Answers(Pieces(self.gateway.reactor), Account()),
        )

    def request(self, command: str, body: bytes) -> Any:
        request: Any = DummyRequest([b"ctl", command.encode()])
        request.path = b"/ctl/" + command.encode()
        request.requestHeaders.addRawHeader(b"authorization", b"Bearer secret")
        request.content = io.BytesIO(body)
        return request

    def ask(self, command: str, body: bytes) -> tuple[int, Any]:
        request = self.request(command, body)
        answer = self.control.render_POST(request)
        if not isinstance(answer, bytes):
            self.gateway.wait_until(lambda: bool(request.finished))
            answer = b"".join(request.written)
        return request.responseCode, json.loads(answer)

    def problem(self, command: str, body: bytes) -> str:
        """With which it refuses: as the client's mistake, and without a traceback."""
        with capturedLogs() as logs:
            code, told = self.ask(command, body)
        assert 400 <= code < 500
        assert not [each for each in logs if each["log_level"] is LogLevel.critical]
        ((problem),) = told["problems"]
        return f"{problem['key']}: {problem['problem']}"


@pytest.fixture(scope="module")
def stand(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stand]:
    """One for all: what is asked wrongly does nothing."""
    stand = Stand(tmp_path_factory.mktemp("control"))
    yield stand
    stand.gateway.stop()


NO_OBJECT = "the body must be a JSON object"


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"[]", f": {NO_OBJECT}"),
        (b"7", f": {NO_OBJECT}"),
        (b"{", f": {NO_OBJECT}"),
        (b"\xff", ""),
        (b"[" * BODY_MAX, f": {NO_OBJECT}"),
        (b'{"node": ' * 5000, f": {NO_OBJECT}"),
        (b'{"node": ' + b"[" * 400 + b"]" * 400 + b', "node": 1}', "node: is given twice"),
        (b'{"node": NaN}', f": {NO_OBJECT}"),
        (b'{"connection": -Infinity}', f": {NO_OBJECT}"),
        (b'{"connection": ' + b"9" * 5000 + b"}", f": {NO_OBJECT}"),
        (b'{"node": "\\ud800"}', ": the body has text that is not Unicode"),
        (b'{"\\udfff": 1}', ": the body has text that is not Unicode"),
        (b'{"\\ud800": 1, "\\ud800": 2}', "?: is given twice"),
        (b"x" * (BODY_MAX + 1), f": the body is longer than {BODY_MAX} octets"),
    ],
    ids=lambda value: value[:20] if isinstance(value, bytes) else None,
)
def test_a_body_that_is_none_is_refused(
    stand: Stand, command: str, body: bytes, problem: str
) -> None:
    assert stand.problem(command, body).startswith(problem)


VALUES: tuple[object, ...] = (
    None,
    True,
    0,
    -1,
    10**400,
    1.5,
    1e308,
    "",
    [],
    {},
    [["x"]],
    "\0",
    "x",
)
KEYS = {
    "pause": ("node",),
    "resume": ("node",),
    "switch": ("node", "upstream"),
    "shadow": ("node", "upstream", "queue"),
    "close": ("connection", "reason"),
    "let-go": ("segment",),
    "log-level": ("subsystem", "level"),
    "decide": ("branch", "decision", "virtual_host"),
    "assign": ("queue", "user", "container", "link", "virtual_host"),
}


@pytest.mark.parametrize("value", VALUES, ids=lambda value: repr(value)[:20])
@pytest.mark.parametrize("command", KEYS)
def test_values_of_another_type_are_refused(stand: Stand, command: str, value: object) -> None:
    right: dict[str, object] = dict.fromkeys(KEYS[command], "orders")
    for key in KEYS[command]:
        stand.problem(command, json.dumps(right | {key: value}).encode())
    deep = b"[" * 900 + b"]" * 900
    stand.problem(command, b'{"%s": %s}' % (KEYS[command][0].encode(), deep))


def test_the_log_writes_more_of_a_subsystem_until_the_configuration_counts_again(
    stand: Stand,
) -> None:
    assert not writes_steps(CONNECTIONS)
    code, told = stand.ask("log-level", b'{"subsystem": "clients", "level": "debug"}')
    assert (code, told["done"]) == (
        200,
        "the log has lines of clients from debug on, until the next reload",
    )
    assert writes_steps(CONNECTIONS)
    assert not writes_steps("gateway.net.upstream.Dialer")
    stand.ask("log-level", b'{"subsystem": "all", "level": "info"}')
    assert not writes_steps(CONNECTIONS)
    wrong = b'{"subsystem": "queues", "level": "debug"}'
    assert stand.problem("log-level", wrong).startswith("subsystem: must be one of all, clients,")
    wrong = b'{"subsystem": "clients", "level": "loud"}'
    assert stand.problem("log-level", wrong).startswith("level: must be one of debug, info,")


@pytest.mark.parametrize(
    ("directory", "problem"),
    [
        ("/", "has no name of its own"),
        ("//", "has no name of its own"),
        ("/.", "has no name of its own"),
        ("{0}/..", "has no name of its own"),
        ("{0}/a\0b", "has a NUL in it"),
        ("{0}/\0/b", "has a NUL in it"),
        ("\0", "is not an absolute path"),
        ("", "must be given"),
        (".", "is not an absolute path"),
        ("..", "is not an absolute path"),
        ("backups/monday", "is not an absolute path"),
        ("{0}/" + "n" * 252, "File name too long"),
        ("{0}/" + "n" * 300, "File name too long"),
        ("{0}/" + "n/" * 3000 + "b", "File name too long"),
        ("{0}/loop/b", "symbolic links"),
        ("{0}/token/b", "Not a directory"),
        ("{0}/\ud800", "not Unicode"),
        (7, "must be given"),
        (None, "must be given"),
        (["/"], "must be given"),
    ],
)
def test_a_backup_of_no_possible_name_is_refused_and_none_is_in_the_way_of_the_next(
    stand: Stand, tmp_path: Path, directory: object, problem: str
) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "token").write_text("secret")
    if isinstance(directory, str):
        directory = directory.replace("{0}", str(tmp_path))
    asked = json.dumps({"directory": directory}).encode()
    assert problem in stand.problem("backup", asked)
    right = json.dumps({"directory": str(tmp_path / "right")}).encode()
    code, told = stand.ask("backup", right)
    assert (code, "the store" in told["done"]) == (200, True)


def test_a_defect_is_told_in_our_form(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ValueError("no")

    monkeypatch.setattr("gateway.net.admin.control.close", broken)
    with capturedLogs() as logs:
        code, told = stand.ask("close", b'{"connection": 7}')
    assert (code, told) == (500, {"problems": [{"key": "", "problem": DEFECT}]})
    assert [each["log_format"] for each in logs] == ["ctl {what} broke off"]


def test_what_is_let_go_is_answered_when_it_is_gone(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, Operator, bool]] = []

    def let_go(segment: int, by: Operator, *, unbalanced: bool) -> Deferred[str]:
        asked.append((segment, by, unbalanced))
        return succeed("segments 1 to 17 are let go")

    monkeypatch.setattr(stand.control, "_let_go", let_go)
    code, told = stand.ask("let-go", b'{"segment": 17}')
    assert (code, told) == (200, {"done": "segments 1 to 17 are let go"})
    ((segment, by, unbalanced),) = asked
    assert (segment, by.how, unbalanced) == (17, "ctl", False)
    assert by.address
    assert stand.ask("let-go", b'{"segment": 17, "unbalanced": true}')[0] == 200
    assert asked[1][2]
    code, told = stand.ask("let-go", b'{"segment": 17, "unbalanced": 1}')
    problem = {"key": "unbalanced", "problem": "must be true or false"}
    assert (code, told) == (422, {"problems": [problem]})


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (GatewayError("no book covers it"), "ctl let-go 17: nothing changed: no book covers it"),
        (HalfDoneError("3 are let go: a disk"), "ctl let-go 17: 3 are let go: a disk"),
    ],
)
def test_what_is_done_in_part_is_not_told_as_nothing_changed(
    stand: Stand, monkeypatch: pytest.MonkeyPatch, error: GatewayError, line: str
) -> None:
    monkeypatch.setattr(stand.control, "_let_go", lambda *_asked, **_how: fail(error))
    with capturedLogs() as logs:
        code, told = stand.ask("let-go", b'{"segment": 17}')
    assert (code, told) == (409, {"problems": [{"key": "", "problem": str(error)}]})
    assert [formatEvent(each) for each in logs] == [line]


def test_what_an_operator_decides_is_told_when_it_is_on_disk(tmp_path: Path) -> None:
    stand = Stand(tmp_path)
    gateway = stand.gateway
    client = gateway.connect_0_10()
    xid = spec.Xid(format=1, global_id=b"x", branch_id=b"b")
    gateway.result(client.declare_queue("q", durable=True))
    gateway.result(client.command(spec.DtxSelect()))
    gateway.result(client.query(spec.DtxStart(xid=xid)))
    gateway.result(client.send("q", Letter(body=Typed("string", "x"), durable=True)))
    gateway.result(client.query(spec.DtxEnd(xid=xid)))
    gateway.result(client.query(spec.DtxPrepare(xid=xid)))
    request = stand.request("decide", b'{"branch": "1.78.62", "decision": "commit"}')
    stand.control.render_POST(request)
    gateway.carry()
    assert not request.finished
    gateway.wait_until(lambda: bool(request.finished))
    assert json.loads(b"".join(request.written)) == {
        "done": "branch 1.78.62 is committed; its manager is told so"
    }
    gateway.stop()
