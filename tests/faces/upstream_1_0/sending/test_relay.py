import pytest
from support.bridge_world import Producer
from support.rules import rule
from support.upstream_relays import bodies, publish, world
from support.upstream_world import UpstreamWorld

from gateway.amqp_1_0 import _spec, types
from gateway.amqp_1_0._spec import Error, Modified, Received, Rejected, Released
from gateway.bridge.remote.remote import OnRejected
from gateway.bridge.seams import PublishStatus
from gateway.message import Condition, Flag, OutcomeKind
from gateway.translate.profiles.profile import Profile
from gateway.translate.profiles.templates import Template
from gateway.wire.buffers import Reader
from gateway.wire.tagged import Tagged

NOT_FOUND = Error(condition="amqp:not-found", description="no such queue")
UNAUTHORIZED = Error(condition="amqp:unauthorized-access")


def section_of(payload):
    """The header section, which comes first."""
    return _spec.Header.decode(Reader(payload, 3))


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


def test_credit_that_the_upstream_wants_back_is_given_back():
    w = world()
    broker = w.connect(credit=5)
    publish(w, b"a", publisher=Producer())
    link = broker.link("q", sends=False)
    assert link.credit == 4
    link.send_flow(credit=4, drain=True)
    w.step()
    assert link.credit == 0


def test_what_was_sent_and_not_settled_when_the_connection_is_lost_goes_again_marked():
    w = world()
    broker = w.connect()
    producer = Producer()
    publish(w, b"a", b"b", publisher=producer)
    first, _second = broker.received()
    broker.settle(first)
    w.step()
    w.lose()
    broker = w.connect()
    (again,) = broker.received()
    assert again.payload.endswith(b"b")
    assert section_of(again.payload).delivery_count == 1
    broker.settle(again)
    w.step()
    assert [token for token, _ in producer.published] == [1, 2]
    assert w.counts.unsettled_lost == 1
    w.check()


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        (Released(), OutcomeKind.RELEASED),
        (Modified(delivery_failed=True), OutcomeKind.MODIFIED),
        (Rejected(error=NOT_FOUND), OutcomeKind.REJECTED),
    ],
)
def test_who_takes_outcomes_gets_them_as_they_are(state, kind):
    w = world()
    broker = w.connect()
    producer = Producer()
    publish(w, b"a", publisher=producer, flags=Flag.OUTCOMES)
    broker.settle(broker.received()[0], state)
    w.step()
    ((token, outcome),) = producer.published
    assert (token, outcome.kind) == (1, kind)
    w.check()


def test_what_the_upstream_released_goes_again_after_a_while_in_order():
    w = world()
    broker = w.connect()
    producer = Producer()
    publish(w, b"a", publisher=producer)
    broker.settle(broker.received()[0], Released())
    w.step()
    publish(w, b"b", publisher=Producer())
    assert broker.received() == []
    w.pass_time(2_000)
    assert bodies(broker.received()) == [b"a", b"b"]
    assert producer.published == []


def test_annotations_of_a_modified_outcome_go_out_with_the_next_attempt():
    w = world()
    broker = w.connect()
    publish(w, b"a", publisher=Producer())
    noted = Modified(message_annotations={"x-opt-seen": Tagged(types.STRING, "once")})
    broker.settle(broker.received()[0], noted)
    w.step()
    w.pass_time(2_000)
    assert b"x-opt-seen" in broker.received()[0].payload


def test_released_too_often_a_message_is_taken_to_be_rejected():
    w = world(max_redeliveries=2)
    broker = w.connect()
    producer = Producer()
    publish(w, b"a", publisher=producer)
    for _ in range(3):
        broker.settle(broker.received()[0], Released())
        w.step()
        w.pass_time(60_000)
    assert broker.received() == []
    assert [outcome.kind for _, outcome in producer.published] == [OutcomeKind.ACCEPTED]
    assert w.host.topology.find_queue("gateway.rejected").depth == 1
    w.check()


def test_undeliverable_here_is_not_tried_again():
    w = world()
    broker = w.connect()
    publish(w, b"a", publisher=Producer())
    broker.settle(broker.received()[0], Modified(undeliverable_here=True))
    w.step()
    w.pass_time(60_000)
    assert broker.received() == []
    assert w.host.topology.find_queue("gateway.rejected").depth == 1


