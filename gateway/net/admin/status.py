"""What an operator sees of upstreams and node rules at a glance: `ctl status`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

from gateway.config.upstreams import NodeSection
from gateway.faces.dialled.dialled import DialledUpstream
from gateway.net.admin.census import Census, Load, Share
from gateway.net.admin.shadows import shadow_copies
from gateway.net.upstreams.detours import detours_of
from gateway.net.upstreams.dialer import Dialer
from gateway.net.upstreams.reload import Reloading
from gateway.net.upstreams.upstreams import Upstreams

Told = dict[str, Any]  # Any: what JSON holds
NOTHING: Final = Share()


def status(reloading: Reloading, upstreams: Upstreams, census: Census, now_ms: int) -> Told:
    """All of it, for JSON, of what was counted last."""
    rules = [
        _rule(reloading, upstreams, census, at, node)
        for at, node in enumerate(reloading.settings.nodes)
    ]
    return {
        "time": _time(now_ms),
        "under_way": reloading.under_way,
        "changed_by_ctl": reloading.settings is not reloading.configured,
        "upstreams": [
            _upstream(upstream, upstreams.dialers.get(name), census.of(name), now_ms)
            | {
                state: sum(rule["state"] == state and rule["upstream"] == name for rule in rules)
                for state in ("paused", "moving")
            }
            for name, upstream in upstreams.upstreams.items()
        ],
        "rules": rules,
        "shadow_copies": shadow_copies(census.bridge),
    }


def _upstream(upstream: DialledUpstream, dialer: Dialer | None, load: Load, now_ms: int) -> Told:
    detours = detours_of(upstream)
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
        "links": upstream.links_attached(),
        "links_wanted": upstream.links_wanted(),
        "detours": [
            {
                "host": str(detour.location),
                "state": "up" if detour.opened else "connecting",
                "since": _time(detour.since_ms),
                "links": sum(slot.attached for slot in detour.links.slots),
            }
            for detour in ([] if detours is None else detours.standing)
        ],
        "held": load.held,
        "spooled": load.spooled,
        "shadowed": load.shadowed,
        "oldest_s": None if load.oldest_ms is None else _seconds(now_ms - load.oldest_ms),
        "fetched": load.fetched,
    }


def _rule(
    reloading: Reloading, upstreams: Upstreams, census: Census, at: int, node: NodeSection
) -> Told:
    placements = upstreams.placements
    placement = placements.of(placements.rules.rules[at])
    share = NOTHING if placement is None else census.shares.get(placement, NOTHING)
    configured = reloading.configured.nodes
    state = "here"
    if placement is not None:
        moving = placement.held or placement.takers is not None
        state = "moving" if moving else "paused" if placement.paused else "active"
    return {
        "key": f"nodes.{at}",
        "kind": node.kind,
        "pattern": node.pattern,
        "virtual_host": node.virtual_host,
        "upstream": node.upstream,
        "spool": node.spool,
        "state": state,
        "changed_by_ctl": at >= len(configured) or configured[at] != node,
        "nodes": len(share.names),
        "waiting": share.waiting,
        "unsettled": share.unsettled,
        "shadow": _shadow(upstreams, census, at, node),
    }


def _shadow(upstreams: Upstreams, census: Census, at: int, node: NodeSection) -> Told | None:
    """Where copies of what is published to the rule's queues go; null: nowhere."""
    if node.shadow is None:
        return None
    placements = upstreams.placements
    placement = placements.shadow_of(placements.rules.rules[at])
    share = NOTHING if placement is None else census.shares.get(placement, NOTHING)
    return {
        **node.shadow.model_dump(),
        "nodes": len(share.names),
        "waiting": share.waiting,
        "unsettled": share.unsettled,
    }


def _seconds(ms: int) -> float:
    return round(max(0, ms) / 1000, 1)


def _time(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
