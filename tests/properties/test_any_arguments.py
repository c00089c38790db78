"""Whatever the command is given, it says what is wrong in words, with its exit code."""

import os
import pathlib
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.error import URLError

import click
import pytest
from click.testing import CliRunner
from support.examples import examples

from gateway.cli import audit, compare, ctl, demo, messages, run
from gateway.cli.main import commands
from gateway.cli.migrate import survey
from gateway.clients.client import ClientError
from gateway.net.listening.users import ITERATIONS

ODD = [
    *("", " ", "\n", "\t", "\x01\x1b[31m", "a b", "-", "--", "-1", "-x", "0", "1e9", "nan", "inf"),
    *("\udcff", "é", "\u202e", "x" * 300, "x" * 100_000, "9" * 30, "9" * 5000, "1:1:1"),
    *("/", "/none/at/all", "~nobody/x", "/dev/zero", "/proc/self/mem", "[" * 3000, "{a: b", "a=["),
    *("http://[::1", "http://127.0.0.1:1/x y", "ftp://x", ":", "h:99999", "a=1:1:1", "a.b.c=1"),
    *("users_file=" + "x" * 300, "users_file=/", "users_file=~nobody/x", "a=", "=", "admin=[::"),
    *("data_directory=" + "x" * 300, "data_directory=~nobody/x", "tls.key=/dev/zero"),
    *("access.file=/", "nodes=[[]]", "upstreams={1: 2}", "listen={? [a] : b}", "upstreams.a=[]"),
    *("upstreams.a.profile=" + "x" * 300 + ".yaml", "upstreams.a.hosts=['amqp://é']"),
    *("nodes=&a [*a]", "limits.links=1e400", "limits.links=.nan", "limits.links=" + "9" * 60),
    *("virtual_hosts=[{name: 5}]", 'data_directory="a\\0b"', 'data_directory="\\ud800"'),
]
# What makes a command complete but for the parameter that is tried.
NEEDED = {
    "send": ["--to", "q"],
    "receive": ["--from", "q"],
    "ctl": ["status"],
    "ctl close": ["1"],
    "ctl assign": ["q", "--user", "u", "--container", "c", "--link", "l"],
    "ctl pause": ["orders"],
    "ctl resume": ["orders"],
    "ctl switch": ["orders", "a"],
    "backup": ["/nowhere"],
    "audit compare": ["--against", "other"],
    "audit trace": ["id"],
    "user add": ["alice"],
    "user password": ["alice"],
    "user remove": ["alice"],
}


def leaves(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from leaves(command, (*path, name))
        yield (*path, name)


def found(path: tuple[str, ...]) -> click.Command:
    command: click.Command | None = commands
    for name in path:
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), name)
    assert command is not None
    return command


COMMANDS = sorted(leaves(commands))
TRIED = [
    (path, parameter)
    for path in COMMANDS
    for parameter in found(path).params
    if not getattr(parameter, "is_flag", False) and parameter.name != "help"
]


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    """Nobody answers, and nothing is started."""

    def nobody(*_: object, **__: object) -> Any:
        raise ClientError("nobody answers")

    def unreachable(*_: object, **__: object) -> Any:
        raise URLError("nobody answers")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for module in (messages, run, demo, survey):
        monkeypatch.setattr(module, "converse", nobody, raising=False)
    monkeypatch.setattr(ctl.urllib.request, "urlopen", unreachable)
    monkeypatch.setattr(audit, "become_job", lambda *_: 1)
    monkeypatch.setattr(compare, "become_job", lambda *_: 0)
    monkeypatch.setattr(run, "run", lambda *_, **__: 0)
    monkeypatch.setattr(run, "begin_logging", lambda *_, **__: None)
    (tmp_path / "token").write_text("secret")
    for mechanism in ITERATIONS:
        monkeypatch.setitem(ITERATIONS, mechanism, 10)


def arguments(path: tuple[str, ...], parameter: click.Parameter, value: str) -> list[str]:
    needed = NEEDED.get(" ".join(path), [])
    given = [value] * (parameter.nargs if parameter.nargs > 0 else 1)
    token = ["--token-file", "token"]
    before = [*path]
    if path[0] in ("ctl", "backup") and parameter.name != "token_file":
        before = [path[0], *token, *path[1:]]
    if path[0] == "user" and len(path) > 1 and path[1] in ("add", "password"):
        before.append("--password-stdin")
    if isinstance(parameter, click.Option):
        return [*before, parameter.opts[-1], *given, *needed]
    return [*before, *needed[1:], "--", *given]


def odd_for(place: int) -> list[str]:
    """All of them; where a run is fast, a third, and each parameter has another one."""
    step = len(ODD) // examples(len(ODD))
    return ODD[place % step :: step]


@pytest.mark.parametrize(
    ("path", "parameter"), TRIED, ids=[f"{' '.join(path)} {each.name}" for path, each in TRIED]
)
def test_no_argument_ends_in_a_traceback(path: tuple[str, ...], parameter: click.Parameter) -> None:
    ended: Counter[int] = Counter()
    for value in odd_for(TRIED.index((path, parameter))):
        pathlib.Path("users.yaml").unlink(missing_ok=True)  # it would grow with each
        if parameter.name == "body_file" and value == "/dev/zero":
            continue  # as much as the largest message
        line = arguments(path, parameter, value)
        done = CliRunner().invoke(commands, line, input="password\n")
        assert done.exception is None or isinstance(done.exception, SystemExit), line
        assert done.exit_code in (0, 1, 2, 3), line
        assert done.exit_code == 0 or done.output.strip() or path[0] == "reconcile", line
        ended[done.exit_code] += 1
    assert sum(ended.values())


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_help_into_a_pipe_that_nobody_reads_is_no_trouble(path: tuple[str, ...]) -> None:
    done = CliRunner().invoke(commands, [*path, "--help"])
    assert (done.exit_code, done.exception) == (0, None)


@pytest.mark.process
def test_output_that_nobody_reads_ends_the_command() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "gateway", "check", "--keys"],
            stdout=closed,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, b"")
