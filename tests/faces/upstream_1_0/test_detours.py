"""Link redirects: one link moves, within a container or to another one, and all of it goes on."""

import pytest
from support.bridge_world import Producer
from support.face_1_0 import message
from support.rules import rule
from support.service_bus import NAMESPACE, ServiceBus
from support.upstream_world import UpstreamWorld

from gateway.amqp_1_0 import _spec, events, types
from gateway.audit.schema import Kind
from gateway.faces.upstream_1_0.location import Location
from gateway.faces.upstream_1_0.settings import CbsToken
from gateway.message import ACCEPTED, Condition, OutcomeKind
from gateway.translate.profiles.profile import Profile
from gateway.translate.profiles.templates import Template
from gateway.wire.tagged import Tagged

HOME = "a.example"
OTHER = "b.example"


def redirect(host=None, port=None, hostname=None, address=None):
    """The error of a link that is at another place."""
    texts = {"network-host": host, "hostname": hostname, "address": address}
    info = {key: Tagged(types.STRING, text) for key, text in texts.items() if text is not None}
    if port is not None:
        info["port"] = Tagged(types.USHORT, port)
    return _spec.Error(condition="amqp:link:redirect", info=info)


def connect(w, **more):
    return w.connect(location=Location(network_host=HOME, port=5672, hostname=HOME), **more)


def redirecting(*addresses, **where):
    """Has a container redirect what attaches to these addresses."""

    def prepare(broker):
        broker.refusals.update(dict.fromkeys(addresses, redirect(**where)))

    return prepare


def bodies(consumer):
    """What a consumer got, of messages with one octet."""
    return [each[-1:] for each in consumer.bodies()]


def attaches(broker, address):
    """How often one of our links came for an address."""
    found = 0
    for event in broker.attached:
        terminus = event.attach.source if event.attach.role else event.attach.target
        found += getattr(terminus, "address", "") == address
    return found


def test_a_link_without_another_host_is_attached_anew_at_the_address_that_is_told():
    w = UpstreamWorld().place("q")
    broker = connect(w, prepare=redirecting("q", address="q-7"))
    consumer, _ = w.subscribe("q")
    producer = Producer()
    w.publish(b"x", publisher=producer)
    (sent,) = broker.received()
    broker.settle(sent)
    broker.deliver("q-7", message(b"y"))
    w.step()
    assert producer.published == [(1, ACCEPTED)]
    assert bodies(consumer) == [b"y"]
    assert broker.link("q-7").credit == 9
    assert w.roads.dialled == []
    assert w.counts.redirected == 2
    w.check()


@pytest.mark.parametrize("more", [{}, {"port": 5672}, {"hostname": HOME}])
def test_a_redirect_to_where_we_are_stays_on_the_connection(more):
    w = UpstreamWorld().place("q")
    broker = connect(w, prepare=redirecting("q", host="A.Example", address="q-7", **more))
    w.subscribe("q")
    assert broker.link("q-7").credit == 10
    assert w.roads.dialled == []


@rule("1.0", "2.8.18", "link-redirect-is-followed")
def test_a_link_goes_to_another_host_and_the_others_stay():
    w = UpstreamWorld().place("q", "r")
    broker = connect(w, prepare=redirecting("q", host=OTHER, port=5671, address="q-7"))
    consumer, _ = w.subscribe("q")
    w.subscribe("r")
    (detour,) = w.roads.dialled
    assert (detour.location.network_host, detour.location.port) == (OTHER, 5671)
    other = w.roads.open()
    assert broker.link("r").credit == 10
    assert broker.links("q", sends=True) == []
    other.deliver("q-7", message(b"y"))
    w.step()
    assert bodies(consumer) == [b"y"]
    w.settle(consumer.deliveries[0], ACCEPTED)
    assert other.states() == [_spec.Accepted()]
    assert other.link("q-7").credit >= 9
    w.check()


