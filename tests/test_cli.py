"""The verbs: what they print, and their exit codes."""

import io
import json
import os
import pathlib
import subprocess
import sys
import threading
from collections import Counter
from email.message import Message
from http.client import BadStatusLine
from typing import Any
from urllib.error import HTTPError

import pytest
import yaml
from click.testing import CliRunner, Result
from support.audit_logs import UNREADABLE, put_unreadable
from support.whole_gateway import WholeGateway

from gateway.audit.reader import segment_paths
from gateway.cli import audit as audit_verbs
from gateway.cli import ctl, messages, run
from gateway.cli.main import commands
from gateway.clients.client import ClientError
from gateway.clients.letter import Letter, Typed
from gateway.clients.tools import Incoming, Outgoing
from gateway.errors import StartupError
from gateway.net.listening.users import ITERATIONS, read_users


@pytest.fixture(autouse=True)
def quick_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    for mechanism in ITERATIONS:
        monkeypatch.setitem(ITERATIONS, mechanism, 10)


def amqp_gateway(*arguments: str, given: str | None = None) -> Result:
    return CliRunner().invoke(commands, list(arguments), input=given)


def test_the_version_says_which_form_runs() -> None:
    done = amqp_gateway("--version")
    assert done.exit_code == 0
    assert done.output.startswith("amqp-gateway 0.1.0 (")
    assert done.output.rstrip()[-1] == ")"


@pytest.mark.parametrize("verb", sorted(commands.commands))
def test_every_verb_explains_itself(verb: str) -> None:
    done = amqp_gateway(verb, "--help")
    assert done.exit_code == 0
    assert "Examples:" in done.output or verb == "audit"


@pytest.mark.process
@pytest.mark.parametrize("arguments", [["--version"], ["check"], ["send", "--help"]])
def test_output_that_cannot_be_written_is_told_in_a_line(arguments: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "gateway", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    told = "amqp-gateway: the output cannot be written: No space left on device"
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, told)
    assert "Traceback" not in done.stderr


@pytest.mark.process
def test_python_m_gateway_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "gateway", "check", "--set", "colour=blue"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (2, "colour: there is no such key\n")


