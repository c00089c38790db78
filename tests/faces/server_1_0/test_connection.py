"""One connection of 1.0: how it ends, alone, and what its frames are as work."""

import pytest
from support.face_1_0 import Hub, message
from support.frames_1_0 import octets_of
from support.rules import rule
from support.work import units_of

from gateway.amqp_1_0 import _spec, events
from gateway.amqp_1_0.states import ConnectionState
from gateway.audit.schema import Reason
from gateway.faces.face import Ending
from gateway.message import Condition
from gateway.wire.work import DELIVERY, READ, SHARE, STATE, UNSETTLED

ACCEPTED = _spec.Accepted()


@pytest.fixture
def hub():
    hub = Hub()
    hub.world.queue("q")
    yield hub
    hub.end()


@rule("1.0", "2.7.9", "close-is-written")
def test_close_is_answered(hub):
    client = hub.client()
    client.connection.send_close()
    client.step()
    client.take(events.CloseReceived)
    assert client.face.closed
    assert client.connection.closed


def test_a_stop_serves_what_is_under_way_and_gives_nothing_new(hub):
    client = hub.client()
    sender = client.sender("q")
    receiver = client.receiver("q")
    client.send(sender, message(), tag=b"1")
    event = client.take(events.DeliveryReceived)
    client.face.drain(hub.world.now_ms)
    assert not client.face.drained()
    assert client.face.owed() == 1
    client.send(sender, message(), tag=b"2")
    assert client.received() == []
    link = receiver.session.attach("new", _spec.SENDER)
    link.send_attach(source=_spec.Source(), target=_spec.Target(address="q"))
    client.step()
    assert client.refused() == "amqp:link:detach-forced"
    receiver.session.settle_incoming(event.delivery_id, ACCEPTED)
    client.step()
    assert client.face.drained()
    client.face.force_close(hub.world.now_ms)
    client.step()
    assert client.face.closed
    assert client.take_all(events.CloseReceived) == []


def test_an_operator_closes_a_connection_in_its_own_words(hub):
    client = hub.client()
    client.face.force_close(hub.world.now_ms, Ending("moved", Reason.OPERATOR))
    client.step()
    assert client.take(events.CloseReceived).error.condition == "amqp:connection:forced"
    assert client.face.connection.state == ConnectionState.CLOSE_SENT
    client.connection.send_close()
    client.step()
    assert client.face.closed


def test_a_violation_ends_one_connection_and_no_other(hub):
    bad, good = hub.client(), hub.client()
    bad.face.receive_data(b"\0\0\0\1\0\0\0\0", hub.world.now_ms)
    good.step()
    assert hub.settings.counts.protocol_errors[1] == 1
    assert good.send(good.sender("q"), message()) == ACCEPTED


def test_links_and_sessions_that_end_for_an_error_are_no_connections_that_break_the_protocol(hub):
    client = hub.client()
    sender = client.sender("q")
    session = sender.session
    over = _spec.Transfer(handle=sender.handle_out, delivery_id=0)  # a delivery without its tag
    client.face.receive_data(octets_of(over, channel=session.channel_out), hub.world.now_ms)
    client.step()
    assert hub.settings.counts.links_failed == [0, 1]
    wrong = _spec.Detach(handle=77)
    client.face.receive_data(octets_of(wrong, channel=session.channel_out), hub.world.now_ms)
    assert hub.settings.counts.sessions_failed == [0, 1]
    assert hub.settings.counts.protocol_errors == [0, 0]
    assert not client.face.closed


def test_links_that_are_refused_or_ended_are_counted_by_what_the_client_was_told(hub):
    client = hub.client()
    ended_for = hub.settings.counts.links_ended_for
    client.sender("nowhere")
    assert client.refused() == "amqp:not-found"
    client.receiver("nowhere")
    assert client.refused() == "amqp:not-found"
    assert ended_for[1][Condition.NOT_FOUND] == 2
    sender = client.sender(None)
    client.send(sender, message(properties=_spec.Properties(to="nowhere")), settled=True)
    assert ended_for[1][Condition.NOT_FOUND] == 3
    client.receiver("q")
    hub.host.declaring.delete_queue("q")
    client.step()
    assert ended_for[1][Condition.RESOURCE_DELETED] == 1
    assert sum(ended_for[0] + ended_for[1]) == 4


def test_a_session_whose_connection_is_closed_in_the_same_breath_is_not_begun(hub):
    client = hub.client()
    client.connection.session().send_begin()
    client.connection.send_close()
    client.step()
    assert client.face.closed
    assert client.take_all(events.BeginReceived) == []


def test_a_connection_with_very_many_deliveries_ends_over_several_turns(hub):
    client, other = hub.client(), hub.client()
    sender = other.sender("q")
    for _ in range(20):
        client.receiver("q", credit=200)
    for _ in range(20 * 200):
        hub.world.send(b"")
    client.step()
    held = len(client.take_all(events.DeliveryReceived))
    assert held == 20 * 200
    assert units_of(lambda: client.face.receive_eof(hub.world.now_ms)) <= SHARE + DELIVERY * 250
    turns = 0
    while client.face.behind:
        hub.world.turn()
        assert units_of(client.face.data_to_send) <= SHARE + DELIVERY * 250
        turns += 1
    assert turns == held * DELIVERY // SHARE
    assert client.face.client.links == client.face.client.sessions == 0
    assert other.send(sender, message()) == ACCEPTED
    queue = hub.host.topology.find_queue("q")
    assert (queue.depth, queue.unsettled) == (held + 1, 0)


FLOW = _spec.Flow(
    next_incoming_id=0,
    incoming_window=9,
    next_outgoing_id=0,
    outgoing_window=9,
    echo=True,
)


@pytest.mark.parametrize(
    ("frame", "state"),
    [
        (bytes.fromhex("0000000802000000"), 0),
        (octets_of(FLOW), STATE),
        (octets_of(_spec.Disposition(role=True, first=5, settled=True)), STATE),
        (octets_of(_spec.Disposition(role=False, first=0, last=2**31 - 2)), STATE),
    ],
    ids=["empty", "flow", "disposition", "disposition of all"],
)
def test_a_frame_is_work_though_it_asks_for_nothing(hub, frame, state):
    client = hub.client()
    client.sender("q")
    many = frame * 1000
    units = units_of(lambda: client.face.receive_data(many, hub.world.now_ms))
    assert units == 1000 * (READ + state)


def test_an_unsettled_map_is_work_by_its_deliveries(hub):
    client = hub.client()
    client.session()

    def attach(count):
        known = {b"%d" % number: _spec.Accepted() for number in range(count)}
        return octets_of(
            _spec.Attach(
                name="l",
                handle=0,
                role=_spec.SENDER,
                source=_spec.Source(address="x"),
                target=_spec.Target(address="amq.fanout"),
                initial_delivery_count=0,
                unsettled=known or None,
            ),
            _spec.Detach(handle=0, closed=True),
        )

    def read(octets):
        def whole():
            client.face.receive_data(octets, hub.world.now_ms)
            client.face.data_to_send()
            assert not client.face.behind

        return units_of(whole)

    assert read(attach(3000)) == read(attach(0)) + 3000 * UNSETTLED
