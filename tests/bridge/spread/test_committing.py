"""A commit of very much is done over several turns, and all the same as one, or not at all."""

from support.bridge_world import Producer, World, bind
from support.work import units_of

from gateway.audit.schema import Kind
from gateway.bridge.limits import BridgeLimits
from gateway.bridge.seams import PublishStatus
from gateway.bridge.transaction import Retirement, Transaction
from gateway.bridge.unwritten import Author
from gateway.message import ACCEPTED, REJECTED, Condition, Delivery, OutcomeKind, Refusal
from gateway.wire.work import COPY, PUBLISH, SHARE

MANY = 3 * SHARE // (COPY + PUBLISH)
TURN = 3 * SHARE  # at most: a share of entering, one of what is spread, one of dispatching


class Touched:
    def __init__(self) -> None:
        self.touched = 0

    def touch(self) -> None:
        self.touched += 1


def held(
    world: World, number: int = MANY, *, key: str = "q", exchange: str = "", durable: bool = True
) -> Transaction:
    """A transaction with so many publishes."""
    transaction = world.host.transacting.begin(1)
    for _ in range(number):
        message = world.message(b"x", key=key, exchange=exchange, durable=durable)
        world.host.transacting.publish(transaction, message, None, 0)
    world.turn()
    return transaction


def commit(
    world: World,
    transaction: Transaction,
    producer: Producer,
    token: int = 7,
    deliveries: list[Delivery] | None = None,
) -> PublishStatus:
    """Ask for the commit."""
    transacting = world.host.transacting
    return transacting.commit(transaction, deliveries or [], producer, token).status


def a_turn(world: World) -> bool:
    """Whether there is more to do; none is long."""
    more: list[bool] = []
    assert units_of(lambda: more.append(world.bridge.end_turn(world.now_ms))) <= TURN
    if world.auto_commit:
        world.commit()
    return more[0]


def test_a_commit_of_very_much_is_done_over_several_turns_and_told_behind_them() -> None:
    world = World()
    world.queue(durable=True)
    producer = Producer()
    transaction = held(world)
    asked = units_of(lambda: commit(world, transaction, producer))
    assert asked <= SHARE
    turns = 0
    while a_turn(world):
        turns += 1
        assert turns < 2 or world.bridge.turns.open or producer.published
        assert not (world.bridge.turns.open and producer.published)
    assert turns >= 3
    assert producer.published == [(7, ACCEPTED)]
    assert world.depth() == MANY
    assert world.bridge.counts.committed == 1
    assert world.bridge.idle()
    world.check()


def test_a_commit_of_little_is_done_at_once() -> None:
    world = World()
    world.queue(durable=True)
    assert commit(world, held(world, 10), Producer()) == PublishStatus.IN_TURN
    assert world.depth() == 10
    world.check()


def test_of_a_commit_that_a_crash_cuts_off_nothing_is_there_afterwards() -> None:
    world = World()
    world.queue(durable=True)
    transaction = held(world)
    entered = world.bridge.counts.entered
    records = len(world.blocks.records())
    commit(world, transaction, Producer())
    while world.bridge.counts.entered == entered:
        assert a_turn(world)
    assert a_turn(world)
    assert 0 < world.depth() < MANY
    assert len(world.blocks.records()) == records
    world.crash()
    assert world.depth() == 0
    assert not [each for each in world.blocks.records() if each.kind == Kind.ENTERED]
    world.check()


def test_of_a_commit_that_is_done_everything_is_there_after_a_crash() -> None:
    world = World()
    world.queue(durable=True)
    producer = Producer()
    commit(world, held(world), producer)
    world.turn()
    assert producer.published == [(7, ACCEPTED)]
    world.crash()
    assert world.depth() == MANY
    world.check()


def begun(world: World) -> None:
    """Go on until copies have come in, and are not all."""
    entered = world.bridge.counts.entered
    while world.bridge.counts.entered == entered:
        assert a_turn(world)
    assert world.bridge.turns.open


def test_nobody_is_sent_or_shown_or_takes_away_half_of_it() -> None:
    world = World()
    world.queue(durable=True)
    consumer, _ = world.subscribe(settled=True)
    world.send(b"before")
    world.turn()
    consumer.take()
    world.send(b"waits")
    queue = world.host.topology.queues["q"]
    commit(world, held(world), Producer())
    consumer.take()
    begun(world)
    world.send(b"behind")
    a_turn(world)
    assert queue.depth > 1
    assert queue.shown == 0
    assert world.host.declaring.purge_queue("q") == 0
    assert consumer.take() == []
    world.turn()
    assert len(consumer.take()) == MANY + 1
    assert queue.shown == queue.depth == 0
    world.check()


def test_nothing_of_it_is_sent_before_it_is_on_disk() -> None:
    world = World()
    world.queue(durable=True)
    consumer, _ = world.subscribe()
    world.turn()
    world.auto_commit = False
    commit(world, held(world), Producer())
    while a_turn(world):
        pass
    assert world.depth() == MANY
    assert consumer.deliveries == []
    world.commit()
    world.turn()
    assert len(consumer.deliveries) == MANY
    world.auto_commit = True
    world.check()


