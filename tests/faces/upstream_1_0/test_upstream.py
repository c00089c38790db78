import pytest
from support.bridge_world import Producer
from support.face_1_0 import body_of, message
from support.long_work import Waiter
from support.rules import rule
from support.upstream_world import UpstreamWorld

from gateway.amqp_1_0 import _spec, events, types
from gateway.audit.schema import Flag, Kind
from gateway.faces.dialled.health import UpstreamState
from gateway.faces.dialled.location import Location
from gateway.message import ACCEPTED, Condition
from gateway.translate.profiles.profile import Profile
from gateway.wire.buffers import FLUSH_OCTETS
from gateway.wire.limits import Limits
from gateway.wire.tagged import Tagged


def kinds(w):
    return [record.kind for record in w.world.blocks.records()]


def test_it_opens_as_the_configuration_says():
    w = UpstreamWorld(
        limits=Limits(idle_timeout_ms=40_000, max_frame_size=8192), hostname="vhost:a"
    )
    broker = w.connect()
    (opened,) = broker.take_all(events.OpenReceived)
    performative = opened.open
    assert performative.container_id == "gateway"
    assert performative.hostname == "vhost:a"
    assert performative.idle_time_out == 20_000
    assert performative.max_frame_size == 8192
    assert performative.properties["product"] == Tagged(types.STRING, "amqp-gateway")
    assert w.upstream.health.state == UpstreamState.UP
    assert w.counts.connections_made == 1


def test_without_a_hostname_of_its_own_it_names_the_host_that_was_dialled():
    w = UpstreamWorld()
    location = Location(hostname="broker.example")
    face = w.upstream.connect(w.now_ms, connection_id=7, location=location)
    assert b"broker.example" in face.data_to_send()


def test_a_connection_is_in_the_audit_log_from_open_to_end():
    w = UpstreamWorld()
    w.connect()
    assert Kind.CONNECTION_OPENED in kinds(w)
    w.lose()
    assert Kind.CONNECTION_CLOSED in kinds(w)


@pytest.mark.parametrize("reached", ["", "192.0.2.7:5672"])
def test_its_records_have_the_address_of_who_answered_or_was_dialled(reached):
    w = UpstreamWorld()
    location = Location(network_host="broker.example", port=5672)
    location.reached = reached
    w.connect(location=location)
    w.lose()
    told = [Kind.CONNECTION_OPENED, Kind.CONNECTION_CLOSED]
    found = [each["address"] for each in w.world.blocks.raw() if each["kind"] in told]
    assert found == [reached or "broker.example:5672"] * 2


def test_the_audit_log_says_where_each_link_leads():
    w = UpstreamWorld().place("q")
    w.connect()
    w.subscribe("q")
    w.step()
    records = w.world.blocks.raw()
    attached = [each for each in records if each["kind"] == Kind.LINK_ATTACHED]
    (opened,) = [each for each in records if each["kind"] == Kind.CONNECTION_OPENED]
    leading = [(each["node"], each["peer"].partition(": ")[2], each["flags"]) for each in attached]
    assert leading == [("q", "q at broker", 0), ("q from broker", "q at broker", Flag.PUBLISHER)]
    assert {each["connection"] for each in attached} == {opened["connection"]}


def test_operators_hear_which_node_a_link_led_to():
    w = UpstreamWorld().place("q")
    broker = w.connect()
    w.subscribe("q")
    w.step()
    gone = _spec.Error(condition="amqp:resource-deleted", description="deleted")
    broker.link("q").send_detach(error=gone)
    w.step()
    assert w.upstream.health.last_error == "from q: amqp:resource-deleted: deleted"


def test_the_state_is_told_as_it_changes():
    w = UpstreamWorld()
    told = []
    w.upstream.health.on_change = lambda: told.append(
        (w.upstream.health.state, w.upstream.health.last_error)
    )
    w.upstream.on_unreachable("refused")
    w.connect()
    w.lose()
    assert told == [
        (UpstreamState.DOWN, "refused"),
        (UpstreamState.CONNECTING, "refused"),
        (UpstreamState.UP, "refused"),
        (UpstreamState.DOWN, "the transport was closed"),
    ]
    assert w.counts.connections_lost == 1


def test_a_connection_that_ends_before_the_peers_open_counts_as_refused():
    w = UpstreamWorld()
    w.connect(prepare=lambda broker: setattr(broker, "opens", False))
    assert w.upstream.health.state == UpstreamState.CONNECTING
    w.lose()
    assert w.counts.connections_refused == 1
    assert w.counts.connections_lost == 0


