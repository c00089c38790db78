"""What a transaction held goes when it is rolled back, over several turns if it is very much."""

from support.bridge_world import Producer, World, bind
from support.work import units_of

from gateway.bridge.limits import BridgeLimits
from gateway.bridge.pressure import COPY_OCTETS
from gateway.bridge.seams import Published, PublishStatus
from gateway.bridge.transaction import Retirement, Transaction
from gateway.message import ACCEPTED, Condition, Outcome, OutcomeKind
from gateway.wire.work import COPY, SHARE

MANY = 3 * SHARE // COPY


def held(world: World, number: int) -> Transaction:
    transaction = world.host.transacting.begin(1)
    for _ in range(number):
        message = world.message(b"x", key="q")
        world.host.transacting.publish(transaction, message, None, 0)
    world.turn()
    return transaction


def test_a_rollback_of_very_much_is_done_over_several_turns() -> None:
    world = World()
    world.queue()
    transaction = held(world, MANY)
    pressure = world.bridge.pressure
    assert pressure.messages == MANY
    assert units_of(lambda: world.host.transacting.rollback(transaction)) <= SHARE + COPY
    assert transaction.held == []
    assert world.bridge.counts.rolled_back == 0
    assert pressure.messages > MANY // 2
    assert not world.bridge.idle()
    assert world.bridge.awaited() == ["work is left that is done over several turns"]
    assert world.bridge.end_turn(world.now_ms)
    assert not world.bridge.end_turn(world.now_ms)
    assert (pressure.messages, pressure.octets) == (0, 0)
    assert world.bridge.counts.rolled_back == 1
    assert world.bridge.counts.rolled_back_copies == MANY
    world.turn()
    assert world.bridge.idle()
    world.check()


def test_a_rollback_of_little_is_done_at_once() -> None:
    world = World()
    world.queue()
    transaction = held(world, 10)
    assert world.bridge.pressure.octets == 10 * (COPY_OCTETS + 1)
    world.host.transacting.rollback(transaction)
    assert world.bridge.pressure.octets == 0
    assert world.bridge.counts.rolled_back == 1
    world.check()


def fan(world: World, number: int) -> None:
    world.host.declaring.declare_exchange("fan", "fanout")
    for each in range(number):
        world.queue(f"f{each}")
        bind(world, f"f{each}", "fan")


def published(world: World, transaction: Transaction, number: int) -> list[Published]:
    """A user's publishes to all queues of an exchange, in a transaction."""
    answers = []
    for _ in range(number):
        message = world.message(b"x", exchange="fan")
        message.publisher = 1
        answers.append(world.host.transacting.publish(transaction, message, None, 0))
    return answers


def test_each_copy_of_a_publish_has_its_room_before_the_commit() -> None:
    world = World(limits=BridgeLimits(user_octets=100 * (COPY_OCTETS + 1)))
    fan(world, 20)
    world.bridge.pressure.join(1, "mallory", "/")
    transaction = world.host.transacting.begin(1)
    answers = published(world, transaction, 11)
    assert [each.status for each in answers] == [PublishStatus.DONE] * 10 + [PublishStatus.REFUSED]
    refusal = answers[-1].refusal
    assert refusal is not None and refusal.condition == Condition.RESOURCE_LIMIT_EXCEEDED
    pressure = world.bridge.pressure
    assert pressure.messages == 200
    producer = Producer()
    world.turn()
    committed = world.host.transacting.commit(transaction, [], producer, 5)
    assert committed.status == PublishStatus.PENDING  # its user has more than its quota
    world.turn()
    assert pressure.messages == 200
    assert pressure.quotas.users["mallory"].octets == 200 * (COPY_OCTETS + 1)
    assert producer.published == []
    for each in range(13):
        world.host.declaring.purge_queue(f"f{each}")
    world.turn()
    assert producer.published == [(5, ACCEPTED)]
    world.check()


def test_many_transactions_together_leave_room_for_others() -> None:
    limits = BridgeLimits(user_octets=100 * (COPY_OCTETS + 1), messages_max=1000)
    world = World(limits=limits)
    fan(world, 20)
    world.bridge.pressure.join(1, "mallory", "/")
    transactions = [world.host.transacting.begin(1) for _ in range(10)]
    for transaction in transactions:
        published(world, transaction, 10)
    for transaction in transactions:
        world.host.transacting.commit(transaction, [], Producer(), 0)
    world.turn()
    assert world.bridge.pressure.messages == 200
    world.bridge.pressure.join(2, "polite", "/")
    message = world.message(b"x", key="f0")
    message.publisher = 2
    assert world.host.publishing.publish(message, None, 0).status == PublishStatus.DONE
    world.check()


def test_a_rollback_gives_back_the_room_of_each_copy() -> None:
    world = World()
    fan(world, 20)
    transaction = world.host.transacting.begin(1)
    published(world, transaction, 3)
    assert world.bridge.pressure.messages == 60
    world.host.declaring.delete_queue("f0", world.owner())
    world.host.transacting.rollback(transaction)
    assert (world.bridge.pressure.messages, world.bridge.pressure.octets) == (0, 0)
    world.check()


def test_copies_of_a_commit_over_several_turns_are_their_users_though_it_has_gone() -> None:
    world = World()
    fan(world, 100)
    world.bridge.pressure.join(1, "mallory", "/")
    transaction = world.host.transacting.begin(1)
    number = 2 * SHARE // (COPY * 100)
    published(world, transaction, number)
    pressure = world.bridge.pressure
    assert pressure.messages == 100 * number
    producer = Producer()
    answer = world.host.transacting.commit(transaction, [], producer, 5)
    assert answer.status == PublishStatus.PENDING
    pressure.quotas.leave(1)
    pressure.join(2, "polite", "/")
    while world.bridge.end_turn(world.now_ms):
        assert pressure.messages <= 100 * number
    world.turn()
    assert producer.published == [(5, ACCEPTED)]
    assert pressure.messages == 100 * number
    assert pressure.quotas.users["mallory"].octets == pressure.octets
    world.check()


def test_a_commit_that_rejects_to_very_many_queues_is_done_over_several_turns() -> None:
    world = World()
    fan(world, 100)
    world.queue("q", alternate_exchange="fan")
    number = 2 * SHARE // (COPY * 100)
    consumer, _ = world.subscribe()
    world.send(*[b"x"] * number)
    world.turn()
    transaction = world.host.transacting.begin(1)
    queue = world.host.topology.find_queue("q")
    assert queue is not None and transaction.enlist([queue]) is None
    for delivery in consumer.take():
        retirement = Retirement(delivery, Outcome(OutcomeKind.REJECTED), None)
        transaction.retirements[retirement] = None
    commit = world.host.transacting.commit
    answers: list[Published] = []
    assert units_of(lambda: answers.append(commit(transaction, [], Producer(), 5))) <= SHARE + COPY
    assert answers[0].status == PublishStatus.PENDING
    more = True
    while more:
        turn: list[bool] = []
        units = units_of(lambda turn=turn: turn.append(world.bridge.end_turn(world.now_ms)))
        assert units <= 2 * SHARE
        more = turn[0]
    assert (world.depth("f0"), world.depth()) == (number, 0)
    world.check()
