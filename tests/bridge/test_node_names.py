"""What the audit log calls a host's exchanges and queues, from one start to the next."""

from __future__ import annotations

from support.bridge_world import World

from gateway.audit.schema import Kind
from gateway.bridge.durable.topology_rows import RowKind, encoded_host
from gateway.bridge.node_names import plain_host, prefix_of
from gateway.bridge.seams import QueueSettings
from gateway.message import Refusal
from gateway.store.interface import TopologyRow


def recovered(world: World) -> set[str]:
    return {one.node for one in world.blocks.records() if one.kind == Kind.RECOVERED}


def with_a_copy_at_each_host() -> World:
    world = World(hosts=["one", "two"])
    for host in world.bridge.hosts.values():
        answer = host.declaring.declare_queue("q", QueueSettings(durable=True), world.owner())
        assert not isinstance(answer, Refusal)
        host.publishing.publish(world.message(key="q", durable=True), None, 0)
    world.turn()
    return world


def test_names_stay_what_they_are_when_another_host_becomes_the_default() -> None:
    world = with_a_copy_at_each_host()
    for hosts in (["two", "one"], ["two"], ["three"], ["one", "two"]):
        world.host_names = hosts
        world.crash()
        assert recovered(world) == {"q", "two/q"}
        world.check()


def test_the_host_whose_names_stand_alone_is_the_default_unless_the_store_knows_better() -> None:
    row = TopologyRow(RowKind.PLAIN_HOST, "", encoded_host("one"))
    assert plain_host([row], "two") == "one"
    assert plain_host([], "two") == "two"
    assert plain_host([TopologyRow(RowKind.PLAIN_HOST, "", b"\xff")], "two") == "two"
    assert (prefix_of("one", "one"), prefix_of("two", "one")) == ("", "two/")
