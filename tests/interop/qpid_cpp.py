"""qpid-send and qpid-receive, the programs of Qpid's C++ client, and the qpidd that they are of."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import yaml
from interop import installed

TIME_LIMIT_S = 60
_SCENARIOS = installed.HERE / "peers" / "qpid_cpp.yaml"
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NAMES = re.compile("QUEUE|EXCHANGE|LINK")
_TTL = re.compile(r"TTL: \d+")
_REFUSED = re.compile(r"Exception received from broker: ([a-z-]+)")
# Up to the condition, if there is one: what follows is each broker's own.
_SAID = re.compile(r"^qpid-(?:send|receive): (.*? amqp:[a-z-]+|.*)", re.MULTILINE)


class Said(NamedTuple):
    """What a program printed, with which exceptions, and why and how it ended."""

    exit_code: int
    output: str
    exceptions: list[str]
    why: list[str]


def scenarios() -> dict[str, list[str]]:
    """What programs do, by name."""
    found: dict[str, list[str]] = yaml.safe_load(_SCENARIOS.read_text())
    return found


def named(line: str, unique: str) -> str:
    """The line with names that nothing else has."""
    return _NAMES.sub(lambda name: f"{name[0].lower()}-{unique}", line)


def run(line: str, port: int, options: str) -> Said:
    """Run one program against whoever listens there, with these connection options."""
    tool, *arguments = shlex.split(line)
    folder = installed.qpidd()
    if tool == "send":
        arguments += ["--timestamp", "no"]
    elif "--timeout" not in arguments:
        arguments += ["--timeout", "10"]
    ended = subprocess.run(
        [
            *(f"./qpid-{tool}", "--broker", f"127.0.0.1:{port}", *arguments),
            *("--connection-options", options),
        ],
        cwd=folder,
        env={**os.environ, "LD_LIBRARY_PATH": "lib"},
        capture_output=True,
        timeout=TIME_LIMIT_S,
        check=False,
    )
    output = _TTL.sub("TTL: some", _ID.sub("some id", ended.stdout.decode()))
    complaints = ended.stderr.decode()
    return Said(ended.returncode, output, _REFUSED.findall(complaints), _SAID.findall(complaints))


@contextmanager
def qpidd() -> Iterator[int]:
    """A broker without a store; its port."""
    with tempfile.TemporaryDirectory() as work:
        process = subprocess.Popen(
            [
                *("./qpidd", "--no-module-dir", "--data-dir", work, "--pid-dir", work),
                *("--auth", "no", "--interface", "127.0.0.1", "--port", "0"),
                *("--load-module", str(Path("lib/amqp.so")), "--log-to-stderr", "no"),
            ],
            cwd=installed.qpidd(),
            env={**os.environ, "LD_LIBRARY_PATH": "lib"},
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline())
        finally:
            process.terminate()
            process.wait(TIME_LIMIT_S)