def test_links_that_are_redirected_to_one_place_share_a_connection():
    w = UpstreamWorld().place("q", "r")
    connect(w, prepare=redirecting("q", "r", host=OTHER, port=5671))
    w.subscribe("q")
    w.subscribe("r")
    w.publish(b"x", key="q", publisher=Producer())
    assert len(w.roads.dialled) == 1
    other = w.roads.open()
    assert other.link("q").credit == 10
    assert other.link("r").credit == 10
    assert len(other.received()) == 1
    w.subscribe("q")
    assert len(other.links("q", sends=True)) == 2
    assert w.roads.dialled == []
    assert w.counts.connections_made == 2


def test_a_detour_opens_with_the_hostname_that_is_told_and_with_the_same_settings():
    w = UpstreamWorld(hostname="vhost:a").place("q", "r")
    prepare = redirecting("q", host=OTHER, hostname="b.internal")
    broker = connect(w, prepare=prepare)
    broker.refusals["r"] = redirect(host="c.example")
    w.subscribe("q")
    w.subscribe("r")
    opened = [w.roads.open().take_all(events.OpenReceived)[0].open for _ in range(2)]
    assert [each.hostname for each in opened] == ["b.internal", "vhost:a"]
    assert {each.container_id for each in opened} == {"gateway"}


def test_what_a_redirect_does_not_tell_is_as_on_the_connection_that_redirected():
    w = UpstreamWorld().place("q")
    location = Location(network_host=HOME, port=5671, hostname=HOME, secure=True)
    w.connect(location=location, prepare=redirecting("q", host=OTHER))
    w.subscribe("q")
    (detour,) = w.roads.dialled
    assert detour.location.port == 5671
    assert detour.location.secure


def test_outcomes_and_back_pressure_are_those_of_the_link_where_it_is():
    w = UpstreamWorld().place("q")
    broker = connect(w, prepare=redirecting("q", host=OTHER))
    producer = Producer()
    w.publish(b"1", b"2", b"3", publisher=producer)
    other = w.roads.open(credit=2)
    first, second = other.received()
    other.settle(first)
    w.step()
    assert producer.published == [(1, ACCEPTED)]
    w.face.write_blocked(True)  # the upstream's own transport is another
    other.link("q", sends=False).send_flow(credit=5)
    w.step()
    (third,) = other.received()
    w.roads.faces[OTHER].write_blocked(True)
    w.publish(b"4", publisher=producer)
    assert other.received() == []
    w.roads.faces[OTHER].write_blocked(False)
    w.step()
    (fourth,) = other.received()
    for delivery in (second, third, fourth):
        other.settle(delivery)
    w.step()
    assert [token for token, _ in producer.published] == [1, 2, 3, 1]
    assert broker.received() == []
    w.check()


def test_an_attached_link_that_is_redirected_sends_again_what_was_unsettled():
    w = UpstreamWorld().place("q")
    broker = connect(w)
    producer = Producer()
    w.publish(b"x", publisher=producer)
    assert len(broker.received()) == 1
    broker.link("q", sends=False).send_detach(error=redirect(host=OTHER))
    w.step()
    other = w.roads.open()
    (again,) = other.received()
    assert w.counts.unsettled_lost == 1
    other.settle(again)
    w.step()
    assert producer.published == [(1, ACCEPTED)]
    w.check()


def test_where_links_resume_the_other_container_decides_what_it_knows():
    w = UpstreamWorld(profile=Profile(resume=True)).place("q")
    broker = connect(w)
    producer = Producer()
    w.publish(b"x", publisher=producer)
    (sent,) = broker.received()
    broker.link("q", sends=False).send_detach(closed=False, error=redirect(host=OTHER))
    w.step()

    def knows(other):
        def answer(event):
            assert list(event.attach.unsettled) == [sent.tag]
            other.accept(event, unsettled={sent.tag: _spec.Accepted()})

        other.answers["q"] = answer

    w.roads.open(prepare=knows)
    assert producer.published == [(1, ACCEPTED)]
    w.check()


def test_a_look_up_goes_where_it_is_redirected():
    class Waiter:
        told = None

        def on_looked_up(self, token, refusal):
            self.told = (token, refusal)

    w = UpstreamWorld().place("q")
    connect(w, prepare=redirecting("q", host=OTHER))
    waiter = Waiter()
    assert w.host.reaching.look_up("q", waiter, 5)
    w.step()
    gone = _spec.Error(condition="amqp:not-found", description="no")
    w.roads.open(prepare=lambda other: other.refusals.update(q=gone))
    token, refusal = waiter.told
    assert (token, refusal.condition) == (5, Condition.NOT_FOUND)


