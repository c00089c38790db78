"""What comes by a connection to an upstream, told to those whom it concerns."""

from support.bridge_world import Producer
from support.face_1_0 import message
from support.frames_1_0 import octets_of
from support.upstream_world import UpstreamWorld

from gateway.amqp_1_0 import _spec, events
from gateway.amqp_1_0._spec_conditions import RESOURCE_LIMIT_EXCEEDED
from gateway.faces.accounts import Accounts
from gateway.wire.limits import Limits

MIB = 1024 * 1024


def test_what_waits_for_the_session_window_goes_on_when_it_opens():
    w = UpstreamWorld().place("q")
    broker = w.connect(limits=Limits(session_window=4))
    producer = Producer()
    w.publish(*[b"%d" % number for number in range(30)], publisher=producer)
    received = broker.received()
    assert len(received) == 30
    for delivery in received:
        broker.settle(delivery)
    w.step()
    assert [token for token, _ in producer.published] == list(range(1, 31))


def test_a_session_whose_rules_the_upstream_breaks_ends_alone_and_its_links_come_back():
    w = UpstreamWorld().place("q", "r")
    broker = w.connect()
    first, _ = w.subscribe("q")
    second, _ = w.subscribe("r")
    channel = broker.link("q").session.channel_out
    w.face.receive_data(octets_of(_spec.Transfer(handle=77), channel=channel), w.now_ms)
    w.step()
    assert broker.links("q", sends=True) == []
    assert broker.link("r").attached
    w.pass_time(60_000)
    broker.deliver("q", message(b"one"))
    broker.deliver("r", message(b"two"))
    w.step()
    assert (len(first.deliveries), len(second.deliveries)) == (1, 1)


def send_part(w, broker, address, octets):
    """The first part of a delivery, by the broker's link from an address."""
    link = broker.link(address)
    first = _spec.Transfer(
        handle=link.handle_out, delivery_id=0, delivery_tag=b"t", message_format=0, more=True
    )
    frame = octets_of(first, channel=link.session.channel_out, payload=bytes(octets))
    w.face.receive_data(frame, w.now_ms)
    w.step()


def test_what_an_upstream_has_sent_in_part_is_on_its_account_until_the_connection_is_over():
    w = UpstreamWorld().place("q")
    accounts = w.faces.accounts
    broker = w.connect()
    w.subscribe("q")
    before = accounts.everybody.held
    send_part(w, broker, "q", 40_000)
    w.face.receive_data(bytes.fromhex("0000ff00"), w.now_ms)  # and a frame that has not come
    assert accounts.everybody.held - before > 40_000
    assert accounts.upstream("broker").held == accounts.everybody.held
    w.lose()
    assert accounts.everybody.held == accounts.upstream("broker").held == 0


def test_all_connections_of_an_upstream_together_keep_no_more_than_a_user_may():
    w = UpstreamWorld().place("q")
    accounts = w.faces.accounts = Accounts(user_max=MIB)
    broker = w.connect()
    w.subscribe("q")
    accounts.upstream("broker").note(MIB - 30_000)  # on a detour, say
    send_part(w, broker, "q", 40_000)
    [detached] = broker.take_all(events.DetachReceived)
    assert detached.detach.error.condition == RESOURCE_LIMIT_EXCEEDED
    assert accounts.refusals()["upstream"] == 1
    assert "too much" in w.upstream.health.last_error
    accounts.upstream("broker").give(MIB - 30_000)
    w.pass_time(60_000)
    broker.deliver("q", message(b"one"))
    w.step()
    assert accounts.refusals()["upstream"] == 1


def test_an_upstream_that_does_not_read_its_answers_is_not_read():
    w = UpstreamWorld(limits=Limits(answers_max=1000))
    accounts = w.faces.accounts
    broker = w.connect()
    before = accounts.everybody.held
    face = w.face
    face.write_blocked(True)
    written = b""
    begins = 0
    while not face.reading_paused:
        face.receive_data(
            octets_of(
                _spec.Begin(next_outgoing_id=0, incoming_window=1, outgoing_window=1),
                channel=begins % 100,
            )
            + octets_of(_spec.End(), channel=begins % 100),
            w.now_ms,
        )
        written += face.data_to_send()  # each is refused
        begins += 1
    assert accounts.everybody.held - before == len(written) >= 1000
    face.write_blocked(False)
    assert not face.reading_paused
    assert accounts.everybody.held == before
    broker.receive(written, w.now_ms)
    w.step()
    assert w.face is face
