"""Where each metric's numbers are: a reader for every row of `gateway.metrics`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, final

from gateway.audit.schema import Reason
from gateway.audit.seals import Head
from gateway.bridge.bridge import Bridge
from gateway.bridge.quotas import Quota
from gateway.config import Settings
from gateway.faces.accounts import Accounts
from gateway.faces.counts import FaceCounts
from gateway.faces.features import Feature
from gateway.faces.leaving import KeptSessions
from gateway.message import Condition, Encoding
from gateway.metrics import Reader, Sample
from gateway.net.admin.branches import oldest_prepared_s, states
from gateway.net.admin.census import Census
from gateway.net.admin.disk import Disk
from gateway.net.admin.expiring import UpstreamCertificates
from gateway.net.admin.keeping import Kept, keeping
from gateway.net.admin.limits import limits
from gateway.net.admin.moves import move_readers
from gateway.net.admin.products import Products
from gateway.net.admin.samples import PROTOCOLS, gap, labelled, one, protocols, timed
from gateway.net.admin.shadows import shadow_copies
from gateway.net.clock import GatewayClock
from gateway.net.counts import AdminCounts, NetCounts
from gateway.net.listening.authenticate import Authentication
from gateway.net.logs import lines_dropped
from gateway.net.tracing.begin import Tracing
from gateway.net.tracing.measures import tracing_readers
from gateway.net.upstreams.measures import upstream_readers
from gateway.net.upstreams.moves import Moves
from gateway.net.upstreams.upstreams import Upstreams
from gateway.permissions.actions import Action
from gateway.store.interface import StoreCounts
from gateway.store.spill import Spill
from gateway.translate.context import Counts as TranslationCounts
from gateway.translate.mapping_rows import ROWS
from gateway.translate.replies import ReplyTable
from gateway.wire.work import WORK

PARTIES: Final = (*PROTOCOLS.values(), "upstream")
CONFIRMED: Final = ("memory", "disk", "upstream")
CONDITIONS: Final = [condition for condition in Condition if condition != Condition.NONE]

# stage, outcome -> the bridge's count of it
STAGES: Final = (
    ("received", "", "received"),
    ("routed", "alternate_exchange", "rerouted"),
    ("routed", "unroutable", "unroutable"),
    ("routed", "refused", "refused"),
    ("routed", "rolled_back", "rolled_back_copies"),
    ("queued", "entered", "entered"),
    ("queued", "stored", "entered_durable"),
    ("queued", "recovered", "recovered"),
    ("queued", "orphaned", "orphaned"),
    ("queued", "held_back", "pending"),
    ("queued", "withheld", "withheld"),
    ("sent", "taken", "sent"),
    ("sent", "settled", "sent_settled"),
    ("sent", "blocked", "blocked"),
    ("sent", "undeliverable", "undeliverable"),
    ("sent", "unacquirable", "unacquirable"),
    ("settled", "accepted", "accepted"),
    ("settled", "rejected", "rejected"),
    ("settled", "released", "released"),
    ("settled", "modified", "modified"),
    ("settled", "taken_back", "requeued"),
    ("settled", "too_late", "settled_too_late"),
    ("ended", "expired", "expired"),
    ("ended", "dead_lettered", "dead_lettered"),
    ("ended", "evicted", "evicted"),
    ("ended", "replaced", "replaced"),
    ("ended", "purged", "purged"),
    ("ended", "returned", "returned"),
    ("ended", "moved", "moved"),
    ("ended", "dropped", "dropped"),
    ("ended", "lost", "lost"),
)


@final
@dataclass(frozen=True, slots=True)
class Sources:
    """Everything that counts."""

    bridge: Bridge
    faces: FaceCounts
    accounts: Accounts
    sessions: KeptSessions
    translated: TranslationCounts
    replies: Mapping[str, ReplyTable]
    store: StoreCounts
    spill: Spill | None
    disk: Disk
    net: NetCounts
    admin: AdminCounts
    authentication: Authentication
    clock: GatewayClock
    ready: Callable[[], str | None]
    version: str
    form: str
    started_ms: int
    upstreams: Upstreams
    moves: Moves
    census: Census
    products: Products
    certificates: UpstreamCertificates
    settings: Settings
    kept: Kept
    tracing: Tracing | None = None
    head: Callable[[], Head | None] = lambda: None
    head_failures: Callable[[], int] = lambda: 0
    certificate_expires_s: Callable[[], float] = lambda: 0.0

    def count(self, _wanted: tuple[str, ...]) -> Iterator[object]:
        """What the readers need to be counted first, in pieces; a Deferred is waited for."""
        yield from self.census.take()
        yield from self.products.count()
        yield from self.disk.look()


def readers(sources: Sources) -> dict[str, Reader]:
    """A reader for each row of `METRICS`."""
    return {
        **_process(sources),
        **_entrance(sources),
        **_clients(sources),
        **_translation(sources.translated, sources.replies),
        **_messages(sources.bridge, sources.census),
        **upstream_readers(sources.upstreams, sources.census, sources.clock),
        **move_readers(sources.moves),
        **_paging(sources.bridge, sources.spill),
        **_disk(sources),
        **keeping(sources.kept),
        **tracing_readers(sources.tracing),
        **limits(sources.settings),
        "gateway_upstream_certificate_expiry_timestamp_seconds": sources.certificates.samples,
    }


def start_readers(net: NetCounts) -> dict[str, Reader]:
    """How far the start has come."""
    return {
        "gateway_start_messages": lambda: one(net.start_messages),
        "gateway_start_messages_recovered": lambda: one(net.start_messages_recovered),
    }


def _process(sources: Sources) -> dict[str, Reader]:
    """What runs, since when, and how its event loop is held."""
    net = sources.net
    return {
        "gateway_build_info": lambda: [((sources.version, sources.form), 1)],
        "gateway_start_time_seconds": lambda: one(sources.started_ms / 1000),
        "gateway_ready": lambda: one(sources.ready() is None),
        **start_readers(net),
        "gateway_certificate_expiry_timestamp_seconds": lambda: one(
            sources.certificate_expires_s()
        ),
        "gateway_clock_steps_total": lambda: one(net.clock_steps),
        "gateway_clock_drift_seconds": lambda: one(sources.clock.drift_ms() / 1000),
        "gateway_changes_total": lambda: [
            ((result,), count) for result, count in net.changes.items()
        ],
        "gateway_paused_rules": lambda: one(net.paused_rules),
        "gateway_refused_files": lambda: one(net.refused_files),
        "gateway_event_loop_lag_seconds": lambda: [timed((), net.lag)],
        "gateway_turns_total": lambda: one(net.turns),
        "gateway_stalls_total": lambda: labelled(net.stalls),
        "gateway_work_units_total": lambda: one(int(WORK.units)),
        "gateway_turns_cut_total": lambda: one(WORK.cut),
        "gateway_work_refused_total": lambda: one(WORK.refused),
        "gateway_selectors_given_up_total": lambda: one(WORK.given_up),
        "gateway_defects_total": lambda: one(net.defects),
        "gateway_log_lines_dropped_total": lambda: one(lines_dropped()),
    }


def _entrance(sources: Sources) -> dict[str, Reader]:
    """Connections before they have opened, logins, and the admin port."""
    net = sources.net
    return {
        "gateway_connections_accepted_total": lambda: one(net.accepted),
        "gateway_connections_refused_total": lambda: labelled(net.refused),
        "gateway_waiting_connections": lambda: one(net.waiting),
        "gateway_ending_connections": lambda: one(net.ending),
        "gateway_handshake_failures_total": lambda: labelled(net.handshake_failures),
        "gateway_authentications_total": lambda: _authentications(sources.authentication),
        "gateway_admin_connections": lambda: one(sources.admin.open),
        "gateway_admin_connections_cut_total": lambda: one(sources.admin.gave_way),
        "gateway_admin_refused_total": lambda: labelled(sources.admin.refused),
        "gateway_logins_throttled_total": lambda: one(sources.authentication.throttled),
        "gateway_plain_logins_in_clear_total": lambda: one(sources.authentication.plain_in_clear),
        "gateway_waiting_logins": lambda: one(sources.authentication.waiting),
        "gateway_throttle_entries": lambda: one(len(sources.authentication.throttle)),
    }


def _clients(sources: Sources) -> dict[str, Reader]:
    """Clients, what they have attached, and what they were refused."""
    faces, net, sessions = sources.faces, sources.net, sources.sessions
    return {
        "gateway_connections": lambda: gap(faces.connections_opened, faces.connections_closed),
        "gateway_client_connections": sources.products.samples,
        "gateway_connections_opened_total": lambda: protocols(faces.connections_opened),
        "gateway_connections_redirected_total": lambda: protocols(faces.connections_redirected),
        "gateway_access_refused_total": lambda: labelled(
            {action.name.lower(): faces.access_refused[action] for action in Action}
        ),
        "gateway_protocol_errors_total": lambda: protocols(faces.protocol_errors),
        "gateway_session_errors_total": lambda: _session_errors(faces),
        "gateway_user_ids_unchecked_total": lambda: one(faces.user_ids_unchecked),
        "gateway_sessions": lambda: gap(faces.sessions_opened, faces.sessions_closed),
        "gateway_sessions_opened_total": lambda: protocols(faces.sessions_opened),
        "gateway_absent_sessions": lambda: one(len(sessions.absent)),
        "gateway_absent_session_bytes": lambda: one(sessions.octets()),
        "gateway_sessions_detached_total": lambda: one(sessions.detached),
        "gateway_sessions_resumed_total": lambda: one(sessions.resumed),
        "gateway_sessions_expired_total": lambda: one(sessions.expired),
        "gateway_links": lambda: gap(faces.links_opened, faces.links_closed),
        "gateway_links_opened_total": lambda: protocols(faces.links_opened),
        "gateway_network_bytes_total": lambda: labelled(
            {"received": net.octets_received, "sent": net.octets_sent}
        ),
        "gateway_open_transactions": lambda: one(
            faces.transactions_declared - faces.transactions_discharged
        ),
        "gateway_transactions_refused_total": lambda: one(faces.transactions_refused),
        "gateway_arguments_ignored_total": lambda: one(faces.arguments_ignored),
        "gateway_unsupported_total": lambda: _features(faces.unsupported),
        "gateway_kept_bytes": lambda: one(sources.accounts.everybody.held),
        "gateway_kept_refused_total": lambda: labelled(sources.accounts.refusals()),
    }


def _translation(
    translated: TranslationCounts, replies: Mapping[str, ReplyTable]
) -> dict[str, Reader]:
    """What crossed from one protocol to the other otherwise than it came; `replies`: by host."""
    return {
        "gateway_translation_losses_total": lambda: _rows(translated.lost),
        "gateway_translation_escrowed_total": lambda: _rows(translated.escrowed),
        "gateway_translation_restored_total": lambda: _rows(translated.restored),
        "gateway_reply_table_entries": lambda: one(sum([len(each) for each in replies.values()])),
        "gateway_reply_table_bytes": lambda: one(sum([each.octets for each in replies.values()])),
        "gateway_reply_table_evicted_total": lambda: one(
            sum([each.evicted for each in replies.values()])
        ),
    }


def _messages(bridge: Bridge, census: Census) -> dict[str, Reader]:
    """Messages, what the queues hold of them, and the topology."""
    return {
        "gateway_messages_total": lambda: _stages(bridge),
        "gateway_messages_refused_total": lambda: [
            ((Reason(reason).name.lower(),), count)
            for reason, count in bridge.counts.refusals.items()
        ],
        "gateway_shadow_copies_total": lambda: labelled(shadow_copies(bridge)),
        "gateway_transactions_total": lambda: labelled(
            {
                "committed": bridge.counts.committed,
                "rolled_back": bridge.counts.rolled_back,
                "in_doubt": bridge.counts.in_doubt,
            }
        ),
        "gateway_branches": lambda: labelled(states(bridge)),
        "gateway_oldest_prepared_branch_seconds": lambda: one(oldest_prepared_s(bridge)),
        "gateway_staged_files": lambda: one(
            sum(len(host.staging) for host in bridge.hosts.values())
        ),
        "gateway_staged_bytes": lambda: one(
            sum(host.staging.octets for host in bridge.hosts.values())
        ),
        "gateway_staging_expired_total": lambda: one(
            sum(host.staging.expired for host in bridge.hosts.values())
        ),
        "gateway_queues": lambda: one(
            sum(len(host.topology.queues) for host in bridge.hosts.values())
        ),
        "gateway_topology_bytes": lambda: one(
            sum(host.bindings.kept.held for host in bridge.hosts.values())
        ),
        "gateway_routes_bytes": lambda: one(
            sum(host.topology.routes.held for host in bridge.hosts.values())
        ),
        "gateway_topology_refused_total": lambda: one(
            sum(host.bindings.kept.refused for host in bridge.hosts.values())
        ),
        "gateway_queue_depth_messages": lambda: one(int(bridge.pressure.held)),
        "gateway_queue_depth_bytes": lambda: one(bridge.pressure.payload),
        "gateway_quotas_used_up": lambda: _quotas(bridge, lambda quota: quota.high),
        "gateway_quota_held_back_total": lambda: _quotas(bridge, lambda quota: quota.held_back),
        "gateway_queue_alerts_total": lambda: labelled(bridge.copies.alarms.crossed),
        "gateway_unsettled_messages": lambda: one(census.unsettled),
        "gateway_publish_confirm_duration_seconds": lambda: [
            timed((name, by), run.durations)
            for protocol, name in PROTOCOLS.items()
            for by, run in zip(CONFIRMED, bridge.latency.arrivals[protocol].runs, strict=True)
        ],
        "gateway_enter_settle_duration_seconds": lambda: [
            timed((source, target), run.durations)
            for source, runs in zip(PARTIES, bridge.latency.settled, strict=True)
            for target, run in zip(PARTIES, runs, strict=True)
        ],
        "gateway_waiting_publishes": lambda: one(bridge.copies.tickets.open),
        "gateway_withheld_publishes": lambda: one(bridge.copies.tickets.withheld),
    }


def _paging(bridge: Bridge, spill: Spill | None) -> dict[str, Reader]:
    """What is on disk of queues, and comes and goes."""
    paging = bridge.paging
    return {
        "gateway_paged_messages": lambda: one(int(bridge.pressure.away_messages)),
        "gateway_paged_bytes": lambda: one(int(bridge.pressure.away_octets)),
        "gateway_paged_file_bytes": lambda: one(0 if spill is None else spill.octets),
        "gateway_pages_total": lambda: labelled({"out": paging.went, "in": paging.came}),
        "gateway_page_waits_total": lambda: one(paging.waits),
        "gateway_page_failures_total": lambda: labelled(
            {"write": paging.refused, "read": paging.failed}
        ),
    }


def _disk(sources: Sources) -> dict[str, Reader]:
    """Store and audit log."""
    store, bridge = sources.store, sources.bridge
    return {
        "gateway_store_commits_total": lambda: one(store.commits),
        "gateway_store_commit_duration_seconds": lambda: [timed((), store.commit_times)],
        "gateway_store_commit_seconds_total": lambda: one(store.commit_us / 1e6),
        "gateway_store_bytes_total": lambda: one(store.octets),
        "gateway_store_failures_total": lambda: labelled(
            {"store": store.failures, "audit": store.audit_failures}
        ),
        "gateway_store_blocked": lambda: _blocked(bridge),
        "gateway_data_bytes": lambda: labelled(sources.disk.seen.used),
        "gateway_data_free_bytes": lambda: labelled(sources.disk.seen.free),
        "gateway_store_waiting_turns": lambda: one(store.turns_waiting),
        "gateway_store_waiting_bytes": lambda: one(store.octets_waiting),
        "gateway_store_rows": lambda: one(store.rows),
        "gateway_store_rows_damaged": lambda: one(store.rows_damaged),
        "gateway_audit_log_differences": lambda: one(store.log_differences),
        "gateway_audit_log_cut_bytes": lambda: one(store.log_octets_cut),
        "gateway_audit_records_total": lambda: one(int(bridge.audit.next_sequence) - 1),
        "gateway_audit_head_sequence": lambda: _head(sources, lambda head: head.sequence),
        "gateway_audit_head_segment": lambda: _head(sources, lambda head: head.segment),
        "gateway_audit_head_timestamp_seconds": lambda: _head(
            sources, lambda head: (head.time_ms + sources.clock.drift_ms()) / 1000
        ),
        "gateway_audit_head_failures_total": lambda: one(sources.head_failures()),
        "gateway_audit_head_signed": lambda: _head(sources, lambda head: bool(head.signature)),
    }


def _head(sources: Sources, measure: Callable[[Head], float]) -> list[Sample]:
    head = sources.head()
    return one(0 if head is None else measure(head))


def _authentications(authentication: Authentication) -> list[Sample]:
    outcomes = {"accepted": authentication.accepted, "refused": authentication.refused}
    return [
        ((mechanism, outcome), count)
        for outcome, counts in outcomes.items()
        for mechanism, count in counts.items()
    ]


def _blocked(bridge: Bridge) -> list[Sample]:
    error = bridge.store_error
    cause = "" if error is None else error.cause
    return labelled({each: int(each == cause) for each in ("full", "slow", "gone", "error")})


def _stages(bridge: Bridge) -> list[Sample]:
    return [((stage, outcome), getattr(bridge.counts, name)) for stage, outcome, name in STAGES]


def _quotas(bridge: Bridge, measure: Callable[[Quota], int]) -> list[Sample]:
    quotas = bridge.pressure.quotas
    scopes = {"user": quotas.users, "virtual_host": quotas.hosts}
    return [((scope,), sum(map(measure, each.values()))) for scope, each in scopes.items()]


def _rows(by_number: list[int]) -> list[Sample]:
    return [((row.id,), by_number[row.number]) for row in ROWS.values()]


def _session_errors(faces: FaceCounts) -> list[Sample]:
    """What ended sessions and links. 0-10 has no links."""
    samples: list[Sample] = []
    for scope, failed, ended_for in (
        ("session", faces.sessions_failed, faces.sessions_ended_for),
        ("link", faces.links_failed, faces.links_ended_for),
    ):
        for protocol, name in PROTOCOLS.items():
            if scope == "link" and protocol == Encoding.AMQP_0_10:
                continue
            samples.append(((name, scope, "protocol"), failed[protocol]))
            for condition in CONDITIONS:
                labels = (name, scope, condition.name.lower())
                samples.append((labels, ended_for[protocol][condition]))
    return samples


def _features(by_number: list[int]) -> list[Sample]:
    return [((feature.name.lower(),), by_number[feature]) for feature in Feature]
