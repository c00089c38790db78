"""A whole gateway without a socket: a real service on a reactor of memory, and its clients."""

from __future__ import annotations

import pathlib
import queue
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from support.bridge_ledger import LedgerCheck, ledger_of
from support.net import Wire
from twisted.internet.address import IPv4Address
from twisted.internet.defer import Deferred
from twisted.internet.testing import MemoryReactorClock
from twisted.python.failure import Failure

from gateway.clients.client import Client, ClientProtocol, Login
from gateway.clients.client_0_10 import Client010
from gateway.clients.client_1_0 import Client10
from gateway.config import load
from gateway.errors import StoreError
from gateway.net.clock import GatewayClock
from gateway.net.pump import Pump
from gateway.service.service import Service

START_S = 1_700_000_000.0
THREAD_TIMEOUT_S = 120  # for a thread that never comes back
_made: list[WholeGateway] = []


@contextmanager
def all_ended() -> Iterator[None]:
    """What is begun in between, and left running, goes no further.

    Its threads would meet whatever the next test does to the classes that they run.
    """
    before = len(_made)
    yield
    while len(_made) > before:
        _made.pop().end()


class ThreadedMemoryReactor(MemoryReactorClock):
    """What threads ask of the reactor waits until the test lets it happen."""

    def __init__(self) -> None:
        super().__init__()
        self.from_threads: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()

    def callFromThread(self, call: Callable[..., object], *arguments: Any, **named: Any) -> None:
        self.from_threads.put(lambda: call(*arguments, **named))


class Guest:
    """A client and both ends of its connection."""

    def __init__(self, client: Client, protocol: ClientProtocol, pump: Pump) -> None:
        self.client, self.protocol, self.pump = client, protocol, pump
        self.near, self.far = Wire(), Wire()
        self.over = False
        self.far.protocol = pump
        pump.makeConnection(self.far)
        protocol.makeConnection(self.near)

    def move(self) -> bool:
        """Carry what was written to the other side; whether there was anything."""
        moved = False
        for source, target in ((self.near, self.pump), (self.far, self.protocol)):
            data = source.value()
            if data and not self.over:
                source.clear()
                target.dataReceived(data)
                moved = True
        ended = self.far.half_closed or self.far.disconnecting or self.far.aborted
        if (ended or self.near.disconnecting) and not self.over and not moved:
            self.hang_up()
            moved = True
        return moved

    def hang_up(self) -> None:
        """The connection is gone."""
        self.over = True
        self.pump.connectionLost()
        self.protocol.connectionLost()


