"""Exchanges, queues and bindings: the rules of 0-10's classes exchange and queue."""

import pytest
from support.bridge_world import World

from gateway.bridge.limits import BridgeLimits
from gateway.bridge.queues import Queue
from gateway.bridge.routing import Exchange
from gateway.bridge.seams import Bound, PublishStatus, QueueSettings
from gateway.bridge.selectors import Selector, read_selector
from gateway.message import Condition, Flag, Kind, Message, Refusal
from gateway.wire.tagged import Tagged


def condition(answer: object) -> Condition:
    return answer.condition if isinstance(answer, Refusal) else Condition.NONE


def bind(world: World, queue: str, exchange: str, key: str = "") -> None:
    assert world.host.bind(queue, exchange, key, {}, b"") is None


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
            exchange = host.exchange(name)
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
    answer = World().host.declare_exchange(
        name, type, passive=passive, alternate_exchange=alternate
    )
    assert condition(answer) == expected
    if expected == Condition.NONE:
        assert isinstance(answer, Exchange) and answer.name == name


def test_an_exchange_in_use_is_not_deleted() -> None:
    world = World()
    host = world.host
    host.declare_exchange("x", "direct")
    host.declare_exchange("alt", "fanout")
    host.declare_exchange("y", "direct", alternate_exchange="alt")
    world.queue("q", alternate_exchange="alt")
    bind(world, "q", "x", "k")
    assert condition(host.delete_exchange("")) == Condition.INVALID_ARGUMENT
    assert condition(host.delete_exchange("none")) == Condition.NOT_FOUND
    assert condition(host.delete_exchange("amq.topic")) == Condition.NOT_ALLOWED
    assert condition(host.delete_exchange("alt")) == Condition.NOT_ALLOWED
    assert condition(host.delete_exchange("x", if_unused=True)) == Condition.PRECONDITION_FAILED
    assert host.delete_exchange("x") is None
    assert host.delete_exchange("y") is None
    assert host.delete_queue("q") is None
    assert host.delete_exchange("alt") is None
    assert host.exchange("alt") is None


def test_an_auto_delete_exchange_goes_with_its_last_binding() -> None:
    world = World()
    world.host.declare_exchange("x", "fanout", auto_delete=True)
    world.queue("q")
    bind(world, "q", "x", "1")
    bind(world, "q", "x", "2")
    world.host.unbind("q", "x", "1")
    assert world.host.exchange("x") is not None
    assert world.host.delete_queue("q") is None
    assert world.host.exchange("x") is None


def test_queue_declare_keeps_what_is_there_and_refuses_what_does_not_fit() -> None:
    world = World()
    owner = world.owner()
    host = world.host
    first = host.declare_queue("q", QueueSettings(max_count=5, alternate_exchange=""), owner)
    assert isinstance(first, Queue)
    assert host.declare_queue("q", QueueSettings(durable=True), owner) is first
    assert not first.settings.durable
    assert host.declare_queue("q", QueueSettings(), owner, passive=True) is first
    other = QueueSettings(alternate_exchange="amq.fanout")
    assert condition(host.declare_queue("q", other, owner)) == Condition.NOT_ALLOWED
    nowhere = QueueSettings(alternate_exchange="none")
    assert condition(host.declare_queue("p", nowhere, owner)) == Condition.NOT_FOUND
    missing = host.declare_queue("p", QueueSettings(), owner, passive=True)
    assert condition(missing) == Condition.NOT_FOUND
    assert condition(host.declare_queue("", QueueSettings(), owner)) == Condition.INVALID_ARGUMENT
    negative = host.declare_queue("p", QueueSettings(max_count=-1), owner)
    assert condition(negative) == Condition.INVALID_ARGUMENT
    assert isinstance(host.declare_queue("amq.topic_1", QueueSettings(), owner), Queue)


def test_an_exclusive_queue_is_locked_for_others_until_its_owner_ends() -> None:
    world = World()
    host = world.host
    mine, theirs = world.owner(), world.owner()
    world.queue("q", mine, exclusive=True)
    settings = QueueSettings(exclusive=True)
    assert isinstance(host.declare_queue("q", settings, mine), Queue)
    for answer in (
        host.declare_queue("q", settings, theirs),
        host.declare_queue("q", settings, theirs, passive=True),
        host.delete_queue("q", theirs),
        host.purge_queue("q", theirs),
        host.bind("q", "amq.topic", "k", {}, b"", theirs),
    ):
        assert condition(answer) == Condition.RESOURCE_LOCKED
    host.release_owner(mine)
    assert isinstance(host.declare_queue("q", settings, theirs), Queue)
    assert condition(host.declare_queue("q", settings, mine)) == Condition.RESOURCE_LOCKED