def test_a_new_transport_ends_what_was_left_of_the_old_one():
    w = UpstreamWorld().place("q")
    w.connect()
    consumer, _ = w.subscribe(credit=2)
    old = w.face
    broker = w.connect()
    assert w.upstream.health.state == UpstreamState.UP
    assert broker.link("q").credit == 2
    assert consumer.attached == 1
    old.receive_eof(w.now_ms)
    assert w.upstream.health.state == UpstreamState.UP
    assert w.counts.connections_lost == 1


def test_after_a_reconnect_every_link_is_there_once():
    w = UpstreamWorld().place("q", "r")
    w.connect()
    w.subscribe("q")
    w.subscribe("q")
    w.subscribe("r")
    w.publish(b"x", key="q")
    for _ in range(3):
        w.lose()
        broker = w.connect()
    assert len(broker.links("q", sends=True)) == 2
    assert len(broker.links("r", sends=True)) == 1
    assert len(broker.links("q", sends=False)) == 1
    assert len(broker.attached) == len({(e.attach.name, e.attach.role) for e in broker.attached})


def test_a_message_goes_there_and_its_publisher_hears_the_outcome():
    w = UpstreamWorld().place("q")
    broker = w.connect()
    producer = Producer()
    w.publish(b"x", key="q", publisher=producer)
    (delivery,) = broker.received()
    assert producer.published == []
    assert w.face.drained() is False
    broker.settle(delivery)
    w.step()
    assert producer.published == [(1, ACCEPTED)]
    assert w.face.drained() is True
    w.check()


def test_what_the_peer_begins_and_attaches_is_refused():
    w = UpstreamWorld().place("q")
    broker = w.connect()
    w.subscribe()
    session = broker.connection.session()
    session.send_begin()
    link = broker.sessions[0].attach("its own", _spec.SENDER)
    link.send_attach(source=_spec.Source(address="a"), target=_spec.Target(address="b"))
    w.step()
    (ended,) = broker.take_all(events.EndReceived)
    assert ended.error.condition == "amqp:not-allowed"
    (detached,) = broker.take_all(events.DetachReceived)
    assert detached.detach.error.condition == "amqp:not-allowed"
    assert w.upstream.health.connected


def test_a_close_with_an_error_is_remembered():
    w = UpstreamWorld()
    broker = w.connect()
    error = _spec.Error(condition="amqp:connection:forced", description="maintenance")
    broker.connection.send_close(error=error)
    w.step()
    assert w.face.closed
    assert w.upstream.health.state == UpstreamState.DOWN
    assert w.upstream.health.last_error == "amqp:connection:forced: maintenance"
    assert w.counts.connections_lost == 1


@pytest.mark.parametrize("group", ["orders", ""])
def test_a_group_wants_the_only_connection_of_its_container_and_says_who_has_it(group):
    w = UpstreamWorld(group=group)
    broker = w.connect()
    (opened,) = [each.open for each in broker.take_all(events.OpenReceived)]
    asked = ["sole-connection-for-container"] if group else None
    assert opened.desired_capabilities == asked
    info = {"invalid-field": Tagged(types.SYMBOL, "container-id")}
    broker.connection.send_close(error=_spec.Error(condition="amqp:invalid-field", info=info))
    w.step()
    assert "somebody else is connected there as 'gateway'" in w.upstream.health.last_error


@rule("1.0", "2.8.16", "redirect-is-followed")
def test_a_redirect_is_told_once():
    w = UpstreamWorld()
    broker = w.connect()
    info = {
        "network-host": Tagged(types.STRING, "other.example"),
        "port": Tagged(types.USHORT, 5671),
    }
    error = _spec.Error(condition="amqp:connection:redirect", info=info)
    broker.connection.send_close(error=error)
    w.step()
    redirect = w.upstream.take_redirect()
    assert (redirect.network_host, redirect.port) == ("other.example", 5671)
    assert w.upstream.take_redirect() is None
    assert w.counts.redirected == 1


def test_rubbish_ends_the_connection_and_nothing_else():
    w = UpstreamWorld().place("q")
    w.connect()
    consumer, _ = w.subscribe()
    w.face.receive_data(b"\x00\x00\x00\x01rubbish", w.now_ms)
    w.world.turn()
    assert w.upstream.health.state == UpstreamState.DOWN
    assert consumer.cancelled == []
    w.connect()
    assert w.broker.link("q").credit == 10


