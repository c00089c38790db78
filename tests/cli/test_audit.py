"""`audit` and `reconcile`: what they print of a log, and their exit codes."""

from __future__ import annotations

import json
import pathlib

import pytest
from support.audit_logs import UNREADABLE, put_unreadable
from support.keys import Key
from support.lives import lived
from support.verbs import amqp_gateway, becomes
from support.whole_gateway import WholeGateway

from gateway.audit.reader import segment_paths


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


def story(*arguments: str) -> tuple[int, list[str]]:
    done = amqp_gateway("audit", "trace", *arguments)
    return done.exit_code, [line.split()[2] for line in done.stdout.splitlines()]


def test_audit_trace_finds_messages_by_number_and_by_queue_and_time(tmp_path: pathlib.Path) -> None:
    lived(tmp_path, messages=2)
    log = str(tmp_path / "audit")
    one = ["received", "entered"]
    code, steps = story("--queue", "q", log)
    assert (code, steps) == (0, one + one)
    number = amqp_gateway("audit", "trace", "--queue", "q", log).stdout.split()[1]
    assert story("--message", number, log) == (0, one)
    assert story("--queue", "q", "--until", "2020-01-01", log) == (1, [])
    assert story("--queue", "q", "--since", "2020-01-01T00:00Z", log) == (0, one + one)
    assert story("--message", "999999", log) == (1, [])


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        ["--message", "0"],
        ["--message", "1", "--queue", "q"],
        ["--correlation-id", "a", "--queue", "q"],
        ["--queue", "q", "--since", "yesterday"],
        ["id", "--until", "2020-01-01"],
        ["--queue", "\udcff"],
    ],
)
def test_what_is_no_question_about_messages_is_a_wrong_argument(
    wrong: list[str], log: pathlib.Path
) -> None:
    arguments = [str(log) if each == "log" else each for each in wrong]
    done = amqp_gateway("audit", "trace", *arguments)
    assert (done.exit_code, type(done.exception)) == (2, SystemExit)


@pytest.mark.parametrize("verb", ["cat", "trace x", "features"])
@pytest.mark.parametrize("kind", UNREADABLE)
def test_a_segment_that_cannot_be_read_is_told(verb: str, kind: str, log: pathlib.Path) -> None:
    bad = log / "0000000999-000999.audit"
    put_unreadable(bad, kind)
    done = amqp_gateway("audit", *verb.split(), str(log))
    assert (done.exit_code, type(done.exception)) == (1, SystemExit)
    assert f"amqp-gateway: cannot read {bad}: " in done.stderr


@pytest.mark.parametrize("kind", UNREADABLE)
def test_audit_verify_tells_of_a_segment_that_is_no_file_and_of_all_others(
    kind: str, log: pathlib.Path
) -> None:
    first = segment_paths(log)[0]
    octets = bytearray(first.read_bytes())
    octets[-50] ^= 1
    first.write_bytes(octets)
    bad = log / "0000000999-000999.audit"
    put_unreadable(bad, kind)
    done = amqp_gateway("audit", "verify", str(log))
    assert (done.exit_code, done.stderr) == (1, "")
    assert f"LOG_GAP {first.name} " in done.stdout
    assert f"LOG_GAP {bad.name} block 0 offset 0: it cannot be read: " in done.stdout


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
    ran = becomes(monkeypatch)
    assert amqp_gateway("reconcile", "/log", "--out", "/out").exit_code == 0
    assert ran[0][1:] == [
        *("-P", "-m", "gateway.accounting", "reconcile"),
        *("--out=/out", "--master=local[*]", "--", "/log"),
    ]
    amqp_gateway("reconcile", "/log", "--require-final")
    assert ran[1][5:] == [
        *("--out=reconciliation", "--master=local[*]", "--require-final", "--", "/log")
    ]
    amqp_gateway("reconcile", "/a", "/b")
    assert ran[2][-3:] == ["--", "/a", "/b"]


