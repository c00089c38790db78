"""One link moves, within a container or to another one, and all of it goes on."""

import pytest
from support.bridge_world import Producer
from support.face_1_0 import message
from support.redirects import HOME, OTHER, bodies, connect, redirect, redirecting
from support.rules import rule
from support.service_bus import NAMESPACE, ServiceBus
from support.upstream_world import UpstreamWorld

from gateway.amqp_1_0 import _spec, events
from gateway.faces.dialled.location import Location
from gateway.faces.dialled.settings import CbsToken
from gateway.message import ACCEPTED, Condition, OutcomeKind
from gateway.translate.profiles.profile import Profile
from gateway.translate.profiles.templates import Template


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
