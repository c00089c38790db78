"""What the keys of an upstream and of a rule come to."""

from __future__ import annotations

import json
import pathlib

from support.net import Wire
from support.whole_gateway import WholeGateway
from twisted.internet.error import ConnectionDone
from twisted.python.failure import Failure


def test_the_keys_of_upstreams_and_rules_count(tmp_path: pathlib.Path) -> None:
    upstream = {
        "hosts": ["amqp://127.0.0.1:1"],
        "profile": "artemis",
        "resume": False,
        "redelivery_back_off": {"initial": "100ms", "maximum": "1s", "factor": 3, "jitter": 0},
    }
    rule = {"queue": "far", "upstream": "a", "max_redeliveries": 7, "paused": True}
    whole = WholeGateway(
        tmp_path / "data",
        f"upstreams={json.dumps({'a': upstream})}",
        f"nodes={json.dumps([rule])}",
    ).start()
    made = whole.service.upstreams.upstreams["a"].context
    assert not made.resumes
    assert [made.settings.redelivery_back_off_ms(failures) for failures in (1, 2, 3, 4, 99)] == [
        100,
        300,
        900,
        1000,
        1000,
    ]
    placement = whole.service.upstreams.placements.queue("default", "far")
    assert placement is not None
    assert (placement.max_redeliveries, placement.paused, placement.rests) == (7, True, True)
    assert whole.service.counts.paused_rules == 1
    whole.stop()


def test_the_connections_to_them_can_be_looked_at(tmp_path: pathlib.Path) -> None:
    upstreams = {
        name: {"hosts": [f"amqp://127.0.0.1:{port}"]} for name, port in (("a", 1), ("b", 2))
    }
    whole = WholeGateway(tmp_path / "data", f"upstreams={json.dumps(upstreams)}").start()
    made = whole.service.upstreams
    assert made.pumps() == []
    factory = whole.reactor.tcpClients[1][2]
    protocol = factory.buildProtocol(None)
    protocol.makeConnection(Wire())
    assert [pump.address for pump in made.pumps()] == ["amqp://127.0.0.1:2"]
    protocol.connectionLost(Failure(ConnectionDone()))
    whole.stop()
