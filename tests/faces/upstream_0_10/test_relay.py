"""From a remote queue to an old broker of 0-10, and what its publishers hear."""

from support.bridge_world import Producer, bind
from support.old_broker import OldBroker, OldWorld

from gateway.bridge.remote.remote import OnRejected
from gateway.bridge.seams import PublishStatus
from gateway.message import Condition, OutcomeKind


def outcomes(publisher):
    return [outcome.kind for _, outcome in publisher.published]


def test_a_publish_is_done_when_the_old_broker_has_completed_it():
    world = OldWorld()
    broker = world.begin()
    publisher = Producer()
    broker.silent = True
    answers = world.publish(b"one", b"two", publisher=publisher)
    assert [each.status for each in answers] == [PublishStatus.PENDING] * 2
    assert publisher.published == []
    bridge = world.bridge
    bridge.now_us = bridge.now_us + 700
    broker.silent = False
    world.step()
    bridge.now_us = bridge.now_us + 1
    assert outcomes(publisher) == [OutcomeKind.ACCEPTED] * 2
    settling = world.upstream.context.settling.durations
    assert (settling.cumulative()[-1][1], settling.total_us) == (2, 1400)
    assert broker.bodies() == [b"one", b"two"]
    world.check()


def test_a_queue_that_is_not_there_is_told_of_and_asked_for_again():
    world = OldWorld()
    broker = world.begin(made=False, on_rejected=OnRejected.EXCEPTION)
    publisher = Producer()
    world.publish(b"one", publisher=publisher)
    assert [outcome.condition for _, outcome in publisher.published] == [Condition.NOT_FOUND]
    broker.world.queue("q")
    world.pass_time(2_000)
    world.publish(b"two", publisher=publisher)
    assert outcomes(publisher) == [OutcomeKind.REJECTED, OutcomeKind.ACCEPTED]
    assert broker.bodies() == [b"two"]
    world.check()


def test_what_was_under_way_when_the_connection_is_lost_is_sent_again_and_marked():
    world = OldWorld()
    broker = world.begin()
    publisher = Producer()
    broker.silent = True
    world.publish(b"one", b"two", publisher=publisher)
    after = world.again()
    assert outcomes(publisher) == [OutcomeKind.ACCEPTED] * 2
    found = after.take()
    assert [each.message.body() for each in found] == [b"one", b"two"] * 2
    assert [each.message.delivery_count for each in found] == [0, 0, 1, 1]
    assert world.counts.unsettled_lost == 2
    world.check()


def test_while_there_is_no_connection_publishers_wait():
    world = OldWorld()
    broker = world.begin()
    world.lose()
    broker.lose()
    publisher = Producer()
    world.publish(b"one", publisher=publisher)
    assert publisher.published == []
    world.connect(kind=type(broker), before=broker)
    assert outcomes(publisher) == [OutcomeKind.ACCEPTED]
    world.check()


def test_what_an_exception_names_is_refused_and_all_else_goes_on():
    world = OldWorld()
    broker = world.begin("small", made=False, on_rejected=OnRejected.EXCEPTION)
    broker.world.queue("small", max_count=1)
    world.pass_time(2_000)
    publisher = Producer()
    world.publish(b"one", key="small", publisher=publisher)
    world.publish(b"too many", key="small", publisher=publisher)
    assert outcomes(publisher) == [OutcomeKind.ACCEPTED, OutcomeKind.REJECTED]
    assert publisher.published[1][1].condition == Condition.RESOURCE_LIMIT_EXCEEDED
    broker.bodies("small")
    world.pass_time(2_000)
    world.publish(b"three", key="small", publisher=publisher)
    assert outcomes(publisher)[2:] == [OutcomeKind.ACCEPTED]
    assert broker.bodies("small") == [b"three"]
    world.check()


def test_no_more_than_the_window_is_under_way():
    world = OldWorld(window=3)
    broker = world.begin()
    broker.silent = True
    publisher = Producer()
    world.publish(b"1", b"2", b"3", b"4", b"5", publisher=publisher)
    assert broker.world.depth() == 3
    broker.silent = False
    world.step()
    assert broker.bodies() == [b"1", b"2", b"3", b"4", b"5"]


def test_what_was_routed_by_another_key_goes_to_its_queue_and_the_key_is_a_counted_loss():
    world = OldWorld()
    broker = world.begin()
    bind(world.world, "q", "amq.direct", "k")
    publisher = Producer()
    world.publish(b"one", key="k", exchange="amq.direct", publisher=publisher)
    assert outcomes(publisher) == [OutcomeKind.ACCEPTED]
    (delivery,) = broker.take()
    assert delivery.message.routing_key == "q"
    assert sum(world.faces.translated.lost) == 1


def test_a_message_for_a_remote_exchange_goes_by_the_key_it_came_with():
    world = OldWorld()
    world.place(exchange="news")

    def prepare(broker):
        broker.world.queue("q")
        broker.world.host.declaring.declare_exchange("news", "topic")
        bind(broker.world, "q", "news", "uk.#")

    broker = world.connect(kind=OldBroker, prepare=prepare)
    publisher = Producer()
    world.publish(b"one", key="uk.mud", exchange="news", publisher=publisher)
    assert outcomes(publisher) == [OutcomeKind.ACCEPTED]
    (delivery,) = broker.take()
    assert (delivery.message.exchange, delivery.message.routing_key) == ("news", "uk.mud")
