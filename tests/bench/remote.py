"""0-10 through the gateway to a real 1.0 broker, and Qpid Proton straight to it, in one run.

    PYTHONPATH=tests python tests/bench/remote.py [BROKER ...] [--messages N] [--rate PER_SECOND]

For each broker: messages published and confirmed a second, messages consumed and accepted a second
(each at two sizes of load: like figures mean that the cost is linear), and how long a confirmation
takes at a modest rate. The ratio is what the way through the gateway costs beside a client that
speaks to the broker itself; the CPU is the gateway's alone. Bodies of 100 octets, transient.
Brokers are those of `tests/interop/install`.
"""

from __future__ import annotations

import argparse
import os
import select
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from interop import installed
from interop.brokers.artemis import Artemis
from interop.brokers.broker import Broker
from interop.brokers.rabbitmq import RabbitMQ4
from proton import Message
from proton.handlers import MessagingHandler
from proton.reactor import Container
from support.gateway_process import GatewayProcess
from support.lines import Line

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.events import CommandReceived, CommandsCompleted, Event
from gateway.amqp_0_10.structs import write_header
from gateway.clients.client import Login
from gateway.clients.client_0_10 import UNLIMITED, Client010
from gateway.wire import buffers

BROKERS: dict[str, type[Broker]] = {"artemis": Artemis, "rabbitmq4": RabbitMQ4}
BODY = b"x" * 100
CREDIT = 500  # as the gateway asks of an upstream
PATIENCE_S = 60
READ_OCTETS = 1 << 18
BATCH = 1000
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
QUEUE = "bench"


class Direct(MessagingHandler):  # type: ignore[misc]  # Proton has no types
    """A 1.0 client at the broker itself; `run` fires what its subclass does."""

    def __init__(self, broker: Broker, total: int, **settings: object) -> None:
        super().__init__(**settings)
        self.broker = broker
        self.total = total
        self.done = 0
        self.started = 0.0
        self.seconds = 0.0
        self.connection: Any = None  # Any: Proton's

    def run(self) -> Self:
        Container(self).run()
        assert self.done == self.total, f"{self.done} of {self.total}"
        return self

    def connect(self, event: Any) -> None:
        self.connection = event.container.connect(
            f"127.0.0.1:{self.broker.port}",
            user=self.broker.username,
            password=self.broker.password,
            allowed_mechs="PLAIN",
            allow_insecure_mechs=True,
            reconnect=False,
        )

    def count(self) -> None:
        self.done += 1
        if self.done == self.total:
            self.seconds = time.perf_counter() - self.started
            self.connection.close()


class DirectPublisher(Direct):
    """Publishes as credit allows, or at a rate; `waits` has how long each confirmation took."""

    def __init__(self, broker: Broker, total: int, rate: float = 0) -> None:
        super().__init__(broker, total)
        self.rate = rate
        self.sent = 0
        self.waits: list[float] = []
        self._times: dict[str, float] = {}
        self._message = Message(body=BODY, durable=False)
        self._sender: Any = None

    def on_start(self, event: Any) -> None:
        self.connect(event)
        address = self.broker.queue_address(QUEUE)
        self._sender = event.container.create_sender(self.connection, address)

    def on_sendable(self, event: Any) -> None:
        if not self.started:
            self.started = time.perf_counter()
            if self.rate:
                event.container.schedule(0, self)
        while not self.rate and self.sent < self.total and event.sender.credit:
            self._send()

    def on_timer_task(self, event: Any) -> None:
        """One message a tick."""
        self._send()
        if self.sent < self.total:
            due = self.started + self.sent / self.rate - time.perf_counter()
            event.container.schedule(max(0.0, due), self)

    def _send(self) -> None:
        self.sent += 1
        delivery = self._sender.send(self._message)
        self._times[delivery.tag] = time.perf_counter()

    def on_accepted(self, event: Any) -> None:
        self.waits.append(time.perf_counter() - self._times.pop(event.delivery.tag))
        self.count()


class DirectConsumer(Direct):
    """Takes and accepts."""

    def __init__(self, broker: Broker, total: int) -> None:
        super().__init__(broker, total, prefetch=CREDIT)

    def on_start(self, event: Any) -> None:
        self.connect(event)
        address = self.broker.queue_address(QUEUE)
        event.container.create_receiver(self.connection, address)

    def on_link_opened(self, event: Any) -> None:
        self.started = time.perf_counter()

    def on_message(self, event: Any) -> None:
        self.count()


