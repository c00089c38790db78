"""A broker, a network that fails on order, a gateway in front of both; and what must hold after.

The gateway dials the broker through the fault proxy. `Stand.check` holds what the clients know
against what was found and against the gateway's audit log.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from faults.upstream_load import Arrival, At, Book, Consumer, Load, body_of, send_unasked
from interop.brokers.broker import Broker
from support.fault_proxy import FaultProxy
from support.gateway_process import GatewayProcess

from gateway.audit.digests import digest
from gateway.audit.reader import Segment, records, segment_paths
from gateway.audit.schema import unsigned
from gateway.clients.client_0_10 import Client010

PROFILES = {"broker-j": "qpid-broker-j"}
FORGET_MARKS = ("rabbitmq4", "rabbitmq310")  # these count deliveries anew, whatever a header says


@dataclass(frozen=True)
class Verdict:
    """What a scenario came to, to read.

    Attributes:
        confirmed: publishes that were.
        consumed: different messages that consumers had.
        doubled: messages that were found more than once.
        doubts: messages that the audit log names as in doubt.
        resident_mib: the most that the gateway had resident.
        said: its log lines of the upstream, the different ones.
        audit: its audit log, to be reconciled.
    """

    confirmed: int
    consumed: int
    doubled: int
    doubts: int
    resident_mib: int
    said: list[str]
    audit: Path


class Stand:
    """A running broker's queues behind a gateway of their own; a context manager.

    Args:
        name: part of the names of its queues: the broker is shared.
        upstream: more keys of the upstream's configuration.
        node: more keys of the node rule, for the queue that is published to.
        config: more keys of the gateway's.
    """

    def __init__(
        self,
        directory: Path,
        broker: Broker,
        name: str,
        *,
        scheme: str = "amqp",
        upstream: dict[str, Any] | None = None,
        node: dict[str, Any] | None = None,
        **config: Any,
    ) -> None:
        self.broker = broker
        self.at = At(broker)
        self.inward = f"{name}-in"  # is published to
        self.outward = f"{name}-out"  # is consumed from
        self.published = Book()
        self.consumed = Book()
        self.resident_kib = 0
        self.unheard: set[int] = set()
        self.proxy = FaultProxy(broker.port)
        password = directory / "password"
        password.write_text(broker.password + "\n")
        dialled = {
            "hosts": [f"{scheme}://127.0.0.1:{self.proxy.port}"],
            "profile": PROFILES.get(broker.peer, broker.peer),
            "username": broker.username,
            "password_file": str(password),
            "back_off": {"initial": "50ms", "maximum": "500ms"},
            "container_id": f"gateway-{name}",
        }
        nodes = [
            {"queue": self.inward, "upstream": "main", **(node or {})},
            {"queue": self.outward, "upstream": "main"},
        ]
        self.gateway = GatewayProcess(
            directory / "gateway",
            {"upstreams": {"main": dialled | (upstream or {})}, "nodes": nodes, **config},
        )
        self.load: Load

    def __enter__(self) -> Self:
        if self.inward.startswith("limited."):
            self.broker.create_limited_queue(self.inward)
        else:
            self.broker.create_queue(self.inward)
        self.broker.create_queue(self.outward)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.proxy.stop()
        if self.gateway.running:
            self.gateway.kill()

    def start(self) -> Self:
        """Start the gateway, and connect nobody yet."""
        self.gateway.start()
        self.load = Load(self.gateway.amqp_port)
        return self

    def start_loaded(self, *, messages: int = 600, size: int = 0) -> Self:
        """Start it with a publisher and a consumer of each protocol, and run them for a while."""
        texts = self.at.fill(self.outward, messages, self.outward)
        self.consumed.sent[self.outward] = texts
        self.start()
        for protocol in ("0-10", "1.0"):
            self.load.publish(self.published, self.inward, protocol, size=size)
            self.load.consume(self.consumed, self.outward, protocol)
        self.run_on(100)
        return self

    def run_on(self, count: int) -> None:
        """Until so many more publishes are confirmed, and deliveries made if there are any."""
        confirmed = len(self.published.confirmed) + count
        accepted = min(len(self.consumed.accepted) + count, len(self.consumed.all_sent()))
        self.load.run(
            lambda: (
                len(self.published.confirmed) >= confirmed
                and len(self.consumed.accepted) >= accepted
            )
        )
        self.measure()

    def finish(self) -> None:
        """No new publishes; wait until all is answered, and all that is to be consumed was."""
        self.load.stop_publishing()
        wanted = self.consumed.all_sent()
        self.load.run(lambda: self.load.quiet() and self.consumed.accepted >= wanted)
        # Each turn accepts a few; to ask the broker after each would take much longer than these.
        self.load.run(self.load.nothing_held)
        self.load.run(lambda: self.broker.queue_depth(self.outward) == 0)
        self.measure()

    def pause_publishing(self) -> None:
        """No new publishes until `go_on_publishing`, and every publish answered."""
        self.load.stop_publishing()
        self.load.run(self.load.quiet)

    def go_on_publishing(self) -> None:
        """Publish without a limit."""
        for publisher in self.load.publishers:
            publisher.limit = None

    def publish_unasked(self, count: int) -> list[str]:
        """Publish with 0-10 accept-mode none; their texts, once all are completed."""
        client = self.load.lines.connect_0_10()
        texts = [f"{self.inward}-unasked.{number}" for number in range(count)]
        self.published.sent[f"{self.inward}-unasked"] = texts
        done = [send_unasked(client, self.inward, text) for text in texts]
        for one in done:
            self.load.lines.wait_for(one)
        self.published.confirmed.update(texts)
        return texts

    def take_rejected(self, count: int) -> list[Arrival]:
        """So many messages, or as many as there are, from the queue of what was rejected."""
        book = Book()
        consumer = Consumer(book, self.load.lines, self.load.connect("0-10"), "gateway.rejected")
        self.load.consumers.append(consumer)
        self.load.run(lambda: len(book.accepted) >= count)
        return book.found

    def kill_gateway(self) -> None:
        """It is gone at once, with all its connections; `start` it again."""
        self.gateway.kill()
        self.load.lines.hang_up()
        self.consumed.losses += 1
        # A delivery goes out before its record is on disk; what a kill took of the log was named
        # by nobody but the broker, which under load forgets to count the delivery, too.
        recorded = {body for body in map(body_digest, self.audit()) if body is not None}
        self.unheard = {digest_of(text) for text in self.consumed.seen} - recorded

    def held_back(self) -> bool:
        """Whether every publisher has more to send, and is not let: no reading, or no credit."""
        lines = {line.client: line for line in self.load.lines.lines}
        old = [one for one in self.load.publishers if isinstance(one.client, Client010)]
        return all(one.outstanding for one in self.load.publishers) and all(
            lines[one.client].waiting for one in old
        )

    # What operators see.

    @property
    def up(self) -> bool:
        """As the metric says."""
        return self.metric('gateway_upstream_up{upstream="main"}') == 1

    def metric(self, name: str) -> float:
        """One sample; 0 if there is none."""
        return self.gateway.metrics().get(name, 0)

    def said(self) -> list[str]:
        """The gateway's log lines of the upstream, each once, without their time."""
        lines = [line for line in self.gateway.log().splitlines() if "upstream main" in line]
        return [*dict.fromkeys(line[line.index("upstream main") :] for line in lines)]

    def notice(self) -> None:
        """Wait until the gateway knows that the upstream is gone, and tells in log and metric."""
        self.load.run(lambda: not self.up)
        self.consumed.losses += 1
        self.load.run(lambda: any("publishers to it wait" in line for line in self.said()))

    def recover(self) -> None:
        """Wait until the gateway has it back."""
        self.load.run(lambda: self.up)

    def measure(self) -> int:
        """The gateway's resident memory, in KiB."""
        status = Path(f"/proc/{self.gateway.pid}/status").read_text()
        now = int(status.split("VmRSS:")[1].split()[0])
        self.resident_kib = max(self.resident_kib, now)
        return now

    def go_on(self) -> Verdict:
        """The fault is over: connect again, take some more load, and see what holds."""
        self.recover()
        self.run_on(100)
        self.finish()
        return self.check()

    # What must hold.

    def check(self, *, more: Iterable[Arrival] = ()) -> Verdict:
        """After `finish`: nothing lost, doubles named and marked, order kept.

        `more`: what was found elsewhere than at the broker.
        """
        self.measure()
        published = self.published
        published.found = [*self.at.drain(self.inward), *more]
        assert self.gateway.stop() == 0, self.gateway.log()[-2000:]
        doubts = self.doubts()
        check_found(published, doubts)
        check_doubled(published, doubts, marked=self.broker.peer not in FORGET_MARKS)
        check_found(self.consumed, doubts)
        check_doubled(self.consumed, doubts, unheard=self.unheard)
        doubled = [*doubled_of(published), *doubled_of(self.consumed)]
        return Verdict(
            len(published.confirmed),
            len(self.consumed.seen),
            len(doubled),
            len(doubts),
            self.resident_kib // 1024,
            self.said(),
            self.gateway.audit,
        )

    def doubts(self) -> set[int]:
        """Digests of the bodies of messages that the audit log names as in doubt, or sent again."""
        return named_in_doubt(self.audit())

    def audit(self) -> Iterator[dict[str, Any]]:
        """Every record, as people see it."""
        for path in segment_paths(self.gateway.audit):
            yield from records(Segment(path.name, path.read_bytes()))