def test_settled_without_an_outcome_is_no_success():
    w = world()
    broker = w.connect()
    producer = Producer()
    publish(w, b"a", publisher=producer)
    delivery = broker.received()[0]
    delivery.link.session.settle_incoming(delivery.delivery_id, None, settled=True)
    w.step()
    assert producer.published == []
    w.pass_time(2_000)
    assert bodies(broker.received()) == [b"a"]


def test_a_state_that_is_no_outcome_settles_nothing():
    w = world()
    broker = w.connect()
    producer = Producer()
    publish(w, b"a", publisher=producer)
    delivery = broker.received()[0]
    broker.settle(delivery, Received(section_number=0, section_offset=0), settled=False)
    w.step()
    assert producer.published == []
    broker.settle(delivery)
    w.step()
    assert len(producer.published) == 1


def test_what_the_upstream_rejects_can_be_an_exception_to_its_publisher():
    w = UpstreamWorld().place("q", on_rejected=OnRejected.EXCEPTION)
    broker = w.connect()
    producer = Producer()
    publish(w, b"a", publisher=producer)
    broker.settle(broker.received()[0], Rejected(error=UNAUTHORIZED))
    w.step()
    ((_, outcome),) = producer.published
    assert outcome.kind == OutcomeKind.REJECTED
    assert outcome.condition == Condition.UNAUTHORIZED_ACCESS


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


def test_an_address_that_is_refused_twice_rejects_what_is_for_it_until_it_is_there():
    w = world()
    broker = w.connect(prepare=lambda broker: broker.refusals.update(q=NOT_FOUND))
    producer = Producer()
    publish(w, b"a", publisher=producer, flags=Flag.OUTCOMES)
    assert producer.published == []
    w.pass_time(3_000)
    ((_, outcome),) = producer.published
    assert outcome.condition == Condition.NOT_FOUND
    broker.refusals.clear()
    w.pass_time(60_000)
    publish(w, b"b", publisher=producer, flags=Flag.OUTCOMES)
    assert bodies(broker.received()) == [b"b"]
    w.check()


def test_an_error_that_passes_by_only_delays():
    w = world()
    passing = Error(condition="amqp:internal-error")
    broker = w.connect(prepare=lambda broker: broker.refusals.update(q=passing))
    producer = Producer()
    publish(w, b"a", publisher=producer, flags=Flag.OUTCOMES)
    w.pass_time(30_000)
    assert producer.published == []
    broker.refusals.clear()
    w.pass_time(120_000)
    assert bodies(broker.received()) == [b"a"]


def test_a_message_with_which_the_link_breaks_twice_is_poison():
    w = world()
    broker = w.connect()
    producer = Producer()
    publish(w, b"a", b"b", publisher=producer)
    for _ in range(2):
        broker.received()
        broker.link("q", sends=False).send_detach(error=Error(condition="amqp:internal-error"))
        w.step()
        w.pass_time(60_000)
    assert w.counts.poison == 1
    assert bodies(broker.received()) == [b"b"]
    assert w.host.topology.find_queue("gateway.rejected").depth == 1
    w.check()


def test_a_peer_that_takes_settled_deliveries_only_gets_none():
    w = world()

    def settled(broker):
        broker.answers["q"] = lambda event: broker.accept(event, snd_settle_mode=_spec.SND_SETTLED)

    broker = w.connect(prepare=settled)
    producer = Producer()
    publish(w, b"a", publisher=producer, flags=Flag.OUTCOMES)
    assert broker.received() == []
    ((_, outcome),) = producer.published
    assert outcome.condition == Condition.NOT_IMPLEMENTED


class Resuming:
    """A broker that tells at attach what it knows of the last connection."""

    def __init__(self, unsettled):
        self.unsettled = unsettled

    def __call__(self, broker):
        broker.answers["q"] = lambda event: broker.accept(event, unsettled=self.unsettled)


def test_a_peer_that_resumes_says_what_became_of_what_was_unsettled():
    w = world(profile=Profile(resume=True))
    broker = w.connect()
    producer = Producer()
    publish(w, b"a", b"b", publisher=producer)
    first, _second = broker.received()
    w.lose()
    broker = w.connect(prepare=Resuming({first.tag: _spec.Accepted()}))
    assert w.counts.unsettled_lost == 1
    assert [(token, outcome.kind) for token, outcome in producer.published] == [
        (1, OutcomeKind.ACCEPTED)
    ]
    again = [delivery for delivery in broker.received() if delivery.payload]
    assert bodies(again) == [b"b"]
    assert section_of(again[0].payload).delivery_count == 1
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