def test_a_detour_goes_when_its_last_link_has_left():
    w = UpstreamWorld().place("q", "r")
    connect(w, prepare=redirecting("q", "r", host=OTHER))
    subscriptions = [w.subscribe(name)[1] for name in ("q", "r")]
    other = w.roads.open()
    subscriptions[0].cancel()
    w.step()
    w.pass_time(1_000)
    assert other.take_all(events.CloseReceived) == []
    subscriptions[1].cancel()
    w.step()
    w.pass_time(1_000)
    # The senders of both queues are there as well, and stay.
    assert other.take_all(events.CloseReceived) == []
    for name in ("q", "r"):
        w.upstream.abandon(w.host.topology.find_queue(name))
    w.step()
    (closed,) = other.take_all(events.CloseReceived)
    assert closed.error is None
    assert w.roads.hung_up == [OTHER]
    assert list(w.upstream.detours.standing) == []
    assert w.counts.connections_lost == 0


def test_a_detour_that_is_lost_sends_its_links_back_to_ask_again():
    w = UpstreamWorld().place("q")
    broker = connect(w, prepare=redirecting("q", host=OTHER))
    consumer, _ = w.subscribe("q")
    other = w.roads.open()
    other.deliver("q", message(b"1"))
    w.step()
    asked = attaches(broker, "q")
    w.roads.lose(OTHER)
    assert attaches(broker, "q") == asked
    assert w.roads.dialled == []
    assert w.counts.connections_lost == 1
    assert "b.example:5672" in w.upstream.health.last_error
    w.pass_time(1_500)
    assert attaches(broker, "q") > asked
    other = w.roads.open()
    other.deliver("q", message(b"2"))
    w.step()
    assert bodies(consumer) == [b"1", b"2"]
    w.check()


def test_a_place_that_refuses_is_dialled_less_and_less_often():
    w = UpstreamWorld().place("q")
    connect(w, prepare=redirecting("q", host=OTHER))
    w.publish(b"x", publisher=Producer())
    tries = 0
    for _ in range(120):
        while w.roads.dialled:
            tries += 1
            w.roads.refuse()
        w.pass_time(500)
    assert 3 <= tries <= 8
    assert w.counts.connections_refused == tries


def test_a_place_that_refuses_is_left_alone_by_links_that_come_just_then():
    w = UpstreamWorld().place("q")
    connect(w, prepare=redirecting("q", host=OTHER))
    w.publish(b"x", publisher=Producer())
    w.roads.refuse()
    for _ in range(5):
        w.subscribe("q")
    assert w.roads.dialled == []


def test_an_error_at_the_other_place_is_mapped_as_any_and_the_first_one_is_asked_again():
    w = UpstreamWorld().place("q")
    broker = connect(w, prepare=redirecting("q", host=OTHER))
    w.publish(b"x", publisher=Producer())
    gone = _spec.Error(condition="amqp:not-found", description="no")
    other = w.roads.open(prepare=lambda other: other.refusals.update(q=gone))
    assert attaches(other, "q") == 1
    assert list(w.upstream.detours.standing) == []
    broker.refusals.clear()
    w.pass_time(2_000)
    assert len(broker.received()) == 1


def test_a_subscription_that_the_other_place_refuses_is_refused():
    w = UpstreamWorld().place("q")
    connect(w, prepare=redirecting("q", host=OTHER))
    consumer, _ = w.subscribe("q")
    gone = _spec.Error(condition="amqp:not-found", description="no")
    w.roads.open(prepare=lambda other: other.refusals.update(q=gone))
    assert consumer.cancelled == [Condition.NOT_FOUND]


def test_two_containers_that_redirect_to_one_another_end_in_a_back_off():
    w = UpstreamWorld().place("q")
    broker = connect(w, prepare=redirecting("q", host=OTHER))
    w.publish(b"x", publisher=Producer())
    back = redirecting("q", host=HOME)
    other = w.roads.open(prepare=back)
    first = attaches(broker, "q") + attaches(other, "q")
    assert first <= 7
    for _ in range(20):
        w.pass_time(1_000)
        while w.roads.dialled:
            w.roads.open(prepare=back)
    assert attaches(broker, "q") < 40
    assert "amqp:link:redirect" in w.upstream.health.last_error
    broker.refusals.clear()
    w.pass_time(60_000)
    assert len(broker.received()) == 1


