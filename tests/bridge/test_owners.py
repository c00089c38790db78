"""What ends with its owner, and with its last user."""

from support.bridge_world import World, condition

from gateway.bridge.queues.queue import Queue
from gateway.bridge.seams import QueueSettings
from gateway.message import Condition


def test_an_exclusive_queue_is_locked_for_others_until_its_owner_ends() -> None:
    world = World()
    host = world.host
    mine, theirs = world.owner(), world.owner()
    world.queue("q", mine, exclusive=True)
    settings = QueueSettings(exclusive=True)
    assert isinstance(host.declaring.declare_queue("q", settings, mine), Queue)
    for answer in (
        host.declaring.declare_queue("q", settings, theirs),
        host.declaring.declare_queue("q", settings, theirs, passive=True),
        host.declaring.delete_queue("q", theirs),
        host.declaring.purge_queue("q", theirs),
        host.bindings.bind("q", "amq.topic", "k", {}, b"", theirs),
    ):
        assert condition(answer) == Condition.RESOURCE_LOCKED
    host.owners.release(mine)
    assert isinstance(host.declaring.declare_queue("q", settings, theirs), Queue)
    assert condition(host.declaring.declare_queue("q", settings, mine)) == Condition.RESOURCE_LOCKED


def test_an_exclusive_auto_delete_queue_goes_with_its_owner_not_with_its_subscription() -> None:
    world = World()
    owner = world.owner()
    world.queue("q", owner, exclusive=True, auto_delete=True)
    _, subscription = world.subscribe("q", owner)
    subscription.cancel()
    assert world.host.topology.find_queue("q") is not None
    world.host.owners.release(owner)
    assert world.host.topology.find_queue("q") is None
    world.check()


def test_an_auto_delete_queue_goes_with_its_last_subscription() -> None:
    world = World()
    world.queue("q", auto_delete=True)
    _, first = world.subscribe()
    owner = world.owner()
    world.subscribe("q", owner)
    first.cancel()
    assert world.host.topology.find_queue("q") is not None
    world.host.owners.release(owner)
    assert world.host.topology.find_queue("q") is None


def test_a_delayed_auto_delete_waits_and_is_called_off_by_a_new_subscription() -> None:
    world = World()
    world.queue("q", auto_delete=True, auto_delete_timeout_ms=1000)
    _, subscription = world.subscribe()
    subscription.cancel()
    world.pass_time(900)
    _, subscription = world.subscribe()
    world.pass_time(5000)
    assert world.host.topology.find_queue("q") is not None
    subscription.cancel()
    world.pass_time(900)
    assert world.host.topology.find_queue("q") is not None
    world.pass_time(200)
    assert world.host.topology.find_queue("q") is None


def test_a_delayed_auto_delete_counts_from_the_last_use() -> None:
    world = World()
    world.queue("q", auto_delete=True, auto_delete_timeout_ms=1000)
    for _ in range(2):
        _, subscription = world.subscribe()
        subscription.cancel()
        world.pass_time(900)
    assert world.host.topology.find_queue("q") is not None
    world.pass_time(200)
    assert world.host.topology.find_queue("q") is None


def test_a_queue_that_was_deleted_before_its_time_is_not_deleted_again() -> None:
    world = World()
    world.queue("q", auto_delete=True, auto_delete_timeout_ms=1000)
    _, subscription = world.subscribe()
    subscription.cancel()
    world.host.declaring.delete_queue("q")
    world.queue("q")
    world.pass_time(5000)
    assert world.host.topology.find_queue("q") is not None
    world.check()
