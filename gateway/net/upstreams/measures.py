"""Where the numbers of upstreams are: readers for those rows of `gateway.metrics`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from gateway.faces.dialled.dialled import DialledUpstream
from gateway.faces.dialled.health import UpstreamHealth
from gateway.faces.dialled.settings import UpstreamCounts
from gateway.message import OutcomeKind
from gateway.metrics import Reader, Sample
from gateway.net.admin.census import Census, Load
from gateway.net.admin.samples import timed
from gateway.net.clock import GatewayClock
from gateway.net.upstreams.credentials import expiry_ms
from gateway.net.upstreams.detours import detours_of
from gateway.net.upstreams.upstreams import Upstreams

Count = Callable[[UpstreamCounts], int]

CONNECTIONS: Final[dict[str, Count]] = {
    "opened": lambda counts: counts.connections_made,
    "lost": lambda counts: counts.connections_lost,
    "refused": lambda counts: counts.connections_refused,
}
LINKS: Final[dict[str, Count]] = {
    "attached": lambda counts: counts.links_attached,
    "refused": lambda counts: counts.links_refused,
    "detached": lambda counts: counts.links_detached,
}
MESSAGES: Final[dict[str, Count]] = {
    "sent": lambda counts: counts.sent,
    "received": lambda counts: counts.received,
}


def upstream_readers(
    all_of_them: Upstreams, census: Census, clock: GatewayClock
) -> dict[str, Reader]:
    """A reader for each row that begins with ``gateway_upstream_``."""
    return {
        **_states(all_of_them, clock),
        **_loads(all_of_them.upstreams, census, clock),
        **_counters(all_of_them.upstreams),
    }


def _states(all_of_them: Upstreams, clock: GatewayClock) -> dict[str, Reader]:
    """How each is, and what there is to it."""
    upstreams = all_of_them.upstreams

    def one(measure: Callable[[DialledUpstream], float]) -> Reader:
        return lambda: [((name,), measure(each)) for name, each in upstreams.items()]

    return {
        "gateway_upstream_up": one(lambda each: each.health.connected),
        "gateway_upstream_state_seconds": lambda: [
            (
                (name, each.health.state.name.lower()),
                (clock.now_ms() - each.health.state_since_ms) / 1000,
            )
            for name, each in upstreams.items()
        ],
        "gateway_upstream_down_seconds": one(
            lambda each: _down_seconds(each.health, clock.now_ms())
        ),
        "gateway_upstream_failed_tries": lambda: [
            ((name,), each.failed_tries) for name, each in all_of_them.dialers.items()
        ],
        "gateway_upstream_token_expiry_timestamp_seconds": lambda: [
            ((name,), expiry_ms(each.shown) / 1000)
            for name, each in all_of_them.credentials.items()
        ],
        "gateway_upstream_links": one(lambda each: each.links_attached()),
        "gateway_upstream_detour_connections": one(
            lambda each: 0 if (detours := detours_of(each)) is None else len(detours.standing)
        ),
    }


def _loads(
    upstreams: dict[str, DialledUpstream], census: Census, clock: GatewayClock
) -> dict[str, Reader]:
    """What is on its way to each, and from it."""

    def load(measure: Callable[[Load], float]) -> Reader:
        return lambda: [((name,), measure(census.of(name))) for name in upstreams]

    def both_ways(measure: Callable[[Load], dict[str, int]]) -> Reader:
        return lambda: [
            ((name, direction), count)
            for name in upstreams
            for direction, count in measure(census.of(name)).items()
        ]

    return {
        "gateway_upstream_held_messages": load(lambda each: each.held),
        "gateway_upstream_spooled_messages": load(lambda each: each.spooled),
        "gateway_upstream_shadow_messages": load(lambda each: each.shadowed),
        "gateway_upstream_oldest_seconds": load(
            lambda each: 0 if each.oldest_ms is None else (clock.now_ms() - each.oldest_ms) / 1000
        ),
        "gateway_upstream_unsettled_messages": both_ways(lambda each: each.unsettled),
        "gateway_upstream_waiting_messages": both_ways(lambda each: each.waiting),
    }


def _counters(upstreams: dict[str, DialledUpstream]) -> dict[str, Reader]:
    """What has happened, by each."""

    def one(count: Count) -> Reader:
        return lambda: [((name,), count(each.context.counts)) for name, each in upstreams.items()]

    def several(counts: dict[str, Count]) -> Reader:
        return lambda: [
            ((name, label), count(each.context.counts))
            for name, each in upstreams.items()
            for label, count in counts.items()
        ]

    return {
        "gateway_upstream_connections_total": several(CONNECTIONS),
        "gateway_upstream_settle_duration_seconds": lambda: [
            timed((name,), each.context.settling.durations) for name, each in upstreams.items()
        ],
        "gateway_upstream_sessions_ended_total": one(lambda counts: counts.sessions_ended),
        "gateway_upstream_links_total": several(LINKS),
        "gateway_upstream_messages_total": several(MESSAGES),
        "gateway_upstream_outcomes_total": lambda: _outcomes(upstreams),
        "gateway_upstream_in_doubt_total": one(lambda counts: counts.unsettled_lost),
        "gateway_upstream_poison_total": one(lambda counts: counts.poison),
        "gateway_upstream_undecodable_total": one(lambda counts: counts.undecodable),
        "gateway_upstream_redirects_total": one(lambda counts: counts.redirected),
        "gateway_upstream_feeds_refused_total": one(lambda counts: counts.feeds_refused),
    }


def _down_seconds(health: UpstreamHealth, now_ms: int) -> float:
    return 0 if health.connected else (now_ms - health.turned_ms) / 1000


def _outcomes(upstreams: dict[str, DialledUpstream]) -> list[Sample]:
    samples: list[Sample] = []
    for name, upstream in upstreams.items():
        counts = upstream.context.counts
        both = {"sent": counts.settled_sent, "received": counts.settled_received}
        for direction, by_kind in both.items():
            samples += [
                ((name, direction, kind.name.lower()), by_kind[kind]) for kind in OutcomeKind
            ]
    return samples