def test_a_chain_without_end_ends_in_a_back_off():
    w = UpstreamWorld().place("q")
    connect(w, prepare=redirecting("q", host="h0.example"))
    w.publish(b"x", publisher=Producer())
    dialled = 0
    for number in range(1, 60):
        if w.roads.dialled:
            dialled += 1
            w.roads.open(prepare=redirecting("q", host=f"h{number}.example"))
    assert dialled <= 5
    w.step()
    assert len(w.upstream.detours.standing) <= 1


def test_an_address_that_redirects_to_others_without_end_ends_in_a_back_off():
    w = UpstreamWorld().place("q")

    def prepare(broker):
        for number in range(100):
            after = redirect(address=f"q{number + 1}")
            broker.refusals["q" if number == 0 else f"q{number}"] = after

    broker = connect(w, prepare=prepare)
    w.publish(b"x", publisher=Producer())
    assert len(broker.attached) <= 6
    w.pass_time(20_000)
    assert len(broker.attached) < 60


def test_there_are_as_many_detours_as_the_configuration_allows():
    w = UpstreamWorld(detours_max=2).place("q", "r", "s")

    def prepare(broker):
        for name in ("q", "r", "s"):
            broker.refusals[name] = redirect(host=f"{name}.example")

    connect(w, prepare=prepare)
    for name in ("q", "r", "s"):
        w.publish(b"x", key=name, publisher=Producer())
    assert len(w.roads.dialled) == 2
    w.roads.open()
    w.roads.open()
    w.pass_time(5_000)
    assert w.roads.dialled == []


def test_without_detours_a_redirect_elsewhere_is_an_end_as_any_other():
    w = UpstreamWorld(detours_max=0).place("q")
    broker = connect(w, prepare=redirecting("q", host=OTHER))
    w.publish(b"x", publisher=Producer())
    assert w.roads.dialled == []
    broker.refusals.clear()
    w.pass_time(2_000)
    assert len(broker.received()) == 1


def odd(**info):
    return _spec.Error(
        condition="amqp:link:redirect",
        info={key.replace("_", "-"): value for key, value in info.items()} or None,
    )


@pytest.mark.parametrize(
    "error",
    [
        odd(),
        odd(port=Tagged(types.USHORT, 5672)),
        odd(network_host=Tagged(types.STRING, "")),
        odd(network_host=Tagged(types.STRING, "two words")),
        odd(network_host=Tagged(types.STRING, "line\nbreak")),
        odd(network_host=Tagged(types.STRING, "h" * 300)),
        odd(network_host=Tagged(types.UINT, 7)),
        odd(network_host=Tagged(types.STRING, OTHER), port=Tagged(types.USHORT, 0)),
        odd(network_host=Tagged(types.STRING, OTHER), port=Tagged(types.UINT, 70_000)),
        odd(network_host=Tagged(types.STRING, OTHER), port=Tagged(types.STRING, "5672")),
        odd(network_host=Tagged(types.STRING, OTHER), address=Tagged(types.UINT, 7)),
        odd(network_host=Tagged(types.STRING, OTHER), hostname=Tagged(types.UINT, 7)),
        odd(address=Tagged(types.STRING, "")),
        odd(address=Tagged(types.STRING, "q")),
    ],
)
def test_what_is_no_good_redirect_is_an_end_as_any_other(error):
    w = UpstreamWorld().place("q")
    broker = connect(w, prepare=lambda broker: broker.refusals.update(q=error))
    w.publish(b"x", publisher=Producer())
    assert len(broker.attached) == 1
    assert w.roads.dialled == []
    broker.refusals.clear()
    w.pass_time(2_000)
    assert len(broker.received()) == 1