def test_check_prints_what_a_configuration_comes_to(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "gateway.yaml"
    file.write_text("drain_timeout: 90s\n")
    done = amqp_gateway("check", "--config", str(file), "--set", "limits.links=5")
    assert done.exit_code == 0
    told = yaml.safe_load(done.output)
    assert (told["drain_timeout"], told["limits"]["links"]) == ("90s", 5)


def test_check_reports_all_problems_and_exits_with_2(tmp_path: pathlib.Path) -> None:
    users = tmp_path / "users.yaml"
    users.write_text("alice: nonsense")
    done = amqp_gateway("check", "--set", "limits.links=0", "--set", "admin=x")
    assert done.exit_code == 2
    assert [line.partition(":")[0] for line in done.stderr.splitlines()] == [
        "admin",
        "limits.links",
    ]
    assert amqp_gateway("check", "--set", f"users_file={users}").exit_code == 2


def test_check_lists_the_keys_and_the_schema() -> None:
    listed = amqp_gateway("check", "--keys").output
    assert "drain_timeout (duration, default 25s)" in listed
    assert "tls.certificate (path, required)" in listed
    assert "tls.client_ca (path)" in listed
    profiles = amqp_gateway("check", "--profiles").output
    assert "artemis\n    Apache ActiveMQ Artemis" in profiles
    assert "queue (template, default {queue})\n    The address of a queue" in profiles
    schema = json.loads(amqp_gateway("check", "--schema").output)
    assert "drain_timeout" in schema["properties"]


def test_serve_hands_the_settings_on_and_exits_as_the_service_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    served: list[Any] = []
    monkeypatch.setattr(run, "begin_logging", lambda *_, **__: None)
    monkeypatch.setattr(run, "run", lambda settings, _again, **_: served.append(settings) or 3)
    assert amqp_gateway("serve", "--set", "limits.links=5").exit_code == 3
    assert served[0].limits.links == 5

    def cannot(_settings: object, _read_again: object, **_: object) -> int:
        raise StartupError("cannot listen on 127.0.0.1:5672: Address already in use")

    monkeypatch.setattr(run, "run", cannot)
    done = amqp_gateway("serve")
    assert done.exit_code == 1
    assert done.stderr == "amqp-gateway: cannot listen on 127.0.0.1:5672: Address already in use\n"
    assert amqp_gateway("serve", "--set", "admin=0.0.0.0:1").exit_code == 2


STATUS = {
    "under_way": "",
    "changed_by_ctl": True,
    "upstreams": [],
    "rules": [
        {
            "key": "nodes.0",
            "kind": "queue",
            "pattern": "orders",
            "virtual_host": None,
            "upstream": "a",
            "spool": False,
            "state": "paused",
            "changed_by_ctl": True,
            "nodes": 1,
            "waiting": 7,
            "unsettled": 0,
        }
    ],
}


def test_ctl_asks_the_admin_port_with_the_token(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    asked: list[Any] = []

    def answer(request: Any, timeout: float, context: Any) -> Any:
        asked.append((request.full_url, request.data, request.headers["Authorization"]))
        told = STATUS if request.data is None else {"done": "done"}
        return io.BytesIO(json.dumps(told).encode())

    monkeypatch.setattr(ctl.urllib.request, "urlopen", answer)
    token = tmp_path / "token"
    token.write_text("secret\n")
    told = amqp_gateway("ctl", "--token-file", str(token), "status")
    assert told.exit_code == 0, told.output
    lines = told.output.splitlines()
    assert lines[0].startswith("UPSTREAM")
    assert lines[3].split() == ["nodes.0", "queue", "orders", "a", "paused*", "1", "7", "0"]
    assert "until the next reload" in lines[4]
    done = amqp_gateway("ctl", "--token-file", str(token), "switch", "orders", "b")
    assert (done.exit_code, done.output) == (0, "done\n")
    url, data, shown = asked[-1]
    assert (url, shown) == ("http://127.0.0.1:9672/ctl/switch", "Bearer secret")
    assert json.loads(data) == {"node": "orders", "upstream": "b"}
    for verb in (["pause", "orders"], ["resume", "orders"], ["reload"]):
        assert amqp_gateway("ctl", "--token-file", str(token), *verb).exit_code == 0


@pytest.mark.parametrize(
    ("code", "exit_code", "said"),
    [
        (422, 2, "nodes: there is no rule\n"),
        (409, 1, "amqp-gateway: there is no rule\n"),
        (404, 1, "amqp-gateway: http://127.0.0.1:9672: no ctl there: set admin_token_file\n"),
    ],
)
def test_ctl_says_why_it_was_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path, code: int, exit_code: int, said: str
) -> None:
    problems = {"problems": [{"key": "nodes", "problem": "there is no rule"}]}

    def refuse(request: Any, timeout: float, context: Any) -> Any:
        body = io.BytesIO(json.dumps(problems).encode())
        raise HTTPError(request.full_url, code, "no", Message(), body)

    monkeypatch.setattr(ctl.urllib.request, "urlopen", refuse)
    token = tmp_path / "token"
    token.write_text("secret\n")
    done = amqp_gateway("ctl", "--token-file", str(token), "pause", "x")
    assert (done.exit_code, done.stderr) == (exit_code, said)
    assert amqp_gateway("ctl", "--token-file", str(tmp_path / "none"), "status").exit_code == 2
    problems["problems"][0]["key"] = ""  # of the request as a whole
    whole = amqp_gateway("ctl", "--token-file", str(token), "pause", "x")
    assert whole.stderr == said.replace("nodes: ", "")


@pytest.mark.parametrize(
    "url",
    [
        *(
            "",
            " ",
            "\n",
            "a b",
            "http://",
            "http://[::1",
            "http://h:99999",
            "http://h:x",
            "http://h:0",
        ),
        *("http://127.0.0.1:1/x y", "http://h\n", "ftp://h", "file:///etc/passwd", "\udcff", "é"),
        *("h" * 300, "http://h?a", "http://h#a", "http://h\x01"),
    ],
)
def test_what_is_no_url_of_an_admin_port_is_a_wrong_argument(
    url: str, tmp_path: pathlib.Path
) -> None:
    token = tmp_path / "token"
    token.write_text("secret\n")
    done = amqp_gateway("ctl", "--admin", url, "--token-file", str(token), "status")
    assert (done.exit_code, done.stderr.splitlines()[-1][:15]) == (2, "Error: --admin:")


@pytest.mark.parametrize("file", ["/dev/zero", "/dev/full", "/", "/none"])
def test_a_token_file_that_is_none_is_a_wrong_argument(file: str) -> None:
    done = amqp_gateway("ctl", "--token-file", file, "status")
    assert done.exit_code == 2
    assert file in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("said", [b"[]", b"5", b"<html>", b"[" * 100_000, b"\xff", b""])
def test_ctl_says_that_what_answers_is_no_gateway(
    said: bytes, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    monkeypatch.setattr(ctl.urllib.request, "urlopen", lambda *_, **__: io.BytesIO(said))
    token = tmp_path / "token"
    token.write_text("secret\n")
    done = amqp_gateway("ctl", "--token-file", str(token), "status")
    told = "amqp-gateway: http://127.0.0.1:9672: what answers there is no gateway\n"
    assert (done.exit_code, done.stderr) == (1, told)


def test_ctl_tells_of_what_speaks_no_http(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    def answers(*_: object, **__: object) -> Any:
        raise BadStatusLine("AMQP")

    monkeypatch.setattr(ctl.urllib.request, "urlopen", answers)
    token = tmp_path / "token"
    token.write_text("secret\n")
    done = amqp_gateway("ctl", "--token-file", str(token), "status")
    assert (done.exit_code, done.stderr) == (1, "amqp-gateway: http://127.0.0.1:9672: AMQP\n")


WRONG_FILES = {
    "[" * 5000: "nested deeper",
    "? [a]\n: b": "a key must be a word at line 1",
    "admin: 2001-99-99": "no value of timestamp at line 1, column 8",
    "listen: \0": "the character U+0000 is not allowed, at line 1, column 9",
    "admin: 127.0.0.1:0\nadmin: 127.0.0.1:1": "admin: stands twice (line 2)",
    "users_file: '~nobody/x'": "users_file: there is no file",
    f"users_file: {'x' * 300}": "users_file: there is no file",
    'data_directory: "a\\0b"': "a NUL character at line 1, column 17",
    "limits: {links: .nan}": "limits.links: must be",
    "": "is empty",
}


@pytest.mark.parametrize("text", WRONG_FILES, ids=lambda text: text[:12])
def test_a_configuration_that_cannot_be_read_is_told(text: str, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "gateway.yaml"
    file.write_text(text)
    done = amqp_gateway("check", "--config", str(file))
    assert (done.exit_code, type(done.exception)) == (2, SystemExit)
    assert WRONG_FILES[text] in done.stderr


@pytest.mark.parametrize("file", ["/dev/zero", "/dev/full"])
def test_a_configuration_without_end_is_too_large(file: str) -> None:
    done = amqp_gateway("check", "--config", file)
    assert (done.exit_code, done.stderr) == (2, f"{file}: is larger than 4194304 octets\n")


def test_a_configuration_may_come_by_a_pipe(tmp_path: pathlib.Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("drain_timeout: 90s\n",))
    writer.start()
    done = amqp_gateway("check", "--config", str(pipe))
    writer.join()
    assert (done.exit_code, yaml.safe_load(done.stdout)["drain_timeout"]) == (0, "90s")


def test_who_needs_a_token_says_where_it_goes() -> None:
    told = {verb: amqp_gateway(*verb.split()) for verb in ("ctl status", "backup /x")}
    assert [each.exit_code for each in told.values()] == [2, 2]
    assert "before the command" in told["ctl status"].stderr
    assert told["backup /x"].stderr.endswith("it needs --token-file\n")


@pytest.mark.parametrize(
    ("said", "shown"),
    [(b"this is the AMQP port\r\n", ": this is the AMQP port"), (b"<html>", ""), (b"", "")],
)
def test_ctl_says_what_else_answers_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path, said: bytes, shown: str
) -> None:
    def refuse(request: Any, timeout: float, context: Any) -> Any:
        raise HTTPError(request.full_url, 400, "Bad Request", Message(), io.BytesIO(said))

    monkeypatch.setattr(ctl.urllib.request, "urlopen", refuse)
    token = tmp_path / "token"
    token.write_text("secret\n")
    done = amqp_gateway("ctl", "--token-file", str(token), "status")
    url = "http://127.0.0.1:9672"
    assert done.stderr == f"amqp-gateway: {url}: HTTP Error 400: Bad Request{shown}\n"


def test_backup_asks_for_a_directory_that_the_gateway_can_find(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    asked: list[Any] = []

    def answer(request: Any, timeout: float, **tls: object) -> Any:
        asked.append((request.full_url, json.loads(request.data)))
        return io.BytesIO(json.dumps({"done": "done"}).encode())

    monkeypatch.setattr(ctl.urllib.request, "urlopen", answer)
    monkeypatch.chdir(tmp_path)
    token = tmp_path / "token"
    token.write_text("secret\n")
    done = amqp_gateway("backup", "--token-file", str(token), "copy")
    assert (done.exit_code, done.output) == (0, "done\n")
    wanted = {"directory": str(tmp_path / "copy")}
    assert asked == [("http://127.0.0.1:9672/ctl/backup", wanted)]
    assert amqp_gateway("backup", "copy").exit_code == 2


def test_ctl_takes_the_admin_port_without_a_scheme(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    def answer(request: Any, timeout: float, context: Any) -> Any:
        assert request.full_url == "http://10.0.0.5:9672/ctl/status"
        return io.BytesIO(json.dumps(STATUS).encode())

    monkeypatch.setattr(ctl.urllib.request, "urlopen", answer)
    token = tmp_path / "token"
    token.write_text("secret\n")
    told = amqp_gateway("ctl", "--admin", "10.0.0.5:9672", "--token-file", str(token), "status")
    assert told.exit_code == 0, told.output


def test_ctl_wants_its_token_for_a_verb_and_not_for_its_help() -> None:
    helped = amqp_gateway("ctl", "status", "--help")
    assert (helped.exit_code, "HELD:" in helped.output) == (0, True)
    refused = amqp_gateway("ctl", "status")
    assert (refused.exit_code, "--token-file" in refused.stderr) == (2, True)


def test_users_are_added_changed_listed_and_removed(tmp_path: pathlib.Path) -> None:
    file = ["--file", str(tmp_path / "users.yaml")]
    added = amqp_gateway("user", "add", *file, "--password-stdin", "alice", given="secret\n")
    assert (added.exit_code, added.output) == (0, f"alice: added in {file[1]}\n")
    first = read_users(pathlib.Path(file[1]))["alice"]["SCRAM-SHA-256"]
    assert first.check("secret")
    prompted = amqp_gateway("user", "add", *file, "alice", given="new\nnew\n")
    assert "password changed" in prompted.output
    assert "new" not in prompted.output.replace("renewed", "").splitlines()
    assert read_users(pathlib.Path(file[1]))["alice"]["SCRAM-SHA-256"].check("new")
    assert amqp_gateway("user", "list", *file).output == "alice  SCRAM-SHA-256, SCRAM-SHA-512\n"
    assert amqp_gateway("user", "remove", *file, "alice").exit_code == 0
    again = amqp_gateway("user", "remove", *file, "alice")
    assert (again.exit_code, again.stderr) == (1, f"amqp-gateway: {file[1]} has no user alice\n")


@pytest.mark.parametrize(("name", "password"), [("", "x"), ("alice", ""), ("al\u0007", "x")])
def test_names_and_passwords_that_cannot_be_used_are_wrong_arguments(
    name: str, password: str, tmp_path: pathlib.Path
) -> None:
    file = str(tmp_path / "users.yaml")
    done = amqp_gateway("user", "add", "-f", file, "--password-stdin", name, given=password)
    assert done.exit_code == 2
    assert not pathlib.Path(file).exists()


@pytest.fixture
def log(tmp_path: pathlib.Path) -> pathlib.Path:
    WholeGateway(tmp_path / "data").start().stop()
    return tmp_path / "data" / "audit"


def test_audit_cat_prints_json_lines(log: pathlib.Path) -> None:
    for path in (log, segment_paths(log)[0]):
        done = amqp_gateway("audit", "cat", str(path))
        assert done.exit_code == 0
        kinds = [json.loads(line)["kind"] for line in done.output.splitlines()]
        assert (kinds[0], kinds[-1]) == ("incarnation-started", "incarnation-stopped")


def test_audit_trace_says_when_there_is_no_such_message(log: pathlib.Path) -> None:
    none = amqp_gateway("audit", "trace", "order-17", str(log))
    assert none.exit_code == 1
    assert none.stderr == "amqp-gateway: no message has the message-id 'order-17'\n"


@pytest.mark.parametrize(
    "message_id", ["\udcff", "9" * 5000, "ID:" + "9" * 5000, "", "x" * 100_000]
)
def test_audit_trace_takes_any_message_id(message_id: str, log: pathlib.Path) -> None:
    done = amqp_gateway("audit", "trace", message_id, str(log))
    assert done.exit_code == (2 if message_id == "\udcff" else 1)
    assert type(done.exception) is SystemExit


@pytest.mark.parametrize("verb", ["cat", "trace x", "features", "verify"])
@pytest.mark.parametrize("kind", UNREADABLE)
def test_a_segment_that_cannot_be_read_is_told(verb: str, kind: str, log: pathlib.Path) -> None:
    bad = log / "0000000999-000999.audit"
    put_unreadable(bad, kind)
    done = amqp_gateway("audit", *verb.split(), str(log))
    assert (done.exit_code, type(done.exception)) == (1, SystemExit)
    assert f"amqp-gateway: cannot read {bad}: " in done.stderr


def test_audit_verify_finds_a_changed_octet(log: pathlib.Path) -> None:
    whole = amqp_gateway("audit", "verify", str(log))
    assert whole.exit_code == 0
    assert whole.output.endswith(": whole\n")
    segment = segment_paths(log)[0]
    octets = bytearray(segment.read_bytes())
    octets[-50] ^= 1
    segment.write_bytes(octets)
    broken = amqp_gateway("audit", "verify", str(log))
    assert broken.exit_code == 1
    assert broken.output.startswith("LOG_GAP ")
    assert amqp_gateway("audit", "cat", str(log)).exit_code == 1


@pytest.mark.parametrize("verb", ["cat", "trace x", "features"])
def test_what_cannot_be_read_of_a_log_is_told_and_never_taken_for_all_is_well(
    verb: str, tmp_path: pathlib.Path
) -> None:
    file = tmp_path / "0000000001-000001.audit"
    file.write_bytes(bytes(range(256)) * 12)
    done = amqp_gateway("audit", *verb.split(), str(file))
    assert (done.exit_code, done.stdout) == (1, "")
    assert f"amqp-gateway: {file.name} block 0 offset 0: not an audit segment\n" in done.stderr


def test_a_log_that_is_not_there_is_one_line(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for verb in ("cat", "verify"):
        done = amqp_gateway("audit", verb)
        assert done.exit_code == 1
        assert (
            done.stderr == f"amqp-gateway: there is no audit log in {tmp_path}/amqp-gateway/audit\n"
        )


def test_reconcile_runs_in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[list[str]] = []

    def fake(command: list[str], check: bool) -> Any:
        ran.append(command)
        return subprocess.CompletedProcess(command, 1)

    monkeypatch.setattr(audit_verbs.subprocess, "run", fake)
    assert amqp_gateway("reconcile", "/log", "--out", "/out").exit_code == 1
    assert ran[0][1:] == [
        *("-P", "-m", "gateway.accounting", "reconcile"),
        *("--out=/out", "--master=local[*]", "--", "/log"),
    ]
    amqp_gateway("reconcile", "/log", "--require-final")
    assert ran[1][5:] == [
        *("--out=reconciliation", "--master=local[*]", "--require-final", "--", "/log")
    ]


@pytest.mark.parametrize("ended", [0, 1, 3, 4])
def test_reconcile_exits_as_its_job_does(monkeypatch: pytest.MonkeyPatch, ended: int) -> None:
    done = subprocess.CompletedProcess([], ended)
    monkeypatch.setattr(audit_verbs.subprocess, "run", lambda command, check: done)
    assert amqp_gateway("reconcile", "/log").exit_code == ended


def test_a_job_that_is_ended_or_cannot_begin_could_not_be_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    killed = subprocess.CompletedProcess([], -9)
    monkeypatch.setattr(audit_verbs.subprocess, "run", lambda command, check: killed)
    result = amqp_gateway("reconcile", "/log")
    assert (result.exit_code, result.stderr) == (3, "reconcile: it was ended by signal 9\n")

    def fails(command: list[str], check: bool) -> Any:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(audit_verbs.subprocess, "run", fails)
    result = amqp_gateway("reconcile", "/log")
    assert (result.exit_code, result.stderr.count("\n")) == (3, 1)


def test_wrong_arguments_of_reconcile_exit_2() -> None:
    assert amqp_gateway("reconcile", "/log", "--no-such-option").exit_code == 2


class Script:
    """Stands in for the reactor: keeps what the conversation would have been about."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, answer: object) -> None:
        self.answer = answer
        self.asked: list[Any] = []
        monkeypatch.setattr(messages, "converse", lambda script: script(None))
        monkeypatch.setattr(messages.tools, "send", self.take)
        monkeypatch.setattr(messages.tools, "receive", self.take)

    def take(self, _connector: object, what: Any, *into: Any) -> Any:
        self.asked.append(what)
        if isinstance(self.answer, Counter):
            into[0].update(self.answer)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_send_makes_the_letter_that_was_described(monkeypatch: pytest.MonkeyPatch) -> None:
    script = Script(monkeypatch, Counter({"accepted": 2}))
    done = amqp_gateway(
        *("send", "--protocol", "0-10", "--to", "q", "--map", '{"a": [1, null]}', "-n", "2"),
        *("--property", "size:int32=2", "--property", "who=me", "--durable", "--ttl", "5"),
        *("--priority", "3", "--subject", "s", "--port", "1234"),
    )
    assert (done.exit_code, done.output) == (0, "2 accepted\n")
    (what,) = script.asked
    assert isinstance(what, Outgoing)
    assert (what.protocol, what.where.port, what.address, what.count) == ("0-10", 1234, "q", 2)
    assert what.letter == Letter(
        body=Typed("map", {"a": Typed("list", [Typed("int64", 1), Typed("void", None)])}),
        subject="s",
        durable=True,
        priority=3,
        ttl_ms=5,
        properties={"size": Typed("int32", 2), "who": Typed("string", "me")},
    )


def interrupted(script: Any) -> None:
    script(None)
    raise ClientError("interrupted")


def test_send_exits_with_1_when_not_all_were_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    Script(monkeypatch, Counter({"accepted": 1, "rejected: full": 1}))
    done = amqp_gateway("send", "--to", "q", "--body", "x", "--json")
    assert done.exit_code == 1
    assert json.loads(done.output) == {"accepted": 1, "rejected: full": 1}
    Script(monkeypatch, Counter({"accepted": 1, "no answer": 2, "not sent": 3, "released": 0}))
    monkeypatch.setattr(messages, "converse", interrupted)
    ended = amqp_gateway("send", "--to", "q", "-n", "6")
    assert (ended.exit_code, ended.stderr) == (1, "amqp-gateway: interrupted\n")
    assert ended.stdout == "3 not sent\n2 no answer\n1 accepted\n"
    Script(monkeypatch, ClientError("cannot connect"))
    failed = amqp_gateway("send", "--to", "q")
    assert (failed.exit_code, failed.stderr) == (1, "amqp-gateway: cannot connect\n")


@pytest.mark.parametrize(
    "wrong",
    [
        ["--body", "x", "--map", "{}"],
        ["--map", "5"],
        ["--property", "novalue"],
        ["--property", "n:int8=400"],
        ["--property", "n:int9=4"],
        ["--port", "0"],
        ["--protocol", "0-9"],
        ["--map", "{bad"],
        ["--map", '{"n": 99999999999999999999}'],
        ["--map", "[2020-01-01]"],
        ["--map", "\x00"],
        ["--timeout", "-1"],
        ["--timeout", "0"],
        ["--timeout", "nan"],
        ["--timeout", "inf"],
        ["--timeout", "soon"],
        ["--ttl", "99999999999999999999"],
        ["--ttl", "99999999999999999999", "-p", "0-10"],
        ["--message-id", "abc", "-p", "0-10"],
        ["--subject", "s" * 256, "-p", "0-10"],
        ["--content-type", "t" * 256, "-p", "0-10"],
        ["--reply-to", "r" * 256, "-p", "0-10"],
        ["--correlation-id", "c" * 65536, "-p", "0-10"],
        ["--property", f"{'n' * 256}=1", "-p", "0-10"],
        ["--property", "n:datetime=99999999999999999999"],
        ["--virtual-host", "v" * 256, "-p", "0-10"],
        ["--to", f"{'e' * 256}/k", "-p", "0-10"],
        ["--to", f"e/{'k' * 256}", "-p", "0-10"],
        ["--body", "\udcff"],
        ["--to", "\udcff"],
        ["--subject", "\udcff", "-p", "0-10"],
        ["--map", "[" * 3000],
        ["--map", "{[a]: 1}"],
        ["--map", "[1:1" + ":1" * 100_000 + "]"],
        ["--map", '{"a": 1, "a": 2}'],
        ["--map", '["\\ud800"]'],
        ["--host", ""],
        ["--host", "a b"],
        ["--host", "h" * 300],
        ["--host", "\udcff"],
        ["--host", "a\nb"],
        ["--host", "a/b"],
        ["--user", "\udcff"],
        ["--body-file", "/"],
    ],
)
def test_wrong_arguments_exit_with_2_before_anything_is_sent(
    wrong: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Script(monkeypatch, Counter({"accepted": 1}))
    done = amqp_gateway("send", *([] if "--to" in wrong else ["--to", "q"]), *wrong)
    assert (done.exit_code, script.asked) == (2, [])
    assert isinstance(done.exception, SystemExit)
    told = done.stderr.splitlines()[-1]
    assert told.startswith("Error: ")
    assert wrong[0].removeprefix("--") in told


@pytest.mark.parametrize(
    "right",
    [
        ["--timeout", "0.5"],
        ["--ttl", str(2**32 - 1)],
        ["--ttl", str(2**64 - 1), "-p", "0-10"],
        ["--message-id", "abc"],
        ["--message-id", "01234567-89ab-cdef-0123-456789abcdef", "-p", "0-10"],
        ["--subject", "s" * 255, "-p", "0-10"],
        ["--subject", "s" * 300],
        ["--body", "x" * 100_000, "-p", "0-10"],
        ["--map", '{"a": [1, null, "b", 1.5, true]}', "-p", "0-10"],
        ["--property", "n:char=a", "--property", "m:uuid=01234567-89ab-cdef-0123-456789abcdef"],
    ],
)
def test_what_can_be_sent_is_sent(right: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    Script(monkeypatch, Counter({"accepted": 1}))
    assert amqp_gateway("send", "--to", f"e/{'k' * 255}", *right).exit_code == 0


@pytest.mark.parametrize(
    "wrong", [["--from", "q" * 256, "-p", "0-10"], ["--from", "q", "--timeout", "nan"]]
)
def test_wrong_arguments_of_receive_exit_with_2(
    wrong: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Script(monkeypatch, 0)
    assert amqp_gateway("receive", *wrong).exit_code == 2
    assert script.asked == []


def test_receive_asks_for_what_was_described(monkeypatch: pytest.MonkeyPatch) -> None:
    script = Script(monkeypatch, 3)
    options = ["--count", "3", "--ack", "settled", "--browse", "--timeout", "2"]
    assert amqp_gateway("receive", "--from", "q", *options).exit_code == 0
    (what,) = script.asked
    assert isinstance(what, Incoming)
    assert (what.subscription.credit, what.subscription.once) == (3, True)
    assert (what.subscription.settled, what.subscription.browse) == (True, True)
    few = amqp_gateway("receive", "--from", "q", "--count", "5")
    assert (few.exit_code, few.stderr) == (1, "amqp-gateway: 3 of 5 messages came\n")


def test_a_password_comes_from_standard_input_and_tls_has_its_own_port(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    script = Script(monkeypatch, 0)
    authority = str(tmp_path / "ca.pem")
    options = ["-u", "alice", "--password-stdin", "--tls-ca", authority, "--virtual-host", "v"]
    assert amqp_gateway("receive", "--from", "q", *options, given="secret\n").exit_code == 0
    (what,) = script.asked
    assert (what.login.username, what.login.password, what.login.virtual_host) == (
        *("alice", "secret"),
        "v",
    )
    assert what.where.port == 5671


@pytest.mark.parametrize("show", [messages._show_text, messages._show_json])
def test_a_letter_is_shown(show: Any, capsys: pytest.CaptureFixture[str]) -> None:
    show(Letter(body=Typed("string", "hello"), priority=3, properties={"n": Typed("int8", 1)}))
    text = capsys.readouterr().out
    assert "hello" in text
    assert "priority" in text
    assert '{"n": 1}' in text


def test_check_tells_of_all_files_at_once(tmp_path: pathlib.Path) -> None:
    for name in ("certificate", "key", "users", "access"):
        (tmp_path / name).write_text("nothing of the kind")
    changes = [
        f"tls.certificate={tmp_path}/certificate",
        f"tls.key={tmp_path}/key",
        f"users_file={tmp_path}/users",
        f"access.file={tmp_path}/access",
    ]
    done = amqp_gateway("check", *(part for each in changes for part in ("--set", each)))
    assert done.exit_code == 2
    keys = [line.partition(": ")[0] for line in done.stderr.splitlines()]
    assert keys == ["tls.certificate", f"{tmp_path}/access", f"{tmp_path}/users"]
