"""Wall time that leaves the gateway's clock is told, each step once."""

import pathlib

from support.whole_gateway import START_S, WholeGateway
from twisted.logger import capturedLogs, formatEvent

from gateway.net.counts import NetCounts
from gateway.service.drift import DriftLines


def lines_of(events: list) -> list[tuple[str, str]]:
    told = [(event["log_level"].name, formatEvent(event)) for event in events]
    return [(level, line) for level, line in told if line.startswith("wall time")]


def test_a_step_is_told_once_and_so_is_that_it_is_over() -> None:
    drifts_ms = iter((0, 999, -3_600_000, -3_600_900, -3_600_000, 1_500, 999, 400))
    counts = NetCounts()
    lines = DriftLines(lambda: next(drifts_ms), counts)
    with capturedLogs() as events:
        for _ in range(8):
            lines.look()
    assert [
        (level, line.partition(" the gateway's clock")[0]) for level, line in lines_of(events)
    ] == [
        ("warn", "wall time is 3600.000 s behind"),
        ("warn", "wall time is 1.500 s ahead of"),
        ("info", "wall time agrees with"),
    ]
    assert counts.clock_steps == 3


def test_a_gateway_looks_at_its_clock_and_tells_its_last_seal_in_wall_time(
    tmp_path: pathlib.Path,
) -> None:
    gateway = WholeGateway(tmp_path, "audit.seal_interval=1s").start()
    client = gateway.connect_0_10()
    for name in ("a", "b"):  # what came before the second is sealed when that is written
        gateway.result(client.declare_queue(name, durable=True))
    head = gateway.service.segments.head
    assert head is not None
    gateway.service.clock._wall_s = lambda: START_S + gateway.reactor.seconds() + 3600
    with capturedLogs() as events:
        gateway.pass_time(1)
        gateway.pass_time(1)
    assert len(lines_of(events)) == 1
    collector = gateway.service.collector
    collector.take()
    samples = {each.name: each.value for of in collector.collect() for each in of.samples}
    head = gateway.service.segments.head
    assert samples["gateway_audit_head_timestamp_seconds"] == head.time_ms / 1000 + 3600
    gateway.stop()