def test_a_storm_of_redirects_costs_one_attach_a_back_off():
    w = UpstreamWorld().place("q")
    broker = connect(w)
    w.publish(b"x", publisher=Producer())
    for _ in range(50):
        for link in broker.links("q", sends=False):
            link.send_detach(error=redirect(address="r"))
        for link in broker.links("r", sends=False):
            link.send_detach(error=redirect(address="q"))
        w.step()
    assert len(broker.attached) <= 7


def test_the_links_that_make_up_a_connection_are_not_redirected():
    w = UpstreamWorld(profile=Profile(transactions=True)).place("q")
    connect(w, prepare=redirecting("a coordinator", host=OTHER))
    transaction = w.host.transacting.begin(1)
    w.host.transacting.publish(transaction, w.world.message(b"x", key="q"), None, 0)
    told = Producer()
    w.host.transacting.commit(transaction, [], told, 1)
    w.step()
    assert w.roads.dialled == []
    ((_, outcome),) = told.published
    assert outcome.kind == OutcomeKind.REJECTED


def test_a_transaction_is_refused_where_its_link_is_elsewhere():
    w = UpstreamWorld(profile=Profile(transactions=True)).place("q")
    broker = connect(w, prepare=redirecting("q", host=OTHER))
    w.host.topology.find_queue("q")  # it is there from now on, and so is its link
    w.step()
    other = w.roads.open()
    transaction = w.host.transacting.begin(1)
    w.host.transacting.publish(transaction, w.world.message(b"x", key="q"), None, 0)
    told = Producer()
    w.host.transacting.commit(transaction, [], told, 1)
    w.step()
    (declare,) = broker.received()
    broker.settle(declare, _spec.Declared(txn_id=b"t1"))
    w.step()
    (discharge,) = broker.received()
    broker.settle(discharge)
    w.step()
    ((_, outcome),) = told.published
    assert outcome.kind == OutcomeKind.REJECTED
    assert outcome.condition == Condition.NOT_IMPLEMENTED
    assert other.received() == []
    w.check()


def test_an_acceptance_in_a_transaction_fails_where_the_link_is_elsewhere():
    w = UpstreamWorld(profile=Profile(transactions=True)).place("q")
    broker = connect(w, prepare=redirecting("q", host=OTHER))
    consumer, _ = w.subscribe("q")
    other = w.roads.open()
    other.deliver("q", message(b"y"))
    w.step()
    transaction = w.host.transacting.begin(1)
    told = Producer()
    w.host.transacting.enlist(transaction, consumer.deliveries)
    w.host.transacting.commit(transaction, consumer.deliveries, told, 1)
    w.step()
    for _ in range(2):
        for asked in broker.received():
            broker.settle(asked, _spec.Declared(txn_id=b"t1") if not told.published else None)
        w.step()
    w.pass_time(60_000)
    ((_, outcome),) = told.published
    assert outcome.kind == OutcomeKind.REJECTED
    w.check()


def test_tokens_are_put_where_the_link_is():
    asked = []

    def token(audience, now_ms):
        asked.append(audience)
        return CbsToken("jwt", "text")

    w = UpstreamWorld(tokens=token, hostname=NAMESPACE).place("q")
    bus = connect(w, kind=ServiceBus, prepare=redirecting("q", host=OTHER, address="q-7"))
    w.subscribe("q")
    other = w.roads.open(kind=ServiceBus)
    assert asked[-1] == f"sb://{NAMESPACE}/q-7"
    assert other.paths() == ["q-7"]
    assert other.link("q-7").credit == 10
    assert bus.links("q", sends=True) == []
    w.roads.lose(OTHER)
    w.pass_time(3_000)
    assert len(w.roads.dialled) == 1


def test_a_detour_goes_on_while_the_upstream_itself_is_away():
    w = UpstreamWorld().place("q")
    connect(w, prepare=redirecting("q", host=OTHER))
    consumer, _ = w.subscribe("q")
    producer = Producer()
    other = w.roads.open()
    w.lose()
    other.deliver("q", message(b"y"))
    w.publish(b"x", publisher=producer)
    (sent,) = other.received()
    other.settle(sent)
    w.step()
    assert bodies(consumer) == [b"y"]
    assert producer.published == [(1, ACCEPTED)]


