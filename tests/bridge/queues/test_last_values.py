"""A queue that keeps the last value of each key."""

from support.bridge_world import Consumer, World

from gateway.audit.schema import Kind as Step
from gateway.bridge.queues.discipline import Discipline, Policy
from gateway.bridge.queues.last_values import NO_POSITION, LastValues
from gateway.bridge.queues.places import Entry
from gateway.message import RELEASED, Kind
from gateway.wire.tagged import Tagged

LAST = Discipline(last_value_key="k")


def publish(world: World, body: bytes, key: object, durable: bool = False) -> None:
    kinds = {int: Kind.INTEGER, bytes: Kind.BINARY}
    kind = kinds.get(type(key), Kind.STRING)
    headers = {} if key is None else {"k": Tagged(kind, key)}
    message = world.message(body, key="q", headers=headers, durable=durable)
    world.host.publishing.publish(message, None, 0)


def browsed(world: World) -> list[bytes]:
    browser, subscription = world.subscribe(acquire=False)
    world.turn()
    subscription.cancel()
    return browser.bodies()


def test_the_older_of_a_key_goes_and_the_new_one_is_last():
    world = World()
    world.queue(discipline=LAST)
    for body, key in ((b"a1", "a"), (b"b1", "b"), (b"a2", "a")):
        publish(world, body, key)
    assert browsed(world) == [b"b1", b"a2"]
    assert world.check().kinds[Step.REPLACED] == 1


def test_text_and_its_octets_are_one_key_and_octets_that_are_no_text_are_another():
    world = World()
    world.queue(discipline=LAST)
    for body, key in ((b"1", "Zürich"), (b"2", "Zürich".encode()), (b"3", b"Z\xfcrich")):
        publish(world, body, key)
    assert browsed(world) == [b"2", b"3"]


def test_what_somebody_has_stays_until_it_is_given_back_and_there_is_a_newer_one():
    world = World()
    world.queue(discipline=LAST)
    publish(world, b"a1", "a")
    consumer: Consumer
    consumer, subscription = world.subscribe(credit=1)
    world.turn()
    subscription.stop()
    publish(world, b"a2", "a")
    world.host.settlement.settle(consumer.take()[0], RELEASED)
    assert browsed(world) == [b"a2"]
    assert world.check().kinds[Step.REPLACED] == 1
    subscription.grant(1)
    world.turn()
    [held] = consumer.take()
    publish(world, b"a3", "a")
    taker, _ = world.subscribe(credit=1, settled=True)
    world.turn()
    assert taker.bodies() == [b"a3"]
    world.host.settlement.settle(held, RELEASED)
    assert browsed(world) == [b"a2"]  # there is no newer one any more
    world.check()


def test_what_was_out_with_somebody_when_the_process_ended_is_not_there_beside_a_newer_one():
    world = World()
    world.queue(durable=True, discipline=LAST)
    publish(world, b"a1", "a", durable=True)
    world.subscribe(credit=1)
    world.turn()
    publish(world, b"a2", "a", durable=True)
    world.turn()
    world.crash()
    assert browsed(world) == [b"a2"]
    world.check()
    world.crash()
    assert browsed(world) == [b"a2"]


def test_a_browser_sees_the_new_one_though_it_has_seen_the_old_one():
    world = World()
    world.queue(discipline=LAST)
    browser, _ = world.subscribe(acquire=False)
    for body in (b"1", b"2", b"3"):
        publish(world, body, "a")
        world.turn()
    assert browser.bodies() == [b"1", b"2", b"3"]
    world.check()


def test_keys_are_compared_as_text_and_those_without_share_one():
    world = World()
    world.queue(discipline=LAST)
    keys = (7, "7", True, "1", b"7", None, 7.0, "", [], "07")
    for number, key in enumerate(keys):
        publish(world, b"%d" % number, key)
    assert browsed(world) == [b"3", b"4", b"8", b"9"]


def test_after_a_restart_it_is_known_which_are_the_last():
    world = World()
    world.queue(durable=True, discipline=LAST)
    for body, key in ((b"a1", "a"), (b"b1", "b"), (b"a2", "a")):
        publish(world, body, key, durable=True)
    world.restart()
    publish(world, b"b2", "b", durable=True)
    assert browsed(world) == [b"a2", b"b2"]
    world.crash()
    assert browsed(world) == [b"a2", b"b2"]
    world.check()


def test_a_ring_of_last_values_has_both_ways():
    world = World()
    world.queue(max_count=2, discipline=Discipline(policy=Policy.RING, last_value_key="k"))
    for body, key in ((b"a1", "a"), (b"b1", "b"), (b"b2", "b"), (b"c1", "c")):
        publish(world, body, key)
    assert browsed(world) == [b"b2", b"c1"]
    checked = world.check()
    assert (checked.kinds[Step.REPLACED], checked.kinds[Step.EVICTED]) == (1, 1)


def test_a_copy_that_came_past_it_is_the_last_of_its_own_and_leaves_without_a_word():
    """As those of a commit do whose queue is deleted meanwhile, or that is an upstream's by now."""
    world, last_values = World(), LastValues("k")
    headers = {"k": Tagged(Kind.STRING, "a")}
    known, other = (Entry(at, world.message(headers=headers), 0, False) for at in (1, 2))
    assert last_values.put(known) == NO_POSITION
    assert last_values.is_last(other)
    last_values.remove(other.position)
    assert last_values.is_last(known)
    last_values.remove(known.position)
    assert last_values.put(other) == NO_POSITION
