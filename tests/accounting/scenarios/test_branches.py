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
from support.whole_gateway import START_S, WholeGateway

from gateway.accounting.reconcile import Result, reconcile
from gateway.amqp_0_10 import _spec as spec
from gateway.audit.segment import SegmentWriter
from gateway.bridge.durable.topology_rows import RowKind
from gateway.clients.client import Delivered, Subscription
from gateway.clients.client_0_10 import Client010
from gateway.clients.letter import Letter, Typed


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


def reconciled(spark, world: World, directory: Path) -> Result:
    """What the job says of all that the world has logged."""
    writer = SegmentWriter(directory / "audit")
    writer.append(bytes(world.blocks.octets))
    writer.close()
    (directory / "out").mkdir()
    return reconcile(spark, directory / "audit", directory / "out")


def test_a_branch_that_the_store_has_lost_is_lost(tmp_path: Path, spark) -> None:
    gateway = gateway_with(durable=True)
    world = gateway.world
    world.send(b"1", durable=True)
    client = selected(gateway)
    client.subscribes(credit=1)
    client.hears()
    asks(client, start("x"), accept((0, 0)))
    assert asks(client, end("x")) == OK
    assert asks(client, prepare("x")) == OK
    rows = world.store._content.topology
    for kind, key in [each for each in rows if each[0] in (RowKind.BRANCH, RowKind.BRANCH_PAGE)]:
        del rows[kind, key]
    world.restart()
    drained(Gateway(world=world))
    world.restart()
    result = reconciled(spark, world, tmp_path)
    assert [(row["class"], row["node"]) for row in result.breaks] == [("LOST", "branch 1.78.62")]


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
    result = reconciled(spark, world, tmp_path)
    assert result.classes == {}, result.breaks
    nodes = {row["node"] for row in result.queues}
    assert {"q", "branch 1.6c656674.62"} <= nodes


def works_in(gateway: WholeGateway, client: Client010, got: list[Delivered], name: bytes) -> None:
    """A branch accepts a message of 1.0, and publishes to two queues; it is prepared."""
    xid = spec.Xid(format=1, global_id=name, branch_id=b"b")
    gateway.result(client.query(spec.DtxStart(xid=xid)))
    got.pop(0).settle("accepted")
    gateway.result(client.send("amq.fanout/", Letter(body=Typed("string", "out"), durable=True)))
    gateway.result(client.query(spec.DtxEnd(xid=xid)))
    gateway.result(client.query(spec.DtxPrepare(xid=xid)))


def ends(gateway: WholeGateway, client: Client010, *commands: spec.DtxCommit) -> None:
    for command in commands:
        gateway.result(client.query(command))


def committing(name: bytes) -> spec.DtxCommit:
    return spec.DtxCommit(xid=spec.Xid(format=1, global_id=name, branch_id=b"b"))


def test_what_branches_take_from_1_0_and_send_to_several_queues_reconciles(
    tmp_path: Path, spark, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data"
    gateway = WholeGateway(data).start()
    client = gateway.connect_0_10()
    for queue in ("q", "one", "two"):
        gateway.result(client.declare_queue(queue, durable=True))
    for queue in ("one", "two"):
        gateway.result(client.bind(queue, "amq.fanout", ""))
    other = gateway.connect_1_0()
    for _ in range(3):
        gateway.result(other.send("q", Letter(body=Typed("string", "in"), durable=True)))
    got: list[Delivered] = []
    gateway.result(client.receive(Subscription("q"), got.append))
    assert len(got) == 3
    gateway.result(client.command(spec.DtxSelect()))
    works_in(gateway, client, got, b"now")
    works_in(gateway, client, got, b"later")
    ends(gateway, client, committing(b"now"))
    gateway.stop()
    # The stop took its time, and the clock does not go back.
    monkeypatch.setattr("support.whole_gateway.START_S", START_S + 3600)
    gateway = WholeGateway(data).start()
    ends(gateway, gateway.connect_0_10(), committing(b"later"))
    gateway.stop()
    (tmp_path / "out").mkdir()
    result = reconcile(spark, data / "audit", tmp_path / "out")
    assert result.classes == {}, result.breaks
