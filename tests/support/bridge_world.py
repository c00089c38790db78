"""A bridge with everything around it faked: store, audit segments, outlets, publishers, owners.

`World` drives turns by hand; `check` proves from the audit records alone that the ledger balances,
and compares what they say with what the queues hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from support.bridge_ledger import BlockLog, LedgerCheck
from support.paged import PageDisk
from support.remotes import FakeRules
from support.stores import recalled

from gateway.audit.digests import digest
from gateway.audit.records.log import AuditLog
from gateway.bridge.bridge import Bridge
from gateway.bridge.host import VirtualHost
from gateway.bridge.limits import BridgeLimits
from gateway.bridge.node_names import plain_host
from gateway.bridge.queues.discipline import PLAIN, Discipline, Life
from gateway.bridge.queues.subscription import UNLIMITED, Subscription
from gateway.bridge.seams import DeliverStatus, QueueSettings, SubscribeOptions
from gateway.message import (
    NEVER,
    NO_PRIORITY,
    NO_TTL,
    Condition,
    Delivery,
    Kind,
    Message,
    MessageReader,
    Outcome,
    Refusal,
)
from gateway.store.entries import Entry as StoredEntry
from gateway.store.interface import Recovered
from gateway.store.memory import MemoryStore
from gateway.wire.tagged import Tagged

START_MS = 1_790_000_000_000


def recover(bridge: Bridge, recovered: Recovered, entries: Iterable[StoredEntry] = ()) -> None:
    """The bridge begins with what a store had in it."""
    recovery = bridge.recover(recovered)
    recovery.take(list(entries))
    bridge.end_recovery(recovery)


class Headers:
    """A `MessageReader` of what a test gave it: headers by message id."""

    def __init__(self) -> None:
        self.given: dict[int, dict[str, Tagged]] = {}

    def header(self, message: Message, name: str) -> Tagged | None:
        return self.headers(message).get(name)

    def headers(self, message: Message) -> dict[str, Tagged]:
        return self.given.get(message.id, {})

    def selectable(self, message: Message, name: str) -> Tagged | None:
        return self.header(message, name)

    def numbered(self, message: Message, name: str, number: int, *, wide: bool) -> Message:
        """The number stands before the body."""
        head = f"{name}={number}{'L' if wide else ''};".encode()
        return message.with_octets(head + message.payload, len(head) + message.body_at)

    def body_digest(self, message: Message) -> int:
        return digest(message.body())


class Session:
    """An `Owner`."""

    def __init__(self, number: int, connection: int = 1, user: str = "") -> None:
        self.number = number
        self.connection = connection
        self.name = user

    def owner_id(self) -> int:
        return self.number

    def connection_id(self) -> int:
        return self.connection

    def user(self) -> str:
        return self.name


class Consumer:
    """An `Outlet` that keeps what it gets; `answers` are used up first, then `TAKEN`."""

    def __init__(self) -> None:
        self.deliveries: list[Delivery] = []
        self.answers: list[DeliverStatus] = []
        self.refusals: list[Refusal] = []
        self.attached = 0
        self.drained = 0
        self.cancelled: list[Condition] = []

    def deliver(self, delivery: Delivery) -> DeliverStatus:
        answer = self.answers.pop(0) if self.answers else DeliverStatus.TAKEN
        if answer == DeliverStatus.TAKEN:
            delivery.body_digest = digest(delivery.message.body())
            self.deliveries.append(delivery)
        return answer

    def refusal(self) -> Refusal:
        return self.refusals.pop(0)

    def on_attached(self) -> None:
        self.attached += 1

    def on_drained(self) -> None:
        self.drained += 1

    def on_cancelled(self, condition: Condition, description: str) -> None:
        self.cancelled.append(condition)

    def bodies(self) -> list[bytes]:
        return [delivery.message.payload for delivery in self.deliveries]

    def take(self) -> list[Delivery]:
        taken, self.deliveries = self.deliveries, []
        return taken


class Producer:
    """A `Publisher` and `CommitWaiter` that remembers what it was told."""

    def __init__(self) -> None:
        self.published: list[tuple[int, Outcome]] = []
        self.committed: list[int] = []

    def on_published(self, token: int, outcome: Outcome) -> None:
        self.published.append((token, outcome))

    def on_committed(self, turn: int) -> None:
        self.committed.append(turn)


class World:
    """One bridge on one data directory; `restart` and `crash` begin the next incarnation."""

    def __init__(
        self,
        *,
        limits: BridgeLimits | None = None,
        hosts: list[str] | None = None,
        rules: FakeRules | None = None,
        reader: MessageReader | None = None,
    ) -> None:
        """`reader`: of messages, if not by what a test gives of each."""
        self.rules = rules
        self.limits = limits or BridgeLimits()
        self.host_names = hosts or ["/"]
        self.headers = Headers()
        self.reader = reader or self.headers
        self.blocks = BlockLog()
        self.calls: list[Callable[[], None]] = []
        self.store = MemoryStore(self.calls.append, self._committed, self.blocks)
        self.now_ms = START_MS
        self.auto_commit = True
        self._open()

    def _open(self) -> None:
        recovered = self.store.open()
        self.audit = AuditLog(recovered.incarnation, self.blocks.next_sequence())
        self.audit.incarnation_started(self.now_ms, "test")
        self.calls.clear()
        self.bridge = Bridge(
            self.audit,
            self.store,
            self.limits,
            reader=self.reader,
            hosts=self.host_names,
            default_host=self.host_names[0],
            plain_host=plain_host(recovered.topology, self.host_names[0]),
            now_ms=self.now_ms,
        )
        if self.rules is not None:
            self.rules.begin(self.bridge)
            self.bridge.place(self.rules, list(self.rules.remotes.values()))
        self.disk = PageDisk(self.calls.append, self.bridge.paging)
        self.bridge.paging.disk = self.disk
        recover(self.bridge, recovered, recalled(self.store))
        self.turn()

    @property
    def host(self) -> VirtualHost:
        return self.bridge.default_host

    def _committed(self, turn: int) -> None:
        self.bridge.on_committed(turn)

    def commit(self) -> None:
        """Every turn that was submitted is on disk."""
        while self.calls:
            self.calls.pop(0)()

    def turn(self) -> None:
        """End turns until nothing more is to be done at once; commits in between, if automatic."""
        for _ in range(1000):
            more = self.bridge.end_turn(self.now_ms)
            if self.auto_commit and self.calls:
                self.commit()
                more = True
            if not more:
                return
        raise AssertionError("the turns do not end")

    def pass_time(self, ms: int) -> None:
        """Time passes; deadlines are met one by one."""
        end = self.now_ms + ms
        for _ in range(10_000):
            deadline = self.bridge.next_deadline()
            if deadline is None or deadline > end:
                break
            self.now_ms = max(self.now_ms, deadline)
            self.bridge.handle_deadline(self.now_ms)
            self.turn()
        else:
            raise AssertionError("the deadlines do not end")
        self.now_ms = end
        self.bridge.now_ms = end

    def restart(self) -> None:
        """Stop in order, start again."""
        self.turn()
        self.bridge.finish(self.now_ms)
        self.turn()
        self.commit()
        self.bridge.checkpoint(self.now_ms, last=True)
        self.audit.incarnation_stopped(self.now_ms)
        self.store.close(self.audit.take_block(self.now_ms))
        self._open()

    def crash(self) -> None:
        """The process is gone; what was submitted is on disk."""
        self._open()

    def message(
        self,
        body: bytes = b"body",
        *,
        exchange: str = "",
        key: str = "",
        durable: bool = False,
        headers: dict[str, Tagged] | None = None,
        ttl_ms: int = NO_TTL,
        flags: int = 0,
        priority: int = NO_PRIORITY,
    ) -> Message:
        number = self.bridge.numbers.next_message()
        if headers is not None:
            self.headers.given[number] = headers
        return Message(
            number,
            0,
            body,
            0,
            0,
            durable,
            priority,
            ttl_ms,
            NEVER if ttl_ms == NO_TTL else self.now_ms + ttl_ms,
            self.now_ms,
            exchange,
            key,
            0,
            flags,
            1,
            0,
            digest(body),
            self.reader,
        )

    def owner(self) -> Session:
        return Session(self.bridge.numbers.next_owner())

    def queue(
        self,
        name: str = "q",
        owner: Session | None = None,
        *,
        durable: bool = False,
        exclusive: bool = False,
        auto_delete: bool = False,
        alternate_exchange: str = "",
        max_count: int = 0,
        max_size: int = 0,
        auto_delete_timeout_ms: int = 0,
        life: Life = Life.UNUSED,
        discipline: Discipline = PLAIN,
    ) -> None:
        settings = QueueSettings(
            durable=durable,
            exclusive=exclusive,
            auto_delete=auto_delete,
            alternate_exchange=alternate_exchange,
            max_count=max_count,
            max_size=max_size,
            auto_delete_timeout_ms=auto_delete_timeout_ms,
            life=life,
            discipline=discipline,
        )
        answer = self.host.declaring.declare_queue(name, settings, owner or self.owner())
        assert not isinstance(answer, Refusal), answer

    def subscribe(
        self,
        queue: str = "q",
        owner: Session | None = None,
        *,
        credit: int = UNLIMITED,
        octets: int = UNLIMITED,
        acquire: bool = True,
        settled: bool = False,
        exclusive: bool = False,
        name: str = "",
        filter: object = None,
    ) -> tuple[Consumer, Subscription]:
        consumer = Consumer()
        subscription = self.host.subscribing.subscribe(
            queue,
            consumer,
            owner or self.owner(),
            SubscribeOptions(
                acquire=acquire,
                exclusive=exclusive,
                settled=settled,
                name=name,
                filter=filter,  # type: ignore[arg-type]  # whatever the test has
            ),
        )
        assert isinstance(subscription, Subscription), subscription
        subscription.grant(credit, octets)
        return consumer, subscription

    def send(
        self, *bodies: bytes, key: str = "q", durable: bool = False, ttl_ms: int = NO_TTL
    ) -> None:
        """Publish to a queue through the default exchange."""
        for body in bodies:
            message = self.message(body, key=key, durable=durable, ttl_ms=ttl_ms)
            self.host.publishing.publish(message, None, 0)

    def depth(self, queue: str = "q") -> int:
        found = self.host.topology.find_queue(queue)
        assert found is not None
        return found.depth

    def check(self) -> LedgerCheck:
        """The ledger balances; what the records say is held is what the queues hold."""
        self.turn()
        self.bridge.checkpoint(self.now_ms)
        self.turn()
        checked = LedgerCheck(self.blocks.records())
        checked.assert_balanced()
        return checked


def condition(answer: object) -> Condition:
    """Why something was refused, if it was."""
    return answer.condition if isinstance(answer, Refusal) else Condition.NONE


def bind(world: World, queue: str, exchange: str, key: str = "") -> None:
    assert world.host.bindings.bind(queue, exchange, key, {}, b"") is None


def numbered(world: World, number: int, **more: object) -> Message:
    return world.message(headers={"n": Tagged(Kind.INTEGER, number)}, **more)
