"""What is routed to a queue, and kept out of it."""

from support.bridge_world import Session, World, bind, condition, numbered

from gateway.bridge.limits import BridgeLimits
from gateway.bridge.queues.discipline import Discipline
from gateway.bridge.seams import PublishStatus, QueueSettings
from gateway.message import Condition, Kind
from gateway.wire.tagged import Tagged

MINE, THEIRS = 7, 8


def world_with(
    discipline: Discipline | None = None, *, no_local: bool = False, durable: bool = False
) -> World:
    world = World()
    settings = QueueSettings(
        no_local=no_local, durable=durable, discipline=discipline or Discipline()
    )
    world.host.declaring.declare_queue("q", settings, world.owner())
    return world


def publishes(world: World, number: int = 1, connection: int = THEIRS) -> PublishStatus:
    message = numbered(world, number, key="q")
    message.publisher = connection
    return world.host.publishing.publish(message, None, 0).status


def test_a_filter_lets_in_what_it_accepts_and_publishers_of_the_rest_hear_of_nothing() -> None:
    world = world_with(Discipline(filter="n = 1"))
    assert [publishes(world, number) for number in (1, 2, 1)] == [PublishStatus.DONE] * 3
    assert world.depth() == 2
    assert world.bridge.counts.unroutable == 1
    world.check()


def test_what_a_filter_keeps_out_goes_to_no_alternate_and_to_others_all_the_same() -> None:
    world = world_with(Discipline(filter="n = 1"))
    world.queue("other")
    world.host.declaring.declare_exchange("x", "direct", alternate_exchange="amq.fanout")
    bind(world, "other", "amq.fanout")
    bind(world, "q", "x", "k")
    world.host.publishing.publish(numbered(world, 2, exchange="x", key="k"), None, 0)
    assert world.depth("other") == 0
    bind(world, "other", "x", "k")
    world.host.publishing.publish(numbered(world, 2, exchange="x", key="k"), None, 0)
    assert (world.depth(), world.depth("other")) == (0, 1)
    world.check()


def test_a_filter_does_not_look_at_what_is_recovered_and_is_there_after_a_crash() -> None:
    world = world_with(Discipline(filter="n = 1"), durable=True)
    message = numbered(world, 1, key="q", durable=True)
    world.host.publishing.publish(message, None, 0)
    world.turn()
    world.crash()
    world.headers.given.clear()
    assert world.depth() == 1
    publishes(world, 2)
    assert world.depth() == 1
    world.host.declaring.delete_queue("q")
    assert world.host.topology.keeping_out == 0
    world.check()


def test_a_message_that_a_filter_is_given_up_on_is_refused() -> None:
    """Each part of the filter looks at all of a long text, again and again."""
    world = world_with(Discipline(filter=" OR ".join(["s LIKE '%x%'"] * 500)))
    message = world.message(key="q", headers={"s": Tagged(Kind.STRING, "a" * 1_000_000)})
    answer = world.host.publishing.publish(message, None, 0)
    assert answer.status == PublishStatus.REFUSED
    assert condition(answer.refusal) == Condition.RESOURCE_LIMIT_EXCEEDED
    assert world.depth() == 0
    world.check()


def test_a_filter_that_is_not_understood_any_more_lets_in_nothing() -> None:
    world = world_with(Discipline(filter="n ="))
    publishes(world)
    assert world.depth() == 0


def test_what_who_subscribes_alone_publishes_does_not_enter_unless_somebody_has_the_queue() -> None:
    world = world_with(no_local=True)
    publishes(world, connection=MINE)
    alone = Session(world.bridge.numbers.next_owner(), MINE)
    _, subscription = world.subscribe(owner=alone, exclusive=True, credit=0)
    assert [publishes(world, connection=each) for each in (MINE, THEIRS)] == (
        [PublishStatus.DONE] * 2
    )
    assert world.depth() == 2
    subscription.cancel()
    publishes(world, connection=MINE)
    assert world.depth() == 3
    _, subscription = world.subscribe(owner=alone, credit=0)
    publishes(world, connection=MINE)
    assert world.depth() == 4
    world.check()


def test_what_a_filter_takes_counts_among_what_queues_take() -> None:
    world = World()
    kept = world.host.bindings.kept
    empty = kept.held
    world.queue()
    plain = kept.held - empty
    world.host.declaring.delete_queue("q")
    assert kept.held == empty
    long = Discipline(filter=" OR ".join(["n = 1"] * 300))
    world.queue(discipline=long)
    assert kept.held > empty + plain + 50_000
    world.turn()
    world.host.declaring.delete_queue("q")
    assert kept.held == empty
    limited = World(limits=BridgeLimits(topology_octets_max=3 * plain + empty))
    settings = QueueSettings(discipline=long)
    refused = limited.host.declaring.declare_queue("q", settings, limited.owner())
    assert condition(refused) == Condition.RESOURCE_LIMIT_EXCEEDED
