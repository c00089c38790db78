"""How long a gateway takes to start on a large store: to listen, to be ready, to deliver.

    PYTHONPATH=tests python tests/bench/large_store.py [MESSAGES [QUEUES [OCTETS [DIRECTORY]]]]

The store is written by the product's own `SqliteStore`, without a gateway: durable messages of 1.0,
spread over the queues one after another, some thousands to a row. A gateway starts on it as after
an orderly stop, delivers a message of the last queue, is killed, and starts again as after that.
Figures of each start: seconds until it answers at its admin port and its port can be connected to,
until it is ready, until a receiver has the first message, each from the start of the process; and
its resident memory then, and at its highest.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import yaml
from bench.bare_store import bare_store
from support.gateway_process import command
from support.lines import Lines

from gateway.bridge.durable.topology_rows import QueueRow, RowKind, row_key
from gateway.bridge.numbers import MESSAGE_BITS, QUEUE_BITS
from gateway.bridge.seams import QueueSettings
from gateway.clients.client import ClientError, Delivered, Subscription
from gateway.clients.client_1_0 import Client10
from gateway.message import Encoding, Message
from gateway.store.writes import TurnWriter

TURN_OCTETS: Final = 1024 * 1024
LOOKS_EVERY_S: Final = 0.02
PATIENCE_S: Final = 1800.0
HOST: Final = "default"
FIRST: Final = 1 << MESSAGE_BITS


def queue_name(number: int) -> str:
    return f"q{number}"


def build(directory: Path, messages: int, queues: int, octets: int) -> None:
    """A store that was closed in order."""
    store, done = bare_store(directory)
    store.open()
    writer = TurnWriter()
    first_queue = (1 << QUEUE_BITS) + 1
    for number in range(queues):
        row = QueueRow(HOST, queue_name(number), first_queue + number, QueueSettings(durable=True))
        writer.topology(RowKind.QUEUE, row_key(HOST, row.name), row.encoded())
    payload = b"\x00\x53\x75\xb0" + octets.to_bytes(4, "big") + b"x" * octets
    turn = 0
    for number in range(messages):
        queue = number % queues
        message = Message(
            FIRST + number + 1,
            Encoding.AMQP_1_0,
            payload,
            0,
            0,
            True,
            4,
            -1,
            0,
            1_700_000_000_000,
            "",
            queue_name(queue),
            0,
            0,
            0,
            0,
            0,
            None,
        )
        writer.message(message)
        writer.enqueue(first_queue + queue, FIRST + number // queues, message.id)
        if writer.size() >= TURN_OCTETS or number == messages - 1:
            turn += 1
            store.submit(turn, writer.take(), b"")
            while store.counts.turns_waiting > 8:
                done.get()
    store.close(b"")


class Start(NamedTuple):
    """Seconds from the start of the process, and MiB."""

    listening_s: float
    ready_s: float
    delivered_s: float
    resident_mib: float
    highest_mib: float


class Gateway:
    """A gateway whose ports are known before it says so."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.amqp_port, self.admin_port = _free_port(), _free_port()
        file = directory / "gateway.yaml"
        file.write_text(
            yaml.safe_dump(
                {
                    "listen": {"amqp": f"127.0.0.1:{self.amqp_port}"},
                    "admin": f"127.0.0.1:{self.admin_port}",
                    "data_directory": str(directory / "data"),
                    "store_reserve": 0,
                }
            )
        )
        self._log = (directory / "gateway.log").open("ab")
        self.process = subprocess.Popen(
            command("serve", "--config", str(file), "--accept-new-store"),
            stdout=self._log,
            stderr=self._log,
        )
        self.started = time.monotonic()

    def seconds_until(self, condition: Callable[[], bool]) -> float:
        """Since its start."""
        while not condition():
            if self.process.poll() is not None:
                raise RuntimeError((self.directory / "gateway.log").read_text())
            if time.monotonic() > self.started + PATIENCE_S:
                raise TimeoutError((self.directory / "gateway.log").read_text())
            time.sleep(LOOKS_EVERY_S)
        return time.monotonic() - self.started

    def listens(self) -> bool:
        """It is alive, and takes connections."""
        if self._status("/healthz") != 200:
            return False
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", self.amqp_port), timeout=1).close()
            return True
        return False

    def ready(self) -> bool:
        """Clients are welcome."""
        return self._status("/readyz") == 200

    def _status(self, path: str) -> int:
        try:
            url = f"http://127.0.0.1:{self.admin_port}{path}"
            with urllib.request.urlopen(url, timeout=10) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0

    def mib(self, what: str) -> float:
        """Of memory: VmRSS, or VmHWM for the highest so far."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(rf"{what}:\s+(\d+) kB", status)
        assert found is not None
        return int(found[1]) / 1024


def started(directory: Path, queue: str, *, kill: bool) -> Start:
    """One life, ended by SIGKILL or in order."""
    gateway = Gateway(directory)
    try:
        return lived(gateway, queue, kill=kill)
    finally:
        gateway.process.kill()  # if it has not ended by now


def lived(gateway: Gateway, queue: str, *, kill: bool) -> Start:
    """What it does from its start to its end."""
    listening_s = gateway.seconds_until(gateway.listens)
    lines, consumer = connected(gateway)
    taken: list[Delivered] = []
    consumer.receive(Subscription(queue, credit=1), taken.append)
    while not taken:
        lines.turn(0.2)
    delivered_s = time.monotonic() - gateway.started
    resident = gateway.mib("VmRSS")
    ready_s = gateway.seconds_until(gateway.ready)
    found = Start(listening_s, ready_s, delivered_s, resident, gateway.mib("VmHWM"))
    for line in lines.lines:
        line.socket.close()  # or a stop in order waits for an answer
    if kill:
        gateway.process.kill()
    else:
        gateway.process.terminate()
    gateway.process.wait(PATIENCE_S)
    return found


def connected(gateway: Gateway) -> tuple[Lines, Client10]:
    """A client that comes at once, and again when it has lost its patience."""
    while True:
        lines = Lines(gateway.amqp_port)
        try:
            return lines, lines.connect_1_0()
        except (ClientError, OSError):
            lines.lines[-1].socket.close()
        if time.monotonic() > gateway.started + PATIENCE_S:
            raise TimeoutError((gateway.directory / "gateway.log").read_text())


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def measure(directory: Path, messages: int, queues: int, octets: int) -> list[Start]:
    """A start on a store that was closed in order, and one behind a kill."""
    began = time.monotonic()
    build(directory / "data", messages, queues, octets)
    size = sum(each.stat().st_size for each in (directory / "data").iterdir())
    print(
        f"{messages:,} messages of {octets} octets in {queues} queues: {size / 1e6:,.0f} MB,"
        f" written in {time.monotonic() - began:.1f} s"
    )
    starts: list[Start] = []
    for name, kill in (("closed in order", True), ("killed", False)):
        found = started(directory, queue_name(queues - 1), kill=kill)
        starts.append(found)
        print(
            f"  {name:16} listens after {found.listening_s:6.1f} s, delivers"
            f" {found.delivered_s:6.1f} s,"
            f" is ready {found.ready_s:6.1f} s; {found.resident_mib:,.0f} MiB, at most"
            f" {found.highest_mib:,.0f}",
            flush=True,
        )
    return starts


def main() -> None:
    messages, queues, octets = (
        int(sys.argv[at]) if len(sys.argv) > at else value
        for at, value in ((1, 100_000), (2, 10), (3, 100))
    )
    directory = Path(sys.argv[4] if len(sys.argv) > 4 else tempfile.mkdtemp(prefix="large-store-"))
    directory.mkdir(parents=True, exist_ok=True)
    try:
        measure(directory, messages, queues, octets)
    finally:
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