def named_in_doubt(audit: Iterable[dict[str, Any]]) -> set[int]:
    """Digests of the bodies of messages that an audit log names as in doubt, or sent again.

    So does the end of an incarnation for what was sent and not settled.
    """
    named: set[int] = set()
    settled: set[int] = set()
    sent: set[int] = set()
    bodies: dict[int, int] = {}
    for record in audit:
        message = record.get("message", 0)
        body = body_digest(record)
        if body is not None:
            bodies[message] = body
        if record["kind"] == "sent":
            sent.add(message)
        elif record["kind"] == "settled":
            settled.add(message)
        lost = record.get("reason") in ("upstream-lost", "connection-lost")
        again = record["kind"] == "sent" and record.get("delivery_count", 0) > 0
        if lost or again:
            named.add(message)
    named |= sent - settled
    return {bodies[message] for message in named if message in bodies}


def check_found(book: Book, doubts: set[int], *, ordered: bool = True) -> None:
    """What was confirmed was found, nothing else was, and each link brought it in order."""
    found = book.seen
    assert found <= book.all_sent(), "something that nobody sent"
    lost = book.confirmed - found
    assert not lost, f"{len(lost)} confirmed and lost: {sorted(lost)[:5]}"
    for name in book.sent if ordered else ():
        for link in {arrival.link for arrival in book.found}:
            late = late_of(book, name, link, doubts)
            assert not late, f"{name}: out of order: {late[:5]}"