def test_a_shared_queue_cannot_be_made_exclusive() -> None:
    world = World()
    world.queue("q")
    answer = world.host.declare_queue("q", QueueSettings(exclusive=True), world.owner())
    assert condition(answer) == Condition.RESOURCE_LOCKED


def test_an_exclusive_auto_delete_queue_goes_with_its_owner_not_with_its_subscription() -> None:
    world = World()
    owner = world.owner()
    world.queue("q", owner, exclusive=True, auto_delete=True)
    _, subscription = world.subscribe("q", owner)
    subscription.cancel()
    assert world.host.queue("q") is not None
    world.host.release_owner(owner)
    assert world.host.queue("q") is None
    world.check()


def test_an_auto_delete_queue_goes_with_its_last_subscription() -> None:
    world = World()
    world.queue("q", auto_delete=True)
    _, first = world.subscribe()
    owner = world.owner()
    world.subscribe("q", owner)
    first.cancel()
    assert world.host.queue("q") is not None
    world.host.release_owner(owner)
    assert world.host.queue("q") is None


def test_a_delayed_auto_delete_waits_and_is_called_off_by_a_new_subscription() -> None:
    world = World()
    world.queue("q", auto_delete=True, auto_delete_timeout_ms=1000)
    _, subscription = world.subscribe()
    subscription.cancel()
    world.pass_time(900)
    _, subscription = world.subscribe()
    world.pass_time(5000)
    assert world.host.queue("q") is not None
    subscription.cancel()
    world.pass_time(900)
    assert world.host.queue("q") is not None
    world.pass_time(200)
    assert world.host.queue("q") is None


def test_delete_if_unused_and_if_empty_are_respected() -> None:
    world = World()
    world.queue()
    host = world.host
    _, subscription = world.subscribe(credit=0)
    assert condition(host.delete_queue("q", if_unused=True)) == Condition.PRECONDITION_FAILED
    subscription.cancel()
    world.send(b"1")
    assert condition(host.delete_queue("q", if_empty=True)) == Condition.PRECONDITION_FAILED
    assert host.purge_queue("q") == 1
    assert host.delete_queue("q", if_empty=True, if_unused=True) is None
    assert condition(host.delete_queue("q")) == Condition.NOT_FOUND
    assert condition(host.delete_queue("")) == Condition.INVALID_ARGUMENT
    world.check()


def test_bind_ignores_duplicates_and_names_what_is_missing() -> None:
    world = World()
    world.queue()
    host = world.host
    bind(world, "q", "amq.direct", "k")
    bind(world, "q", "amq.direct", "k")
    exchange = host.exchange("amq.direct")
    assert exchange is not None and len(exchange.bindings) == 1
    assert condition(host.bind("q", "", "k", {}, b"")) == Condition.INVALID_ARGUMENT
    assert condition(host.bind("", "amq.direct", "k", {}, b"")) == Condition.INVALID_ARGUMENT
    assert condition(host.bind("none", "amq.direct", "k", {}, b"")) == Condition.NOT_FOUND
    assert condition(host.bind("q", "none", "k", {}, b"")) == Condition.NOT_FOUND
    wrong = {"x-match": Tagged(Kind.STRING, "most")}
    assert condition(host.bind("q", "amq.match", "k", wrong, b"")) == Condition.INVALID_ARGUMENT
    assert host.unbind("q", "amq.direct", "k") is None
    assert condition(host.unbind("q", "amq.direct", "k")) == Condition.NOT_FOUND


def test_limits_on_names_queues_exchanges_and_bindings_are_kept() -> None:
    world = World(limits=BridgeLimits(queues_max=1, exchanges_max=9, bindings_max=1, key_max=3))
    host = world.host
    world.queue()
    limit = Condition.RESOURCE_LIMIT_EXCEEDED
    assert condition(host.declare_queue("p", QueueSettings(), world.owner())) == limit
    assert condition(host.declare_exchange("x", "direct")) == Condition.NONE
    assert condition(host.declare_exchange("y", "direct")) == limit
    long = host.bind("q", "x", "four", {}, b"")
    assert condition(long) == Condition.INVALID_ARGUMENT
    bind(world, "q", "x", "k")
    assert condition(host.bind("q", "x", "l", {}, b"")) == limit


