"""The gateway as its users run it: a child process with its own data directory and free ports."""

import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

_READY = re.compile(r"is ready: AMQP [^ ]*:(\d+), admin [^ ]*:(\d+)")
_STOPS_WITHIN_S = 60
USER, PASSWORD = "alice", "wonderland"


@dataclass
class Gateway:
    """Runs from ``with`` to its end, where it is told to stop and must end well.

    Anonymous clients are allowed, and USER with PASSWORD.
    """

    directory: Path
    port: int = 0
    admin_port: int = 0

    def __enter__(self) -> Self:
        users = self.directory / "users.yaml"
        _run("user", "add", "--file", str(users), "--password-stdin", USER, given=PASSWORD)
        changes = {
            "listen.amqp": "127.0.0.1:0",
            "admin": "127.0.0.1:0",
            "data_directory": self.directory / "data",
            "users_file": users,
            "anonymous": "true",
        }
        options = [part for key, value in changes.items() for part in ("--set", f"{key}={value}")]
        self._log = self.directory / "gateway.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(_command("serve", *options), stderr=log)
        self.port, self.admin_port = self._wait_until_ready()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        exit_code = self.stop()
        assert exit_code == 0, f"the gateway ended with {exit_code}:\n{self.log}"

    @property
    def log(self) -> str:
        """What it wrote to standard error."""
        return self._log.read_text()

    def stop(self) -> int:
        """Tell it to stop and wait; its exit code."""
        self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(_STOPS_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise

    def _wait_until_ready(self) -> tuple[int, int]:
        # tail ends with the gateway; its lines come as they are written
        follow = ["tail", "-n", "+1", "-f", f"--pid={self._process.pid}", str(self._log)]
        with subprocess.Popen(follow, stdout=subprocess.PIPE, text=True) as tail:
            assert tail.stdout is not None
            for line in tail.stdout:
                if ready := _READY.search(line):
                    tail.terminate()
                    return int(ready[1]), int(ready[2])
        raise AssertionError(f"the gateway ended before it was ready:\n{self.log}")


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-P", "-m", "gateway", *arguments]


def _run(*arguments: str, given: str) -> None:
    subprocess.run(
        _command(*arguments),
        input=given,
        text=True,
        check=True,
        capture_output=True,
        env={**os.environ, "NO_COLOR": "1"},
    )
