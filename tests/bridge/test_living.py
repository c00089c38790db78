"""A walk over every queue, while queues come and go."""

from support.bridge_world import World

from gateway.message import ACCEPTED


def test_every_queue_is_met_once_some_at_a_time() -> None:
    world = World()
    for number in range(25):
        world.queue(f"q{number}")
        world.subscribe(f"q{number}")
    walk = world.bridge.living_queues()
    found: list[str] = []
    looks = 0
    while not walk.done:
        some = walk.some(10)
        assert len(some) <= 10
        found += [queue.name for queue in some]
        looks += 1
    assert sorted(found) == sorted(f"q{number}" for number in range(25))
    assert looks == 6  # three at subscriptions, three at queues


def test_a_deleted_queue_is_met_as_long_as_a_copy_is_unsettled() -> None:
    world = World()
    world.queue("gone")
    consumer, _ = world.subscribe("gone", settled=False)
    world.send(b"x", key="gone")
    world.turn()
    world.host.declaring.delete_queue("gone")
    world.queue("q")
    walk = world.bridge.living_queues()
    assert [queue.name for queue in walk.rest()] == ["q", "gone"]
    (delivery,) = consumer.take()
    world.host.settlement.settle(delivery, ACCEPTED)
    world.turn()
    assert [queue.name for queue in world.bridge.living_queues().rest()] == ["q"]
    world.check()


def test_what_is_deleted_between_is_not_met_and_never_twice() -> None:
    world = World()
    for name in ("a", "b"):
        world.queue(name)
        world.subscribe(name, settled=False)
        world.send(b"x", key=name)
    world.turn()
    walk = world.bridge.living_queues()
    assert walk.some(10) == []
    assert [queue.name for queue in walk.some(1)] == ["a"]
    world.host.declaring.delete_queue("a", world.owner())
    world.host.declaring.delete_queue("b", world.owner())
    assert walk.rest() == []
    world.check()