def test_reconcile_that_follows_is_told_what(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = becomes(monkeypatch)
    given = ("--state", "/state", "--follow", "60", "--keep", "9")
    assert amqp_gateway("reconcile", "/log", *given).exit_code == 0
    assert ran[0][5:] == [
        *("--out=reconciliation", "--keep=9", "--master=local[*]", "--state=/state"),
        *("--follow=60", "--", "/log"),
    ]
    assert amqp_gateway("reconcile", "/log", "--follow", "60").exit_code == 2


def test_wrong_arguments_of_reconcile_exit_2() -> None:
    assert amqp_gateway("reconcile", "/log", "--no-such-option").exit_code == 2


def test_audit_verify_says_who_protects_the_log(log: pathlib.Path) -> None:
    told = amqp_gateway("audit", "verify", str(log)).stdout.splitlines()
    assert "unsigned: whoever can write the directory can write all of it anew" in told[0]


def test_audit_verify_holds_a_log_against_heads_that_were_kept(log: pathlib.Path) -> None:
    head = log.parent / "audit-head"
    done = amqp_gateway("audit", "verify", str(log), "--anchor", str(head))
    assert done.exit_code == 0
    assert "held against one head kept elsewhere" in done.stdout
    segment_paths(log)[-1].write_bytes(segment_paths(log)[-1].read_bytes()[:-300])
    cut = amqp_gateway("audit", "verify", str(log), "--anchor", str(head))
    assert cut.exit_code == 1
    assert "by audit-head line 1 (record " in cut.stdout


def test_audit_verify_wants_seals_to_be_signed_by_a_trusted_key(tmp_path: pathlib.Path) -> None:
    key, other = Key(), Key()
    (tmp_path / "key.pem").write_bytes(key.private)
    signing = f"audit.signing_key_file={tmp_path}/key.pem"
    WholeGateway(tmp_path / "data", signing).start().stop()
    for each, code in ((key, 0), (other, 1)):
        (tmp_path / "public.pem").write_bytes(each.public)
        trust = ("--trust", str(tmp_path / "public.pem"))
        done = amqp_gateway("audit", "verify", str(tmp_path / "data"), *trust)
        assert done.exit_code == code, done.output
    assert "LOG_GAP" in done.stdout


@pytest.mark.parametrize(("verb", "code"), [("audit verify", 1), ("reconcile", 3)])
@pytest.mark.parametrize("option", ["--anchor", "--trust"])
def test_a_file_that_is_no_anchor_or_key_is_one_line_and_no_verdict(
    verb: str, code: int, option: str, log: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    wrong = tmp_path / "wrong"
    for text in (None, "x"):
        if text:
            wrong.write_text(text)
        done = amqp_gateway(*verb.split(), str(log), option, str(wrong))
        assert (done.exit_code, done.stderr.count("\n")) == (code, 1)
        assert str(wrong) in done.stderr


def test_close_hands_on_what_it_is_given(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    ran = becomes(monkeypatch)
    public = tmp_path / "public.pem"
    public.write_bytes(Key().public)
    given = ("--books", "books", "--state", "state")
    assert amqp_gateway("audit", "close", "/log", *given).exit_code == 0
    assert ran[0][1:] == [
        *("-P", "-m", "gateway.accounting", "close", "--books=books", "--state=state"),
        *("--out=reconciliation", "--master=local[*]", "--", "/log"),
    ]
    more = ("--key", "key", "--trust", str(public), "--late-after", "2", "--out", "out")
    more += ("--master", "local[2]")
    amqp_gateway("audit", "close", "/log", *given, *more)
    assert ran[1][5:] == [
        *("--books=books", "--state=state", "--key=key", "--out=out", "--master=local[2]"),
        *("--late-after=2.0", f"--trust={public}", "--", "/log"),
    ]
    assert amqp_gateway("audit", "close", "/log", "--books", "books").exit_code == 2


def test_reconcile_hands_on_how_long_a_copy_may_take(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = becomes(monkeypatch)
    amqp_gateway("reconcile", "/log", "--stuck-after", "0", "--late-after", "2.5")
    assert ran[0][7:-2] == ["--stuck-after=0.0", "--late-after=2.5"]
    assert amqp_gateway("reconcile", "/log", "--late-after", "-1").exit_code == 2


def test_reconcile_hands_anchors_and_keys_on(
    monkeypatch: pytest.MonkeyPatch, log: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    ran = becomes(monkeypatch)
    (tmp_path / "public.pem").write_bytes(Key().public)
    head = str(log.parent / "audit-head")
    given = ("--anchor", head, "--trust", str(tmp_path / "public.pem"))
    assert amqp_gateway("reconcile", str(log), *given).exit_code == 0
    assert ran[0][7:-2] == [f"--anchor={head}", f"--trust={tmp_path}/public.pem"]


def test_addresses_are_handed_on_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = becomes(monkeypatch)
    given = ["--state", "s3a://logs/state", "--anchor", "s3a://logs/heads", "--books", "s3a://b/c"]
    out = ["--out", "s3a://logs/out", "--properties-file", "spark.conf"]
    assert amqp_gateway("reconcile", "s3a://logs/audit", *out, *given).exit_code == 0
    assert {"--out=s3a://logs/out", "--properties-file=spark.conf"} < set(ran[0])
    assert {"--anchor=s3a://logs/heads", "--books=s3a://b/c"} < set(ran[0])
    assert ran[0][-2:] == ["--", "s3a://logs/audit"]
    given = ["--books", "books", "--state", "s3a://logs/state", *out]
    assert amqp_gateway("audit", "close", "s3a://logs/audit", *given).exit_code == 0
    assert {"--state=s3a://logs/state", "--out=s3a://logs/out"} < set(ran[1])