def test_a_graceful_stop_takes_credit_back_and_waits_for_outcomes():
    w = UpstreamWorld().place("q")
    broker = w.connect()
    consumer, _ = w.subscribe()
    broker.deliver("q", message())
    w.step()
    w.bridge.drain()
    w.face.drain(w.now_ms)
    w.step()
    assert broker.link("q").credit == 0
    assert w.face.drained() is False
    w.settle(consumer.take()[0], ACCEPTED)
    assert broker.states() == [_spec.Accepted()]
    assert w.face.drained() is True
    w.face.force_close(w.now_ms)
    w.step()
    assert broker.take_all(events.CloseReceived)[0].error is None
    assert w.counts.connections_lost == 0


def test_a_full_transport_holds_messages_back():
    w = UpstreamWorld().place("q")
    broker = w.connect()
    w.face.write_blocked(True)
    w.publish(b"x", key="q")
    assert broker.received() == []
    w.face.write_blocked(False)
    w.step()
    assert len(broker.received()) == 1


def test_a_large_message_is_written_in_many_turns_and_what_is_behind_it_follows():
    large = bytes(3 * 1024 * 1024)
    w = UpstreamWorld().place("q")
    broker = w.connect()
    w.face.write_blocked(True)
    for body in (large, b"behind"):
        w.publish(body, key="q")
    w.face.write_blocked(False)
    flushes = []
    for _ in range(100):
        w.world.turn()
        octets = w.face.data_to_send()
        flushes.append(len(octets))
        broker.receive(octets, w.now_ms)
    assert 0 < max(flushes) <= 2 * FLUSH_OCTETS
    w.step()
    assert [len(body_of(each.payload)) for each in broker.received()] == [len(large), 6]


def test_a_node_is_looked_up_by_attaching_without_credit():
    w = UpstreamWorld().place("q")
    broker = w.connect()
    waiter = Waiter()
    assert w.host.reaching.look_up("q", waiter, 5)
    w.step()
    assert waiter.told == [(5, None)]
    assert broker.links("q", sends=True) == []
    receivers = [e.link for e in broker.attached if e.attach.role == _spec.RECEIVER]
    assert [link.credit for link in receivers] == [0]


def test_a_node_that_is_not_there_is_refused_to_whoever_looks_it_up():
    w = UpstreamWorld().place("q")
    broker = w.connect()
    broker.refusals["q"] = _spec.Error(condition="amqp:not-found", description="no")
    waiter = Waiter()
    w.host.reaching.look_up("q", waiter, 5)
    w.step()
    ((token, refusal),) = waiter.told
    assert token == 5
    assert refusal.condition == Condition.NOT_FOUND


def test_a_node_that_we_may_only_send_to_is_there_all_the_same():
    w = UpstreamWorld().place("q")
    broker = w.connect()

    def answer(event):
        if event.attach.role == _spec.RECEIVER:
            event.link.refuse(_spec.Error(condition="amqp:unauthorized-access"))
        else:
            broker.accept(event)

    broker.answers["q"] = answer
    waiter = Waiter()
    w.host.reaching.look_up("q", waiter, 5)
    w.step()
    assert waiter.told == [(5, None)]


def test_a_look_up_without_an_answer_ends_with_an_error():
    w = UpstreamWorld().place("q")
    waiter = Waiter()
    w.host.reaching.look_up("q", waiter, 5)
    w.pass_time(10_000)
    broker = w.connect(prepare=lambda b: b.answers.update(q=lambda event: None))
    assert waiter.told == []
    w.pass_time(20_000)
    ((_, refusal),) = waiter.told
    assert refusal.condition == Condition.INTERNAL_ERROR
    assert broker.links("q", sends=True) == []


def test_where_attaching_makes_nodes_they_are_taken_to_exist():
    w = UpstreamWorld(profile=Profile(missing="auto")).place("q")
    w.connect()
    assert w.host.reaching.look_up("q", Waiter(), 5) is False


def test_without_a_management_nodes_are_neither_deleted_nor_purged():
    w = UpstreamWorld().place("q")
    w.connect()
    for refusal in (
        w.upstream.delete("/", "q", Waiter(), 1),
        w.upstream.purge("/", "q", Waiter(), 1),
    ):
        assert refusal.condition == Condition.NOT_IMPLEMENTED
