"""A publish to very many queues enters over several turns, in its order, and as one."""

from collections.abc import Callable

import pytest
from support.bridge_world import Producer, World, bind
from support.work import units_of

from gateway.audit.schema import Kind
from gateway.bridge.seams import PublishStatus
from gateway.bridge.spread.entering import FEW
from gateway.bridge.unwritten import Author
from gateway.message import ACCEPTED, OutcomeKind
from gateway.wire.work import COPY, SHARE

QUEUES = FEW + 10
TURN = 3 * SHARE + COPY  # a share of entering, one of what is spread, one of dispatching


class Touched:
    def __init__(self) -> None:
        self.touched = 0

    def touch(self) -> None:
        self.touched += 1


def bound(number: int = QUEUES, *, durable: bool = False) -> World:
    """With so many queues that get what is published to amq.fanout."""
    world = World()
    owner = world.owner()
    for each in range(number):
        world.queue(f"q{each}", owner, durable=durable)
        bind(world, f"q{each}", "amq.fanout")
    world.turn()
    return world


def act(world: World, author: Author) -> None:
    """What comes now is asked by a client."""
    world.bridge.act(world.now_ms, author, 1, 0)


def publish(
    world: World,
    body: bytes,
    producer: Producer | None = None,
    *,
    exchange: str = "amq.fanout",
    key: str = "",
    durable: bool = False,
) -> PublishStatus:
    """The body's first octet is the token."""
    message = world.message(body, exchange=exchange, key=key, durable=durable)
    return world.host.publishing.publish(message, producer, body[0]).status


def bodies(world: World, queue: str) -> list[bytes]:
    """What is in a queue, in its order."""
    places = world.host.topology.queues[queue].places
    found = []
    entry = places.next_at(0)
    while entry is not None:
        found.append(entry.message.payload)
        entry = places.next_at(entry.position + 1)
    return found


def a_turn(world: World) -> bool:
    """Whether there is more to do; none is long."""
    more: list[bool] = []
    assert units_of(lambda: more.append(world.bridge.end_turn(world.now_ms))) <= TURN
    world.commit()
    return more[0]


def test_a_publish_to_very_many_queues_is_done_over_several_turns() -> None:
    world = bound()
    producer = Producer()
    author = Author(Touched())
    act(world, author)
    statuses: list[PublishStatus] = []
    assert units_of(lambda: statuses.append(publish(world, b"1", producer))) <= SHARE
    assert statuses == [PublishStatus.PENDING]
    assert world.bridge.unwritten.too_much(author)
    assert a_turn(world)
    assert producer.published == []
    assert world.bridge.turns.open
    a_turn(world)
    assert producer.published == [(ord("1"), ACCEPTED)]
    assert not world.bridge.unwritten.too_much(author)
    assert author.connection.touched == 1  # type: ignore[attr-defined]  # it is ours
    assert all(bodies(world, f"q{number}") == [b"1"] for number in range(QUEUES))
    world.check()


def test_a_publish_to_few_queues_is_done_at_once() -> None:
    world = bound(3)
    assert publish(world, b"1", Producer()) == PublishStatus.DONE
    assert publish(world, b"2", Producer(), durable=True) == PublishStatus.DONE
    assert bodies(world, "q2") == [b"1", b"2"]


def test_what_one_publishes_stays_in_its_order_and_others_do_not_wait() -> None:
    world = bound()
    producer, other = Producer(), Producer()
    act(world, Author(Touched()))
    last = f"q{QUEUES - 1}"
    assert publish(world, b"1", producer) == PublishStatus.PENDING
    assert publish(world, b"2", producer, exchange="", key=last) == PublishStatus.PENDING
    act(world, Author(Touched()))
    assert publish(world, b"3", other, exchange="", key=last) == PublishStatus.DONE
    world.turn()
    assert bodies(world, last) == [b"3", b"1", b"2"]
    assert [token for token, _ in producer.published] == [ord("1"), ord("2")]
    act(world, Author(Touched()))
    assert publish(world, b"4", producer, exchange="", key=last) == PublishStatus.DONE
    world.check()


def test_of_one_that_a_crash_cuts_off_no_queue_has_a_copy() -> None:
    world = bound(durable=True)
    publish(world, b"1", Producer(), durable=True)
    a_turn(world)
    assert 0 < world.bridge.counts.entered < QUEUES
    world.crash()
    assert world.bridge.counts.recovered == 0
    assert not [each for each in world.blocks.records() if each.kind == Kind.ENTERED]
    world.check()


def test_when_its_publisher_is_told_every_copy_is_on_disk() -> None:
    world = bound(durable=True)
    producer = Producer()
    publish(world, b"1", producer, durable=True)
    while not producer.published:
        a_turn(world)
    world.crash()
    assert world.bridge.counts.recovered == QUEUES
    world.check()


def test_a_queue_that_is_deleted_before_its_copy_comes_does_not_get_it() -> None:
    world = bound()
    producer = Producer()
    publish(world, b"1", producer)
    a_turn(world)
    world.host.declaring.delete_queue(f"q{QUEUES - 1}")
    world.host.declaring.delete_queue("q0")
    world.turn()
    assert producer.published == [(ord("1"), ACCEPTED)]
    assert world.bridge.counts.entered == QUEUES - 1
    world.check()


@pytest.mark.parametrize("publisher", [Producer, lambda: None])
def test_without_a_publisher_nobody_is_told(publisher: Callable[[], Producer | None]) -> None:
    world = bound()
    expected = PublishStatus.DONE if publisher() is None else PublishStatus.PENDING
    assert publish(world, b"1", publisher()) == expected
    world.turn()
    assert world.bridge.idle()
    world.check()


def test_by_an_alternate_exchange_it_is_the_same() -> None:
    world = bound()
    declare = world.host.declaring.declare_exchange
    declare("x", "direct", alternate_exchange="amq.fanout")
    producer = Producer()
    status = publish(world, b"1", producer, exchange="x", key="nothing")
    assert status == PublishStatus.PENDING
    world.turn()
    assert producer.published == [(ord("1"), ACCEPTED)]
    assert world.bridge.counts.entered == QUEUES
    world.check()


def test_while_too_much_is_held_the_publisher_waits_on() -> None:
    world = bound()
    producer = Producer()
    publish(world, b"1", producer)
    world.bridge.pressure.block()
    world.turn()
    assert producer.published == []
    world.bridge.pressure.unblock()
    world.turn()
    [(_, outcome)] = producer.published
    assert outcome.kind == OutcomeKind.ACCEPTED
    world.check()
