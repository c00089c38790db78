"""`ctl branches` and `ctl decide`."""

import json
from typing import Any

import pytest
from support.branches_0_10 import (
    COMMITTED_BEFORE,
    OK,
    asks,
    branch_of,
    commit,
    end,
    prepare,
    selected,
    start,
    works,
)
from support.talk_0_10 import Gateway
from support.transactions_0_10 import check, gateway_with

from gateway.errors import ConfigurationError
from gateway.net.admin.branches import branches, decide, oldest_prepared_s, states

X = "1.78.62"


def told(gateway: Gateway) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads("".join(branches(gateway.world.bridge)))["branches"]
    return found


def prepared(gateway: Gateway) -> None:
    client = selected(gateway, "ann")
    works(client, b"1", b"2")
    assert asks(client, prepare()) == OK


def test_branches_are_told() -> None:
    gateway = gateway_with()
    assert told(gateway) == []
    prepared(gateway)
    asks(selected(gateway), start("y"))
    one, other = told(gateway)
    assert one == {
        "virtual_host": "/",
        "branch": X,
        "state": "prepared",
        "user": "ann",
        "prepared_ms": gateway.world.now_ms,
        "sessions": 0,
        "publishes": 2,
        "accepts": 0,
    }
    assert (other["state"], other["sessions"], other["prepared_ms"]) == ("open", 1, 0)


def test_an_operator_ends_a_prepared_branch_and_forgets_it() -> None:
    gateway = gateway_with()
    prepared(gateway)
    bridge = gateway.world.bridge
    assert "is committed" in decide(bridge, "", X, "commit")
    gateway.world.turn()
    assert gateway.world.depth() == 2
    assert asks(gateway.session("ann"), commit()) == COMMITTED_BEFORE
    assert "is forgotten" in decide(bridge, "/", X, "forget")
    assert branch_of(gateway) is None
    check(gateway)


@pytest.mark.parametrize(
    ("host", "branch", "how", "key"),
    [
        ("", X, "forget", "branch"),
        ("", X, "keep", "decision"),
        ("", "1.79.62", "commit", "branch"),
        ("", "no xid", "commit", "branch"),
        ("none", X, "commit", "virtual_host"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(
    host: str, branch: str, how: str, key: str
) -> None:
    gateway = gateway_with()
    prepared(gateway)
    with pytest.raises(ConfigurationError) as raised:
        decide(gateway.world.bridge, host, branch, how)
    assert [found for found, _ in raised.value.problems] == [key]
    assert told(gateway)[0]["state"] == "prepared"


@pytest.mark.parametrize("how", ["commit", "rollback", "forget"])
def test_a_branch_that_is_not_prepared_is_its_managers(how: str) -> None:
    gateway = gateway_with()
    works(selected(gateway), b"1")
    with pytest.raises(ConfigurationError):
        decide(gateway.world.bridge, "", X, how)


def test_the_metrics_tell_the_oldest_that_is_prepared() -> None:
    gateway = gateway_with()
    bridge = gateway.world.bridge
    assert oldest_prepared_s(bridge) == 0
    prepared(gateway)
    works(selected(gateway), b"1", name="y")
    gateway.world.pass_time(30_000)
    assert oldest_prepared_s(bridge) == 30
    assert states(bridge) == {"open": 1, "doomed": 0, "prepared": 1, "decided": 0}
    decide(bridge, "", X, "rollback")
    assert states(bridge) == {"open": 1, "doomed": 0, "prepared": 0, "decided": 1}
    assert oldest_prepared_s(bridge) == 0


def test_a_branch_that_can_only_be_rolled_back_is_told_apart_and_ended() -> None:
    gateway = gateway_with()
    client = selected(gateway)
    asks(client, start(), end(fail=True))
    bridge = gateway.world.bridge
    assert states(bridge) == {"open": 0, "doomed": 1, "prepared": 0, "decided": 0}
    with pytest.raises(ConfigurationError, match="doomed"):
        decide(bridge, "", X, "commit")
    assert "had been rolled back" in decide(bridge, "", X, "rollback")
    assert branch_of(gateway) is None
    assert asks(client, start(), end()) == OK
    check(gateway)


def test_one_whose_time_was_over_while_a_session_works_in_it_is_that_sessions() -> None:
    gateway = gateway_with()
    asks(selected(gateway), start())
    gateway.world.pass_time(3_600_000)
    bridge = gateway.world.bridge
    assert states(bridge)["doomed"] == 1
    with pytest.raises(ConfigurationError, match="a session works in it"):
        decide(bridge, "", X, "rollback")
