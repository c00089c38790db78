"""The numbers of upstreams, as a scrape reads them."""

from __future__ import annotations

import json
import pathlib

from support.whole_gateway import WholeGateway

from gateway.clients.letter import Letter, Typed


def samples_of(whole: WholeGateway) -> dict[tuple[str, ...], float]:
    collector = whole.service.collector
    collector.take()
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in collector.collect()
        for sample in family.samples
        if sample.name.startswith("gateway_upstream_")
    }


def test_what_waits_for_an_upstream_that_is_away_is_seen(tmp_path: pathlib.Path) -> None:
    upstreams = {name: {"hosts": ["amqp://127.0.0.1:1"]} for name in ("a", "b")}
    whole = WholeGateway(
        tmp_path / "data",
        f"upstreams={json.dumps(upstreams)}",
        f"nodes={json.dumps([{'queue': 'far', 'upstream': 'a', 'spool': True}])}",
    ).start()
    client = whole.connect_0_10()
    whole.result(client.send("far", Letter(body=Typed("string", "x"), durable=True)))
    samples = samples_of(whole)
    assert samples["gateway_upstream_up", "a"] == samples["gateway_upstream_up", "b"] == 0
    waiting = "gateway_upstream_waiting_messages"
    assert {labels: value for labels, value in samples.items() if labels[0] == waiting} == {
        (waiting, "a", "sent"): 1,
        (waiting, "a", "received"): 0,
        (waiting, "b", "sent"): 0,
        (waiting, "b", "received"): 0,
    }
    assert samples["gateway_upstream_unsettled_messages", "a", "sent"] == 0
    assert samples["gateway_upstream_connections_total", "a", "opened"] == 0
    assert samples["gateway_upstream_outcomes_total", "a", "sent", "accepted"] == 0
    assert samples["gateway_upstream_messages_total", "a", "received"] == 0
    for name, value in (("spooled_messages", 1), ("held_messages", 0), ("links", 0)):
        assert samples[f"gateway_upstream_{name}", "a"] == value
    whole.pass_time(3)
    later = samples_of(whole)
    assert later["gateway_upstream_down_seconds", "b"] >= 3
    assert later["gateway_upstream_oldest_seconds", "a"] >= 3
    assert later["gateway_upstream_oldest_seconds", "b"] == 0
    whole.service.upstreams.dialers["a"].failed_tries = 2
    assert samples_of(whole)["gateway_upstream_failed_tries", "a"] == 2
    whole.service.upstreams.upstreams["a"].context.counts.poison = 3
    assert samples_of(whole)["gateway_upstream_poison_total", "a"] == 3
    whole.stop()
