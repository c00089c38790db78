"""Dead letters are asked for room like other copies, and very many are moved over several turns."""

import pytest
from support.bridge_world import Consumer, World, bind
from support.face_1_0 import Hub
from support.talk_0_10 import Gateway, completed
from support.work import units_of

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_1_0 import _spec, events
from gateway.audit.schema import Kind, Reason
from gateway.bridge.limits import BridgeLimits
from gateway.bridge.pressure import COPY_OCTETS
from gateway.message import ACCEPTED, Condition, Delivery, Outcome, OutcomeKind, Refusal
from gateway.wire.work import COPY, SHARE

REJECTED = Outcome(OutcomeKind.REJECTED)
QUEUES = 20
TURN = 3 * SHARE  # at most: a share of entering, one of what is spread, one of dispatching
WIDE = 3 * SHARE // COPY  # queues that are too many for one message in one turn
SOME = 2 * SHARE // (COPY * QUEUES)  # messages whose copies are what two turns have room for


class Waiter:
    def __init__(self) -> None:
        self.told: list[int] = []

    def on_looked_up(self, token: int, refusal: Refusal | None) -> None:
        self.told.append(token)


def fan(world: World, queues: int = QUEUES, **settings: object) -> None:
    """A queue whose alternate exchange has many queues."""
    host = world.host
    assert not isinstance(host.declaring.declare_exchange("fan", "fanout", durable=True), Refusal)
    for number in range(queues):
        world.queue(f"f{number}", durable=True)
        bind(world, f"f{number}", "fan")
    world.queue(durable=True, alternate_exchange="fan", **settings)  # type: ignore[arg-type]


def taken(world: World, number: int, publisher: int = 0) -> tuple[Consumer, list[Delivery]]:
    """So many messages, and the consumer that has them all."""
    for _ in range(number):
        message = world.message(b"x", key="q", durable=True)
        message.publisher = publisher
        world.host.publishing.publish(message, None, 0)
    consumer, _ = world.subscribe()
    world.turn()
    deliveries = consumer.take()
    assert len(deliveries) == number
    return consumer, deliveries


