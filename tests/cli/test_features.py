"""What `audit features` tells of the records of uses."""

from __future__ import annotations

from typing import Any

from gateway.cli.features import NOBODY, table, uses_in


def use(feature: str, **fields: Any) -> dict[str, Any]:  # Any: what JSON holds
    told = {"kind": "feature-used", "feature": feature, "uses": 1, "connection": 1, "peer": "joe"}
    return told | {"client": "billing from 10.0.0.1", "first_ms": 1000, "last_ms": 2000} | fields


def test_uses_are_summed_by_client_and_feature_over_connections_and_restarts() -> None:
    started = {"kind": "incarnation-started", "incarnation": 2}
    records = [
        use("dtx"),
        use("dtx", uses=4, first_ms=500, last_ms=3000),
        started,
        use("dtx", connection=1, last_ms=9000),
        use("qmf", uses=9),
        {"kind": "sent", "message": 1},
    ]
    found = uses_in(records)
    assert [(line.feature, line.uses, line.connections) for line in found] == [
        ("qmf", 9, 1),
        ("dtx", 6, 2),
    ]
    assert found[1].as_json() == {
        "user": "joe",
        "client": "billing from 10.0.0.1",
        "feature": "dtx",
        "uses": 6,
        "connections": 2,
        "first_seen": "1970-01-01T00:00:00Z",
        "last_seen": "1970-01-01T00:00:09Z",
    }


def test_clients_that_differ_in_what_is_random_are_one() -> None:
    containers = (
        "ID:8c79d4bf-09b3-350a-9cd3-127a4be2ac36:1",
        "ID:11111111222233334444555555555555:1",
    )
    found = uses_in(
        use("tx", client=f"{each} from h", connection=at) for at, each in enumerate(containers)
    )
    assert [(line.client, line.uses, line.connections) for line in found] == [
        ("ID:*:1 from h", 2, 2)
    ]


def test_each_client_heads_what_it_uses() -> None:
    lines = list(table(uses_in([use("dtx"), use("qmf", uses=2), use("tx", peer="")])))
    assert lines == [
        f"{NOBODY}: billing from 10.0.0.1",
        "         1  1970-01-01T00:00:01Z  1970-01-01T00:00:02Z       1  tx",
        "joe: billing from 10.0.0.1",
        "         2  1970-01-01T00:00:01Z  1970-01-01T00:00:02Z       1  qmf",
        "         1  1970-01-01T00:00:01Z  1970-01-01T00:00:02Z       1  dtx",
    ]
