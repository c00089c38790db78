"""The start of a gateway while its event loop turns: how far it is, and what it does in shares.

The ports are open from the first moment on. Connections wait in the system's backlog, unread, and
no handshake is timed before clients are welcome; the admin port says that the gateway lives, and
why it is not ready. A thread reads what lives in the store, which the loop does not need for it;
messages come back into their queues on the loop, a piece at a time, as fast as their audit records
come to the disk. A stop is heard between two pieces, or rows: what was begun is as after a kill.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Thread
from typing import Final, final

from twisted.internet.defer import Deferred
from twisted.internet.posixbase import PosixReactorBase
from twisted.internet.task import LoopingCall
from twisted.logger import Logger
from twisted.python.failure import Failure

from gateway.errors import GatewayError, StartupError, StoreError
from gateway.net.counts import NetCounts
from gateway.net.data_directory import open_store
from gateway.net.turns import DrivenBridge
from gateway.store.entries import Entry
from gateway.store.interface import Fetched, Recovered
from gateway.store.sqlite import SqliteStore

TOLD_S: Final = 10.0  # from one line of the log to the next
WAITING_MAX: Final = 8 * 1024 * 1024  # octets of audit records, for the disk
PAUSE_S: Final = 0.02
MB: Final = 1_000_000


class StoppedError(GatewayError):
    """The gateway was told to stop before it was ready."""


@final
class NotBegun:
    """What the turn loop has for a bridge until all is back: it only remembers what it is told.

    Attributes:
        committed: the last turn that is on disk; 0: none.
        error: why the disk refuses.
    """

    def __init__(self) -> None:
        self.now_ms = 0
        self.now_us = 0
        self.swamped = False
        self.committed = 0
        self.error: StoreError | None = None

    def end_turn(self, now_ms: int) -> bool:
        """Nothing is dispatched."""
        return False

    def next_deadline(self) -> int | None:
        """Nothing is due."""
        return None

    def handle_deadline(self, now_ms: int) -> None:
        """Nothing was."""

    def on_committed(self, turn: int) -> None:
        """Up to here."""
        self.committed = turn

    def on_store_failed(self, error: StoreError) -> None:
        """Said by now."""
        self.error = error

    def on_store_eased(self) -> None:
        """No more."""
        self.error = None

    def pass_on(self, bridge: DrivenBridge) -> None:
        """To the one that takes its place."""
        if self.committed:
            bridge.on_committed(self.committed)
        if self.error is not None:
            bridge.on_store_failed(self.error)

    def who(self) -> str:
        """For whom the loop works."""
        return "the start"


@final
class Starting:
    """One start of one gateway.

    Attributes:
        over: all is back.

    Args:
        counts: of the messages that the store held, and of those that are back.
        before: knows whether the disk refuses. Then it is not waited for: what is there comes back.
    """

    log = Logger(namespace="gateway.service.Service")

    def __init__(
        self, reactor: PosixReactorBase, store: SqliteStore, counts: NetCounts, before: NotBegun
    ) -> None:
        self.over = False
        self._before = before
        self._counts = counts
        self._reactor = reactor
        self._store = store
        self._stopped = False
        self._telling = LoopingCall(self._tell)
        self._telling.clock = reactor

    def begin(self) -> None:
        """Tell how far it is, now and then."""
        self._telling.start(TOLD_S, now=False)

    def end(self) -> None:
        """It is over, or came to nothing."""
        if self._telling.running:
            self._telling.stop()

    def stop(self) -> None:
        """Begin no more."""
        self._stopped = True
        self._store.abandoned = True

    def reason(self) -> str:
        """Why the gateway is not ready."""
        counts = self._counts
        if counts.start_messages:
            back = f"{counts.start_messages_recovered} of {counts.start_messages}"
            return f"starting: {back} messages are back"
        read, size = self._store.counts.octets_read, self._store.size()
        return f"starting: {read // MB} of {size // MB} MB of the store are read"

    async def opened(self) -> Recovered:
        """What the store held; it is open. StartupError."""
        done: Deferred[Recovered] = Deferred()
        thread = Thread(target=self._open, args=(done,), name="opening", daemon=True)
        thread.start()
        try:
            recovered = await done
        except GatewayError:
            self._go_on()
            raise
        self._counts.start_messages = recovered.count
        return recovered

    def _open(self, done: Deferred[Recovered]) -> None:
        """In a thread."""
        try:
            recovered = open_store(self._store, self._store.directory)
        except BaseException:
            failure = Failure()  # type: ignore[no-untyped-call]  # Twisted's
            self._reactor.callFromThread(done.errback, failure)
        else:
            self._reactor.callFromThread(done.callback, recovered)

    async def copies_of(self, queues: Iterable[int]) -> dict[tuple[int, int], int]:
        """The queues by message and position."""
        found: dict[tuple[int, int], int] = {}

        def take(entries: list[Entry]) -> None:
            for entry in entries:
                found[(entry.message.id, entry.position)] = entry.queue_id

        await self._recalled(take, sorted(queues))
        return found

    async def recall(self, take: Callable[[list[Entry]], None], queues: list[int] | None) -> None:
        """Give all that the store held to `take`, in its order or queue by queue."""

        def count(entries: list[Entry]) -> None:
            take(entries)
            self._counts.start_messages_recovered += len(entries)

        await self._recalled(count, queues)

    async def _recalled(
        self, take: Callable[[list[Entry]], None], queues: list[int] | None
    ) -> None:
        """Each piece is asked for while the one before it is taken."""
        coming = self._next(queues)
        last = False
        while not last:
            piece = await coming
            self._go_on()
            if piece.error is not None:
                raise StartupError(f"cannot read the data directory: {piece.error}")
            last = piece.last
            if not last:
                coming = self._next(queues)
            take(piece.entries)
            while self._is_ahead():
                await self._pause()

    def _go_on(self) -> None:
        """StoppedError if it is not to."""
        if self._stopped:
            raise StoppedError("stopped before it was ready")

    def _is_ahead(self) -> bool:
        """Of a disk that takes what it is given."""
        ahead = self._store.counts.octets_waiting > WAITING_MAX
        return ahead and self._before.error is None and not self._stopped

    def _next(self, queues: list[int] | None) -> Deferred[Fetched]:
        """The next piece."""
        done: Deferred[Fetched] = Deferred()
        self._store.recall(lambda piece: self._reactor.callFromThread(done.callback, piece), queues)
        return done

    def _pause(self) -> Deferred[None]:
        """The disk has enough for now."""
        done: Deferred[None] = Deferred()
        self._reactor.callLater(PAUSE_S, done.callback, None)
        return done

    def _tell(self) -> None:
        self.log.info("{reason}", reason=self.reason())