# Nodes that take what they drop.


def silent_world():
    w = UpstreamWorld(profile=Profile(missing="drop")).place("q")
    assert w.host.topology.find_queue("q") is not None
    return w


def test_where_attaching_does_not_tell_the_node_is_looked_for_first():
    w = silent_world()
    broker = w.connect()
    looked = [event for event in broker.attached if event.attach.role]
    assert [event.attach.source.address for event in looked] == ["q"]
    assert broker.links("q", sends=True) == []
    producer = Producer()
    publish(w, b"x", publisher=producer)
    (delivery,) = broker.received()
    broker.settle(delivery)
    w.step()
    assert len(producer.published) == 1


def test_a_node_that_is_not_found_gets_nothing_until_it_is_there():
    w = silent_world()
    session_errors = {}
    roles = []

    def answer(event):
        roles.append(event.attach.role)
        if event.attach.role and session_errors:
            event.link.refuse(session_errors["q"])
        else:
            w.broker.accept(event)

    session_errors["q"] = NOT_FOUND
    broker = w.connect(prepare=lambda b: (setattr(w, "broker", b), b.answers.update(q=answer)))
    producer = Producer()
    publish(w, b"x", publisher=producer, flags=Flag.OUTCOMES)
    assert broker.received() == []
    ((_, outcome),) = producer.published
    assert (outcome.kind, outcome.condition) == (OutcomeKind.REJECTED, Condition.NOT_FOUND)
    session_errors.clear()
    w.pass_time(2_000)
    publish(w, b"y", publisher=producer)
    (delivery,) = broker.received()
    broker.settle(delivery)
    w.step()
    assert producer.published[-1][1].kind == OutcomeKind.ACCEPTED


def test_a_link_that_goes_while_its_node_is_looked_for_looks_anew():
    w = silent_world()

    def keep_silent(event):
        if not event.attach.role:
            w.broker.accept(event)

    w.connect(prepare=lambda b: (setattr(w, "broker", b), b.answers.update(q=keep_silent)))
    publish(w, b"x")
    assert w.broker.received() == []
    w.lose()
    broker = w.connect()
    assert len(broker.received()) == 1


def test_an_address_that_gives_no_credit_for_long_is_told_of_until_it_does():
    w = world(attach_timeout_ms=5_000)
    told = []

    def listen():
        told.append((w.upstream.health.last_error, w.upstream.health.solved))

    broker = w.connect(credit=1)
    w.upstream.health.on_change = listen
    for _ in range(2):
        publish(w, b"a", b"b", publisher=Producer())
        w.pass_time(4_999)
        assert told == []
        w.pass_time(1)
        problem = "no credit from 'q' for 5 s; publishers to it wait"
        assert told == [(problem, "")]
        link = broker.link("q", sends=False)
        link.send_flow(credit=5)
        w.step()
        assert told == [(problem, ""), ("", problem)]
        told.clear()
        link.send_flow(credit=1)
        w.step()
        for each in broker.received():
            broker.settle(each)
        w.step()
        assert w.upstream.next_deadline() is None


def test_no_credit_is_no_news_where_nothing_waits():
    w = world(attach_timeout_ms=5_000)
    broker = w.connect(credit=1)
    publish(w, b"a", publisher=Producer())
    w.pass_time(10_000)
    assert w.upstream.health.last_error == ""
    assert len(broker.received()) == 1


def test_what_came_back_and_then_expired_is_forgotten():
    w = world(redelivery_min_ms=100, redelivery_max_ms=100)
    broker = w.connect()
    producer = Producer()
    for _ in range(10):
        for number in range(40):
            message = w.world.message(b"short", key="q", ttl_ms=50)
            w.host.publishing.publish(message, producer, number)
        w.step()
        for delivery in broker.received():
            broker.settle(delivery, _spec.Released())
        w.step()
        w.pass_time(200)
    assert len(producer.published) == 400
    assert w.bridge.pressure.messages == 0
    assert len(w.upstream._relays[w.host.topology.find_queue("q")]._returns._attempts) < 200


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
