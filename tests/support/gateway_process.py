"""The gateway as its users run it: a child process with its own data directory and free ports."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml

STARTS_WITHIN_S = 180
STOPS_WITHIN_S = 180
ENDS_WITHIN_S = 180
SAID_WITHIN_S = 180
LOOKS_EVERY_S = 0.02
_READY = re.compile(r"is ready: (.*), data in .*\((\d+) messages recovered\)")
_PORT = re.compile(r"([A-Za-z ]+) \S*:(\d+)")


class GatewayProcess:
    """`amqp-gateway serve` on a directory; it may live there more than once.

    ``with GatewayProcess(directory) as gateway`` starts it and, at the end, tells it to stop and
    wants exit code 0. A test that kills it uses `start` and `kill` itself.

    Attributes:
        config: what its YAML file says, besides the addresses and the data directory; read at each
            `start`, so that a test may change it between two lives.
        ports: by the names of its own ready line: "AMQP", "AMQP over TLS", "admin".
        recovered: how many messages its last start found.
    """

    def __init__(
        self,
        directory: Path,
        config: dict[str, Any] | None = None,  # Any: YAML
        *,
        environment: dict[str, str] | None = None,
        files: int = 0,
    ) -> None:
        """`files`: no more than that may it have open; 0: as many as it wants."""
        self.directory = directory
        self.config = dict(config or {})
        self.data = directory / "data"
        self.audit = self.data / "audit"
        self.ports: dict[str, int] = {}
        self.recovered = 0
        self._environment = {**os.environ, **(environment or {})}
        self._before = ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh"] if files else []
        self._log = directory / "gateway.log"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self if self.running else self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self.running:
            return
        if error is not None:
            self.kill()
            return
        exit_code = self.stop()
        assert exit_code == 0, f"the gateway ended with {exit_code}:\n{self.log()}"

    def start(self, *, same_ports: bool = False) -> Self:
        """Return when it is ready; `same_ports`: where its last life listened."""
        assert not self.running, "it is running"
        self.directory.mkdir(parents=True, exist_ok=True)
        file = self.directory / "gateway.yaml"
        file.write_text(yaml.safe_dump(self._settings(same_ports)))
        said_before = len(self.log())
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*self._before, *command("serve", "--config", str(file))],
                stdout=log,
                stderr=log,
                cwd=self.directory,
                env=self._environment,
            )
        self._wait_until_ready(said_before)
        return self

    @property
    def running(self) -> bool:
        """Started, and not ended."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """Of the process that was started last."""
        return self._started.pid

    @property
    def amqp_port(self) -> int:
        """Where clients connect."""
        return self.ports["AMQP"]

    @property
    def admin_port(self) -> int:
        """Where metrics and health are."""
        return self.ports["admin"]

    def log(self) -> str:
        """What it has written to standard output and error, in all its lives.

        A thread writes its lines: what has happened may not be there yet, unless it has ended.
        """
        return self._log.read_text() if self._log.exists() else ""

    def said(self, words: str, times: int = 1) -> bool:
        """Whether its log has these words so often, or soon gets them."""
        deadline = time.monotonic() + SAID_WITHIN_S
        while self.log().count(words) < times and time.monotonic() < deadline:
            time.sleep(LOOKS_EVERY_S)
        return self.log().count(words) >= times

    def signal(self, sig: signal.Signals) -> None:
        """Send it a signal."""
        self._started.send_signal(sig)

    def wait(self) -> int:
        """Its exit code, once it has ended."""
        try:
            return self._started.wait(STOPS_WITHIN_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def stop(self) -> int:
        """Tell it to stop and wait; its exit code."""
        if self.running:
            self.signal(signal.SIGTERM)
        return self.wait()

    def kill(self) -> None:
        """It is gone, whatever it was doing."""
        self._started.kill()
        self._started.wait()

    def get(self, path: str) -> str:
        """What the admin address answers."""
        address = f"http://127.0.0.1:{self.admin_port}{path}"
        with urllib.request.urlopen(address, timeout=180) as answer:
            return str(answer.read().decode())

    def metrics(self) -> dict[str, float]:
        """Samples, named as they are exposed: ``name`` or ``name{label="value"}``."""
        lines = self.get("/metrics").splitlines()
        samples = (line.rpartition(" ") for line in lines if not line.startswith("#"))
        return {name: float(value) for name, _space, value in samples}

    def tool(self, *arguments: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run another of the gateway's commands, to its end."""
        return run(*arguments, given=given)

    @property
    def _started(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, "it was never started"
        return self._process

    def _settings(self, same_ports: bool) -> dict[str, Any]:  # Any: YAML
        kept = self.ports if same_ports else {}
        own = {
            "listen": {"amqp": f"127.0.0.1:{kept.get('AMQP', 0)}"} | self.config.get("listen", {}),
            "admin": self.config.get("admin", f"127.0.0.1:{kept.get('admin', 0)}"),
            "data_directory": str(self.data),
        }
        # No reserve: directories of tests are kept, by the hundred.
        return {"store_reserve": 0} | self.config | own

    def _wait_until_ready(self, said_before: int) -> None:
        deadline = time.monotonic() + STARTS_WITHIN_S
        while time.monotonic() < deadline:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._started.wait(LOOKS_EVERY_S)
            if ready := _READY.search(self.log(), said_before):
                self.ports = {name.strip(): int(port) for name, port in _PORT.findall(ready[1])}
                self.recovered = int(ready[2])
                return
            if not self.running:
                break
        self.kill()
        raise AssertionError(f"the gateway did not become ready:\n{self.log()[said_before:]}")


def command(*arguments: str) -> list[str]:
    """The gateway's command line, as a child process has to be started."""
    return [sys.executable, "-P", "-m", "gateway", *arguments]


def run(*arguments: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
    """A command of the gateway, run to its end; `given`: its standard input."""
    return subprocess.run(
        command(*arguments),
        input=given,
        capture_output=True,
        text=True,
        check=False,
        timeout=ENDS_WITHIN_S,
        env={**os.environ, "NO_COLOR": "1"},
    )