def test_a_queue_that_is_deleted_meanwhile_takes_the_rest_with_it() -> None:
    world = World()
    world.queue("dead", durable=True)
    answer = world.host.declaring.declare_exchange("x", "fanout", durable=True)
    assert not isinstance(answer, Refusal), answer
    bind(world, "dead", "x")
    world.queue(durable=True, alternate_exchange="x")
    commit(world, held(world), Producer())
    begun(world)
    world.host.declaring.delete_queue("q", world.owner())
    world.turn()
    assert world.depth("dead") == MANY
    assert world.bridge.counts.committed == 1
    assert world.bridge.living_queues().rest() == [world.host.topology.queues["dead"]]
    world.check()
    world.crash()
    assert world.depth("dead") == MANY
    world.check()


def test_a_queue_that_is_deleted_before_it_is_decided_undoes_it() -> None:
    world = World()
    world.queue()
    world.queue("r")
    world.send(b"mine", key="r")
    consumer, _ = world.subscribe("r")
    world.turn()
    producer = Producer()
    transaction = held(world)
    world.host.transacting.enlist(transaction, consumer.deliveries)
    status = commit(world, transaction, producer, deliveries=consumer.take())
    assert status == PublishStatus.PENDING
    world.host.declaring.delete_queue("q", world.owner())
    world.turn()
    [(token, outcome)] = producer.published
    assert (token, outcome.kind) == (7, OutcomeKind.REJECTED)
    assert outcome.condition == Condition.RESOURCE_DELETED
    assert world.bridge.counts.rolled_back_copies == MANY
    [again] = consumer.take()
    assert again.delivery_count == 1
    assert world.bridge.pressure.messages == 1
    world.check()


def test_room_in_a_queue_is_kept_for_what_is_still_to_come() -> None:
    world = World()
    world.queue(max_count=MANY + 1)
    producer = Producer()
    commit(world, held(world, durable=False), producer)
    begun(world)
    world.bridge.act(world.now_ms, Author(Touched()), 2, 0)
    other = world.host.publishing.publish(world.message(key="q"), None, 0)
    one_more = world.host.publishing.publish(world.message(key="q"), None, 0)
    assert (other.status, one_more.status) == (PublishStatus.DONE, PublishStatus.REFUSED)
    world.turn()
    assert world.depth() == MANY + 1
    assert producer.published == [(7, ACCEPTED)]
    world.check()


def test_a_commit_for_which_there_is_no_room_is_undone() -> None:
    world = World()
    world.queue(max_count=MANY - 1)
    producer = Producer()
    commit(world, held(world), producer)
    world.turn()
    [(_, outcome)] = producer.published
    assert outcome.condition == Condition.RESOURCE_LIMIT_EXCEEDED
    assert (world.depth(), world.bridge.counts.rolled_back) == (0, 1)
    world.check()


def test_commits_of_one_connection_are_done_in_their_order() -> None:
    world = World()
    world.queue(durable=True)
    producer = Producer()
    author = Author(Touched())
    long, short = held(world), held(world, 1)
    world.bridge.act(world.now_ms, author, 1, 0)
    assert commit(world, long, producer, 1) == PublishStatus.PENDING
    assert commit(world, short, producer, 2) == PublishStatus.PENDING
    world.bridge.act(world.now_ms, Author(Touched()), 2, 0)
    assert commit(world, held(world, 1), producer, 3) == PublishStatus.IN_TURN
    world.turn()
    assert producer.published == [(1, ACCEPTED), (2, ACCEPTED)]
    assert world.depth() == MANY + 2
    world.check()


def test_between_two_of_them_the_turn_ends() -> None:
    world = World()
    world.queue(durable=True)
    first, second = Producer(), Producer()
    commit(world, held(world), first)
    commit(world, held(world), second)
    while not first.published:
        a_turn(world)
    assert world.depth() < 2 * MANY
    assert not second.published
    world.turn()
    assert second.published
    world.check()


def test_deliveries_are_accepted_with_it() -> None:
    world = World()
    world.queue("r", durable=True)
    world.queue(durable=True)
    for _ in range(10):
        world.send(b"mine", key="r", durable=True)
    consumer, _ = world.subscribe("r")
    world.turn()
    transaction = held(world)
    transacting = world.host.transacting
    transacting.enlist(transaction, consumer.deliveries)
    commit(world, transaction, Producer(), deliveries=consumer.take())
    begun(world)
    world.crash()
    assert (world.depth("r"), world.depth()) == (10, 0)
    world.check()


def test_the_last_turn_of_all_does_the_rest_of_it() -> None:
    world = World()
    world.queue(durable=True)
    commit(world, held(world), Producer())
    begun(world)
    world.bridge.finish(world.now_ms)
    world.bridge.end_turn(world.now_ms)
    assert not world.bridge.turns.open
    world.crash()
    assert world.depth() == MANY
    world.check()


