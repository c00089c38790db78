"""Durable subscriptions: whose they are, what they are called, and what was made before them."""

import pytest
from support.bridge_world import Consumer, Session, World

from gateway.audit.schema import Kind as AuditKind
from gateway.audit.schema import Reason
from gateway.bridge.durable.subscriptions import DurableSubscriptions
from gateway.bridge.durable.topology_rows import QueueRow, queue_row
from gateway.bridge.queues.queue import Queue
from gateway.bridge.seams import QueueSettings, SubscribeOptions, Subscriber
from gateway.message import Condition, Kind, Refusal
from gateway.wire.tagged import Tagged

ANN = Subscriber("ann", "app", "sub")
EVE = Session(9, user="eve")


def subscriptions(world: World) -> DurableSubscriptions:
    return world.host.durable_subscriptions


def made(world: World, subscriber: Subscriber = ANN) -> Queue:
    name = subscriptions(world).free_name(subscriber)
    queue = subscriptions(world).make(name, subscriber, Session(1, user=subscriber.user))
    assert isinstance(queue, Queue)
    return queue


def old(world: World, name: str = "app.sub", **settings: object) -> Queue:
    """A queue bound to a topic, as the store of an older version brings it back."""
    declared = QueueSettings(durable=True, unmarked=True, **settings)  # type: ignore[arg-type]
    assert isinstance(world.host.declaring.declare_queue(name, declared, Session(1)), Queue)
    assert world.host.bindings.bind(name, "amq.topic", "news", {}, b"") is None
    world.turn()
    world.crash()
    queue = world.host.topology.find_queue(name)
    assert queue is not None
    return queue


def topical(world: World, body: bytes) -> None:
    message = world.message(body, exchange="amq.topic", key="news", durable=True)
    world.host.publishing.publish(message, None, 0)


def test_parts_that_read_alike_together_make_different_subscribers() -> None:
    keys = {
        Subscriber(*parts).key()
        for parts in [
            ("a", "b", "c"),
            ("ab", "", "c"),
            ("", "ab", "c"),
            ("a", "bc", ""),
            ("", "", "abc"),
        ]
    }
    assert len(keys) == 5


def test_a_subscription_is_found_by_user_container_and_link_also_after_a_restart() -> None:
    world = World()
    name = made(world).name
    assert name == "subscription.ann.app.sub"
    world.turn()
    for again in (world.crash, world.restart):
        again()
        found = subscriptions(world).find(ANN)
        assert found is not None
        assert found.name == name
        assert subscriptions(world).find(Subscriber("", "app", "sub")) is None


def test_a_deleted_subscription_is_not_found() -> None:
    world = World()
    world.host.declaring.delete_queue(made(world).name)
    assert subscriptions(world).find(ANN) is None
    world.turn()
    world.crash()
    assert subscriptions(world).find(ANN) is None


def test_a_name_that_is_taken_is_numbered_and_a_long_one_is_cut() -> None:
    world = World()
    world.queue("subscription.ann.app.sub")
    assert made(world).name == "subscription.ann.app.sub~2"
    assert made(world, Subscriber("ann", "app", "a/b")).name == "subscription.ann.app.a_b"
    assert made(world, Subscriber("ann", "app", "a_b")).name == "subscription.ann.app.a_b~2"


def test_a_subscription_hides_no_exchange() -> None:
    world = World()
    world.host.declaring.declare_exchange("subscription.ann.app.sub", "fanout")
    assert made(world).name == "subscription.ann.app.sub~2"
    long = made(world, Subscriber("", "x" * 300, "sub")).name
    assert len(long) < 256
    assert long.startswith("subscription.anonymous.xxx")


def test_no_other_user_reaches_a_subscription_by_its_name() -> None:
    world = World()
    name = made(world).name
    host = world.host
    refusals = [
        host.declaring.declare_queue(name, QueueSettings(), EVE, passive=True),
        host.declaring.purge_queue(name, EVE),
        host.declaring.delete_queue(name, EVE),
        host.bindings.bind(name, "amq.topic", "a", {}, b"", EVE),
        host.bindings.unbind(name, "amq.topic", "a", EVE),
        host.subscribing.subscribe(name, Consumer(), EVE, SubscribeOptions()),
    ]
    for refusal in refusals:
        assert isinstance(refusal, Refusal)
        assert refusal.condition == Condition.UNAUTHORIZED_ACCESS
    assert host.declaring.purge_queue(name, Session(3, user="ann")) == 0


def test_nothing_is_published_to_a_subscription_by_its_name() -> None:
    world = World()
    queue = made(world)
    world.send(b"1", key=queue.name)
    assert queue.depth == 0
    world.host.bindings.bind(queue.name, "amq.topic", "news", {}, b"")
    topical(world, b"2")
    assert queue.depth == 1
    world.turn()
    world.check()


