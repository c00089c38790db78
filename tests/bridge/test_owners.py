"""What ends with its owner, and with its last user."""

from support.bridge_world import World, condition
from support.work import units_of

from gateway.bridge.queues.discipline import Life
from gateway.bridge.queues.queue import Queue
from gateway.bridge.seams import QueueSettings
from gateway.message import ACCEPTED, Condition
from gateway.wire.work import COMMAND, NODE, SHARE


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


def test_the_queues_of_an_owner_go_over_several_turns_unless_somebody_asks_for_one() -> None:
    world = World()
    host = world.host
    gone, other = world.owner(), world.owner()
    many = 3 * SHARE // COMMAND
    settings = QueueSettings(exclusive=True, auto_delete=True)
    for number in range(many):
        world.queue(f"q{number}", gone, exclusive=True, auto_delete=True)
    world.queue("kept", gone, exclusive=True)
    world.turn()
    assert units_of(lambda: host.owners.release(gone)) <= SHARE + NODE + COMMAND
    left = len(host.topology.queues)
    assert many // 2 < left < many
    assert isinstance(host.declaring.declare_queue("q0", settings, other), Queue)
    assert condition(host.declaring.declare_queue("q1", settings, gone, passive=True)) == (
        Condition.NOT_FOUND
    )
    assert isinstance(host.declaring.declare_queue("kept", QueueSettings(), other), Queue)
    assert world.bridge.end_turn(world.now_ms)  # it takes another turn
    world.turn()
    assert sorted(host.topology.queues) == ["kept", "q0"]
    assert host.topology.queues["q0"].owner is other
    world.check()


def test_a_queue_of_an_owner_that_has_ended_is_deleted_by_somebody_else_first() -> None:
    world = World()
    gone = world.owner()
    for number in range(3 * SHARE // COMMAND):
        world.queue(f"q{number}", gone, exclusive=True, auto_delete=True)
    world.host.owners.release(gone)
    queue = world.host.topology.find_queue("q0")
    assert queue is not None
    world.host.owners.delete(queue)
    world.turn()
    assert world.host.topology.queues == {}
    world.check()


def there(world: World) -> bool:
    return world.host.topology.find_queue("q") is not None


def test_a_queue_that_is_to_be_empty_goes_with_its_last_copy_and_its_last_subscription() -> None:
    world = World()
    world.queue(auto_delete=True, life=Life.UNUSED_AND_EMPTY)
    world.send(b"1", b"2", b"3")
    consumer, subscription = world.subscribe()
    world.turn()
    one, two, three = consumer.take()
    world.host.settlement.settle(one, ACCEPTED)
    subscription.cancel()
    world.host.settlement.settle(two, ACCEPTED)
    world.turn()
    assert there(world)
    world.host.settlement.settle(three, ACCEPTED)
    assert there(world)  # whoever took it out may not be done with the queue
    world.turn()
    assert not there(world)
    world.check()


def test_a_queue_that_is_to_be_empty_is_not_over_while_it_is_somebodys() -> None:
    world = World()
    owner = world.owner()
    world.queue("q", owner, exclusive=True, auto_delete=True, life=Life.UNUSED_AND_EMPTY)
    world.send(b"1")
    world.host.declaring.purge_queue("q", owner)
    world.send(b"2")
    world.turn()
    world.host.owners.release(owner)
    assert there(world)
    world.host.declaring.purge_queue("q")
    world.turn()
    assert not there(world)
    world.check()


def test_what_comes_in_before_the_delay_is_over_keeps_a_queue_that_is_to_be_empty() -> None:
    world = World()
    world.queue(auto_delete=True, auto_delete_timeout_ms=1000, life=Life.UNUSED_AND_EMPTY)
    world.send(b"1", ttl_ms=10)
    world.pass_time(20)
    world.send(b"2")
    world.pass_time(2000)
    assert there(world)
    world.host.declaring.purge_queue("q")
    world.turn()
    world.pass_time(900)
    assert there(world)
    world.pass_time(200)
    assert not there(world)
    world.check()


def test_a_queue_that_closes_goes_with_its_last_subscription_whoever_has_it() -> None:
    world = World()
    owner = world.owner()
    world.queue("q", owner, exclusive=True, auto_delete=True, life=Life.CLOSED)
    world.send(b"1")
    _, first = world.subscribe("q", owner)
    _, second = world.subscribe("q", owner, acquire=False)
    first.cancel()
    assert there(world)
    second.cancel()
    assert not there(world)
    world.check()


def test_a_queue_that_is_to_be_empty_is_so_after_a_crash() -> None:
    world = World()
    world.queue(durable=True, auto_delete=True, life=Life.UNUSED_AND_EMPTY)
    world.send(b"1", durable=True)
    world.turn()
    world.crash()
    assert there(world)
    consumer, subscription = world.subscribe()
    world.turn()
    subscription.cancel()
    assert there(world)
    world.host.settlement.settle(consumer.take()[0], ACCEPTED)
    world.turn()
    assert not there(world)
    world.check()
