"""The job on a log that the gateway itself wrote, of distributed transactions over restarts."""

from pathlib import Path

import pytest
from support.branches_0_10 import (
    OK,
    ROLLED_BACK,
    accept,
    asks,
    branch_of,
    commit,
    end,
    persistent,
    prepare,
    rollback,
    selected,
    start,
    works,
)
from support.bridge_world import World
from support.talk_0_10 import Client, Gateway
from support.transactions_0_10 import gateway_with

from gateway.accounting.reconcile import reconcile
from gateway.amqp_0_10 import _spec as spec
from gateway.audit.segment import SegmentWriter


def begins(gateway: Gateway, name: str) -> Client:
    """A branch that has accepted two messages, published one that is kept, and one that is not."""
    client = selected(gateway)
    client.subscribes(credit=3)
    client.hears()
    asks(client, start(name), accept((0, 1)))
    client.publishes(b"kept " + name.encode(), delivery=persistent())
    client.publishes(b"passing " + name.encode())
    assert asks(client, end(name)) == OK
    return client


def one_life(gateway: Gateway) -> None:
    """Every end there is of a branch, but for those that are left to later lives."""
    world = gateway.world
    world.send(*[b"%d" % number for number in range(30)], durable=True)
    assert asks(begins(gateway, "one"), commit("one", one_phase=True)) == OK
    assert asks(begins(gateway, "back"), rollback("back")) == OK
    failing = begins(gateway, "failing")
    asks(failing, start("failing", join=True))
    failing.publishes(b"in vain")
    assert asks(failing, end("failing", fail=True)) == ROLLED_BACK
    for name, ends in (("two", commit("two")), ("two back", rollback("two back"))):
        client = begins(gateway, name)
        assert asks(client, prepare(name)) == OK
        client.loses_transport()
        assert asks(gateway.session(), ends) == OK
    for name in ("left", "left back", "decided"):
        assert asks(begins(gateway, name), prepare(name)) == OK
    begins(gateway, "never prepared")
    lost = selected(gateway)
    asks(lost, start("lost"))
    lost.publishes(b"lost")
    lost.hears()


def later(world: World) -> None:
    """A life that ends what an earlier one has left."""
    gateway = Gateway(world=world)
    asks(gateway.session(), spec.DtxRecover())
    world.bridge.checkpoint(world.now_ms)
    world.turn()
    manager = gateway.session()
    assert asks(manager, commit("left")) == OK
    decided = branch_of(gateway, "decided")
    assert decided is not None
    world.bridge.act_for_operator(world.now_ms, "ctl", "192.0.2.9:1")
    world.host.branches.decide(decided, commit=False)
    world.turn()


def drained(gateway: Gateway) -> None:
    """A consumer takes what there is."""
    client = gateway.session()
    client.subscribes()
    got = client.gets()
    client.does(accept((0, len(got) - 1)))


@pytest.mark.parametrize("crash", [True, False])
def test_branches_over_restarts_reconcile(tmp_path: Path, spark, crash: bool) -> None:
    gateway = gateway_with(durable=True)
    world = gateway.world
    one_life(gateway)
    for step in range(2):
        world.bridge.checkpoint(world.now_ms)
        world.turn()
        world.crash() if crash else world.restart()
        if step == 0:
            later(world)
    gateway = Gateway(world=world)
    assert asks(gateway.session(), rollback("left back")) == OK
    works(selected(gateway), b"last", durable=True)
    drained(gateway)
    world.restart()
    writer = SegmentWriter(tmp_path / "audit")
    writer.append(bytes(world.blocks.octets))
    writer.close()
    (tmp_path / "out").mkdir()
    result = reconcile(spark, tmp_path / "audit", tmp_path / "out")
    assert result.classes == {}, result.breaks
    nodes = {row["node"] for row in result.queues}
    assert {"q", "branch 1.6c656674.62"} <= nodes