class WholeGateway:
    """The service, its reactor, and its guests."""

    def __init__(
        self,
        directory: pathlib.Path,
        *changes: str,
        accept_new_store: bool = False,
        accept_damaged_store: bool = False,
        accept_moved_queues: bool = False,
    ) -> None:
        self.reactor = ThreadedMemoryReactor()
        settings = load(
            None,
            [
                "listen.amqp=127.0.0.1:0",
                "admin=127.0.0.1:0",
                f"data_directory={directory}",
                "store_reserve=0",  # directories of tests are kept, by the hundred
                *changes,
            ],
        )
        clock = GatewayClock(lambda: START_S + self.reactor.seconds(), self.reactor.seconds)
        self.service = Service(
            settings,
            self.reactor,  # type: ignore[arg-type]  # a fake
            clock,
            accept_new_store=accept_new_store,
            accept_damaged_store=accept_damaged_store,
            accept_moved_queues=accept_moved_queues,
        )
        self.stopped = False
        self.service.on_stopped = self._on_stopped
        self.guests: list[Guest] = []
        self._begin()
        _made.append(self)

    def _begin(self) -> None:
        """All is back in memory; or raise why not."""
        failures: list[Failure] = []
        begun = self.service.begin().addErrback(failures.append)
        while not begun.called:
            self.reactor.from_threads.get(timeout=THREAD_TIMEOUT_S)()
            self.reactor.advance(0)
        for failure in failures:
            failure.raiseException()

    def end(self) -> None:
        """Its threads end, unless it has stopped; nothing is said to anybody."""
        if self.stopped:
            return
        service = self.service
        with suppress(StoreError):
            service.store.close(b"")
        if service.spill is not None:
            service.spill.close()
        for pool in (service.threads, service.file_threads, service.archive_threads):
            pool.stop()

    def ledger(self) -> LedgerCheck:
        """What the audit log says, once the gateway has stopped."""
        return ledger_of(self.service.settings.data_directory / "audit")

    def _on_stopped(self) -> None:
        self.stopped = True

    def start(self) -> WholeGateway:
        self.service.start()
        return self

    def stop(self) -> None:
        """The whole graceful stop."""
        self.service.stop()
        self.run()
        for _ in range(100):
            if self.stopped:
                return
            self.pass_time(1)
        raise AssertionError("the gateway does not stop")

    def connect_0_10(self, login: Login | None = None) -> Client010:
        client = Client010(login or Login(), self.service.clock.now_ms())
        self.seat(client)
        return client

    def connect_1_0(self, login: Login | None = None) -> Client10:
        client = Client10(login or Login(), self.service.clock.now_ms())
        self.seat(client)
        return client

    def seat(self, client: Client) -> Guest:
        """Give a client a connection, and let both sides say hello."""
        factory = self.reactor.tcpServers[0][1]
        pump = factory.buildProtocol(IPv4Address("TCP", "127.0.0.1", 40_000))
        protocol = ClientProtocol(client, self.reactor, self.service.clock.now_ms)
        guest = Guest(client, protocol, pump)
        self.guests.append(guest)
        self.run()
        return guest

    def run(self) -> None:
        """Let everything happen that is due now: octets, turns, commits."""
        while self._step():
            pass

    def _step(self) -> bool:
        self.reactor.advance(0)
        moved = any([guest.move() for guest in self.guests])
        while not self.reactor.from_threads.empty():
            self.reactor.from_threads.get()()
            moved = True
        waits = self.service.reloading.reading or not self.service.bridge.turns.idle()
        if not moved and not self.stopped and waits:
            self.reactor.from_threads.get(timeout=THREAD_TIMEOUT_S)()
            moved = True
        return moved or any(
            call.getTime() <= self.reactor.seconds() for call in self.reactor.getDelayedCalls()
        )

    def wait_until(self, happened: Callable[[], bool]) -> None:
        """Take what threads answer, and all that follows from it, until something has happened."""
        while not happened():
            self.reactor.from_threads.get(timeout=THREAD_TIMEOUT_S)()
            self.run()

    def let_happen(self, happened: Callable[[], bool]) -> None:
        """As `wait_until`, for when the disk refuses: no commit is waited for."""
        self.carry()
        while not happened():
            self.reactor.from_threads.get(timeout=THREAD_TIMEOUT_S)()
            self.carry()

    def carry(self) -> None:
        """Let happen what is due on this side of the threads."""
        moved = True
        while moved:
            self.reactor.advance(0)
            moved = any([guest.move() for guest in self.guests])

    def pass_time(self, seconds: float) -> None:
        self._let_the_disk_answer()
        self.reactor.advance(seconds)
        self.run()

    def _let_the_disk_answer(self) -> None:
        """What the store's thread has in hand takes no time here: it would count as a slow disk.

        Nothing tells of it but the thread's counts; a disk that a test holds gets a second.
        """
        counts = self.service.store.counts
        for _ in range(1000):
            if self.service.bridge.turns.blocked or self.stopped:
                return
            if counts.turns_waiting == 0 and counts.attempts == counts.answers:
                return
            time.sleep(0.001)

    def result(self, deferred: Deferred[Any]) -> Any:
        """What a Deferred comes to, once everything has happened; raises what it failed with."""
        results: list[Any] = []
        failures: list[Any] = []
        deferred.addCallbacks(results.append, failures.append)
        self.run()
        with suppress(queue.Empty):
            self.wait_until(lambda: bool(results or failures))
        if failures:
            failures[0].raiseException()
        assert results, "still waiting"
        return results[0]
