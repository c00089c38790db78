"""What a gateway takes of a machine: connections and messages a second, CPU and memory.

    PYTHONPATH=tests python tests/bench/sizing.py [SECONDS]

`amqp-gateway serve` in a process of its own with its default configuration. Half of the
connections are publishers of 0-10, each to a queue of its own, and half are consumers of 1.0 that
accept what they get. So many durable messages of 1 KiB are published a second by all of them
together, evenly, for SECONDS (10). CPU is the gateway's share of one core while that lasts; memory
is the most that it had; *late* is how much longer than that it took until all was there: where it
grows, the machine is full. The table of the document of operation is made with it.
"""

from __future__ import annotations

import selectors
import sys
import tempfile
import time
from pathlib import Path

from bench.throughput import cpu_of
from support.gateway_process import GatewayProcess
from support.lines import Line, Lines

from gateway.clients.client import Delivered, Subscription
from gateway.clients.client_0_10 import Client010
from gateway.clients.letter import Letter, Typed
from gateway.wire import buffers

CONNECTIONS = (10, 100, 1000)
RATES = (0, 100, 1000, 3000)
TURN_S = 0.02
CREDIT = 1000
LETTER = Letter(body=Typed("binary", b"x" * 1024), durable=True)
PATIENCE_S = 120.0


class Load:
    """The clients of one gateway: as many publishers as consumers."""

    def __init__(self, port: int, connections: int, letter: Letter) -> None:
        self.came = 0
        self._letter = letter
        self._publishers: list[Line] = []
        self._selector = selectors.DefaultSelector()
        for number in range(connections // 2):
            self._connect(port, f"q{number}")

    def _connect(self, port: int, queue: str) -> None:
        publisher, consumer = Lines(port), Lines(port)
        old, new = publisher.connect_0_10(), consumer.connect_1_0()
        publisher.wait_for(old.declare_queue(queue, durable=True))
        consumer.wait_for(new.receive(Subscription(queue, CREDIT), self._take))
        self._publishers += publisher.lines
        for line in (*publisher.lines, *consumer.lines):
            line.write()  # credit
            self._selector.register(line.socket, selectors.EVENT_READ, line)

    def _take(self, delivered: Delivered) -> None:
        self.came += 1
        delivered.settle("accept")

    def publish(self, number: int) -> None:
        """By the publisher whose turn it is, to its queue."""
        at = number % len(self._publishers)
        line = self._publishers[at]
        assert isinstance(line.client, Client010)
        line.client.send(f"q{at}", self._letter)
        line.write()

    def turn(self, seconds: float) -> None:
        """Read what has come, and answer."""
        for key, _ in self._selector.select(max(seconds, 0)):
            key.data.read()
            key.data.write()

    def hang_up(self) -> None:
        for key in list(self._selector.get_map().values()):
            key.data.socket.close()
        self._selector.close()


def carried(load: Load, rate: int, seconds: float) -> float:
    """Publish so many a second; how long after the last all were there."""
    started, published = time.monotonic(), 0
    while (now := time.monotonic()) < started + seconds:
        while published < rate * (now - started):
            load.publish(published)
            published += 1
        load.turn(TURN_S)
    ended = time.monotonic()
    while load.came < published:
        assert time.monotonic() < ended + PATIENCE_S, f"{load.came} of {published}"
        load.turn(TURN_S)
    return time.monotonic() - ended


def most_memory(pid: int) -> int:
    """Octets that it had at once."""
    [line] = [
        each for each in Path(f"/proc/{pid}/status").read_text().splitlines() if "VmHWM" in each
    ]
    return int(line.split()[1]) * 1024


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    form = "pure" if buffers.__file__.endswith(".py") else "compiled"
    print(f"{form} form, durable, bodies of 1 KiB, 0-10 to 1.0, {seconds:.0f} s each")
    print("connections   messages/s   CPU of a core   memory MiB   late s")
    for connections in CONNECTIONS:
        with tempfile.TemporaryDirectory() as scratch:
            gateway = GatewayProcess(Path(scratch)).start()
            try:
                load = Load(gateway.amqp_port, connections, LETTER)
                for rate in RATES:
                    cpu, load.came = cpu_of(gateway.pid), 0
                    late = carried(load, rate, seconds)
                    share = (cpu_of(gateway.pid) - cpu) / (seconds + late)
                    memory = most_memory(gateway.pid) / 2**20
                    figures = f"{rate:13,} {share:14.0%} {memory:12.0f} {late:8.1f}"
                    print(f"{connections:11,}{figures}", flush=True)
                load.hang_up()
            finally:
                gateway.kill()


if __name__ == "__main__":
    main()
