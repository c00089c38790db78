"""Records what a real qpidd decides, for every step of the corpus of access rules.

    PYTHONPATH=tests:. python -m interop.record_access QPIDD_DIRECTORY

QPIDD_DIRECTORY has `qpidd` and its libraries in `lib`. Each file of the corpus, corpus.yaml in
tests/vectors/access, is given to a broker as its ACL file, with nobody authenticated, so that users
are who they say they are; each step is said on a connection of its own. What was answered goes to
decisions.json beside it: "ok", the code of the exception that ended the session, or "close" and the
connection's code. Files that qpidd does not take have "refused" for all of them. Tests replay both
against the gateway.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

from support.access_steps import FOLDER, Step, corpus

from gateway.amqp_0_10 import events
from gateway.amqp_0_10.connection import Connection
from gateway.amqp_0_10.session import Session
from gateway.amqp_0_10.states import Role
from gateway.wire.limits import Limits

PATIENCE_S = 10


class Qpidd:
    """One broker with one ACL file."""

    def __init__(self, directory: Path, rules: str, work: Path) -> None:
        file = work / "acl"
        file.write_text(rules)
        self._process = subprocess.Popen(
            [
                *("./qpidd", "--no-module-dir", "--no-data-dir", "--auth", "no"),
                *("--interface", "127.0.0.1", "--port", "0", "--pid-dir", str(work)),
                *("--acl-file", str(file), "--log-to-stderr", "yes"),
            ],
            cwd=directory,
            env={**os.environ, "LD_LIBRARY_PATH": "lib"},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        self.port = int(line) if line else 0  # 0: it does not take the file

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()


class Talk:
    """A connection of one user, which is told of the first thing that goes wrong."""

    def __init__(self, port: int, user: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
        self._connection = Connection(Role.CLIENT, Limits(), 0)
        self._user = user
        self._session: Session | None = None
        self.outcome = ""
        self._until = time.monotonic() + PATIENCE_S
        while self._session is None and not self.outcome:
            self._move()

    def _move(self) -> None:
        assert time.monotonic() < self._until, "it does not answer"
        octets = self._connection.data_to_send()
        if octets:
            self._socket.sendall(octets)
        data = self._socket.recv(65536)
        happened = self._connection.receive_data(data, 0) if data else []
        for event in happened:
            self._take(event)
        if not data and not self.outcome:
            self.outcome = "close 0"

    def _take(self, event: events.Event) -> None:
        connection = self._connection
        if isinstance(event, events.ControlReceived):
            if type(event.control).__name__ == "ConnectionStart":
                response = b"\0" + self._user.encode() + b"\0secret"
                connection.send_start_ok([], "PLAIN", response, "en_US")
            else:
                connection.attach(str(uuid.uuid4()).encode(), 1)
        elif isinstance(event, events.Tuned):
            connection.send_open("")
        elif isinstance(event, events.Attached):
            self._session = event.session
        elif isinstance(event, events.ExceptionReceived):
            self.outcome = self.outcome or str(event.exception.error_code)
        elif isinstance(event, events.ConnectionClosed):
            self.outcome = self.outcome or f"close {event.code}"
        elif isinstance(event, events.SessionEnded):
            self.outcome = self.outcome or f"ended {event.code}"
        elif isinstance(event, events.CommandsCompleted | events.ResultReceived):
            self.outcome = self.outcome or "ok"

    def does(self, step: Step) -> str:
        """What is answered."""
        command = step.command()
        if command is None:
            return self.outcome or "ok"
        if not self.outcome:
            assert self._session is not None
            header = step.header()
            self._session.send_command(command, sync=True, header=header)
            self._session.send_flush()
            self._until = time.monotonic() + PATIENCE_S
            while not self.outcome:
                self._move()
        return self.outcome

    def close(self) -> None:
        self._socket.close()


def decided(directory: Path, file: dict[str, Any]) -> dict[str, str]:  # Any: what YAML holds
    """What the broker answers to each step."""
    with tempfile.TemporaryDirectory() as work:
        broker = Qpidd(directory, file["rules"], Path(work))
        found: dict[str, str] = {}
        held: list[Talk] = []
        for line in [*file.get("made", []), *file["steps"]]:
            step = Step(line)
            if not broker.port:
                found[line] = "refused"
                continue
            talk = Talk(broker.port, step.user)
            found[line] = talk.does(step)
            if file.get("stay"):
                held.append(talk)
            else:
                talk.close()
        for talk in held:
            talk.close()
        broker.stop()
    return found


def main() -> int:
    """Record all files."""
    directory = Path(sys.argv[1]).resolve()
    told = {}
    for file in corpus():
        told[file["name"]] = decided(directory, file)
        print(f"{file['name']}: {len(told[file['name']])}", flush=True)
    (FOLDER / "decisions.json").write_text(json.dumps(told, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