def test_bound_tests_each_part_that_is_given() -> None:
    world = World()
    world.queue()
    world.queue("p")
    host = world.host
    arguments = {"a": Tagged(Kind.STRING, "b")}
    host.bind("q", "amq.match", "k", arguments, b"")
    assert host.bound("none", "nobody") == Bound(exchange_not_found=True, queue_not_found=True)
    assert host.bound("amq.match", "nobody") == Bound(queue_not_found=True)
    assert host.bound("amq.match", "p") == Bound(queue_not_matched=True)
    assert host.bound("amq.match", "q", "l") == Bound(key_not_matched=True)
    assert host.bound("amq.match", "q", "k", {}) == Bound(args_not_matched=True)
    assert host.bound("amq.match", "q", "k", arguments) == Bound()
    assert host.bound("amq.match", None, "k") == Bound()
    assert host.bound("amq.topic") == Bound(queue_not_matched=True)
    assert host.bound("", "q", "q") == Bound()
    assert host.bound("", "q", "p") == Bound(key_not_matched=True)


def test_one_copy_a_queue_however_many_bindings_match() -> None:
    world = World()
    world.queue()
    for key in ("animals.*", "animals.dogs", "#"):
        bind(world, "q", "amq.topic", key)
    for key in ("1", "2"):
        bind(world, "q", "amq.fanout", key)
    world.host.publish(world.message(exchange="amq.topic", key="animals.dogs"), None, 0)
    world.host.publish(world.message(exchange="amq.fanout"), None, 0)
    assert world.depth() == 2
    world.host.unbind("q", "amq.fanout", "1")
    world.host.publish(world.message(exchange="amq.fanout"), None, 0)
    assert world.depth() == 3
    world.check()


def test_an_unroutable_message_goes_to_the_alternate_exchange_once() -> None:
    world = World()
    host = world.host
    host.declare_exchange("second", "fanout")
    host.declare_exchange("first", "direct", alternate_exchange="second")
    world.queue()
    message = world.message(exchange="first", key="k")
    assert host.publish(message, None, 0).status == PublishStatus.UNROUTABLE
    bind(world, "q", "second")
    message = world.message(exchange="first", key="k")
    assert host.publish(message, None, 0).status == PublishStatus.DONE
    for flag in (Flag.TELL_UNROUTABLE, Flag.DISCARD_UNROUTABLE):
        message = world.message(exchange="first", key="k", flags=flag)
        assert host.publish(message, None, 0).status == PublishStatus.UNROUTABLE
    assert world.depth() == 1
    counts = world.bridge.counts
    assert (counts.unroutable, counts.rerouted) == (3, 2)
    world.check()


def test_a_publish_is_refused_as_a_whole_when_one_queue_is_full() -> None:
    world = World()
    world.queue("small", max_count=1)
    world.queue("thin", max_size=10)
    world.queue("wide")
    for queue in ("wide", "small", "thin"):
        bind(world, queue, "amq.fanout")
    host = world.host
    large = host.publish(world.message(b"x" * 11, exchange="amq.fanout"), None, 0)
    assert large.status == PublishStatus.REFUSED
    first = host.publish(world.message(exchange="amq.fanout"), None, 0)
    assert first.status == PublishStatus.DONE
    second = host.publish(world.message(exchange="amq.fanout"), None, 0)
    assert second.refusal is not None
    assert second.refusal.condition == Condition.RESOURCE_LIMIT_EXCEEDED
    assert [world.depth(queue) for queue in ("small", "thin", "wide")] == [1, 1, 1]
    unknown = host.publish(world.message(exchange="none"), None, 0)
    assert unknown.refusal is not None and unknown.refusal.condition == Condition.NOT_FOUND
    world.check()


def test_an_immediate_message_needs_a_consumer_that_is_ready() -> None:
    world = World()
    world.queue()
    _, subscription = world.subscribe(credit=0)
    message = world.message(key="q", flags=Flag.IMMEDIATE)
    answer = world.host.publish(message, None, 0)
    assert answer.status == PublishStatus.UNROUTABLE
    assert answer.refusal is not None and answer.refusal.condition == Condition.IMMEDIATE
    subscription.grant(1)
    message = world.message(key="q", flags=Flag.IMMEDIATE)
    assert world.host.publish(message, None, 0).status == PublishStatus.DONE
    world.check()


def test_an_immediate_message_needs_a_consumer_that_wants_it() -> None:
    world = World()
    world.queue()
    selector = read_selector("n = 1")
    assert isinstance(selector, Selector)
    world.subscribe(filter=selector)
    for number, status in ((2, PublishStatus.UNROUTABLE), (1, PublishStatus.DONE)):
        message = numbered(world, number, key="q", flags=Flag.IMMEDIATE)
        assert world.host.publish(message, None, 0).status == status
    world.check()


