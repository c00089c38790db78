"""The foreign clients as child processes: how each is started, what it said.

Every client understands the same command line and the same JSON lines, so that a test names the
client and says the rest in words of messages. The forms stand in the files under peers/.
"""

import contextlib
import hashlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from interop import installed

Message = Mapping[str, Any]
Event = dict[str, Any]

_PEERS = installed.HERE / "peers"
_TIME_LIMIT_S = 240  # longer than a client itself waits for a message
# who may log in to the gateway under test
USER, PASSWORD = "alice", "wonderland"


class ForeignError(AssertionError):
    """A foreign client failed or did not do what the test waits for; the text is all it said."""


@dataclass
class Said:
    """Everything that a client said, from its start to its end."""

    exit_code: int
    events: list[Event]
    complaints: str

    def named(self, event: str) -> list[Event]:
        """The events of one name, in order."""
        return [line for line in self.events if line["event"] == event]

    @property
    def received(self) -> list[Event]:
        return self.named("received")

    @property
    def sent(self) -> list[Event]:
        return self.named("sent")

    @property
    def errors(self) -> list[Event]:
        return self.named("error") + self.named("connection-error")

    def without_error(self) -> "Said":
        """Itself, when the client ended well."""
        if self.exit_code or self.errors or self.named("timeout"):
            raise ForeignError(str(self))
        return self

    def __str__(self) -> str:
        lines = "\n".join(json.dumps(line) for line in self.events)
        return f"exit code {self.exit_code}\n{lines}\n{self.complaints}"


@dataclass
class Running:
    """A client at work."""

    process: subprocess.Popen[str]
    complaints: Any  # the temporary file that takes standard error
    _lines: "queue.Queue[Event | None]" = field(default_factory=queue.Queue)
    _heard: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        threading.Thread(target=self._listen, daemon=True).start()

    def until(self, event: str) -> Event:
        """Wait for an event of this name and return it."""
        while (line := self._next()) is not None:
            if line["event"] == event:
                return line
        raise ForeignError(f"ended before {event!r}:\n{self.finish()}")

    def finish(self) -> Said:
        """Wait for its end."""
        while self._next() is not None:
            pass
        exit_code = self.process.wait(_TIME_LIMIT_S)
        self.complaints.seek(0)
        return Said(exit_code, self._heard, self.complaints.read()[-4000:])

    def kill(self) -> None:
        """End it without a goodbye: its connection is cut."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGKILL)
        self.process.wait(_TIME_LIMIT_S)

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("{"):
                self._lines.put(json.loads(line))
        self._lines.put(None)

    def _next(self) -> Event | None:
        try:
            line = self._lines.get(timeout=_TIME_LIMIT_S)
        except queue.Empty:
            self.kill()
            raise ForeignError(f"said nothing for {_TIME_LIMIT_S} s: {self._heard}") from None
        if line is None:
            self._lines.put(None)
        else:
            self._heard.append(line)
        return line


@dataclass(frozen=True)
class Client:
    """A foreign client: its name among the installed peers, its protocol, its command line."""

    peer: str
    protocol: str
    command: Callable[[], list[str]]
    environment: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)

    def start(
        self, verb: str, port: int, messages: Iterable[Message] = (), **options: object
    ) -> Running:
        """Start it; option names are the client's own, with ``_`` for ``-``."""
        command = [*self.command(), verb, "--port", str(port)]
        for name, given in {**self.options, **options}.items():
            command += ["--" + name.replace("_", "-"), str(given)]
        complaints = tempfile.TemporaryFile("w+")  # noqa: SIM115 - lives as long as the process
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
            env={**os.environ, **self.environment},
        )
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError), process.stdin:
            process.stdin.writelines(json.dumps(message) + "\n" for message in messages)
        return Running(process, complaints)

    def run(
        self, verb: str, port: int, messages: Iterable[Message] = (), **options: object
    ) -> Said:
        """Start it and wait for its end, which must be a good one."""
        return self.start(verb, port, messages, **options).finish().without_error()


def _java() -> list[str]:
    # the first compiler only, and class data sharing: a client starts in 0.4 s
    options = ["-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Xmx128m", "-Dqpid.amqp.version=0-10"]
    return ["java", *options, "-cp", f"{_java_classes()}:{installed.JARS}/*", "JmsPeer"]


def _java_1_0() -> list[str]:
    # its JMS is 2.0: of a class that both have the first one counts
    own = ":".join(str(jar) for jar in installed.jms_1_0())
    options = ["-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Xmx128m"]
    where = f"{_java_classes()}:{own}:{installed.JARS}/*"
    return ["java", *options, "-cp", where, "JmsPeer"]


def _java_xa() -> list[str]:
    options = ["-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Xmx128m", "-Dqpid.amqp.version=0-10"]
    jars = f"{installed.XA}/*:{installed.JARS}/*"
    return ["java", *options, "-cp", f"{_java_classes('xa', jars)}:{jars}", "XaPeer"]


def _java_classes(peer: str = "jms", jars: str = f"{installed.JARS}/*") -> Path:
    """A compiled peer, compiled when its source has changed."""
    sources = sorted((_PEERS / peer).glob("*.java"))
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()
    classes = installed.CACHE / f"{peer}-classes-{digest[:16]}"
    if not classes.is_dir():
        with tempfile.TemporaryDirectory(dir=installed.CACHE) as work:
            made = Path(work) / "classes"
            subprocess.run(["javac", "-d", made, "-cp", jars, *sources], check=True)
            with contextlib.suppress(OSError):  # another run was sooner
                made.rename(classes)
            assert classes.is_dir()
    return classes


def python27(peer: str) -> tuple[list[str], dict[str, str]]:
    """The command of a program of that client's Python 2.7, and its environment."""
    return _python27(peer), _PYTHON27_ENVIRONMENT


def _python27(peer: str = "qpid_messaging.py") -> list[str]:
    inside = Path("/opt/peer", peer)
    outside = installed.PYTHON27 / inside.relative_to("/")
    outside.parent.mkdir(exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=outside.parent, delete=False) as copied:
        copied.write((_PEERS / peer).read_bytes())
    os.replace(copied.name, outside)  # another run may be reading it
    return ["chroot", str(installed.PYTHON27), "/usr/bin/python2.7", str(inside)]


def python27_sessions(port: int) -> list[Event]:
    """What the session layer of that client tells over two connections, one of which breaks."""
    done = subprocess.run(
        [*_python27("qpid_session.py"), str(port)],
        env={**os.environ, **_PYTHON27_ENVIRONMENT},
        capture_output=True,
        text=True,
        timeout=_TIME_LIMIT_S,
        check=False,
    )
    if done.returncode:
        raise ForeignError(done.stdout + done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


_PYTHON27_ENVIRONMENT = {"PYTHONPATH": "/opt/qpid-python", "PYTHONDONTWRITEBYTECODE": "1"}
JMS = Client("jms", "0-10", _java)
JMS_1_0 = Client("jms-1.0", "1.0", _java_1_0, options={"protocol": "1.0"})
XA = Client("xa", "0-10", _java_xa)
QPID_PYTHON = Client(
    "qpid-python",
    "0-10",
    _python27,
    _PYTHON27_ENVIRONMENT,
)
PROTON = Client("proton", "1.0", lambda: [sys.executable, str(_PEERS / "proton_peer.py")])
RHEA = Client(
    "rhea",
    "1.0",
    lambda: ["node", str(_PEERS / "rhea/peer.js")],
    {"NODE_PATH": str(installed.RHEA / "node_modules")},
)
