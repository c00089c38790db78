"""Rings: what goes when others come, where to, and how much of it in one turn."""

from support.bridge_world import World, bind, condition
from support.work import units_of

from gateway.audit.schema import Kind
from gateway.bridge.queues.discipline import Discipline, Policy
from gateway.bridge.seams import PublishStatus
from gateway.bridge.spread.displacing import HOPS
from gateway.bridge.spread.entering import FEW
from gateway.message import ACCEPTED, Condition
from gateway.wire.work import SHARE, VERB

RING = Discipline(policy=Policy.RING)
STRICT = Discipline(policy=Policy.RING_STRICT)


def refused(world: World, body: bytes = b"x") -> Condition:
    message = world.message(body, key="q")
    answer = world.host.publishing.publish(message, None, 0)
    return condition(answer.refusal) if answer.status == PublishStatus.REFUSED else Condition.NONE


def browsed(world: World, queue: str = "q") -> list[bytes]:
    browser, subscription = world.subscribe(queue, acquire=False)
    world.turn()
    subscription.cancel()
    return browser.bodies()


def with_alternate(world: World, queue: str, *destinations: str) -> str:
    """An exchange that leads to these; `queue` has it as its alternate."""
    name = f"alternate of {queue}"
    world.host.declaring.declare_exchange(name, "fanout")
    for destination in destinations:
        bind(world, destination, name)
    return name


def test_the_oldest_goes_when_there_is_no_room():
    world = World()
    world.queue(max_count=2, discipline=RING)
    world.send(b"1", b"2", b"3", b"4")
    assert browsed(world) == [b"3", b"4"]
    assert world.check().kinds[Kind.EVICTED] == 2


def test_as_many_go_as_a_large_one_takes_the_room_of():
    world = World()
    world.queue(max_size=10, discipline=RING)
    world.send(b"aaaa", b"bbbb", b"cc", b"ddddddd")
    assert browsed(world) == [b"cc", b"ddddddd"]
    assert refused(world, b"e" * 11) == Condition.RESOURCE_LIMIT_EXCEEDED
    assert browsed(world) == [b"cc", b"ddddddd"]
    world.check()


def test_what_somebody_has_stays_and_the_next_one_goes():
    world = World()
    world.queue(max_count=2, discipline=RING)
    world.send(b"1", b"2")
    consumer, _ = world.subscribe(credit=1)
    world.turn()
    world.send(b"3")
    assert browsed(world) == [b"3"]
    world.host.settlement.settle(consumer.take()[0], ACCEPTED)
    world.check()


def test_where_somebody_has_all_others_the_oldest_is_taken_back():
    world = World()
    world.queue("kept")
    alternate = with_alternate(world, "q", "kept")
    world.queue("q", max_count=2, alternate_exchange=alternate, discipline=RING)
    world.send(b"1", b"2")
    consumer, _ = world.subscribe(credit=2)
    world.turn()
    world.send(b"3")
    assert browsed(world) == [b"3"]
    first, second = consumer.take()
    assert not world.host.settlement.settle(first, ACCEPTED)
    assert world.host.settlement.settle(second, ACCEPTED)
    assert browsed(world, "kept") == [b"1"]
    world.check()


def test_of_priorities_what_somebody_has_goes_before_a_higher_newcomer_and_a_lower_one_goes():
    world = World()
    world.queue(max_count=1, discipline=Discipline(policy=Policy.RING, levels=10))

    def publish(priority: int) -> None:
        message = world.message(b"%d" % priority, key="q", priority=priority)
        world.host.publishing.publish(message, None, 0)

    publish(5)
    world.subscribe(credit=1)
    world.turn()
    publish(4)
    assert world.depth() == 1
    assert browsed(world) == []
    publish(5)
    assert browsed(world) == [b"5"]
    world.check()


def test_a_queue_that_destructs_itself_takes_all_to_its_alternate_and_ends_its_subscriptions():
    world = World()
    world.queue("kept")
    alternate = with_alternate(world, "q", "kept")
    itself = Discipline(policy=Policy.SELF_DESTRUCT)
    world.queue("q", max_count=2, alternate_exchange=alternate, discipline=itself)
    consumer, _ = world.subscribe(credit=1)
    world.send(b"1", b"2")
    world.turn()
    world.send(b"3")
    world.turn()
    assert world.host.topology.find_queue("q") is None
    assert consumer.cancelled == [Condition.RESOURCE_DELETED]
    assert browsed(world, "kept") == [b"1", b"2", b"3"]
    world.check()


def test_a_strict_ring_refuses_while_somebody_has_the_oldest():
    world = World()
    world.queue(max_count=2, discipline=STRICT)
    world.send(b"1", b"2", b"3")
    assert browsed(world) == [b"2", b"3"]
    consumer, _ = world.subscribe(credit=1)
    world.turn()
    assert refused(world) == Condition.RESOURCE_LIMIT_EXCEEDED
    world.host.settlement.settle(consumer.take()[0], ACCEPTED)
    assert refused(world) == Condition.NONE
    world.check()


def test_of_priorities_the_lowest_goes_be_it_the_newcomer():
    world = World()
    world.queue(max_count=2, discipline=Discipline(policy=Policy.RING, levels=10))
    for body, priority in ((b"5", 5), (b"4", 4), (b"3", 3), (b"4 again", 4), (b"9", 9)):
        message = world.message(body, key="q", priority=priority)
        world.host.publishing.publish(message, None, 0)
    assert browsed(world) == [b"9", b"5"]
    world.check()


