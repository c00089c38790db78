"""What the bridge waits for, as the log of a stop says it."""

from support.bridge_world import Producer, World
from support.remotes import FakeRules

from gateway.bridge.limits import BridgeLimits
from gateway.errors import StoreError
from gateway.message import ACCEPTED


def test_messages_wait_for_their_upstream_whether_or_not_their_clients_have_left() -> None:
    rules = FakeRules()
    rules.add("far", "there")
    world = World(rules=rules)
    assert world.bridge.awaited() == []
    world.host.publishing.publish(world.message(b"m", key="far"), Producer(), 1)
    world.turn()
    assert world.bridge.awaited() == ["1 message waits for upstream broker"]
    world.host.publishing.publish(world.message(b"m", key="there"), Producer(), 2)
    world.turn()
    assert world.bridge.awaited() == ["2 messages wait for upstream broker"]
    for name in ("far", "there"):
        world.host.settlement.settle(rules.remotes["broker"].relays[name].deliveries[0], ACCEPTED)
    world.turn()
    assert world.bridge.idle()
    assert world.bridge.awaited() == []


def test_publishes_wait_for_the_disk_and_for_room() -> None:
    world = World(limits=BridgeLimits(messages_high=0, messages_low=0))
    world.auto_commit = False
    world.queue("q", durable=True)
    for token in (1, 2):
        message = world.message(b"m", key="q", durable=True)
        world.host.publishing.publish(message, Producer(), token)
    world.turn()
    assert world.bridge.awaited() == [
        "2 publishes wait for room in the queues",
        "something waits for the disk",
    ]
    assert not world.bridge.idle(clients=False)
    for error, where in (
        (StoreError("no room", full=True), "room on the disk"),
        (StoreError("no room", full=True, on_reserve=True), "room on the disk"),
        (StoreError("no answer", cause="slow"), "the disk, which refuses"),
    ):
        world.bridge.on_store_failed(error)
        assert world.bridge.awaited()[0] == f"2 publishes wait for {where}"


def test_without_clients_nobody_waits_for_room() -> None:
    world = World(limits=BridgeLimits(messages_high=0, messages_low=0))
    world.queue("q", durable=True)
    world.host.publishing.publish(world.message(b"m", key="q", durable=True), Producer(), 1)
    world.turn()
    assert world.bridge.awaited() == ["1 publish waits for room in the queues"]
    assert not world.bridge.idle()
    assert world.bridge.idle(clients=False)


def test_what_a_transaction_holds_waits_for_an_upstream_that_is_not_in_a_queue_yet() -> None:
    rules = FakeRules()
    rules.add("far")
    world = World(rules=rules)
    transacting = world.host.transacting
    transaction = transacting.begin(1)
    transacting.publish(transaction, world.message(b"m", key="far"), Producer(), 1)
    assert not world.bridge.idle()
    assert world.bridge.awaited() == ["1 message waits for an upstream"]
