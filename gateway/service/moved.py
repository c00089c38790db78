"""Queues that have become an upstream's while they hold messages that were stored for clients.

A start refuses such a store unless that is meant, and tells of what is sent away then; `check` says
beforehand that it would.
"""

from __future__ import annotations

from typing import Final

from twisted.logger import Logger

from gateway.bridge.bridge import Bridge
from gateway.bridge.durable.homes import (
    WHERE_DROPPED,
    Home,
    HomeOf,
    SentAway,
    queue_rows,
    sent_away,
)
from gateway.bridge.durable.topology_rows import QueueRow, RowKind
from gateway.bridge.queues.queue import Queue
from gateway.bridge.remote.nodes import TOWARDS
from gateway.bridge.remote.remote import REJECTED_QUEUE, OnRejected, Placement
from gateway.config import Settings
from gateway.config.placement import rules_of
from gateway.errors import StoreError, UnknownStoreError
from gateway.net.upstreams.upstreams import profiles_of
from gateway.store import outside
from gateway.store.damage import in_short
from gateway.store.interface import Judge, TopologyRow
from gateway.store.sqlite import FILE_NAME

log: Final = Logger(namespace="gateway.service.Service")

SENT_AWAY: Final = (
    "queue {name!r} of virtual host {host!r} lives at upstream {upstream}, and holds {count}"
    " messages that were stored here: they are sent there{dropped}. If they are meant for clients"
    " of this gateway, put the old configuration back, and let them be consumed first"
)
STAYS_HERE: Final = (
    "queue {name!r} of virtual host {host!r} is no queue of upstream {upstream} any more, and holds"
    " {count} messages that were to be sent there: they stay here, for clients of this gateway. If"
    " they are meant for the upstream, put the old configuration back, and start with"
    " --accept-moved-queues"
)


def refuse_moved(settings: Settings, *, accept_moved: bool) -> Judge:
    """What refuses a store whose messages would go elsewhere, as a reload does: StartupError."""
    home_of = _homes(settings)

    def judge(topology: list[TopologyRow], held: dict[int, int]) -> None:
        moved = sent_away(topology, held, home_of)
        if moved and not accept_moved:
            raise UnknownStoreError(_refusal(moved))
        stays = _staying(topology, held, home_of) if settings.group is not None else []
        if stays:
            raise UnknownStoreError(
                f"{len(stays)} queues hold messages that would stay in this gateway of the group"
                f" alone: {in_short(stays)}. Start it without group, and let them be consumed"
                " first, or place these queues by a rule"
            )

    return judge


def moved_notes(settings: Settings) -> list[str]:
    """A line if a start with the store as it is would be refused, or where nobody can say.

    Nothing of the store is changed, and no gateway that starts meanwhile is kept from it.
    """
    directory = settings.data_directory
    elsewhere = any(node.queue is not None and node.upstream is not None for node in settings.nodes)
    try:
        if not elsewhere or not (directory / FILE_NAME).exists():
            return []
        found = outside.contents(directory)
    except (OSError, StoreError) as error:
        return [f"data_directory: whether `serve` would refuse queues that moved: {error}"]
    moved = sent_away(found.topology, found.held, _homes(settings))
    return [f"data_directory: `serve` would refuse it: {_refusal(moved)}"] if moved else []


def _homes(settings: Settings) -> HomeOf:
    rules = rules_of(settings.nodes, profiles_of(settings))
    hosts = {host.name for host in settings.virtual_hosts}

    def home_of(host: str, name: str) -> Home | None:
        rule = rules.queue(host, name) if host in hosts else None
        if rule is None or rule.upstream is None:
            return None
        return Home(rule.upstream, rule.on_rejected == OnRejected.DROP)

    return home_of


def _staying(rows: list[TopologyRow], held: dict[int, int], home_of: HomeOf) -> list[str]:
    """Queues with messages that no rule places, but that of what was rejected."""
    return [
        f"queue {row.name!r} of virtual host {row.host!r}"
        for row in queue_rows(rows)
        if held.get(row.number, 0)
        and row.name != REJECTED_QUEUE
        and home_of(row.host, row.name) is None
    ]


def _refusal(moved: list[SentAway]) -> str:
    return (
        f"{len(moved)} queues have become an upstream's while they hold messages:"
        f" {in_short([f'queue {each}' for each in moved])}. These messages were stored for clients"
        " of this gateway. Put the old configuration back, and let them be consumed first; if it is"
        " meant that they are sent to the upstream: amqp-gateway serve --accept-moved-queues"
    )


def tell_of_moved(bridge: Bridge, rows: list[TopologyRow]) -> None:
    """Of messages that live elsewhere now, or may do: rows of before do not say."""
    for row in queue_rows(rows):
        queue = _holding(bridge, row)
        if queue is None:
            continue
        placement = queue.placement
        if placement is None and row.upstream:
            _warn(STAYS_HERE, row, queue.depth, row.upstream)
        elif placement is not None and (
            row.upstream == "" or (row.upstream is None and queue.transit)
        ):
            dropped = f", {WHERE_DROPPED}" if _drops(row, placement) else ""
            _warn(SENT_AWAY, row, queue.depth, placement.remote.name, dropped)
    for row in queue_rows(rows, RowKind.TRANSIT):  # its exchange lives there no more
        queue = _holding(bridge, row)
        if queue is not None:
            _warn(STAYS_HERE, row, queue.depth, row.name.rpartition(TOWARDS)[2])


def _holding(bridge: Bridge, row: QueueRow) -> Queue | None:
    host = bridge.hosts.get(row.host)
    queue = None if host is None else host.topology.queues.get(row.name)
    return queue if queue is not None and queue.depth else None


def _drops(row: QueueRow, placement: Placement) -> bool:
    return placement.on_rejected == OnRejected.DROP and not row.settings.alternate_exchange


def _warn(text: str, row: QueueRow, count: int, upstream: str, dropped: str = "") -> None:
    log.warn(text, name=row.name, host=row.host, upstream=upstream, count=count, dropped=dropped)
