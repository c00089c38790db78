"""Exchanges and names: the rules of 0-10's class exchange, and what limits there are."""

import pytest
from support.bridge_world import World, bind, condition

from gateway.bridge.exchanges.exchange import Exchange
from gateway.bridge.limits import BridgeLimits
from gateway.bridge.seams import QueueSettings
from gateway.message import Condition


def test_the_standard_exchanges_are_there_in_every_host() -> None:
    world = World(hosts=["/", "other"])
    for host in world.bridge.hosts.values():
        for name, type in (
            ("", "direct"),
            ("amq.direct", "direct"),
            ("amq.topic", "topic"),
            ("amq.fanout", "fanout"),
            ("amq.match", "headers"),
            ("amq.headers", "headers"),
            ("qmf.default.direct", "direct"),
            ("qmf.default.topic", "topic"),
        ):
            exchange = host.topology.find_exchange(name)
            assert exchange is not None and exchange.type == type


@pytest.mark.parametrize(
    ("name", "type", "passive", "alternate", "expected"),
    [
        ("", "direct", False, "", Condition.INVALID_ARGUMENT),
        ("amq.mine", "direct", False, "", Condition.NOT_ALLOWED),
        ("qpid.mine", "direct", False, "", Condition.NOT_ALLOWED),
        ("mine", "xml", False, "", Condition.NOT_FOUND),
        ("mine", "direct", True, "", Condition.NOT_FOUND),
        ("mine", "direct", False, "none", Condition.NOT_FOUND),
        ("x" * 256, "direct", False, "", Condition.INVALID_ARGUMENT),
        ("amq.direct", "direct", False, "", Condition.NONE),
        ("amq.topic", "direct", False, "", Condition.NOT_ALLOWED),
        ("amq.topic", "", True, "", Condition.NONE),
        ("amq.topic", "topic", True, "amq.fanout", Condition.NOT_ALLOWED),
        ("mine", "headers", False, "amq.fanout", Condition.NONE),
    ],
)
def test_exchange_declare(
    name: str, type: str, passive: bool, alternate: str, expected: Condition
) -> None:
    answer = World().host.declaring.declare_exchange(
        name, type, passive=passive, alternate_exchange=alternate
    )
    assert condition(answer) == expected
    if expected == Condition.NONE:
        assert isinstance(answer, Exchange) and answer.name == name


def test_an_exchange_in_use_is_not_deleted() -> None:
    world = World()
    host = world.host
    host.declaring.declare_exchange("x", "direct")
    host.declaring.declare_exchange("alt", "fanout")
    host.declaring.declare_exchange("y", "direct", alternate_exchange="alt")
    world.queue("q", alternate_exchange="alt")
    bind(world, "q", "x", "k")
    assert condition(host.declaring.delete_exchange("")) == Condition.INVALID_ARGUMENT
    assert condition(host.declaring.delete_exchange("none")) == Condition.NOT_FOUND
    assert condition(host.declaring.delete_exchange("amq.topic")) == Condition.NOT_ALLOWED
    assert condition(host.declaring.delete_exchange("alt")) == Condition.NOT_ALLOWED
    assert (
        condition(host.declaring.delete_exchange("x", if_unused=True))
        == Condition.PRECONDITION_FAILED
    )
    assert host.declaring.delete_exchange("x") is None
    assert host.declaring.delete_exchange("y") is None
    assert host.declaring.delete_queue("q") is None
    assert host.declaring.delete_exchange("alt") is None
    assert host.topology.find_exchange("alt") is None


def test_an_auto_delete_exchange_goes_with_its_last_binding() -> None:
    world = World()
    world.host.declaring.declare_exchange("x", "fanout", auto_delete=True)
    world.queue("q")
    bind(world, "q", "x", "1")
    bind(world, "q", "x", "2")
    world.host.bindings.unbind("q", "x", "1")
    assert world.host.topology.find_exchange("x") is not None
    assert world.host.declaring.delete_queue("q") is None
    assert world.host.topology.find_exchange("x") is None


def test_limits_on_names_queues_exchanges_and_bindings_are_kept() -> None:
    world = World(limits=BridgeLimits(queues_max=1, exchanges_max=9, bindings_max=1, key_max=3))
    host = world.host
    world.queue()
    limit = Condition.RESOURCE_LIMIT_EXCEEDED
    assert condition(host.declaring.declare_queue("p", QueueSettings(), world.owner())) == limit
    assert condition(host.declaring.declare_exchange("x", "direct")) == Condition.NONE
    assert condition(host.declaring.declare_exchange("y", "direct")) == limit
    long = host.bindings.bind("q", "x", "four", {}, b"")
    assert condition(long) == Condition.INVALID_ARGUMENT
    bind(world, "q", "x", "k")
    assert condition(host.bindings.bind("q", "x", "l", {}, b"")) == limit


def test_a_queue_and_an_exchange_of_one_name_keep_it_in_the_audit_log() -> None:
    world = World()
    world.host.declaring.declare_exchange("q", "fanout")
    world.queue("q")
    world.host.declaring.delete_exchange("q")
    world.turn()
    world.send(b"1")
    world.turn()
    assert [node for node, _, _ in world.check().held] == ["q"]