def check_doubled(
    book: Book, doubts: set[int], *, marked: bool = True, unheard: Set[int] = frozenset()
) -> None:
    """What was found twice was in doubt, as the audit log says, and marked when it came again.

    But for what is `unheard`: no record of it outlived the gateway.
    """
    unnamed = [text for text in doubled_of(book) if not is_in(doubts | unheard, text)]
    assert not unnamed, f"{len(unnamed)} doubled, not named in the audit: {unnamed[:5]}"
    unmarked = [text for text in unmarked_of(book) if marked and not is_in(unheard, text)]
    assert not unmarked, f"{len(unmarked)} doubled, not marked: {unmarked[:5]}"


def late_of(book: Book, name: str, link: str, doubts: set[int]) -> list[str]:
    """What one link brought of one publisher, for the first time and in no doubt, and too late."""
    of_publisher = set(book.sent[name])
    came = dict.fromkeys(arrival.text for arrival in book.found if arrival.link == link)
    latest = -1
    late = []
    for text in came:
        if text in of_publisher and not is_in(doubts, text):
            place = int(text.rpartition(".")[2])
            if place < latest:
                late.append(text)
            latest = max(place, latest)
    return late


def is_in(doubts: Set[int], text: str) -> bool:
    """Whether a message with this text is among those of these digests."""
    return digest_of(text) in doubts


def digest_of(text: str) -> int:
    """Of the body that a message with this text has."""
    return unsigned(digest(body_of(text)))


def body_digest(record: dict[str, Any]) -> int | None:
    """The digest of a body that a record names."""
    return int(record["body_digest"], 16) if "body_digest" in record else None


def doubled_of(book: Book) -> list[str]:
    """What was found more than once."""
    times = Counter(arrival.text for arrival in book.found)
    return [text for text, count in times.items() if count > 1]


def unmarked_of(book: Book) -> list[str]:
    """What was found again without being marked."""
    seen: set[str] = set()
    unmarked = []
    for arrival in book.found:
        if arrival.text in seen and not arrival.redelivered:
            unmarked.append(arrival.text)
        seen.add(arrival.text)
    return unmarked


@contextlib.contextmanager
def stopped(broker: Broker) -> Iterator[None]:
    """The broker is not there for a while."""
    broker.stop()
    try:
        yield
    finally:
        broker.start()
