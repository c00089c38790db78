"""What the brokers that we test against have in common: one child process in one directory.

A subclass says how its broker is configured and started, and speaks to the broker's own
administration. Everything listens on free loopback ports, which stay the same over a restart.
"""

import contextlib
import os
import random
import re
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

_STARTS_WITHIN_S = 120
_STOPS_WITHIN_S = 120
_LEAST_PORT = 10_000
_CLIENTS_PORTS = Path("/proc/sys/net/ipv4/ip_local_port_range")


class Broker:
    """A broker with one user, an AMQP 1.0 listener at ``port``, and its files in ``work``.

    Runs from ``start`` (or ``with``) to ``stop`` or ``kill``; both keep the data for ``restart``.
    """

    peer: ClassVar[str]  # its name among the installed peers
    product: ClassVar[str]  # what its open says, as far as it says
    username: ClassVar[str] = "guest"
    password: ClassVar[str] = "guest"
    _ready: ClassVar["re.Pattern[str]"]  # the line of its log from when it takes clients

    def __init__(self, work: Path) -> None:
        self.work = work
        self.port = free_ports(1)[0]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> Self:
        """Start it and wait until it takes clients."""
        assert self._process is None, f"{self.peer} runs already"
        self.work.mkdir(parents=True, exist_ok=True)
        self._configure()
        written = self._log.stat().st_size if self._log.exists() else 0
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command(),
                cwd=self.work,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # what a terminal sends to the tests is not meant for it
            )
        try:
            self._wait_until_ready(written)
        except BaseException:
            self.kill()
            raise
        return self

    def stop(self) -> None:
        """Tell it to stop and wait for that; without effect when it does not run."""
        if self._process is None:
            return
        self.resume()
        self._signal(signal.SIGTERM)
        try:
            self._process.wait(_STOPS_WITHIN_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        self._process = None

    def kill(self) -> None:
        """End it at once, as a crash does."""
        if self._process is None:
            return
        self._signal(signal.SIGKILL)
        self._process.wait(_STOPS_WITHIN_S)
        self._process = None

    def pause(self) -> None:
        """Let it neither read nor write until ``resume``, its connections staying up."""
        self._signal(signal.SIGSTOP)
        deadline = time.monotonic() + _STOPS_WITHIN_S
        while not self.paused:  # its threads stop one by one
            assert time.monotonic() < deadline, f"{self.peer} does not pause"
            time.sleep(0.001)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def restart(self) -> Self:
        """Stop it if it runs, and start it with the same ports and data."""
        self.stop()
        return self.start()

    @property
    def running(self) -> bool:
        """Started, and neither stopped nor killed since."""
        return self._process is not None

    @property
    def log(self) -> str:
        """What it wrote, since its first start."""
        return self._log.read_text(errors="replace")

    @property
    def resident_kib(self) -> int:
        """The memory that it has resident."""
        return int(self._status("VmRSS"))

    @property
    def paused(self) -> bool:
        """It is stopped by ``pause``."""
        return self._status("State") == "T"

    def create_queue(self, name: str) -> None:
        """Make a durable queue, by the broker's own administration; it may be there."""
        raise NotImplementedError

    def create_limited_queue(self, name: str) -> None:
        """Make a queue that is soon full, and rejects then; its name begins with ``limited.``."""
        self.create_queue(name)

    def delete_queue(self, name: str) -> None:
        """Delete a queue and what is in it, by the broker's own administration."""
        raise NotImplementedError

    def create_topic(self, name: str) -> None:
        """Make a durable node that copies a message to every subscription; it may be there."""
        raise NotImplementedError

    def queue_depth(self, name: str) -> int:
        """How many messages the queue holds, those acquired but not settled included."""
        raise NotImplementedError

    def queue_address(self, name: str) -> str:
        """The 1.0 address of a queue, of a source as of a target."""
        return name

    def topic_target(self, name: str) -> str:
        """The 1.0 address to publish to a topic."""
        return name

    def create_subscription(self, topic: str) -> str:
        """Make what a subscription needs, if anything; the 1.0 address to receive from."""
        return self.topic_target(topic)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _configure(self) -> None:
        """Write its configuration; called at each start."""
        raise NotImplementedError

    def _command(self) -> list[str]:
        raise NotImplementedError

    @property
    def _pid(self) -> int:
        """The process to signal: the broker, not what wraps it."""
        assert self._process is not None, f"{self.peer} does not run"
        return self._process.pid

    def _status(self, field: str) -> str:
        status = Path(f"/proc/{self._pid}/status").read_text()
        return status.split(f"{field}:")[1].split()[0]

    @property
    def _log(self) -> Path:
        return self.work / "broker.log"

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, number)

    def _wait_until_ready(self, written: int) -> None:
        assert self._process is not None
        # tail ends with the broker; its lines come as they are written
        follow = ["timeout", str(_STARTS_WITHIN_S), "tail", "-c", f"+{written + 1}", "-f"]
        follow += [f"--pid={self._process.pid}", str(self._log)]
        with subprocess.Popen(follow, stdout=subprocess.PIPE, text=True, errors="replace") as tail:
            assert tail.stdout is not None
            for line in tail.stdout:
                if self._ready.search(line):
                    tail.terminate()
                    return
        raise AssertionError(f"{self.peer} ended, or was not ready in time:\n{self.log[-4000:]}")


def free_ports(count: int) -> list[int]:
    """Different loopback ports that nobody listens on.

    None that the system gives to clients by itself: it may do so before the broker has it.
    """
    tried = random.Random(time.time_ns() ^ os.getpid())
    with contextlib.ExitStack() as stack:
        ports: list[int] = []
        while len(ports) < count:
            port = tried.randrange(_LEAST_PORT, int(_CLIENTS_PORTS.read_text().split()[0]))
            with contextlib.suppress(OSError):
                stack.enter_context(socket.create_server(("127.0.0.1", port)))
                ports.append(port)
        return ports


def java(heap: str, properties: Mapping[str, object]) -> list[str]:
    """The beginning of a command: a Java that starts fast and stays small."""
    # the first compiler only, class data sharing and a collector without threads of its own
    options = ["-XX:TieredStopAtLevel=1", "-Xshare:auto", "-XX:+UseSerialGC", f"-Xmx{heap}"]
    return ["java", *options, *(f"-D{name}={given}" for name, given in properties.items())]