def test_a_new_connection_is_asked_at_the_configured_address():
    w = UpstreamWorld().place("q")
    connect(w, prepare=redirecting("q", address="q-7"))
    w.subscribe("q")
    w.lose()
    broker = connect(w)
    assert broker.link("q").credit == 10
    assert broker.links("q-7", sends=True) == []


def test_a_detour_is_a_connection_in_the_audit_log():
    w = UpstreamWorld().place("q")
    connect(w, prepare=redirecting("q", host=OTHER, address="q-7"))
    w.subscribe("q")
    w.roads.open()
    w.roads.lose(OTHER)
    records = w.world.blocks.raw()
    opened = [each for each in records if each["kind"] == Kind.CONNECTION_OPENED]
    assert [each["peer"] for each in opened] == [
        "broker",
        "broker, redirected to b.example:5672",
    ]
    assert sum(each["kind"] == Kind.CONNECTION_CLOSED for each in records) == 1
    attached = [each["peer"] for each in records if each["kind"] == Kind.LINK_ATTACHED]
    assert {each.partition(": ")[2] for each in attached} == {"q-7 at broker"}


def test_a_message_that_breaks_a_detour_is_suspected_there_alone():
    w = UpstreamWorld().place("q", "r")
    broker = connect(w, prepare=redirecting("q", host=OTHER))
    poisoned = Producer()
    w.publish(b"ok", key="r", publisher=Producer())
    w.publish(b"poison", key="q", publisher=poisoned)
    for _ in range(12):
        while w.roads.dialled:
            w.roads.open()
        if OTHER in w.roads.brokers and w.roads.brokers[OTHER].received():
            w.roads.lose(OTHER)
        w.pass_time(30_000)
    assert w.counts.poison == 1
    assert len(poisoned.published) == 1
    assert len(broker.received()) == 1
    assert w.upstream.health.connected


def test_a_redirect_back_to_the_upstream_uses_its_own_connection():
    w = UpstreamWorld().place("q")
    broker = connect(w)
    broker.refusals["q"] = redirect(host=OTHER)
    w.subscribe("q")
    back = redirecting("q", host=HOME, port=5672, address="q-7")
    w.roads.open(prepare=back)
    assert broker.link("q-7").credit == 10
    assert list(w.upstream.detours.standing) == []


def test_a_binding_is_a_subscription_where_it_is_redirected_to():
    profile = Profile(
        exchange=Template("{exchange|plain}/{key}"), subscriptions="address", keys_in="subject"
    )
    w = UpstreamWorld(profile=profile)
    w.place(exchange="x")
    w.host.declaring.declare_exchange("x", "topic")
    w.world.queue("here")
    w.host.bindings.bind("here", "x", "a.#", {}, b"")
    broker = connect(w, prepare=redirecting("x/a.#", host=OTHER, address="x-7"))
    other = w.roads.open()
    other.deliver("x-7", message(b"y", properties=_spec.Properties(subject="a.b")))
    w.step()
    assert w.world.depth("here") == 1
    assert other.states() == [_spec.Accepted()]
    w.host.bindings.unbind("here", "x", "a.#")
    w.step()
    assert len(other.take_all(events.CloseReceived)) == 1
    assert broker.links("x/a.#", sends=True) == []


def test_a_detour_that_nobody_needs_when_it_opens_is_closed_at_once():
    class Waiter:
        told = 0

        def on_looked_up(self, token, refusal):
            self.told += 1

    w = UpstreamWorld()
    connect(w, prepare=redirecting("q", host=OTHER))
    waiter = Waiter()
    w.upstream.look_up_address("q", waiter, 1)
    w.step()
    assert len(w.roads.dialled) == 1
    w.pass_time(60_000)
    assert waiter.told == 1
    other = w.roads.open()
    assert other.attached == []
    assert len(other.take_all(events.CloseReceived)) == 1


def test_redirects_of_a_link_that_lasts_are_not_in_a_row():
    w = UpstreamWorld(back_off_max_ms=1_000).place("q")
    broker = connect(w)
    w.publish(b"x", publisher=Producer())
    address = "q"
    for number in range(10):
        w.pass_time(2_000)
        link = broker.link(address, sends=False)
        address = f"q{number}"
        link.send_detach(error=redirect(address=address))
        w.step()
    assert broker.links(address, sends=False) != []
