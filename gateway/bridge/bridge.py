"""The bridge: every virtual host, the turn that is under way, and what spans both.

The composition of package `bridge`, and the only part of it that the service, the turn loop and
the metrics know; faces use it for numbers, waiting and the audit log, and a `VirtualHost` for the
rest. It is driven: time, turns, commits and recovery all come as calls.
"""

from __future__ import annotations

from typing import final

from gateway.audit.records import AuditLog
from gateway.bridge.host import VirtualHost
from gateway.bridge.ledger import Counts
from gateway.bridge.limits import BridgeLimits
from gateway.bridge.seams import CommitWaiter
from gateway.errors import StoreError
from gateway.message import MessageReader
from gateway.store.interface import Recovered, Store


@final
class Bridge:
    """Messages, queues and settlement of the whole gateway.

    Args:
        audit: packs the records of every step.
        store: takes each turn's durable writes; opened already (see `recover`).
        limits: what all peers together may make it hold.
        readers: by `Encoding`, for messages that come back from the store.
        hosts: names of the virtual hosts.
        default_host: one of them.
        incarnation: how often this data directory was opened; makes ids unique in its life.
        now_ms: gateway clock.
    """

    audit: AuditLog
    counts: Counts
    hosts: dict[str, VirtualHost]
    default_host: VirtualHost
    now_ms: int

    def __init__(
        self,
        audit: AuditLog,
        store: Store,
        limits: BridgeLimits,
        *,
        readers: dict[int, MessageReader],
        hosts: list[str],
        default_host: str,
        incarnation: int,
        now_ms: int,
    ) -> None:
        raise NotImplementedError

    def next_message_id(self) -> int:
        """A number for a message: never given before in the life of the data directory."""
        raise NotImplementedError

    def next_owner_id(self) -> int:
        """A number for an `Owner`."""
        raise NotImplementedError

    def wait(self, waiter: CommitWaiter) -> int:
        """`waiter.on_committed(turn)` once the current turn, whose number is returned, is safe.

        Told once a turn, however often it asks; at the end of the turn when nothing durable is
        outstanding. A waiter whose connection has ended may still be told: it ignores that.
        """
        raise NotImplementedError

    def end_turn(self, now_ms: int) -> bool:
        """Dispatch, hand the turn's writes and audit block to the store, count the turn up.

        Whether there is more to dispatch at once (the turn's budget was used up): the turn loop
        then schedules another turn, after it has flushed and read.
        """
        raise NotImplementedError

    def next_deadline(self) -> int | None:
        """When `handle_deadline` wants to be called (expiry, delayed auto-delete), in gateway ms."""
        raise NotImplementedError

    def handle_deadline(self, now_ms: int) -> None:
        """Expire messages and delete queues whose time has come; `end_turn` must follow."""
        raise NotImplementedError

    def on_committed(self, turn: int) -> None:
        """The store says that everything up to `turn` is on disk."""
        raise NotImplementedError

    def on_store_failed(self, error: StoreError) -> None:
        """The disk refuses: durable publishes are refused until a commit succeeds again."""
        raise NotImplementedError

    def recover(self, recovered: Recovered) -> None:
        """Rebuild exchanges, queues, bindings and messages; call once, before anything else."""
        raise NotImplementedError

    def drain(self) -> None:
        """Graceful stop: dispatch nothing from now on; settlements and publishes are served."""
        raise NotImplementedError

    def checkpoint(self, now_ms: int) -> None:
        """Write the audit's checkpoint records: depth, counts and checksum of every queue."""
        raise NotImplementedError