def test_what_goes_is_sent_on_to_the_alternate_exchange():
    world = World()
    world.queue("kept")
    world.queue(
        "q", max_count=1, alternate_exchange=with_alternate(world, "q", "kept"), discipline=RING
    )
    world.send(b"1", b"2", b"3")
    assert (browsed(world, "kept"), browsed(world)) == ([b"1", b"2"], [b"3"])
    checked = world.check()
    assert (checked.kinds[Kind.DEAD_LETTERED], checked.kinds[Kind.EVICTED]) == (2, 0)


def test_rings_that_are_each_others_alternate_end_and_keep_the_newest():
    world = World()
    for name in ("one", "two"):
        world.host.declaring.declare_exchange(f"to {name}", "fanout")
    world.queue("one", max_count=2, alternate_exchange="to two", discipline=RING)
    world.queue("two", max_count=2, alternate_exchange="to one", discipline=RING)
    bind(world, "one", "to one")
    bind(world, "two", "to two")
    for number in range(9):
        world.send(b"%d" % number, key="one")
    assert (browsed(world, "two"), browsed(world, "one")) == ([b"5", b"6"], [b"7", b"8"])
    world.check()


def test_a_ring_that_is_its_own_alternate_keeps_the_newest():
    world = World()
    world.host.declaring.declare_exchange("back", "fanout")
    world.queue("q", max_count=2, alternate_exchange="back", discipline=RING)
    bind(world, "q", "back")
    world.send(b"1", b"2", b"3", b"4", b"5")
    assert browsed(world) == [b"4", b"5"]
    world.check()


def test_a_chain_of_rings_ends_where_a_message_has_displaced_enough():
    world = World()
    names = [f"ring {number}" for number in range(HOPS + 5)]
    for name, after in zip(names, [*names[1:], None], strict=True):
        world.host.declaring.declare_exchange(f"to {name}", "fanout")
        alternate = "" if after is None else f"to {after}"
        if after is not None:
            world.host.declaring.declare_exchange(alternate, "fanout")
        world.queue(name, max_count=1, alternate_exchange=alternate, discipline=RING)
        bind(world, name, f"to {name}")
    for number in range(len(names)):
        world.send(b"%d" % number, key=names[0])
    held = [world.depth(name) for name in names]
    assert held == [1] * (HOPS + 1) + [0] * 4
    assert world.check().kinds[Kind.EVICTED] == 4


def test_what_a_ring_had_not_let_go_when_the_process_ended_goes_when_it_is_back():
    world = World()
    world.queue(durable=True, max_size=20_000, discipline=RING)
    for _ in range(20_000):
        world.send(b"x", durable=True)
    world.turn()
    world.auto_commit = False
    world.send(b"y" * 19_000, durable=True)
    world.bridge.end_turn(world.now_ms)
    world.commit()
    world.auto_commit = True
    world.crash()
    world.turn()
    found = world.host.topology.find_queue("q")
    assert found is not None and found.octets <= 20_000
    assert browsed(world)[-1] == b"y" * 19_000
    world.check()


def test_one_large_one_that_takes_the_room_of_very_many_is_no_long_turn():
    world = World()
    world.queue(max_size=20_000, discipline=RING)
    for _ in range(20_000):
        world.send(b"x")
    message = world.message(b"y" * 20_000, key="q")
    spent = units_of(lambda: world.host.publishing.publish(message, None, 0))
    assert spent < 2 * SHARE < VERB
    assert world.depth() > 1
    world.turn()
    assert browsed(world) == [b"y" * 20_000]
    world.check()


def test_where_it_goes_to_very_many_queues_it_is_here_or_there_after_a_crash():
    world = World()
    names = [f"kept {number}" for number in range(2000)]
    for name in names:
        world.queue(name, durable=True)
    world.host.declaring.declare_exchange("many", "fanout", durable=True)
    for name in names:
        bind(world, name, "many")
    world.queue("q", durable=True, max_count=1, alternate_exchange="many", discipline=RING)
    world.send(b"1", durable=True)
    world.turn()
    world.auto_commit = False
    world.send(b"2", durable=True)
    for _ in range(3):
        world.bridge.end_turn(world.now_ms)
    world.auto_commit = True
    world.crash()
    assert {world.depth(name) for name in names} in ({0}, {1})
    moved = world.depth(names[0]) == 1
    assert (b"1" in browsed(world)) is not moved
    world.check()


def test_a_ring_that_is_one_of_very_many_that_its_alternate_leads_to_lets_each_copy_go_once():
    world = World()
    world.host.declaring.declare_exchange("many", "fanout", durable=True)
    names = [f"kept {number}" for number in range(FEW + 10)]
    for name in names:
        world.queue(name, durable=True)
        bind(world, name, "many")
    world.queue("q", durable=True, max_count=1, alternate_exchange="many", discipline=RING)
    bind(world, "q", "many")
    world.send(b"1", b"2", b"3", durable=True)
    world.turn()
    assert browsed(world) == [b"3"]
    assert {world.depth(name) for name in names} == {2}
    world.auto_commit = False
    world.send(b"4", durable=True)
    world.bridge.end_turn(world.now_ms)
    world.commit()
    world.auto_commit = True
    world.crash()
    world.turn()
    assert world.depth() == 1
    world.check()


def test_a_ring_keeps_to_its_limit_over_a_restart():
    world = World()
    world.queue(durable=True, max_count=2, discipline=RING)
    world.send(b"1", b"2", b"3", durable=True)
    world.restart()
    world.send(b"4", durable=True)
    assert browsed(world) == [b"3", b"4"]
    world.check()
