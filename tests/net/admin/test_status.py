"""What an operator sees of upstreams: who waits for them, and whether they come back."""

from __future__ import annotations

import json
import pathlib
from typing import Any

from support.whole_gateway import WholeGateway

from gateway.clients.letter import Letter, Typed
from gateway.faces.dialled.location import Location
from gateway.faces.upstream_1_0.detours import Detour
from gateway.net.admin.census import Census
from gateway.net.admin.status import status


def told(whole: WholeGateway) -> dict[str, Any]:
    service = whole.service
    census = Census(service.bridge)
    for _ in census.take():
        pass
    return status(service.reloading, service.upstreams, census, service.clock.now_ms())


def test_what_waits_for_an_upstream_is_told_by_who_knows_of_it(tmp_path: pathlib.Path) -> None:
    upstreams = {name: {"hosts": ["amqp://127.0.0.1:1"]} for name in ("a", "b")}
    nodes = [
        {"queue": "spooled", "upstream": "a", "spool": True},
        {"queue": "far", "upstream": "a"},
        {"queue": "later", "upstream": "a", "paused": True},
    ]
    whole = WholeGateway(
        tmp_path / "data", f"upstreams={json.dumps(upstreams)}", f"nodes={json.dumps(nodes)}"
    ).start()
    client = whole.connect_0_10()
    for name in ("spooled", "spooled", "far"):
        sent = client.send(name, Letter(body=Typed("string", "x"), durable=True))
        sent.addErrback(lambda _: None)  # of "far" nobody hears
        whole.run()
    whole.pass_time(5)
    one, other = told(whole)["upstreams"]
    assert {key: one[key] for key in ("state", "held", "spooled", "fetched", "host")} == {
        "state": "down",
        "held": 1,
        "spooled": 2,
        "fetched": 0,
        "host": "",
    }
    assert (one["paused"], one["moving"], one["links"]) == (1, 0, 0)
    assert one["oldest_s"] >= 5
    assert one["since_s"] >= 5
    assert other["oldest_s"] is None
    assert other["held"] == 0
    whole.stop()


def test_where_links_are_redirected_to_is_told(tmp_path: pathlib.Path) -> None:
    upstreams = {"a": {"hosts": ["amqp://127.0.0.1:1"]}}
    whole = WholeGateway(tmp_path / "data", f"upstreams={json.dumps(upstreams)}").start()
    upstream = whole.service.upstreams.upstreams["a"]
    detour = Detour(upstream.detours, Location(network_host="b.example", port=5671))
    upstream.detours.standing[detour] = None
    (one,) = told(whole)["upstreams"]
    (there,) = one["detours"]
    assert (there["host"], there["state"], there["links"]) == ("b.example:5671", "connecting", 0)
    whole.stop()
