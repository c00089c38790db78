"""Bindings: the rules of 0-10's exchange.bind and bound, and selectors."""

import pytest
from support.bridge_world import World, bind, condition, numbered
from support.rules import rule

from gateway.bridge.seams import Bound
from gateway.message import Condition, Kind
from gateway.wire.tagged import Tagged


def test_bind_ignores_duplicates_and_names_what_is_missing() -> None:
    world = World()
    world.queue()
    host = world.host
    bind(world, "q", "amq.direct", "k")
    bind(world, "q", "amq.direct", "k")
    exchange = host.topology.find_exchange("amq.direct")
    assert exchange is not None and len(exchange.bindings) == 1
    assert condition(host.bindings.bind("q", "", "k", {}, b"")) == Condition.INVALID_ARGUMENT
    assert (
        condition(host.bindings.bind("", "amq.direct", "k", {}, b"")) == Condition.INVALID_ARGUMENT
    )
    assert condition(host.bindings.bind("none", "amq.direct", "k", {}, b"")) == Condition.NOT_FOUND
    assert condition(host.bindings.bind("q", "none", "k", {}, b"")) == Condition.NOT_FOUND
    wrong = {"x-match": Tagged(Kind.STRING, "most")}
    assert (
        condition(host.bindings.bind("q", "amq.match", "k", wrong, b""))
        == Condition.INVALID_ARGUMENT
    )
    assert host.bindings.unbind("q", "amq.direct", "k") is None
    assert condition(host.bindings.unbind("q", "amq.direct", "k")) == Condition.NOT_FOUND


def test_bound_tests_each_part_that_is_given() -> None:
    world = World()
    world.queue()
    world.queue("p")
    host = world.host
    arguments = {"a": Tagged(Kind.STRING, "b")}
    host.bindings.bind("q", "amq.match", "k", arguments, b"")
    assert host.bindings.bound("none", "nobody") == Bound(
        exchange_not_found=True, queue_not_found=True
    )
    assert host.bindings.bound("amq.match", "nobody") == Bound(queue_not_found=True)
    assert host.bindings.bound("amq.match", "p") == Bound(queue_not_matched=True)
    assert host.bindings.bound("amq.match", "q", "l") == Bound(key_not_matched=True)
    assert host.bindings.bound("amq.match", "q", "k", {}) == Bound(args_not_matched=True)
    assert host.bindings.bound("amq.match", "q", "k", arguments) == Bound()
    assert host.bindings.bound("amq.match", None, "k") == Bound()
    assert host.bindings.bound("amq.topic") == Bound()
    assert host.bindings.bound("amq.match", "p", "l") == Bound(
        queue_not_matched=True, key_not_matched=True
    )
    assert host.bindings.bound("", "q", "q") == Bound()
    assert host.bindings.bound("", "q", "p") == Bound(key_not_matched=True)
    assert host.bindings.bound("", None, "q") == Bound()
    assert host.bindings.bound("", None, "x") == Bound(key_not_matched=True)
    assert host.bindings.bound("") == Bound()


def selecting(text: str) -> dict[str, Tagged]:
    return {"x-filter-jms-selector": Tagged(Kind.STRING, text)}


@pytest.mark.parametrize("exchange", ["amq.direct", "amq.topic", "amq.fanout", "amq.match"])
def test_a_binding_with_a_selector_lets_in_what_it_accepts(exchange: str) -> None:
    world = World()
    for queue, text in (("one", "n = 1"), ("also", "n = 1"), ("two", "n = 2"), ("all", "")):
        world.queue(queue)
        assert world.host.bindings.bind(queue, exchange, "k", selecting(text), b"") is None
    for number in (1, 2, 3):
        world.host.publishing.publish(numbered(world, number, exchange=exchange, key="k"), None, 0)
    depths = {name: queue.depth for name, queue in world.host.topology.queues.items()}
    assert depths == {"one": 1, "also": 1, "two": 1, "all": 3}
    for queue in ("one", "also", "two"):
        assert world.host.bindings.unbind(queue, exchange, "k") is None
    world.host.publishing.publish(numbered(world, 1, exchange=exchange, key="k"), None, 0)
    assert {queue.depth for queue in world.host.topology.queues.values()} == {1, 4}
    world.check()


def test_a_queue_gets_one_copy_whichever_of_its_selectors_accept() -> None:
    world = World()
    world.queue()
    for key, text in (("a.#", "n > 0"), ("#", "n > 1"), ("a.b", "")):
        world.host.bindings.bind("q", "amq.topic", key, selecting(text), b"")
    for number, key in ((2, "a.b"), (0, "a.b"), (2, "x"), (1, "x"), (0, "a.c")):
        world.host.publishing.publish(
            numbered(world, number, exchange="amq.topic", key=key), None, 0
        )
    queue = world.host.topology.find_queue("q")
    assert queue is not None and queue.depth == 3
    world.check()