def test_a_queue_and_an_exchange_of_one_name_keep_it_in_the_audit_log() -> None:
    world = World()
    world.host.declare_exchange("q", "fanout")
    world.queue("q")
    world.host.delete_exchange("q")
    world.turn()
    world.send(b"1")
    world.turn()
    assert [node for node, _, _ in world.check().held] == ["q"]


# Selectors of bindings.


def selecting(text: str) -> dict[str, Tagged]:
    return {"x-filter-jms-selector": Tagged(Kind.STRING, text)}


def numbered(world: World, number: int, **more: object) -> Message:
    return world.message(headers={"n": Tagged(Kind.INTEGER, number)}, **more)


@pytest.mark.parametrize("exchange", ["amq.direct", "amq.topic", "amq.fanout", "amq.match"])
def test_a_binding_with_a_selector_lets_in_what_it_accepts(exchange: str) -> None:
    world = World()
    for queue, text in (("one", "n = 1"), ("also", "n = 1"), ("two", "n = 2"), ("all", "")):
        world.queue(queue)
        assert world.host.bind(queue, exchange, "k", selecting(text), b"") is None
    for number in (1, 2, 3):
        world.host.publish(numbered(world, number, exchange=exchange, key="k"), None, 0)
    depths = {name: queue.depth for name, queue in world.host.topology.queues.items()}
    assert depths == {"one": 1, "also": 1, "two": 1, "all": 3}
    for queue in ("one", "also", "two"):
        assert world.host.unbind(queue, exchange, "k") is None
    world.host.publish(numbered(world, 1, exchange=exchange, key="k"), None, 0)
    assert {queue.depth for queue in world.host.topology.queues.values()} == {1, 4}
    world.check()


def test_a_queue_gets_one_copy_whichever_of_its_selectors_accept() -> None:
    world = World()
    world.queue()
    for key, text in (("a.#", "n > 0"), ("#", "n > 1"), ("a.b", "")):
        world.host.bind("q", "amq.topic", key, selecting(text), b"")
    for number, key in ((2, "a.b"), (0, "a.b"), (2, "x"), (1, "x"), (0, "a.c")):
        world.host.publish(numbered(world, number, exchange="amq.topic", key=key), None, 0)
    queue = world.host.queue("q")
    assert queue is not None and queue.depth == 3
    world.check()


def test_a_binding_made_again_with_another_selector_selects_by_that() -> None:
    world = World()
    world.queue(durable=True)
    for text, depth in (("n = 1", 1), ("n = 2", 1), ("n = 1", 2), ("", 3), ("n = 2", 3)):
        assert world.host.bind("q", "amq.fanout", "k", selecting(text), b"") is None
        world.host.publish(numbered(world, 1, exchange="amq.fanout"), None, 0)
        queue = world.host.queue("q")
        assert queue is not None and queue.depth == depth
    world.turn()
    world.crash()
    world.host.publish(numbered(world, 1, exchange="amq.fanout"), None, 0)
    world.host.publish(numbered(world, 2, exchange="amq.fanout"), None, 0)
    queue = world.host.queue("q")
    assert queue is not None and queue.depth == 1


def test_a_selector_that_is_none_refuses_the_binding() -> None:
    world = World()
    world.queue()
    answer = world.host.bind("q", "amq.fanout", "k", selecting("n ="), b"")
    assert condition(answer) == Condition.INVALID_ARGUMENT


def test_an_exclusive_queue_may_keep_out_what_its_owner_publishes() -> None:
    world = World()
    owner = world.owner()
    settings = QueueSettings(durable=True, exclusive=True, no_local=True)
    queue = world.host.declare_queue("q", settings, owner)
    assert isinstance(queue, Queue)
    bind_as = world.host.bind("q", "amq.fanout", "", {}, b"", owner)
    assert bind_as is None
    own = world.message(exchange="amq.fanout")
    own.publisher = owner.connection_id()
    other = world.message(exchange="amq.fanout")
    other.publisher = own.publisher + 1
    assert world.host.publish(own, None, 0).status == PublishStatus.UNROUTABLE
    assert world.host.publish(other, None, 0).status == PublishStatus.DONE
    assert queue.depth == 1
    world.turn()
    world.crash()
    again = world.host.queue("q")
    assert again is not None and again.settings.no_local
    assert world.host.topology.no_local == 1
    world.host.delete_queue("q")
    assert world.host.topology.no_local == 0
