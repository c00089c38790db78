"""What a queue does at its limits, and beyond one that is plain, as its row has it."""

from __future__ import annotations

from typing import Final

from gateway.bridge.durable.row_fields import read_text, write_text
from gateway.bridge.queues.discipline import (
    LEVELS_MAX,
    NO_ALERTS,
    NO_FLOW,
    PLAIN,
    AlertLimits,
    Discipline,
    FlowLimits,
    Policy,
)
from gateway.errors import DecodeError
from gateway.wire.buffers import Reader, Writer

POLICIES: Final = {int(policy): policy for policy in Policy}


def write_discipline(out: Writer, discipline: Discipline) -> None:
    """What it has beyond a plain one; nothing of that."""
    if discipline == PLAIN:
        return
    out.u8(int(discipline.policy))
    out.u8(discipline.levels)
    out.u32(len(discipline.fair))
    for bound in discipline.fair:
        out.u32(bound)
    write_text(out, discipline.last_value_key)
    write_text(out, discipline.group_key)
    write_text(out, discipline.no_group)
    out.u8(1 if discipline.browse_only else 0)
    flow = discipline.flow
    alerts = discipline.alerts
    tells = alerts != NO_ALERTS or discipline.paged > 0
    more = bool(discipline.filter or discipline.number_header) or tells
    if flow != NO_FLOW or more:
        out.i64(flow.stop_count)
        out.i64(flow.stop_size)
        out.i64(flow.resume_count)
        out.i64(flow.resume_size)
    if more:
        write_text(out, discipline.filter)
        write_text(out, discipline.number_header)
    if tells:
        for limit in (alerts.count, alerts.size, alerts.count_down, alerts.size_down):
            out.i64(limit)
        out.i64(alerts.gap_ms)
    if discipline.paged:
        out.i64(discipline.paged)


def read_discipline(data: Reader) -> Discipline:
    """See `write_discipline`; `DecodeError`. What a row ends before is as it was until then."""
    policy, levels = data.u8(), data.u8()
    fair = tuple([data.u32() for _ in range(data.u32())])
    if policy not in POLICIES or levels > LEVELS_MAX or len(fair) not in (0, levels):
        raise DecodeError(f"a queue of policy {policy}, {levels} levels, {len(fair)} bounds")
    return Discipline(
        policy=POLICIES[policy],
        levels=levels,
        fair=fair,
        last_value_key=read_text(data),
        group_key=read_text(data),
        no_group=read_text(data),
        browse_only=data.u8() == 1,
        flow=_read_flow(data) if data.remaining() else NO_FLOW,  # nor when publishers waited
        filter=read_text(data) if data.remaining() else "",  # nor what it let in
        number_header=read_text(data) if data.remaining() else "",
        alerts=_read_alerts(data) if data.remaining() else NO_ALERTS,
        paged=data.i64() if data.remaining() else 0,
    )


def _read_flow(data: Reader) -> FlowLimits:
    return FlowLimits(
        stop_count=data.i64(),
        stop_size=data.i64(),
        resume_count=data.i64(),
        resume_size=data.i64(),
    )


def _read_alerts(data: Reader) -> AlertLimits:
    return AlertLimits(
        count=data.i64(),
        size=data.i64(),
        count_down=data.i64(),
        size_down=data.i64(),
        gap_ms=data.i64(),
    )
