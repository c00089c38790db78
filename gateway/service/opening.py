"""The bridge upon store and audit log, and what the last life of the gateway left in them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from twisted.logger import Logger

from gateway import __version__
from gateway.audit.last_nodes import last_nodes
from gateway.audit.reader import other_files
from gateway.audit.records.log import AuditLog
from gateway.bridge.bridge import Bridge
from gateway.bridge.durable.imports import untold
from gateway.bridge.durable.topology_rows import numbers_of
from gateway.bridge.node_names import plain_host
from gateway.bridge.unwritten import MUCH
from gateway.config import Settings
from gateway.net.data_directory import AUDIT_FOLDER
from gateway.net.upstreams.last_life import LastLife
from gateway.net.upstreams.upstreams import Upstreams
from gateway.service.late_segments import LateSegments
from gateway.service.moved import tell_of_moved
from gateway.store.damage import in_short
from gateway.store.interface import Recovered
from gateway.store.sqlite import SqliteStore
from gateway.translate.view import READER

log: Final = Logger(namespace="gateway.service.Service")

# Of the reserve: it is written twice, and consumers need room, too.
LATE_SHARE: Final = 8
UNWRITTEN_SHARE: Final = 16


def empty_bridge(
    settings: Settings,
    store: SqliteStore,
    recovered: Recovered,
    segments: LateSegments,
    now_ms: int,
    met: Callable[[], bool],
) -> Bridge:
    """The bridge, still empty.

    `met`: whether this life has met anybody. What of one that has not is neither in the log nor in
    the store was never there, and its numbers are given again.
    """
    before = max(segments.last_sequence, store.unlogged.sequence)
    audit = AuditLog(
        recovered.incarnation,
        before + 1,
        segment_octets=settings.audit.segment_size,
        segment_age_ms=settings.audit.segment_age,
    )
    hosts = [host.name for host in settings.virtual_hosts]
    bridge = Bridge(
        audit,
        store,
        settings.queues.as_limits(
            settings.store_backlog,
            settings.limits,
            users=not settings.anonymous_allowed,
            hosts=len(hosts) > 1,
            grouped=settings.group is not None,
        ),
        reader=READER,
        hosts=hosts,
        default_host=hosts[0],
        plain_host=plain_host(recovered.topology, hosts[0]),
        now_ms=now_ms,
    )
    store.held = lambda: int(bridge.pressure.held)

    def last_sequence() -> int:
        if met() or bridge.asked:
            return int(audit.next_sequence) - 1
        return max(before, segments.last_sequence)

    store.last_sequence = last_sequence
    if store.reserve.wanted:
        bridge.pressure.late_max = store.reserve.wanted // LATE_SHARE
        bridge.unwritten.most = min(MUCH, store.reserve.wanted // UNWRITTEN_SHARE)
    audit.incarnation_started(now_ms, __version__, recovered.previous)
    return bridge


def tell_of_log(
    bridge: Bridge, store: SqliteStore, recovered: Recovered, segments: LateSegments
) -> None:
    """What was found of store and log stands in the log from now on, first of all."""
    audit = bridge.audit
    now_ms = bridge.now_ms
    last = segments.last_sequence
    if segments.accepted:
        audit.store_accepted(now_ms, store=audit.passing(segments.accepted), last_sequence=last)
        log.warn(
            "the store was {found}, and that is meant: what the audit log says of durable"
            " messages before record {last} may be over",
            found=segments.accepted,
            last=last,
        )
    store.counts.log_octets_cut = cut = segments.cut_octets
    if cut:
        log.info("the audit log ended in {cut} octets that were no whole records: cut off", cut=cut)
    again = segments.written_again
    if again:
        log.info(
            "records of the audit log behind number {known} were not in it, and are written again"
            " from the store: to number {last}",
            known=again.start - 1,
            last=again.stop - 1,
        )
    if store.unlogged.sequence > last:
        log.warn(
            "the disk refused the audit log until the last life ended: {count} records, numbers"
            " {first} to {last}, were in memory alone and are lost. That is a gap for audit verify"
            " and reconcile. Nothing was confirmed meanwhile: no message is lost that anybody was"
            " told of",
            count=store.unlogged.sequence - last,
            first=last + 1,
            last=store.unlogged.sequence,
        )
    store.counts.log_differences = len(segments.differences)
    for each in segments.differences:
        audit.log_differs(
            now_ms,
            segment=audit.passing(each.segment),
            problem=audit.passing(each.problem),
            expected=each.expected,
        )
        log.critical("the audit log is not what it was: {line}", line=str(each))
    _tell_of_damage(bridge, recovered, last)
    segments.told_by = int(audit.next_sequence) - 1


def _tell_of_damage(bridge: Bridge, recovered: Recovered, last: int) -> None:
    """For ever of what is found now, and at each start of what is kept aside."""
    audit = bridge.audit
    now_ms = bridge.now_ms
    if recovered.damage:
        audit.store_accepted(now_ms, store=audit.passing("damaged"), last_sequence=last)
    for line in recovered.damage:
        problem = audit.passing(f"the store was damaged: {line}")
        audit.log_differs(now_ms, segment=audit.passing(""), problem=problem, expected=last + 1)
        log.critical("the store is damaged, and that is accepted: {line}", line=line)
    if recovered.aside:
        log.critical(
            "{count} damaged rows of the store, which earlier starts have set aside, are kept: what"
            " they had in them is not there: {lines}",
            count=len(recovered.aside),
            lines=in_short(recovered.aside),
        )


def tell_of_recovery(
    settings: Settings, bridge: Bridge, recovered: Recovered, upstreams: Upstreams, damaged: str
) -> None:
    """What came of what the store has, and what the audit log has of the last life.

    Args:
        damaged: what is wrong with the audit log's end, or "".
    """
    for line in bridge.problems:
        log.error("recovery: {line}", line=line)
    tell_of_moved(bridge, recovered.topology)
    for row in untold(recovered.topology):
        log.info(
            "messages {first} to {last} were imported while no gateway ran: from {who}, sha256"
            " {digest}. The audit log has them as received from now on",
            first=row.first,
            last=row.last,
            who=row.who,
            digest=row.digest,
        )
    if damaged:
        log.error("audit log: {line}", line=damaged)
    for other in other_files(settings.data_directory / AUDIT_FOLDER):
        log.warn("audit log: {name} is no segment, and left alone", name=other.name)
    if settings.upstreams and not recovered.clean:
        recent = max(each.link_credit for each in settings.upstreams.values())
        upstreams.remember(LastLife(2 * recent).read(settings.data_directory / AUDIT_FOLDER))


def nameless(recovered: Recovered) -> set[int]:
    """Queues of which the store has messages and no row."""
    return recovered.held.keys() - numbers_of(recovered.topology)


def names_of(
    queues: set[int], copies: dict[tuple[int, int], int], log_directory: Path
) -> dict[int, str]:
    """What the audit log calls them, or "". `copies`: what they have, by message and position."""
    names = last_nodes(log_directory, copies)
    return {number: names.get(number, "") for number in sorted(queues)}
