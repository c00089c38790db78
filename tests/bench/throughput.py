"""0-10 in, 1.0 out, through an embedded queue: messages a second and CPU a message.

    PYTHONPATH=tests python tests/bench/throughput.py [MESSAGES]

Bodies of 100 octets. *in-process*: the faces and the bridge, fed with octets as a reactor would
feed them, without sockets or disk. *sockets*: `amqp-gateway serve` in a process of its own, a
publisher and a consumer on real connections; the CPU is the gateway's alone. Transient and
durable, each at two sizes: like figures mean that the cost is linear. The clients are prepared
octets and a counter of frames, so that they do not become what is measured.
"""

from __future__ import annotations

import os
import select
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from support import face_1_0, talk_0_10
from support.gateway_process import GatewayProcess
from support.lines import Line, Lines, now_ms

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.session import Session
from gateway.amqp_0_10.structs import write_header
from gateway.amqp_1_0 import _spec
from gateway.clients.client import Login
from gateway.clients.client_1_0 import Client10
from gateway.wire import buffers
from gateway.wire.limits import Limits

BODY = b"x" * 100
READ_OCTETS = 64 * 1024
WIDE = Limits(session_window=2**31 - 1)
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


def write_transfer(session: Session, *, durable: bool) -> None:
    """One message; its frames are the same for all, since command ids are not sent."""
    properties = spec.DeliveryProperties(routing_key="q", delivery_mode=2 if durable else 1)
    header = write_header(properties, spec.MessageProperties(content_type="text/plain"))
    session.send_command(spec.MessageTransfer(destination=""), header=header, body=BODY)


class Counter:
    """Counts the transfers in 1.0 frames, wherever these are cut."""

    def __init__(self) -> None:
        self.transfers = 0
        self._rest = b""

    def feed(self, octets: bytes) -> None:
        octets = self._rest + octets
        at, end = 0, len(octets)
        while end - at >= 12:
            size = int.from_bytes(octets[at : at + 4], "big")
            if size > end - at:
                break
            self.transfers += octets[at + 10] == _spec.TRANSFER
            at += size
        self._rest = octets[at:]


def in_process(
    messages: int, *, durable: bool, seen: Callable[[face_1_0.Hub], object] | None = None
) -> tuple[float, float]:
    """Seconds and CPU seconds; `seen` is given what they were spent in."""
    hub, gateway = face_1_0.Hub(limits=WIDE), talk_0_10.Gateway(limits=WIDE)
    if seen is not None:
        seen(hub)
    gateway.world = hub.world
    hub.world.queue("q", durable=durable)
    publisher = gateway.session()
    consumer = hub.client("consumer", limits=WIDE)
    consumer.receiver("q", credit=2**31 - 1, snd_settle_mode=_spec.SND_SETTLED)
    write_transfer(publisher.session, durable=durable)
    one = publisher.connection.data_to_send()
    batch = READ_OCTETS // len(one)
    counter, world = Counter(), hub.world
    world.auto_commit = True
    started, started_cpu = time.perf_counter(), time.process_time()
    while counter.transfers < messages:
        publisher.face.receive_data(one * batch, world.now_ms)
        world.turn()
        publisher.face.data_to_send()
        counter.feed(consumer.face.data_to_send())
    world.turn()
    scale = messages / counter.transfers
    spent = time.perf_counter() - started, time.process_time() - started_cpu
    return spent[0] * scale, spent[1] * scale


def cpu_of(pid: int) -> float:
    """CPU seconds of a process, user and system, all threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_A_SECOND


def through_sockets(messages: int, *, durable: bool) -> tuple[float, float]:
    """Seconds, and CPU seconds of the gateway."""
    with tempfile.TemporaryDirectory() as scratch:
        gateway = GatewayProcess(Path(scratch)).start()
        try:
            return _through_sockets(gateway, messages, durable)
        finally:
            gateway.kill()


def _through_sockets(gateway: GatewayProcess, messages: int, durable: bool) -> tuple[float, float]:
    lines = Lines(gateway.amqp_port)
    old = lines.connect_0_10()
    lines.wait_for(old.declare_queue("q", durable=durable))
    new = Client10(Login(), now_ms(), WIDE)
    lines._connect(new)
    _endless_receiver(new._session)
    for _ in range(5):
        lines.turn()
    write_transfer(old._session, durable=durable)
    octets = memoryview(old.data_to_send() * messages)
    sender, receiver = lines.lines
    cpu, started = cpu_of(gateway.pid), time.perf_counter()
    _pump(sender, receiver, octets, messages)
    taken = time.perf_counter() - started, cpu_of(gateway.pid) - cpu
    lines.hang_up()
    return taken


def _endless_receiver(session: object) -> None:
    """A receiver of settled deliveries that never wants for credit."""
    link = session.attach("bench", _spec.RECEIVER)  # type: ignore[attr-defined]  # a session
    link.send_attach(
        source=_spec.Source(address="q"),
        target=_spec.Target(),
        snd_settle_mode=_spec.SND_SETTLED,
    )
    link.send_flow(credit=2**31 - 1)


def _pump(sender: Line, receiver: Line, octets: memoryview, messages: int) -> None:
    """Write as fast as is taken, read what comes, until all has come."""
    counter = Counter()
    for line in (sender, receiver):
        line.socket.setblocking(False)
    sockets = [sender.socket, receiver.socket]
    while counter.transfers < messages:
        writing = sockets[:1] if octets else []
        readable, writable, _ = select.select(sockets, writing, [], 30)
        assert readable or writable, f"stuck at {counter.transfers} of {messages}"
        if writable:
            octets = octets[sender.socket.send(octets[: 4 * READ_OCTETS]) :]
        if sender.socket in readable:
            assert sender.socket.recv(1 << 20), "the gateway hung up on the publisher"
        if receiver.socket in readable:
            came = receiver.socket.recv(1 << 20)
            assert came, "the gateway hung up on the consumer"
            counter.feed(came)


def main() -> None:
    messages = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    form = "pure" if buffers.__file__.endswith(".py") else "compiled"
    print(f"{form} form, bodies of {len(BODY)} octets, 0-10 to 1.0")
    print("                       messages   messages/s   CPU us/message")
    for name, run in (("in-process", in_process), ("sockets", through_sockets)):
        for durable in (False, True):
            for size in (messages, 4 * messages):
                seconds, cpu = run(size, durable=durable)
                kind = "durable" if durable else "transient"
                figures = f"{size:10,} {size / seconds:12,.0f} {1e6 * cpu / size:16.1f}"
                print(f"{name:10} {kind:9} {figures}", flush=True)


if __name__ == "__main__":
    main()