def test_an_old_queue_is_for_who_asks_for_what_it_is_bound_to() -> None:
    world = World()
    queue = old(world)
    find = subscriptions(world).old
    assert find(ANN, "amq.topic", "news", {}) is queue
    assert find(ANN, "amq.topic", "other", {}) is None
    assert find(ANN, "amq.fanout", "news", {}) is None
    assert find(ANN, "amq.topic", "news", {"x": Tagged(Kind.STRING, "y")}) is None
    assert find(Subscriber("ann", "app", "other"), "amq.topic", "news", {}) is None
    world.host.bindings.bind(queue.name, "amq.fanout", "", {}, b"")
    assert find(ANN, "amq.topic", "news", {}) is None


@pytest.mark.parametrize(
    "settings", [{"max_count": 1}, {"arguments": b"x"}, {"alternate_exchange": "amq.fanout"}]
)
def test_a_queue_that_was_declared_otherwise_is_never_a_subscription(
    settings: dict[str, object],
) -> None:
    world = World()
    old(world, **settings)
    assert subscriptions(world).old(ANN, "amq.topic", "news", {}) is None
    refusal = subscriptions(world).assign("app.sub", ANN)
    assert refusal is not None
    assert refusal.condition == Condition.NOT_ALLOWED


def test_a_queue_of_this_version_is_never_a_subscription() -> None:
    world = World()
    world.queue("app.sub", durable=True)
    world.host.bindings.bind("app.sub", "amq.topic", "news", {}, b"")
    world.turn()
    world.crash()
    assert subscriptions(world).old(ANN, "amq.topic", "news", {}) is None
    assert subscriptions(world).assign("app.sub", ANN) is not None


def test_a_queue_that_somebody_reads_is_not_taken() -> None:
    world = World()
    old(world)
    world.subscribe("app.sub")
    assert subscriptions(world).old(ANN, "amq.topic", "news", {}) is None
    refusal = subscriptions(world).assign("app.sub", ANN)
    assert refusal is not None
    assert refusal.condition == Condition.RESOURCE_LOCKED


def test_an_old_queue_that_was_given_stays_given_and_the_log_says_so() -> None:
    world = World()
    queue = old(world)
    topical(world, b"kept")
    subscriptions(world).give(queue, ANN)
    world.turn()
    (record,) = [each for each in world.blocks.raw() if each["reason"] == int(Reason.ASSIGNED)]
    assert (record["kind"], record["node"]) == (int(AuditKind.TOPOLOGY), "app.sub")
    assert record["peer"] == "user 'ann', container 'app', link 'sub'; before: nobody"
    world.crash()
    found = subscriptions(world).find(ANN)
    assert found is not None
    assert (found.name, found.depth) == ("app.sub", 1)
    refused = world.host.subscribing.subscribe("app.sub", Consumer(), EVE, SubscribeOptions())
    assert isinstance(refused, Refusal)
    assert subscriptions(world).old(ANN, "amq.topic", "news", {}) is None


def test_an_operator_says_whose_a_subscription_is() -> None:
    world = World()
    old(world)
    assert subscriptions(world).assign("app.sub", ANN) is None
    assert subscriptions(world).find(ANN) is world.host.topology.find_queue("app.sub")
    other = Subscriber("bob", "app", "sub")
    assert subscriptions(world).assign("app.sub", other) is None
    assert subscriptions(world).find(ANN) is None
    made(world)
    refusal = subscriptions(world).assign("app.sub", ANN)
    assert refusal is not None
    assert refusal.condition == Condition.RESOURCE_LOCKED
    missing = subscriptions(world).assign("nowhere", ANN)
    assert missing is not None
    assert missing.condition == Condition.NOT_FOUND


# What rows have had since then: a subscriber, its maker, its upstream, and whether it is unmarked.
BEHIND_OLD = 4 + 4 + 4 + 1


def test_a_row_says_whose_queue_it_is_and_an_old_row_that_it_does_not() -> None:
    for settings in (QueueSettings(durable=True), QueueSettings(durable=True, subscriber=ANN)):
        read = queue_row(QueueRow("main", "q", 1, settings).encoded())
        assert (read.settings.subscriber, read.settings.unmarked) == (settings.subscriber, False)
    made = QueueSettings(durable=True)
    made.maker = "ann"
    assert queue_row(QueueRow("main", "q", 1, made).encoded()).settings.maker == "ann"
    old = queue_row(QueueRow("main", "q", 1, QueueSettings(durable=True)).encoded()[:-BEHIND_OLD])
    assert old.settings.unmarked
    assert queue_row(old.encoded()).settings.unmarked
