"""Whatever lies in a log's directory: the verbs that read it say so, and never that all is well."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from click.testing import Result
from support.audit_logs import ScriptedGateway
from support.bad_logs import BAD, BEHIND, Bad, whole_log
from support.verbs import amqp_gateway


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return whole_log(tmp_path_factory.mktemp("whole") / "log")


@pytest.fixture
def log(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "log"))


VERBS = ("verify", "cat", "features", "trace --message 1", "trace --queue orders")


def asked(verb: str, log: Path) -> Result:
    done = amqp_gateway("audit", *verb.split(), str(log))
    assert type(done.exception) in (SystemExit, type(None)), done.exception
    return done


@pytest.mark.parametrize("verb", VERBS)
def test_a_whole_log_is_read(verb: str, whole: Path) -> None:
    assert asked(verb, whole).exit_code == 0


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_what_cannot_be_read_is_told_and_never_called_whole(bad: Bad, verb: str, log: Path) -> None:
    bad.harm(log)
    done = asked(verb, log)
    only_reads = bad.readable and verb != "verify"
    if not only_reads:
        assert done.exit_code == 1
        assert done.stderr or "LOG_GAP" in done.stdout
    assert ": whole" not in done.stdout
    assert "nobody has used" not in done.stdout or only_reads


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("what", ["loop", "file", "empty", "nothing", "long"])
def test_a_log_that_is_none_is_one_line(verb: str, what: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    if what == "loop":
        log.symlink_to(log)
    elif what == "file":
        log.write_text("no segment\n" * 100)
    elif what == "empty":
        log.mkdir()
    done = asked(verb, log if what != "long" else Path("x" * 300))
    assert done.exit_code == 1
    assert (done.stderr + done.stdout).count("\n") <= 3
    assert ": whole" not in done.stdout


def test_a_log_may_grow_while_it_is_read(tmp_path: Path) -> None:
    gateway = ScriptedGateway(tmp_path / "log", segment_octets=4000)
    message = gateway.publish("orders")
    gateway.turn()
    begun, over = threading.Event(), threading.Event()

    def go_on() -> None:
        while not over.is_set():
            gateway.consume("orders", gateway.publish("orders"))
            gateway.turn()
            begun.set()

    writing = threading.Thread(target=go_on)
    writing.start()
    try:
        begun.wait()
        codes = {verb: asked(verb, tmp_path / "log").exit_code for verb in VERBS}
    finally:
        over.set()
        writing.join()
    assert codes == dict.fromkeys(VERBS, 0)
    assert message == 1


@pytest.mark.process
@pytest.mark.parametrize("verb", ["cat", "verify"])
def test_a_full_disk_below_the_output_is_one_line(verb: str, whole: Path) -> None:
    command = [sys.executable, "-m", "gateway", "audit", verb, str(whole)]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=os.environ
        )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1, done.stderr
    assert "No space left on device" in done.stderr


def test_of_several_logs_one_that_cannot_be_read_is_told(whole: Path, log: Path) -> None:
    (log / BEHIND).mkdir()
    done = amqp_gateway("audit", "trace", "--message", "1", str(whole), str(log))
    assert done.exit_code == 1
    assert f"cannot read {log / BEHIND}: Is a directory" in done.stderr
