"""A transaction that was filled by other rules than those that are in force at its commit."""

import pytest
from support.bridge_world import bind
from support.controller_1_0 import ACCEPTED, Controller
from support.own_rules import own_rules
from support.talk_0_10 import Client, Gateway

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_1_0 import _spec
from gateway.audit.schema import Kind, Reason
from gateway.message import ACCEPTED as TAKEN
from gateway.permissions.actions import Action
from gateway.permissions.own_rules import OwnRule, OwnRules
from gateway.permissions.rules import Decision
from gateway.wire.work import VERB, WORK

UNAUTHORIZED = "amqp:unauthorized-access"
MAY = "allow: [publish, consume]"
OTHER = "allow: all"
NOT = "allow: consume"
LATER = "allow: publish, queue: none"
REFUSED = {
    "q": "publish queue 'q'",
    "r": "publish queue 'r'",
    "amq.fanout/k": "publish exchange 'amq.fanout', key 'k'",
}


def controller(*rules: str) -> Controller:
    """Whose upstream is there."""
    at = Controller()
    adopts(at.hub, *rules)
    return at


def adopts(hub: object, *rules: str) -> None:
    """Of a `Hub`, or of a `Gateway` of 0-10."""
    hub.settings.access.adopt(own_rules(*rules), "f", hub.world.bridge.turns.spread)  # type: ignore[attr-defined]


def posted(at: Controller, address: str) -> tuple[bytes, object]:
    txn_id = at.declares()
    at.posts(at.sender(address), txn_id)
    if address != "r":
        return txn_id, None
    branch = at.begins()
    at.presumes(branch, TAKEN)
    at.told()
    return txn_id, branch


def refusals(world: object) -> list[dict[str, object]]:
    raw = world.blocks.raw()  # type: ignore[attr-defined]
    return [each for each in raw if each["kind"] == Kind.ACCESS_REFUSED]


@pytest.mark.parametrize("address", list(REFUSED))
def test_a_1_0_discharge_is_rejected_and_recorded(address: str) -> None:
    at = controller(MAY)
    at.hub.world.queue("bound")
    at.hub.host.bindings.bind("bound", "amq.fanout", "", {}, b"")
    txn_id, branch = posted(at, address)
    adopts(at.hub, NOT)
    state = at.commits(txn_id)
    assert isinstance(state, _spec.Rejected)
    assert state.error.condition == UNAUTHORIZED
    assert REFUSED[address] in state.error.description
    if branch is not None:
        assert branch.discharged == [True]  # as failed
    assert at.hub.world.depth("q") == at.hub.world.depth("bound") == 0
    record = refusals(at.hub.world)[-1]
    assert (record["exchange"], Reason(int(str(record["reason"])))) == (
        "publish",
        Reason.NOT_ALLOWED,
    )
    assert record["message"]
    assert at.hub.settings.counts.access_refused[Action.PUBLISH] >= 1


@pytest.mark.parametrize("rules", [[OTHER], [MAY, OTHER]])
def test_what_other_rules_allow_too_is_committed(rules: list[str]) -> None:
    at = controller(MAY)
    txn_id, _ = posted(at, "q")
    adopts(at.hub, *rules)
    assert at.commits(txn_id) == ACCEPTED
    assert at.hub.world.depth("q") == 1


def test_only_the_rules_at_the_commit_count() -> None:
    at = controller(MAY)
    txn_id, _ = posted(at, "q")
    adopts(at.hub, NOT)
    adopts(at.hub, MAY)
    assert at.commits(txn_id) == ACCEPTED


def test_a_transaction_that_is_begun_afterwards_is_not_concerned() -> None:
    at = controller(MAY)
    txn_id, _ = posted(at, "q")
    adopts(at.hub, NOT)
    at.rolls_back(txn_id)
    assert at.commits(at.declares()) == ACCEPTED


def selected(gateway: Gateway) -> Client:
    gateway.world.queue("q")
    adopts(gateway, MAY)
    client = gateway.session()
    client.does(spec.TxSelect())
    client.publishes(b"1", key="q")
    client.hears()
    return client


def test_a_0_10_commit_is_refused_and_recorded() -> None:
    gateway = Gateway()
    client = selected(gateway)
    adopts(gateway, LATER)
    assert (403, 2) in client.does(spec.TxCommit())
    assert gateway.world.depth("q") == 0
    [record] = refusals(gateway.world)
    assert (record["exchange"], record["node"]) == ("publish", "queue 'q'")
    assert gateway.settings.counts.access_refused[Action.PUBLISH] == 1


def test_a_commit_of_too_many_keys_to_decide_again_is_refused() -> None:
    gateway = Gateway()
    adopts(gateway, MAY)
    gateway.world.queue("q")
    bind(gateway.world, "q", "amq.fanout")
    client = gateway.session()
    client.does(spec.TxSelect())
    words = ".".join(["w"] * 100)
    for number in range(50):
        client.publishes(b"1", to="amq.fanout", key=f"{words}.{number}")
    client.hears()
    never = OwnRule(Decision(True, 1, ""), 1 << Action.PUBLISH, key=["#", "never", "#"])
    may = OwnRule(Decision(True, 2, ""), -1)
    rules = OwnRules([never] * 30 + [may])
    gateway.settings.access.adopt(rules, "f", gateway.world.bridge.turns.spread)
    units, refused = WORK.units, WORK.refused
    heard = client.does(spec.TxCommit())
    assert 506 in [each[0] for each in heard if isinstance(each, tuple)]
    assert (WORK.refused - refused, gateway.world.depth("q")) == (1, 0)
    assert WORK.units - units < 2 * VERB


def test_a_0_10_commit_that_other_rules_allow_is_done() -> None:
    gateway = Gateway()
    client = selected(gateway)
    adopts(gateway, OTHER)
    assert client.does(spec.TxCommit()) == ["completed 2-2"]
    assert gateway.world.depth("q") == 1
    adopts(gateway, LATER)
    assert (403, 4) not in client.does(spec.TxCommit())