def ends(world: World, most: int = SHARE * 3 // 2) -> bool:
    """One turn, which is not long; whether there is more to do."""
    more: list[bool] = []
    units = units_of(lambda: more.append(world.bridge.end_turn(world.now_ms)))
    assert units <= most
    world.commit()
    return more[0]


def reject_all(world: World, deliveries: list[Delivery]) -> None:
    world.bridge.ledger.begin(world.now_ms, 1)
    for delivery in deliveries:
        assert world.host.settlement.settle(delivery, REJECTED)


def test_what_is_too_much_for_a_turn_is_moved_in_later_ones_in_its_order() -> None:
    world = World()
    fan(world)
    _, deliveries = taken(world, SOME)
    waiter = Waiter()
    assert units_of(lambda: reject_all(world, deliveries)) <= SHARE * 3 // 2
    assert world.host.settlement.is_late(waiter, 7)
    assert 0 < world.depth("f0") < SOME
    assert world.depth() == SOME - world.depth("f0")
    assert not world.bridge.idle()
    assert ends(world)
    assert waiter.told == []
    while ends(world):
        pass
    assert waiter.told == [7]
    assert (world.depth("f0"), world.depth()) == (SOME, 0)
    moved = [each.message for each in world.blocks.records() if each.kind == Kind.DEAD_LETTERED]
    assert moved == [delivery.message.id for delivery in deliveries]
    assert not world.host.settlement.is_late(waiter, 8)
    world.check()


def test_one_that_waits_in_a_queue_that_is_deleted_meanwhile_is_in_checkpoints() -> None:
    world = World()
    fan(world, WIDE)
    world.send(b"x", key="q", durable=True)
    world.host.declaring.delete_queue("q")
    assert len(world.host.settlement.lingering_queues()) == 1
    world.bridge.checkpoint(world.now_ms)
    while ends(world, TURN):
        pass
    said = [each for each in world.blocks.records() if each.kind == Kind.QUEUE_CHECKPOINT]
    assert [each.position for each in said if each.node == "q"] == [1]
    assert world.host.settlement.lingering_queues() == []
    world.check()


def test_what_others_reject_meanwhile_does_not_wait_behind_it() -> None:
    world = World()
    fan(world)
    consumer, deliveries = taken(world, 2 * SOME)
    world.queue("p", alternate_exchange="fan")
    other, _ = world.subscribe("p")
    world.send(b"p", key="p")
    world.turn()
    reject_all(world, deliveries)
    ends(world)
    world.bridge.ledger.begin(world.now_ms, 2)
    world.host.settlement.settle(other.take()[0], REJECTED)
    assert not world.host.settlement.is_late(Waiter(), 1)
    assert world.depth("p") == 0
    assert world.depth() > 0
    world.turn()
    assert world.depth() == 0
    assert consumer.deliveries == []
    world.check()


def long_turns(world: World) -> int:
    """How many turns there are to more to do; none is long, and all are one."""
    turns = 1
    while ends(world, TURN):
        turns += 1
    return turns


def full(world: World) -> bool:
    """Whether every queue has the same, and how much."""
    return {world.depth(f"f{number}") for number in range(WIDE)} == {2}


def test_one_that_very_many_queues_get_is_moved_over_several_turns_that_are_one() -> None:
    world = World()
    fan(world, WIDE)
    _, deliveries = taken(world, 2)
    waiter = Waiter()
    assert units_of(lambda: reject_all(world, deliveries)) <= SHARE
    assert world.host.settlement.is_late(waiter, 7)
    assert (world.depth("f0"), world.depth()) == (0, 2)
    while world.depth() == 2:
        assert ends(world, TURN)
    assert world.bridge.turns.open
    assert (world.depth("f0"), world.depth(f"f{WIDE - 1}")) == (1, 0)
    while world.bridge.turns.open:
        assert ends(world, TURN)
    assert (world.depth(f"f{WIDE - 1}"), waiter.told) == (1, [])
    assert long_turns(world) > 3
    assert waiter.told == [7]
    assert full(world)
    moved = [each.message for each in world.blocks.records() if each.kind == Kind.DEAD_LETTERED]
    assert moved == [delivery.message.id for delivery in deliveries]
    assert not world.host.settlement.is_late(waiter, 8)
    assert world.bridge.idle()
    world.check()


def test_one_that_is_moved_when_the_process_is_killed_is_where_it_was() -> None:
    world = World()
    fan(world, WIDE)
    _, deliveries = taken(world, 1)
    reject_all(world, deliveries)
    while world.depth() == 1:
        assert ends(world, TURN)
    assert world.depth("f0") == 1
    world.crash()
    assert (world.depth("f0"), world.depth()) == (0, 1)
    world.check()


@pytest.mark.parametrize("settled", [True, False])
def test_the_copies_of_a_deleted_queue_that_very_many_get_are_moved_so_too(settled: bool) -> None:
    world = World()
    fan(world, WIDE)
    if settled:
        _, deliveries = taken(world, 2)
        reject_all(world, deliveries)
    else:
        world.send(b"x", b"x")
        world.turn()
    assert units_of(lambda: world.host.declaring.delete_queue("q", world.owner())) <= SHARE
    assert long_turns(world) > 6
    assert full(world)
    assert [queue.name for queue in world.bridge.living_queues().rest() if queue.name == "q"] == []
    assert world.bridge.idle()
    world.check()


def test_what_a_deleted_queue_had_is_moved_after_a_crash_and_its_exchange_stays_meanwhile() -> None:
    world = World()
    fan(world, WIDE)
    for _ in range(2):
        message = world.message(b"x", key="q", durable=True)
        world.host.publishing.publish(message, None, 0)
    world.turn()
    assert world.host.declaring.delete_queue("q", world.owner()) is None
    refusal = world.host.declaring.delete_exchange("fan")
    assert refusal is not None and refusal.condition == Condition.NOT_ALLOWED
    while world.depth("f0") < 2:
        assert ends(world, TURN)
    world.crash()  # when the first has been moved
    world.turn()
    assert full(world)
    world.check()


def test_few_queues_of_an_exchange_that_has_very_many_get_one_at_once() -> None:
    world = World()
    assert not isinstance(world.host.declaring.declare_exchange("fan", "direct"), Refusal)
    for number in range(WIDE):
        world.queue(f"f{number}")
        bind(world, f"f{number}", "fan", "q" if number == 0 else str(number))
    world.queue(durable=True, alternate_exchange="fan")
    _, deliveries = taken(world, 1)
    reject_all(world, deliveries)
    assert (world.depth("f0"), world.depth("f1"), world.depth()) == (1, 0, 0)
    world.turn()
    world.check()


def test_what_waits_when_the_process_is_killed_is_in_its_queue_again() -> None:
    world = World()
    fan(world)
    _, deliveries = taken(world, SOME)
    reject_all(world, deliveries)
    world.bridge.end_turn(world.now_ms)
    world.commit()
    world.bridge.end_turn(world.now_ms)  # this one is not on disk when it happens
    world.crash()
    assert 0 < world.depth() < SOME
    assert world.depth() + world.depth("f0") == SOME
    world.check()


def test_what_waits_goes_its_way_though_its_queue_is_deleted_and_its_consumer_gone() -> None:
    world = World()
    fan(world)
    owner = world.owner()
    world.send(*[b"x"] * SOME)
    consumer, subscription = world.subscribe(owner=owner)
    world.turn()
    reject_all(world, consumer.take())
    subscription.cancel()
    assert world.host.declaring.delete_queue("q", world.owner()) is None
    world.turn()
    assert world.depth("f0") == SOME
    assert [queue.name for queue in world.bridge.living_queues().rest() if queue.name == "q"] == []
    world.check()


def test_copies_that_come_back_to_a_deleted_queue_are_moved_over_several_turns_too() -> None:
    world = World()
    fan(world)
    _, deliveries = taken(world, SOME)
    assert world.host.declaring.delete_queue("q") is None
    world.bridge.ledger.begin(world.now_ms, 1)
    failed = Outcome(OutcomeKind.MODIFIED, delivery_failed=True)
    units = units_of(lambda: [world.host.settlement.settle(one, failed) for one in deliveries])
    assert units <= SHARE * 3 // 2
    while ends(world):
        pass
    assert world.depth("f0") == SOME
    assert world.bridge.living_queues().rest() == [
        queue for queue in world.bridge.living_queues().rest() if queue.name != "q"
    ]
    world.check()


def test_copies_of_dead_letters_have_to_have_room_in_their_publishers_quota() -> None:
    size = COPY_OCTETS + 1
    world = World(limits=BridgeLimits(user_octets=10 * size))
    fan(world)
    world.bridge.pressure.join(1, "mallory", "/")
    _, deliveries = taken(world, 3, publisher=1)
    world.bridge.pressure.quotas.leave(1)  # whoever rejects, and however late
    reject_all(world, deliveries)
    world.turn()
    held = world.bridge.pressure.quotas.users["mallory"].octets
    assert held == 20 * size
    refused = [each for each in world.blocks.records() if each.kind == Kind.REFUSED]
    assert len(refused) == 3 * QUEUES - 20
    assert {each.reason for each in refused} == {Reason.QUEUE_FULL}
    world.check()


def test_a_dead_letter_takes_the_room_of_what_it_was_though_there_is_no_more() -> None:
    size = COPY_OCTETS + 1
    world = World(limits=BridgeLimits(user_octets=2 * size, messages_max=4))
    fan(world)
    world.bridge.pressure.join(1, "mallory", "/")
    _, deliveries = taken(world, 4, publisher=1)
    reject_all(world, deliveries)
    world.turn()
    assert [world.depth(f"f{number}") for number in range(3)] == [4, 0, 0]
    assert world.depth() == 0
    world.check()


def test_a_deleted_queues_copies_have_to_have_room_in_their_publishers_quota() -> None:
    size = COPY_OCTETS + 1
    world = World(limits=BridgeLimits(user_octets=10 * size))
    fan(world)
    world.bridge.pressure.join(1, "mallory", "/")
    consumer, deliveries = taken(world, 5, publisher=1)
    world.host.settlement.settle(deliveries[0], ACCEPTED)
    assert world.host.declaring.delete_queue("q", world.owner()) is None
    for delivery in deliveries[1:]:
        world.host.settlement.settle(delivery, Outcome(OutcomeKind.RELEASED))
    world.turn()
    assert world.bridge.pressure.quotas.users["mallory"].octets == 20 * size
    assert consumer.deliveries == []
    world.check()


def test_who_rejects_very_much_is_told_when_it_is_moved() -> None:
    gateway = Gateway()
    client = gateway.session()
    world = gateway.world
    fan(world)
    client.subscribes()
    for _ in range(SOME):
        message = world.message(b"x", key="q", durable=True)
        world.host.publishing.publish(message, None, 0)
    assert len(client.gets()) == SOME
    client.does(spec.MessageFlow(destination="d", unit=0, value=1))
    session = client.session
    assert session is not None
    command = session.outgoing.next
    client.says(spec.MessageReject(transfers=[(0, SOME - 1)], code=0))
    face = client.face
    face.receive_data(client.connection.data_to_send(), world.now_ms)
    world.bridge.end_turn(world.now_ms)
    world.commit()
    assert not face.drained()
    assert client.connection.receive_data(face.data_to_send(), world.now_ms) == []
    assert completed((command, command)) in client.hears()
    assert (world.depth("f0"), world.depth()) == (SOME, 0)
    world.check()


def test_a_receiver_of_the_second_mode_is_told_when_what_it_rejected_is_moved() -> None:
    hub = Hub()
    world = hub.world
    fan(world)
    client = hub.client()
    link = client.receiver("q", credit=SOME, rcv_settle_mode=_spec.RCV_SECOND)
    world.send(*[b"x"] * SOME)
    client.step()
    for event in client.take_all(events.DeliveryReceived):
        link.session.settle_incoming(event.delivery_id, _spec.Rejected(), settled=False)
    face = client.face
    face.receive_data(client.connection.data_to_send(), world.now_ms)
    world.bridge.end_turn(world.now_ms)
    world.commit()
    told = client.connection.receive_data(face.data_to_send(), world.now_ms)
    assert 0 < len(told) < SOME
    assert not face.drained()
    client.step()
    assert face.drained()
    assert (world.depth("f0"), world.depth()) == (SOME, 0)
    world.check()
