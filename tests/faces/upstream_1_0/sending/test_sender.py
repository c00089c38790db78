from support.bridge_world import Producer
from support.upstream_relays import bodies, publish, world
from support.upstream_world import UpstreamWorld

from gateway.amqp_1_0 import _spec
from gateway.amqp_1_0._spec import Error
from gateway.message import Condition, Flag, OutcomeKind
from gateway.translate.profiles.profile import Profile
from gateway.wire.buffers import Reader

NOT_FOUND = Error(condition="amqp:not-found", description="no such queue")


def section_of(payload):
    """The header section, which comes first."""
    return _spec.Header.decode(Reader(payload, 3))


class Resuming:
    """A broker that tells at attach what it knows of the last connection."""

    def __init__(self, unsettled):
        self.unsettled = unsettled

    def __call__(self, broker):
        broker.answers["q"] = lambda event: broker.accept(event, unsettled=self.unsettled)


def test_credit_that_the_upstream_wants_back_is_given_back():
    w = world()
    broker = w.connect(credit=5)
    publish(w, b"a", publisher=Producer())
    link = broker.link("q", sends=False)
    assert link.credit == 4
    link.send_flow(credit=4, drain=True)
    w.step()
    assert link.credit == 0


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