class Through:
    """A 0-10 client of the gateway, which is no more than its connection and a socket."""

    def __init__(self, gateway: GatewayProcess) -> None:
        self.gateway = gateway
        self.client = Client010(Login(), _now_ms())
        self.line = Line(self.client, gateway.amqp_port)
        self.socket = self.line.socket
        self.socket.setblocking(False)
        self.waiting = memoryview(b"")
        ready: list[object] = []
        self.client.ready().addCallback(ready.append)
        while not ready:
            self.line.write()
            select.select([self.socket], [], [], 1)
            self.line.read()
        session = self.client._session
        assert session is not None
        self.session = session
        self.connection = self.client._connection

    def turn(self, wait_s: float = 10.0) -> list[Event]:
        """Write what there is, read what has come."""
        octets = self.connection.data_to_send()
        if octets:
            self.waiting = memoryview(bytes(self.waiting) + octets)
        writing = [self.socket] if self.waiting else []
        readable, writable, _ = select.select([self.socket], writing, [], wait_s)
        if writable:
            self.waiting = self.waiting[self.socket.send(self.waiting[:READ_OCTETS]) :]
        if not readable:
            return []
        came = self.socket.recv(READ_OCTETS)
        assert came, "the gateway hung up"
        return self.connection.receive_data(came, _now_ms())

    def transfer(self, *, sync: bool) -> int:
        """Write a message; its command-id."""
        properties = spec.DeliveryProperties(routing_key=QUEUE, delivery_mode=1)
        header = write_header(properties, spec.MessageProperties())
        command = spec.MessageTransfer(destination="")
        return self.session.send_command(command, header=header, body=BODY, sync=sync)

    def publish(self, total: int) -> tuple[float, float]:
        """Seconds until all were confirmed, and CPU seconds of the gateway."""
        pieces = []
        for number in range(1, total + 1):
            self.transfer(sync=number == total)
            if number % BATCH == 0 or number == total:
                pieces.append(self.connection.data_to_send())
        self.waiting = memoryview(b"".join(pieces))
        return self._until(total, completed)

    def consume(self, total: int) -> tuple[float, float]:
        """Seconds until all have come and were accepted, and CPU seconds of the gateway."""
        session = self.session
        session.send_command(
            spec.MessageSubscribe(
                queue=QUEUE,
                destination="bench",
                accept_mode=spec.AcceptMode.EXPLICIT,
                acquire_mode=spec.AcquireMode.PRE_ACQUIRED,
            )
        )
        for unit in (spec.CreditUnit.BYTE, spec.CreditUnit.MESSAGE):
            session.send_command(spec.MessageFlow(destination="bench", unit=unit, value=UNLIMITED))
        taken = self._until(total, self._accepted)
        last = session.send_command(spec.MessageCancel(destination="bench"), sync=True)
        while not any(
            first <= last <= end
            for event in self.turn()
            if isinstance(event, CommandsCompleted)
            for first, end in event.ranges
        ):
            pass  # the last accepts are on their way
        return taken

    def _accepted(self, events: list[Event]) -> int:
        ids = [
            event.command_id
            for event in events
            if isinstance(event, CommandReceived)
            and isinstance(event.command, spec.MessageTransfer)
        ]
        if ids:  # a read brings a run of them
            self.session.send_command(spec.MessageAccept(transfers=[(ids[0], ids[-1])]))
            self.session.complete(ids[0], ids[-1])
        return len(ids)

    def _until(self, total: int, count: Callable[[list[Event]], int]) -> tuple[float, float]:
        done = 0
        cpu, started = cpu_of(self.gateway.pid), time.perf_counter()
        while done < total:
            done += count(self.turn())
            assert time.perf_counter() - started < PATIENCE_S, (
                f"{done} of {total}: {self.gateway.log()}"
            )
        return time.perf_counter() - started, cpu_of(self.gateway.pid) - cpu

    def confirmations(self, total: int, rate: float) -> list[float]:
        """How long each confirmation took, at a rate."""
        waits: list[float] = []
        times: dict[int, float] = {}
        started = time.perf_counter()
        sent = 0
        while len(waits) < total:
            now = time.perf_counter()
            if sent < total and now >= started + sent / rate:
                sent += 1
                times[self.transfer(sync=True)] = now
            due = started + sent / rate - now if sent < total else 1.0
            for event in self.turn(max(0.0, due)):
                if isinstance(event, CommandsCompleted):
                    now = time.perf_counter()
                    for first, last in event.ranges:
                        told = [each for each in range(first, last + 1) if each in times]
                        waits += [now - times.pop(each) for each in told]
            assert time.perf_counter() - started < PATIENCE_S, f"{len(waits)} of {total}"
        return waits

    def hang_up(self) -> None:
        self.socket.close()


