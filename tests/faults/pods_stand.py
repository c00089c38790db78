"""Several gateways of one group behind a balancer, in front of one broker; and what must hold.

Clients connect by the balancer alone, and again when their gateway is gone. A topic exchange of the
broker is bound, through every gateway, to one queue of the broker's: one subscription, which all of
them share.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from faults.upstream_load import At, Book, Consumer, Load, Publisher
from faults.upstream_stand import (
    FORGET_MARKS,
    PROFILES,
    body_digest,
    check_doubled,
    check_found,
    digest_of,
    doubled_of,
    named_in_doubt,
)
from interop.brokers.broker import Broker
from support.balancer import Balancer
from support.gateway_process import GatewayProcess
from support.lines import Line, Lines

from gateway.audit.reader import Segment, records, segment_paths
from gateway.clients.client_0_10 import Client010

PROTOCOLS = ("0-10", "1.0")


@dataclass(frozen=True)
class PodsVerdict:
    """What a run came to, to read.

    Attributes:
        confirmed: publishes to the queue and to the exchange that were.
        consumed: different messages that consumers had.
        doubled: messages that were found more than once.
        doubts: messages that the audit logs name as in doubt.
        served: connections that each gateway was given.
        audits: the audit log of each.
    """

    confirmed: int
    consumed: int
    doubled: int
    doubts: int
    served: list[int]
    audits: list[Path]


class LinesByPods(Lines):
    """Connections by a balancer: one that is lost is noted, and does not stop the others."""

    def __init__(self, port: int) -> None:
        super().__init__(port)
        self.lost: list[Line] = []

    def turn(self, seconds: float = 0.05) -> None:
        """See `Lines`."""
        while True:
            try:
                super().turn(seconds)
                return
            except ConnectionError:
                self._lose()

    def _lose(self) -> None:
        for line in list(self.lines):
            try:
                line.write()
                line.read()
            except BlockingIOError:
                continue
            except ConnectionError:
                line.socket.close()
                self.lines.remove(line)
                self.lost.append(line)


class PodsStand:
    """A broker's queues behind three gateways; a context manager."""

    def __init__(self, directory: Path, broker: Broker, name: str, *, count: int = 3) -> None:
        self.directory = directory
        self.broker = broker
        self.at = At(broker)
        self.inward, self.outward = f"{name}-in", f"{name}-out"
        self.topic, self.bound, self.dead = f"{name}.topic", f"{name}-bound", f"{name}-dead"
        self.published, self.routed, self.consumed = Book(), Book(), Book()
        self.unheard: set[int] = set()
        password = directory / "password"
        password.write_text(broker.password + "\n")
        self.pods = [
            GatewayProcess(directory / f"pod-{number}", self._config(name, number, password))
            for number in range(count)
        ]

    def _config(self, group: str, number: int, password: Path) -> dict[str, Any]:
        dialled = {
            "hosts": [f"amqp://127.0.0.1:{self.broker.port}"],
            "profile": PROFILES.get(self.broker.peer, self.broker.peer),
            "username": self.broker.username,
            "password_file": str(password),
            "back_off": {"initial": "50ms", "maximum": "500ms"},
        }
        where = {"upstream": "main", "on_rejected": f"queue:{self.dead}"}
        queues = (self.inward, self.outward, self.bound, self.dead)
        nodes = [{"queue": each, **where} for each in queues]
        nodes.append({"exchange": self.topic, **where})
        return {
            "group": group,
            "pod": f"gateway-{number}",
            "upstreams": {"main": dialled},
            "nodes": nodes,
        }

    def __enter__(self) -> Self:
        for queue in (self.inward, self.outward, self.bound, self.dead):
            self.broker.create_queue(queue)
        self.broker.create_topic(self.topic)
        for pod in self.pods:
            pod.start()
        self.balancer = Balancer([pod.amqp_port for pod in self.pods])
        self.balancer.__enter__()
        self.load = Load(self.balancer.port)
        self.lines = self.load.lines = LinesByPods(self.balancer.port)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.lines.hang_up()
        self.balancer.__exit__(kind, error, trace)
        for pod in self.pods:
            if pod.running:
                pod.kill()

    def bind(self) -> None:
        """The same binding, made through each gateway, as clients of each would."""
        for pod in self.pods:
            lines = Lines(pod.amqp_port)
            client = lines.connect_0_10()
            lines.wait_for(client.bind(self.bound, self.topic, "news.#"))
            lines.hang_up()

    def start_loaded(self, messages: int) -> None:
        """Clients of each protocol, more than there are gateways, and load for a while."""
        self.bind()
        self.consumed.sent[self.outward] = self.at.fill(self.outward, messages, self.outward)
        for _pod in self.pods:
            for protocol in PROTOCOLS:
                self.load.publish(self.published, self.inward, protocol)
                self.load.consume(self.consumed, self.outward, protocol)
        for protocol in PROTOCOLS:
            self.load.publish(self.routed, f"{self.topic}/news.uk", protocol)
        self.run_on(100)

    def run_on(self, count: int) -> None:
        """Until so many more publishes are confirmed, of each kind, and deliveries accepted."""
        published = len(self.published.confirmed) + count
        routed = len(self.routed.confirmed) + count
        accepted = min(len(self.consumed.accepted) + count, len(self.consumed.all_sent()))

        def done() -> bool:
            self.come_back()
            return (
                len(self.published.confirmed) >= published
                and len(self.routed.confirmed) >= routed
                and len(self.consumed.accepted) >= accepted
            )

        self.load.run(done, 120)

    def come_back(self) -> None:
        """Clients whose gateway is gone connect again, by the balancer."""
        while self.lines.lost:
            gone = self.lines.lost.pop().client
            for at, publisher in enumerate(self.load.publishers):
                if publisher.client is gone:
                    self.load.publishers[at] = self._again(publisher)
            for at, consumer in enumerate(self.load.consumers):
                if consumer.client is gone:
                    client = self.load.connect(_protocol(consumer))
                    again = Consumer(consumer.book, self.lines, client, consumer.queue)
                    self.load.consumers[at] = again

    def _again(self, publisher: Publisher) -> Publisher:
        """What it had not heard of, it does not send again: nobody said that that is safe."""
        client = self.load.connect(_protocol(publisher))
        name = f"{publisher.name}-again-{len(publisher.book.sent)}"
        return Publisher(publisher.book, client, publisher.queue, name)

    def kill(self, number: int) -> None:
        """One of them is gone at once."""
        pod = self.pods[number]
        pod.kill()
        self.consumed.losses += 1
        recorded = {body for body in map(body_digest, audit_of(pod)) if body is not None}
        # A delivery goes out before its record is on disk.
        self.unheard |= {digest_of(text) for text in self.consumed.seen} - recorded

    def start(self, number: int) -> None:
        """It is back, with its volume, where it was."""
        self.pods[number].start(same_ports=True)

    def finish(self) -> None:
        """No new publishes; wait until all is answered, and all that is to be consumed was."""
        self.load.stop_publishing()
        wanted = self.consumed.all_sent()

        def done() -> bool:
            self.come_back()
            quiet = all(not publisher.outstanding for publisher in self.load.publishers)
            return quiet and self.consumed.accepted >= wanted

        self.load.run(done, 120)
        self.load.run(self.load.nothing_held)
        self.load.run(lambda: self.broker.queue_depth(self.outward) == 0)

    def check(self) -> PodsVerdict:
        """After `finish`: nothing lost, doubles named in one of the logs."""
        self.load.run(lambda: self.broker.queue_depth(self.bound) >= len(self.routed.confirmed))
        self.published.found = self.at.drain(self.inward)
        self.routed.found = self.at.drain(self.bound)
        self.lines.hang_up()
        for pod in self.pods:
            assert pod.stop() == 0, pod.log()[-2000:]
        doubts: set[int] = set()
        for pod in self.pods:
            doubts |= named_in_doubt(audit_of(pod))
        marked = self.broker.peer not in FORGET_MARKS
        check_found(self.published, doubts | self.unheard)
        # Of one subscription each gateway has a part, and sends it on as fast as it can.
        check_found(self.routed, doubts, ordered=False)
        for book in (self.published, self.routed):
            check_doubled(book, doubts, marked=marked)
        check_found(self.consumed, doubts | self.unheard)
        # What the broker forgot to count another gateway does not know of; one alone would.
        check_doubled(self.consumed, doubts, marked=False, unheard=self.unheard)
        books = (self.published, self.routed, self.consumed)
        return PodsVerdict(
            len(self.published.confirmed) + len(self.routed.confirmed),
            len(self.consumed.seen),
            sum(len(doubled_of(book)) for book in books),
            len(doubts),
            [self.balancer.served.get(pod.amqp_port, 0) for pod in self.pods],
            [pod.audit for pod in self.pods],
        )


def audit_of(pod: GatewayProcess) -> Iterator[dict[str, Any]]:
    """Every record of its log, as people see it."""
    for path in segment_paths(pod.audit):
        yield from records(Segment(path.name, path.read_bytes()))


def _protocol(client: Publisher | Consumer) -> str:
    return "0-10" if isinstance(client.client, Client010) else "1.0"
