from support.bridge_world import Producer
from support.rules import rule
from support.upstream_relays import bodies, publish, world
from support.upstream_world import UpstreamWorld

from gateway.bridge.queues.latency import UPSTREAM
from gateway.bridge.seams import PublishStatus
from gateway.message import Condition, Encoding, Flag, OutcomeKind
from gateway.translate.profiles.profile import Profile
from gateway.translate.profiles.templates import Template


def test_a_publisher_is_told_when_the_upstream_has_accepted():
    w = world()
    broker = w.connect()
    producer = Producer()
    assert publish(w, b"a", publisher=producer) == [PublishStatus.PENDING]
    assert producer.published == []
    (sent,) = broker.received()
    broker.settle(sent)
    w.step()
    assert [(token, outcome.kind) for token, outcome in producer.published] == [
        (1, OutcomeKind.ACCEPTED)
    ]
    w.check()


def test_how_long_it_took_to_settle_is_counted_for_the_publisher_the_copy_and_the_upstream():
    w = world()
    broker = w.connect()
    bridge = w.world.bridge
    bridge.now_us = came_us = bridge.now_us + 1
    publish(w, b"a", publisher=Producer())
    bridge.now_us = came_us + 700
    broker.settle(*broker.received())
    w.step()
    bridge.now_us = came_us + 900
    latency = bridge.latency
    settled = latency.settled[Encoding.AMQP_1_0][UPSTREAM]
    told = latency.arrivals[Encoding.AMQP_1_0].runs[UPSTREAM]
    for run in (settled, told, w.upstream.context.settling):
        assert run.durations.cumulative()[-1][1] == 1
        assert run.durations.total_us == 700


def test_what_is_published_before_there_is_a_connection_waits_for_it_in_order():
    w = world()
    producer = Producer()
    publish(w, b"a", b"b", b"c", publisher=producer)
    assert producer.published == []
    broker = w.connect()
    assert bodies(broker.received()) == [b"a", b"b", b"c"]


def test_no_more_is_sent_than_the_upstream_gives_credit_for():
    w = world()
    broker = w.connect(credit=2)
    publish(w, b"a", b"b", b"c", publisher=Producer())
    assert bodies(broker.received()) == [b"a", b"b"]
    broker.link("q", sends=False).send_flow(credit=5)
    w.step()
    assert bodies(broker.received()) == [b"c"]


def test_no_more_is_under_way_than_the_window_whatever_the_upstream_would_take():
    w = world(window=2)
    broker = w.connect(credit=1000)
    publish(w, b"a", b"b", b"c", publisher=Producer())
    first, second = broker.received()
    assert bodies([first, second]) == [b"a", b"b"]
    broker.settle(first)
    w.step()
    assert bodies(broker.received()) == [b"c"]


@rule("1.0", "2.7.3", "max-message-size-is-respected")
def test_a_message_above_the_targets_limit_is_never_sent_and_rejected():
    w = world()

    def small(broker):
        broker.answers["q"] = lambda event: limited(broker, event)

    def limited(broker, event):
        event.link.max_message_size = 50
        broker.accept(event)

    broker = w.connect(prepare=small)
    producer = Producer()
    publish(w, b"x" * 100, publisher=producer, flags=Flag.OUTCOMES)
    assert broker.received() == []
    ((_, outcome),) = producer.published
    assert outcome.condition == Condition.MESSAGE_SIZE_EXCEEDED
    w.check()


def test_links_by_address_are_bounded_and_the_idle_one_used_longest_ago_goes():
    w = UpstreamWorld(
        profile=Profile(exchange=Template("{exchange|word}.{key|percent}")), addresses_max=2
    )
    w.place(exchange="events")
    w.host.declaring.declare_exchange("events", "topic")
    broker = w.connect()
    for key in ("a", "b", "c"):
        publish(w, key.encode(), exchange="events", key=key, publisher=Producer())
        for delivery in broker.received():
            broker.settle(delivery)
        w.step()
    assert broker.links("events.a", sends=False) == []
    assert len(broker.links("events.b", sends=False)) == 1
    assert len(broker.links("events.c", sends=False)) == 1


def test_a_spooled_queue_confirms_at_once_and_sends_when_it_can():
    w = UpstreamWorld().place("q", spool=True)
    producer = Producer()
    statuses = publish(w, b"a", b"b", publisher=producer)
    assert PublishStatus.PENDING not in statuses
    broker = w.connect()
    deliveries = broker.received()
    assert bodies(deliveries) == [b"a", b"b"]
    for delivery in deliveries:
        broker.settle(delivery)
    w.step()
    assert w.host.topology.find_queue("q").depth == 0
    w.check()


def test_what_an_exchange_got_before_the_first_connection_goes_with_it():
    w = UpstreamWorld(profile=Profile(exchange=Template("{exchange|plain}/{key}")))
    w.place(exchange="x")
    w.host.declaring.declare_exchange("x", "topic")
    producer = Producer()
    w.publish(b"x", exchange="x", key="a", publisher=producer)
    broker = w.connect()
    (delivery,) = broker.received()
    broker.settle(delivery)
    w.step()
    assert [outcome.kind for _, outcome in producer.published] == [OutcomeKind.ACCEPTED]