def completed(events: list[Event]) -> int:
    """How many commands are."""
    told = [event.ranges for event in events if isinstance(event, CommandsCompleted)]
    return sum(last - first + 1 for ranges in told for first, last in ranges)


def cpu_of(pid: int) -> float:
    """CPU seconds of a process, user and system, all threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_A_SECOND


def _now_ms() -> int:
    return int(time.monotonic() * 1000)


def _gateway(directory: Path, broker: Broker) -> GatewayProcess:
    secret = directory / "password"
    secret.write_text(broker.password)
    upstream = {
        "hosts": [f"amqp://127.0.0.1:{broker.port}"],
        "profile": broker.peer,
        "username": broker.username,
        "password_file": str(secret),
    }
    nodes = [{"queue": QUEUE, "upstream": "main"}]
    return GatewayProcess(directory / "gateway", {"upstreams": {"main": upstream}, "nodes": nodes})


def _line(what: str, total: int, direct_s: float, through_s: float, cpu_s: float) -> None:
    print(
        f"{what:10} {total:10,} {total / direct_s:10,.0f} {total / through_s:11,.0f}"
        f" {direct_s / through_s:7.2f} {1e6 * cpu_s / total:16.1f}",
        flush=True,
    )


def _milliseconds(waits: list[float]) -> str:
    cuts = statistics.quantiles(waits, n=100)
    return f"{1000 * cuts[49]:8.2f} {1000 * cuts[98]:8.2f}"


def measure(broker: Broker, directory: Path, messages: int, rate: float) -> None:
    """Print the table of one running broker."""
    broker.create_queue(QUEUE)
    with _gateway(directory, broker) as gateway:
        print(
            f"\n{broker.peer}\n             messages   direct/s   through/s   ratio  CPU us/message"
        )
        for total in (messages, 4 * messages):
            through = Through(gateway)
            direct_s = DirectPublisher(broker, total).run().seconds
            DirectConsumer(broker, total).run()
            through_s, cpu_s = through.publish(total)
            _line("publish", total, direct_s, through_s, cpu_s)
            direct_s = DirectConsumer(broker, total).run().seconds
            DirectPublisher(broker, total).run()
            through_s, cpu_s = through.consume(total)
            _line("consume", total, direct_s, through_s, cpu_s)
            through.hang_up()
        total = int(5 * rate)
        through = Through(gateway)
        direct = DirectPublisher(broker, total, rate).run().waits
        waits = through.confirmations(total, rate)
        through.hang_up()
        print(f"confirmed after, ms, at {rate:.0f}/s      p50      p99")
        print(f"  direct                        {_milliseconds(direct)}")
        print(f"  through                       {_milliseconds(waits)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("brokers", nargs="*", default=[], help=", ".join(BROKERS))
    parser.add_argument("--messages", type=int, default=5_000, help="of the smaller load")
    parser.add_argument("--rate", type=float, default=200.0, help="at which waits are measured")
    options = parser.parse_args()
    form = "pure" if buffers.__file__.endswith(".py") else "compiled"
    print(f"{form} form, bodies of {len(BODY)} octets, transient")
    for name in options.brokers or BROKERS:
        lacking = installed.missing(name)
        if lacking is not None:
            print(f"\n{name}: {lacking}; install it: tests/interop/install {name}")
            continue
        with (
            tempfile.TemporaryDirectory() as scratch,
            BROKERS[name](Path(scratch) / name) as broker,
        ):
            measure(broker, Path(scratch), options.messages, options.rate)


if __name__ == "__main__":
    main()
