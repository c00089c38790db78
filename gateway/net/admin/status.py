"""What an operator sees of upstreams and node rules at a glance: `ctl status`, and the metrics.

Owns the sums over queues; what `Dialer`, `Upstream` and `Queue` say of themselves is only read.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, final

from gateway.bridge.bridge import Bridge
from gateway.config.upstreams import NodeSection
from gateway.faces.upstream_1_0.upstream import Upstream
from gateway.net.upstreams.dialer import Dialer
from gateway.net.upstreams.reload import Reloading
from gateway.net.upstreams.upstreams import Upstreams

Told = dict[str, Any]  # Any: what JSON holds


@final
@dataclass(slots=True)
class Load:
    """What the queues in front of an upstream, or of all of them, and behind it hold.

    Attributes:
        held: messages to it whose publishers wait to hear of them.
        spooled: messages to it that the gateway has stored, their publishers told.
        fetched: messages from it that no client has settled.
        oldest_ms: when the oldest of those to it came; `None`: there is none.
    """

    held: int = 0
    spooled: int = 0
    fetched: int = 0
    oldest_ms: int | None = None


def loads(bridge: Bridge, names: list[str]) -> dict[str, Load]:
    """One for each upstream, by name."""
    found = {name: Load() for name in names}
    for queue in bridge.living_queues():
        placement = queue.placement
        if placement is None or placement.remote.name not in found:
            continue
        load = found[placement.remote.name]
        if queue.inbound:
            load.fetched += queue.depth
            continue
        if queue.transit:
            load.held += queue.depth
        else:
            load.spooled += queue.depth
        oldest = queue.places.next_at(0)
        if oldest is not None:
            came_ms = oldest.message.arrived_ms
            load.oldest_ms = came_ms if load.oldest_ms is None else min(load.oldest_ms, came_ms)
    return found


def status(reloading: Reloading, upstreams: Upstreams, bridge: Bridge, now_ms: int) -> Told:
    """All of it, for JSON."""
    held = loads(bridge, [*upstreams.upstreams])
    rules = [
        _rule(reloading, upstreams, bridge, at, node)
        for at, node in enumerate(reloading.settings.nodes)
    ]
    return {
        "time": _time(now_ms),
        "under_way": reloading.under_way,
        "changed_by_ctl": reloading.settings is not reloading.configured,
        "upstreams": [
            _upstream(upstream, upstreams.dialers.get(name), held[name], now_ms)
            | {
                state: sum(rule["state"] == state and rule["upstream"] == name for rule in rules)
                for state in ("paused", "moving")
            }
            for name, upstream in upstreams.upstreams.items()
        ],
        "rules": rules,
    }


def _upstream(upstream: Upstream, dialer: Dialer | None, load: Load, now_ms: int) -> Told:
    slots = upstream.detours.all_slots()
    health = upstream.health
    next_try_ms = None if dialer is None else dialer.next_try_ms
    return {
        "name": upstream.name,
        "state": health.state.name.lower(),
        "since": _time(health.turned_ms),
        "since_s": _seconds(now_ms - health.turned_ms),
        "host": dialer.where if dialer is not None and health.connected else "",
        "failed_tries": 0 if dialer is None else dialer.failed_tries,
        "next_try": None if next_try_ms is None else _time(next_try_ms),
        "next_try_in_s": None if next_try_ms is None else _seconds(next_try_ms - now_ms),
        "last_error": health.last_error,
        "last_error_at": _time(health.last_error_ms) if health.last_error else None,
        "links": sum(slot.attached for slot in slots),
        "links_wanted": len(slots),
        "detours": [
            {
                "host": str(detour.location),
                "state": "up" if detour.opened else "connecting",
                "since": _time(detour.since_ms),
                "links": sum(slot.attached for slot in detour.links.slots),
            }
            for detour in upstream.detours.standing
        ],
        "held": load.held,
        "spooled": load.spooled,
        "oldest_s": None if load.oldest_ms is None else _seconds(now_ms - load.oldest_ms),
        "fetched": load.fetched,
    }


def _rule(
    reloading: Reloading, upstreams: Upstreams, bridge: Bridge, at: int, node: NodeSection
) -> Told:
    placements = upstreams.placements
    placement = placements.of(placements.rules.rules[at])
    names: set[tuple[str, str]] = set()
    waiting = unsettled = 0
    if placement is not None:
        for queue in bridge.living_queues():
            if queue.placement is placement:
                names.add((queue.host, queue.name))
                waiting += queue.available
                unsettled += queue.unsettled
    configured = reloading.configured.nodes
    state = "here"
    if placement is not None:
        state = "moving" if placement.held else "paused" if placement.paused else "active"
    return {
        "key": f"nodes.{at}",
        "kind": node.kind,
        "pattern": node.pattern,
        "virtual_host": node.virtual_host,
        "upstream": node.upstream,
        "spool": node.spool,
        "state": state,
        "changed_by_ctl": at >= len(configured) or configured[at] != node,
        "nodes": len(names),
        "waiting": waiting,
        "unsettled": unsettled,
    }


def _seconds(ms: int) -> float:
    return round(max(0, ms) / 1000, 1)


def _time(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