@rule("0-10", "exchange.bind", "duplicates")
def test_a_binding_made_again_with_another_selector_selects_by_that() -> None:
    world = World()
    world.queue(durable=True)
    for text, depth in (("n = 1", 1), ("n = 2", 1), ("n = 1", 2), ("", 3), ("n = 2", 3)):
        assert world.host.bindings.bind("q", "amq.fanout", "k", selecting(text), b"") is None
        world.host.publishing.publish(numbered(world, 1, exchange="amq.fanout"), None, 0)
        queue = world.host.topology.find_queue("q")
        assert queue is not None and queue.depth == depth
    world.turn()
    world.crash()
    world.host.publishing.publish(numbered(world, 1, exchange="amq.fanout"), None, 0)
    world.host.publishing.publish(numbered(world, 2, exchange="amq.fanout"), None, 0)
    queue = world.host.topology.find_queue("q")
    assert queue is not None and queue.depth == 1


def test_a_selector_that_is_none_refuses_the_binding() -> None:
    world = World()
    world.queue()
    answer = world.host.bindings.bind("q", "amq.fanout", "k", selecting("n ="), b"")
    assert condition(answer) == Condition.INVALID_ARGUMENT


def test_to_unbind_one_of_many_costs_no_look_at_the_others() -> None:
    """Each router, with bindings that are all filed together."""
    world = World()
    for exchange in ("amq.direct", "amq.fanout", "amq.match", "amq.topic"):
        arguments = {"h": Tagged(Kind.INTEGER, 1)}
        for number in range(300):
            if exchange == "amq.direct":
                world.queue(f"q{number}")
            assert world.host.bindings.bind(f"q{number}", exchange, "k", arguments, b"") is None
        message = world.message(exchange=exchange, key="k", headers=arguments)
        router = world.host.topology.exchanges[exchange].router
        first = router.route(message)
        assert first is not None
        assert [queue.name for queue in first] == [f"q{number}" for number in range(300)]
        for number in range(0, 300, 2):
            world.host.bindings.unbind(f"q{number}", exchange, "k")
        left = router.route(message)
        assert left is not None
        assert [queue.name for queue in left] == [f"q{number}" for number in range(1, 300, 2)]
        assert len(first) == 300  # who has a route keeps it


def test_a_binding_that_is_made_again_with_more_has_to_have_room_for_that() -> None:
    world = World()
    world.queue()
    bindings = world.host.bindings
    assert bindings.bind("q", "amq.topic", "k", selecting("a = 1"), b"") is None
    kept = bindings.kept.held
    bindings.kept.limit = kept + 1000
    long = selecting(f"a = '{'x' * 10_000}'")
    limit = Condition.RESOURCE_LIMIT_EXCEEDED
    assert condition(bindings.bind("q", "amq.topic", "k", long, b"")) == limit
    assert bindings.kept.held == kept
    assert bindings.bound("amq.topic", "q", "k", selecting("a = 1")) == Bound()


def alone(world: World, queue: str, exchange: str, key: str, text: str = "") -> None:
    arguments = selecting(text) | {"qpid.exclusive-binding": Tagged(Kind.NULL, None)}
    assert world.host.bindings.bind(queue, exchange, key, arguments, b"") is None


def test_an_exclusive_binding_of_a_direct_exchange_takes_the_place_of_all_by_its_key() -> None:
    world = World()
    world.host.declaring.declare_exchange("x", "direct", durable=True, auto_delete=True)
    for name in ("one", "two", "three"):
        world.queue(name, durable=True)
        bind(world, name, "x", "other")
    for name, text in (("one", ""), ("two", "n = 1"), ("two", "n = 2")):
        assert world.host.bindings.bind(name, "x", "k", selecting(text), b"") is None
    alone(world, "three", "x", "k", "n > 0")
    for _ in range(2):
        exchange = world.host.topology.find_exchange("x")
        assert exchange is not None
        assert [each.queue.name for each in exchange.every() if each.key == "k"] == ["three"]
        assert exchange.bound == 4
        world.turn()
        world.crash()
    for name in ("one", "two", "three"):
        world.host.bindings.unbind(name, "x", "other")
    alone(world, "one", "x", "k")  # the last one is not gone before it
    exchange = world.host.topology.find_exchange("x")
    assert exchange is not None and exchange.bound == 1
    bind(world, "two", "x", "k")
    assert exchange.bound == 2
    alone(world, "two", "x", "k")  # which is there already
    assert [each.queue.name for each in exchange.every()] == ["two"]
    world.check()


@pytest.mark.parametrize("exchange", ["amq.topic", "amq.fanout", "amq.match"])
def test_an_exclusive_binding_of_another_exchange_is_one_of_many(exchange: str) -> None:
    world = World()
    for name in ("one", "two"):
        world.queue(name)
        alone(world, name, exchange, "k")
    found = world.host.topology.find_exchange(exchange)
    assert found is not None and found.bound == 2
