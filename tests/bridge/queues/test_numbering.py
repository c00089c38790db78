"""Copies that are counted, and what whoever gets one is told."""

from support.bridge_world import World, bind

from gateway.bridge.queues.discipline import Discipline, Policy
from gateway.bridge.seams import DeliverStatus
from gateway.message import ACCEPTED, MODIFIED_FAILED

COUNTED = Discipline(number_header="n")


def test_each_copy_has_its_number_in_its_queue_and_is_otherwise_shared() -> None:
    world = World()
    world.queue("q", discipline=COUNTED)
    world.queue("p", discipline=COUNTED)
    for name in ("q", "p"):
        bind(world, name, "amq.fanout")
    world.send(b"zero", key="p")
    world.host.publishing.publish(world.message(b"one", exchange="amq.fanout"), None, 0)
    consumers = {}
    for name in ("q", "p"):
        consumers[name], _ = world.subscribe(name)
    seen: dict[str, list[bytes]] = {name: [] for name in consumers}
    for name, consumer in consumers.items():
        deliver = consumer.deliver
        consumer.deliver = lambda each, name=name, deliver=deliver: (  # type: ignore[method-assign]
            seen[name].append(each.message.payload) or deliver(each)
        )
    world.turn()
    assert seen == {"q": [b"n=1;one"], "p": [b"n=1;zero", b"n=2;one"]}
    held = [consumer.deliveries[-1].message for consumer in consumers.values()]
    assert held[0] is held[1]  # whoever has it keeps no octets of its own
    world.check()


def bodies(world: World, *, acquire: bool = False) -> list[bytes]:
    """What somebody is sent now."""
    told: list[bytes] = []
    consumer, subscription = world.subscribe(acquire=acquire, credit=0)
    deliver = consumer.deliver

    def keep(delivery: object) -> DeliverStatus:
        told.append(delivery.message.payload)  # type: ignore[attr-defined]
        return deliver(delivery)  # type: ignore[arg-type]

    consumer.deliver = keep  # type: ignore[method-assign]
    subscription.grant(-1)
    world.turn()
    for delivery in consumer.take():
        world.host.settlement.settle(delivery, MODIFIED_FAILED if acquire else ACCEPTED)
    subscription.cancel()
    return told


def test_what_comes_back_has_the_number_that_it_had() -> None:
    world = World()
    world.queue(discipline=COUNTED)
    world.send(b"1", b"2")
    assert bodies(world) == bodies(world, acquire=True) == bodies(world) == [b"n=1;1", b"n=2;2"]
    world.check()


def test_what_is_let_go_or_refused_leaves_the_numbers_of_the_others() -> None:
    world = World()
    world.queue(max_count=2, discipline=Discipline(number_header="n", policy=Policy.RING))
    world.send(b"1", b"2", b"3")
    assert bodies(world) == [b"n=2;2", b"n=3;3"]
    world.host.declaring.purge_queue("q")
    world.send(b"4")
    assert bodies(world) == [b"n=4;4"]
    queue = world.host.topology.find_queue("q")
    assert queue is not None and queue.numbering is not None
    world.check()


def test_numbers_begin_anew_after_a_crash_with_what_is_recovered() -> None:
    world = World()
    world.queue(durable=True, discipline=COUNTED)
    world.send(b"1", b"2", durable=True)
    world.send(b"lost")
    world.turn()
    consumer, subscription = world.subscribe(credit=1)
    world.turn()
    world.host.settlement.settle(consumer.take()[0], ACCEPTED)
    subscription.cancel()
    world.turn()
    world.crash()
    world.send(b"3", durable=True)
    assert bodies(world) == [b"n=1;2", b"n=2;3"]
    world.check()