def test_each_copy_counts_for_what_a_transaction_may_hold() -> None:
    world = World(limits=BridgeLimits(transaction_octets_max=1000))
    for name in ("a", "b", "c"):
        world.queue(name)
        bind(world, name, "amq.fanout")
    transaction = world.host.transacting.begin(1)
    message = world.message(exchange="amq.fanout")
    first = world.host.transacting.publish(transaction, message, None, 0)
    message = world.message(exchange="amq.fanout")
    second = world.host.transacting.publish(transaction, message, None, 0)
    assert (first.status, second.status) == (PublishStatus.DONE, PublishStatus.REFUSED)
    world.host.transacting.rollback(transaction)
    world.check()


# Rejected deliveries: what the commit sends on through an alternate exchange.


def with_dead_letters(world: World, *, queues: int = 1) -> None:
    """Queue r, of which what is rejected goes to so many durable ones."""
    answer = world.host.declaring.declare_exchange("x", "fanout", durable=True)
    assert not isinstance(answer, Refusal), answer
    for number in range(queues):
        world.queue(f"dead{number}", durable=True)
        bind(world, f"dead{number}", "x")
    world.queue("r", durable=True, alternate_exchange="x")


def rejecting(world: World, count: int) -> Transaction:
    """A transaction that rejects so many messages of queue r, and nothing else."""
    consumer, _ = world.subscribe("r")
    world.send(*[b"mine"] * count, key="r", durable=True)
    world.turn()
    transaction = world.host.transacting.begin(1)
    deliveries = consumer.take()
    assert len(deliveries) == count
    world.host.transacting.enlist(transaction, deliveries)
    for each in deliveries:
        transaction.retirements[Retirement(each, REJECTED, None)] = None
    return transaction


def test_of_what_it_rejects_nobody_sees_half() -> None:
    world = World()
    with_dead_letters(world)
    reader, _ = world.subscribe("dead0", settled=True)
    world.send(b"before", key="dead0")
    producer = Producer()
    transaction = rejecting(world, MANY)
    assert len(reader.take()) == 1
    commit(world, transaction, producer)
    begun(world)
    dead = world.host.topology.queues["dead0"]
    world.send(b"behind", key="dead0")
    a_turn(world)
    assert 1 < dead.depth < MANY
    assert dead.shown == 0
    assert world.host.declaring.purge_queue("dead0") == 0
    assert (reader.take(), producer.published) == ([], [])
    while a_turn(world):
        pass
    world.turn()
    assert len(reader.take()) == MANY + 1
    assert producer.published == [(7, ACCEPTED)]
    assert world.depth("r") == 0
    world.check()


def test_what_it_rejects_is_as_it_was_after_a_crash() -> None:
    world = World()
    with_dead_letters(world)
    commit(world, rejecting(world, MANY), Producer())
    begun(world)
    assert 0 < world.depth("dead0") < MANY
    world.crash()
    assert (world.depth("r"), world.depth("dead0")) == (MANY, 0)
    world.check()


def test_one_message_that_it_rejects_goes_to_very_many_queues_over_several_turns() -> None:
    world = World()
    many = 2 * SHARE // COPY
    with_dead_letters(world, queues=many)
    transaction = rejecting(world, 2)
    producer = Producer()
    commit(world, transaction, producer)
    turns = 0
    while a_turn(world):
        turns += 1
    assert turns >= 4
    assert {world.depth(f"dead{number}") for number in range(many)} == {2}
    assert producer.published == [(7, ACCEPTED)]
    assert world.bridge.idle()
    world.check()


def test_a_queue_of_dead_letters_that_is_deleted_meanwhile_gets_no_more() -> None:
    world = World()
    with_dead_letters(world, queues=MANY)
    commit(world, rejecting(world, 1), Producer())
    begun(world)
    refused = world.bridge.counts.refused
    world.host.declaring.delete_queue(f"dead{MANY - 1}", world.owner())
    world.host.declaring.delete_queue("dead0", world.owner())
    world.turn()
    assert world.bridge.counts.refused == refused + 1
    assert {world.depth(f"dead{number}") for number in range(1, MANY - 1)} == {1}
    assert len(world.bridge.living_queues().rest()) == MANY - 2 + 1
    world.check()


def test_what_goes_on_from_a_queue_that_is_deleted_meanwhile_is_hidden_too() -> None:
    world = World()
    with_dead_letters(world)
    reader, _ = world.subscribe("dead0", settled=True)
    world.send(b"before", key="dead0")
    world.turn()
    reader.take()
    commit(world, held(world, key="r"), Producer())
    begun(world)
    world.host.declaring.delete_queue("r", world.owner())
    passes = 0
    while a_turn(world):
        passes += world.depth("dead0") > 1
        assert not (world.bridge.turns.open and reader.deliveries)
    assert passes
    world.turn()
    assert len(reader.take()) == MANY
    world.check()
