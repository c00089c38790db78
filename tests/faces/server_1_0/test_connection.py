import pytest
from support.controller_1_0 import Controller
from support.face_1_0 import Hub, body_of, message
from support.frames_1_0 import give_up, octets_of
from support.rules import rule
from support.work import units_of

from gateway.amqp_1_0 import _spec, events, sections, types
from gateway.amqp_1_0.states import ConnectionState
from gateway.wire.buffers import FLUSH_OCTETS
from gateway.wire.limits import Limits
from gateway.wire.tagged import Tagged
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


# Through a queue.


@rule("1.0", "3.2", "bare-message-keeps-its-encoding")
@rule("1.0", "3.2", "no-section-is-inserted")
@rule("1.0", "3.5.3", "accepted-where-nothing-is-named")
@pytest.mark.parametrize("size", [0, 10, 100_000])
def test_a_message_goes_through_a_queue_byte_for_byte(hub, size):
    client = hub.client()
    sent = message(
        bytes(size),
        properties=_spec.Properties(message_id=Tagged(types.STRING, "id"), to="q"),
        application={"n": Tagged(types.INT, 5)},
    )
    assert client.send(client.sender("q"), sent) == ACCEPTED
    receiver = client.receiver("q")
    (event,) = client.take_all(events.DeliveryReceived)
    found = sections.scan(event.payload)
    assert event.payload[found.bare_at :] == sent
    header = sections.header(event.payload, found)
    assert header.first_acquirer is True
    assert not header.delivery_count
    receiver.session.settle_incoming(event.delivery_id, ACCEPTED)
    client.step()
    assert hub.host.topology.find_queue("q").depth == 0


@rule("1.0", "3.2.1", "durable-survives")
def test_a_durable_message_is_accepted_when_it_is_on_disk():
    hub = Hub()
    hub.world.queue("q", durable=True)
    client = hub.client()
    sender = client.sender("q")
    hub.world.auto_commit = False
    payload = message(header=_spec.Header(durable=True))
    assert client.send(sender, payload) is None
    assert not client.face.drained()
    hub.world.commit()
    client.step()
    assert client.take(events.DispositionReceived).state == ACCEPTED
    hub.world.auto_commit = True
    client.step()
    assert client.face.drained()
    hub.end()


@rule("1.0", "2.7.5", "first-mode-settles-on-arrival")
def test_many_accepts_are_one_disposition(hub):
    client = hub.client()
    sender = client.sender("q")
    for number in range(50):
        sender.send_delivery(bytes([number]), b"", message(), settled=False)
    client.step()
    dispositions = client.take_all(events.DispositionReceived)
    assert [len(event.deliveries) for event in dispositions] == [50]


def test_credit_is_given_again_as_it_is_used(hub):
    client = hub.client()
    sender = client.sender("q")
    limit = hub.settings.limits.link_credit
    assert sender.credit == limit
    for number in range(3 * limit):
        if sender.credit == 0:
            client.step()
        assert sender.credit > 0
        sender.send_delivery(number.to_bytes(4), b"", message(), settled=True)
    client.step()
    assert hub.host.topology.find_queue("q").depth == 3 * limit


def test_a_settled_message_needs_no_answer(hub):
    client = hub.client()
    assert client.send(client.sender("q"), message(), settled=True) is None
    assert hub.host.topology.find_queue("q").depth == 1


@pytest.mark.parametrize("kind", [{}, {"begun": True}, {"resume": True}])
@pytest.mark.parametrize("address", ["q", "amq.topic", None, "coordinator"])
def test_the_credit_of_deliveries_that_come_to_nothing_is_given_again(hub, address, kind):
    client = hub.client()
    if address == "coordinator":
        sender = Controller(hub=hub, client=client).control
    else:
        sender = client.sender(address)
    for _ in range(2 * hub.settings.limits.link_credit):
        give_up(sender, **kind)
        client.step()
        assert sender.credit > 0


@rule("1.0", "2.6.7", "nothing-without-credit")
def test_receivers_get_no_more_than_their_credit(hub):
    client = hub.client()
    sender = client.sender("q")
    for number in range(5):
        client.send(sender, message(), tag=bytes([number]))
    receiver = client.receiver("q", credit=2)
    assert len(client.received()) == 2
    receiver.send_flow(credit=1)
    client.step()
    assert len(client.received()) == 1


@rule("1.0", "2.6.7", "drain-uses-up-the-credit")
def test_drain_is_answered_when_nothing_is_left(hub):
    client = hub.client()
    client.send(client.sender("q"), message())
    receiver = client.receiver("q", credit=0)
    receiver.send_flow(credit=10, drain=True)
    client.step()
    assert len(client.received()) == 1
    assert receiver.credit == 0
    client.take(events.FlowReceived)


def test_drain_of_an_empty_queue_is_answered_at_once(hub):
    client = hub.client()
    receiver = client.receiver("q", credit=0)
    receiver.send_flow(credit=10, drain=True)
    client.step()
    assert receiver.credit == 0


@rule("1.0", "2.6.10", "stop-is-echoed")
def test_stopped_receivers_get_nothing(hub):
    client = hub.client()
    receiver = client.receiver("q", credit=10)
    receiver.send_flow(credit=0, echo=True)
    client.step()
    client.take(events.FlowReceived)
    client.send(client.sender("q"), message())
    assert client.received() == []


@rule("1.0", "2.7.3", "settle-modes-of-the-peer-are-respected")
@rule("1.0", "2.7.5", "settled-mode-settles")
def test_a_receiver_of_settled_deliveries_has_nothing_to_settle(hub):
    client = hub.client()
    client.send(client.sender("q"), message())
    client.receiver("q", snd_settle_mode=_spec.SND_SETTLED)
    event = client.take(events.DeliveryReceived)
    assert event.settled
    assert hub.host.topology.find_queue("q").depth == 0


def outcomes_on(hub, state, **attach):
    """Publish, receive, settle with `state`; then what the queue has."""
    client = hub.client()
    client.send(client.sender("q"), message())
    receiver = client.receiver("q", credit=1, **attach)
    event = client.take(events.DeliveryReceived)
    receiver.session.settle_incoming(event.delivery_id, state)
    client.step()
    return client, receiver


@rule("1.0", "3.2.1", "delivery-count-tells-failures")
@rule("1.0", "3.4.2", "accepted-leaves-the-source")
@rule("1.0", "3.4.4", "released-counts-nothing")
@rule("1.0", "3.4.5", "failed-counts")
@rule("1.0", "3.5.2", "moved-once")
@pytest.mark.parametrize(
    ("state", "depth", "count"),
    [
        (_spec.Accepted(), 0, None),
        (_spec.Rejected(), 0, None),
        (_spec.Released(), 1, 0),
        (_spec.Modified(), 1, 0),
        (_spec.Modified(delivery_failed=True), 1, 1),
        (None, 1, 1),
    ],
)
def test_each_outcome_does_to_the_queue_what_it_says(hub, state, depth, count):
    client, receiver = outcomes_on(hub, state)
    assert hub.host.topology.find_queue("q").depth == depth
    if depth:
        receiver.send_flow(credit=1)
        client.step()
        event = client.take(events.DeliveryReceived)
        header = sections.header(event.payload, sections.scan(event.payload))
        assert (header.delivery_count or 0) == count
        assert (header.first_acquirer is True) == (count == 0)


def test_a_delivery_count_that_cannot_grow_stays_what_it_is(hub):
    client = hub.client()
    most = _spec.Header(durable=True, delivery_count=0xFFFFFFFF)
    client.send(client.sender("q"), message(header=most))
    receiver = client.receiver("q")
    for _ in range(2):
        event = client.take(events.DeliveryReceived)
        header = sections.header(event.payload, sections.scan(event.payload))
        assert header.delivery_count == 0xFFFFFFFF
        receiver.session.settle_incoming(event.delivery_id, _spec.Modified(delivery_failed=True))
        client.step()


@rule("1.0", "3.4.5", "undeliverable-here-is-not-redelivered")
def test_undeliverable_here_keeps_a_message_from_that_receiver_only(hub):
    client, receiver = outcomes_on(hub, _spec.Modified(undeliverable_here=True))
    receiver.send_flow(credit=1)
    client.step()
    assert client.received() == []
    client.receiver("q")
    assert len(client.received()) == 1


@rule("1.0", "3.5.3", "default-outcome-is-applied")
@pytest.mark.parametrize(("default", "depth"), [(_spec.Accepted(), 0), (_spec.Released(), 1)])
def test_the_default_outcome_of_the_source_stands_for_none(hub, default, depth):
    outcomes_on(hub, None, default_outcome=default)
    assert hub.host.topology.find_queue("q").depth == depth


@rule("1.0", "2.7.3", "settle-modes-of-the-peer-are-respected")
def test_a_receiver_of_the_second_mode_hears_of_our_settlement_when_it_is_safe():
    hub = Hub()
    hub.world.queue("q", durable=True)
    client = hub.client()
    client.send(client.sender("q"), message(header=_spec.Header(durable=True)))
    receiver = client.receiver("q", rcv_settle_mode=_spec.RCV_SECOND)
    event = client.take(events.DeliveryReceived)
    hub.world.auto_commit = False
    receiver.session.settle_incoming(event.delivery_id, ACCEPTED, settled=False)
    client.step()
    assert client.take_all(events.SenderDispositionReceived) == []
    hub.world.commit()
    hub.world.auto_commit = True
    client.step()
    assert client.take(events.SenderDispositionReceived).settled
    hub.end()


@rule("1.0", "2.7.5", "second-mode-waits-for-the-sender")
def test_a_sender_of_the_second_mode_settles_last(hub):
    client = hub.client()
    sender = client.sender("q", rcv_settle_mode=_spec.RCV_SECOND)
    out = sender.send_delivery(b"t", b"", message(), settled=False)
    client.step()
    event = client.take(events.DispositionReceived)
    assert (event.settled, event.state) == (False, ACCEPTED)
    sender.session.settle_outgoing(out, ACCEPTED)
    client.step()
    assert client.face.drained()


def test_what_a_lost_connection_held_comes_back_as_failed(hub):
    first, second = hub.client(), hub.client()
    first.send(first.sender("q"), message())
    first.receiver("q")
    assert len(first.received()) == 1
    first.face.receive_eof(hub.world.now_ms)
    second.receiver("q")
    event = second.take(events.DeliveryReceived)
    header = sections.header(event.payload, sections.scan(event.payload))
    assert header.delivery_count == 1


@pytest.mark.parametrize("how", ["detach", "end"])
def test_what_a_detached_receiver_held_comes_back(hub, how):
    client = hub.client()
    client.send(client.sender("q"), message())
    receiver = client.receiver("q")
    client.received()
    if how == "detach":
        receiver.send_detach()
    else:
        receiver.session.send_end()
    client.step()
    client.receiver("q")
    assert len(client.received()) == 1


@rule("1.0", "3.5.2", "copy-leaves-the-node-alone")
@rule("1.0", "3.5.3", "distribution-mode-is-told")
def test_a_browser_sees_and_takes_nothing(hub):
    client = hub.client()
    client.send(client.sender("q"), message())
    browser = client.receiver("q", distribution_mode="copy")
    event = client.take(events.DeliveryReceived)
    assert browser.attach.source.distribution_mode == "copy"
    browser.session.settle_incoming(event.delivery_id, ACCEPTED)
    client.step()
    assert hub.host.topology.find_queue("q").depth == 1


@rule("1.0", "2.7.3", "max-message-size-is-respected")
def test_a_message_larger_than_the_receiver_takes_is_not_sent(hub):
    client = hub.client(limits=Limits(message_size_max=200))
    client.send(client.sender("q"), message(b"x" * 300))
    client.send(client.sender("q"), message(b"small"))
    client.receiver("q")
    assert [body_of(payload) for payload in client.received()] == [b"small"]


@rule("1.0", "3.2.2", "delivery-annotations-are-for-one-hop")
@rule("1.0", "3.2.3", "message-annotations-are-propagated")
@rule("1.0", "3.2.10", "opt-keys-are-ignored-if-unknown")
def test_annotations_travel_and_delivery_annotations_do_not(hub):
    client = hub.client()
    note = [(Tagged(types.SYMBOL, "x-opt-n"), Tagged(types.INT, 1))]
    payload = b"\x00\x53\x71\xc1\x01\x00" + message(annotations=note)
    client.send(client.sender("q"), payload)
    client.receiver("q")
    (got,) = client.received()
    found = sections.scan(got)
    assert sections.annotations(got, found.message_annotations) == note
    assert found.delivery_annotations == sections.ABSENT


@rule("1.0", "3.2.1", "ttl-that-is-left")
@rule("1.0", "3.2.1", "expired-is-not-sent")
def test_ttl_shrinks_as_time_passes_and_an_expired_message_is_not_sent(hub):
    client = hub.client()
    payload = message(header=_spec.Header(ttl=1000))
    client.send(client.sender("q"), payload)
    hub.world.now_ms += 400
    client.receiver("q", credit=1)
    event = client.take(events.DeliveryReceived)
    assert sections.header(event.payload, sections.scan(event.payload)).ttl == 600
    client.send(client.sender("q"), payload)
    hub.world.now_ms += 1000
    client.receiver("q")
    assert client.received() == []


def test_a_foreign_message_format_is_passed_on_untouched(hub):
    client = hub.client()
    client.send(client.sender("q"), b"opaque", message_format=0x80013701)
    client.receiver("q")
    event = client.take(events.DeliveryReceived)
    assert (event.payload, event.message_format) == (b"opaque", 0x80013701)


# What is refused.


@rule("1.0", "3.4.3", "rejected-carries-the-error")
def test_octets_that_are_no_message_are_rejected(hub):
    client = hub.client()
    state = client.send(client.sender("q"), b"\x00\x53\x24\x45")
    assert state.error.condition == "amqp:decode-error"


@rule("1.0", "3.2.4", "user-id-is-checked")
@pytest.mark.parametrize(
    ("user_id", "state"), [(b"user", "accepted"), (b"user@realm", "accepted"), (b"eve", "rejected")]
)
def test_a_user_may_only_claim_to_be_itself(hub, user_id, state):
    client = hub.client(user=("user", "pass"))
    got = client.send(client.sender("q"), message(properties=_spec.Properties(user_id=user_id)))
    if state == "accepted":
        assert got == ACCEPTED
    else:
        assert got.error.condition == "amqp:not-allowed"


def test_a_full_queue_rejects(hub):
    hub.world.queue("small", max_count=1)
    client = hub.client()
    sender = client.sender("small")
    assert client.send(sender, message(), tag=b"1") == ACCEPTED
    state = client.send(sender, message(), tag=b"2")
    assert state.error.condition == "amqp:resource-limit-exceeded"


def test_a_sender_that_cannot_be_rejected_is_detached(hub):
    client = hub.client()
    sender = client.sender("q", source=_spec.Source(outcomes=["amqp:accepted:list"]))
    client.send(sender, b"nonsense")
    assert client.refused() == "amqp:decode-error"


def test_a_queue_that_is_deleted_detaches_its_receivers(hub):
    hub.world.queue("gone")
    client = hub.client()
    client.send(client.sender("gone"), message())
    client.receiver("gone")
    hub.host.declaring.delete_queue("gone")
    client.step()
    assert client.refused() == "amqp:resource-deleted"


# Pressure and the stop.


def test_a_full_transport_holds_deliveries_back(hub):
    client = hub.client()
    receiver = client.receiver("q")
    client.face.write_blocked(True)
    client.send(client.sender("q"), message())
    assert client.received() == []
    client.face.write_blocked(False)
    client.step()
    assert len(client.received()) == 1
    assert receiver.credit == 9


def test_a_small_session_window_holds_deliveries_back_and_all_arrive(hub):
    client = hub.client(limits=Limits(session_window=2, max_frame_size=512))
    sender = client.sender("q")
    for number in range(10):
        client.send(sender, message(bytes([number]) * 700), tag=bytes([number]))
    client.receiver("q", credit=100)
    assert [body_of(payload)[0] for payload in client.received()] == list(range(10))


LARGE = bytes(3 * 1024 * 1024)


def published(hub, *bodies):
    """A client that has published so much to the queue."""
    client = hub.client()
    sender = client.sender("q")
    for number, body in enumerate(bodies):
        client.send(sender, message(body), tag=b"%d" % number)
    return client


def test_a_large_message_is_written_in_many_turns_and_what_is_behind_it_follows(hub):
    published(hub, b"before", LARGE, b"behind", LARGE, b"last")
    limits = Limits(max_frame_size=64 * 1024, session_window=1000)
    reader = hub.client("reader", limits=limits)
    link = reader.receiver("q", credit=0)
    link.send_flow(credit=10)
    reader.face.receive_data(reader.connection.data_to_send(), hub.world.now_ms)
    flushes = []
    while True:
        hub.turns.touched.clear()
        hub.world.turn()
        octets = reader.face.data_to_send()
        if not octets and reader.face not in hub.turns.touched:
            break
        flushes.append(len(octets))
        reader.events += reader.connection.receive_data(octets, hub.world.now_ms)
    assert max(flushes) <= FLUSH_OCTETS + 64 * 1024
    sizes = [len(body_of(each)) for each in reader.received()]
    assert sizes == [6, len(LARGE), 6, len(LARGE), 4]


def test_a_large_message_waits_for_a_full_transport_and_what_is_behind_it_for_both(hub):
    published(hub, LARGE, b"behind")
    reader = hub.client("reader")
    link = reader.receiver("q", credit=0)
    link.send_flow(credit=10)
    reader.face.receive_data(reader.connection.data_to_send(), hub.world.now_ms)
    account = reader.face.client.account
    before = account.held
    hub.world.turn()
    octets = reader.face.data_to_send()
    while octets:
        reader.face.write_blocked(True)
        assert before < account.held <= before + len(LARGE) + 4 * FLUSH_OCTETS
        hub.world.turn()
        assert reader.face.data_to_send() == b""
        reader.events += reader.connection.receive_data(octets, hub.world.now_ms)
        reader.face.write_blocked(False)
        hub.world.turn()
        octets = reader.face.data_to_send()
    assert [len(body_of(each)) for each in reader.received()] == [len(LARGE), 6]
    assert account.held == before


def test_a_large_message_comes_back_whose_reader_goes_in_the_middle(hub):
    published(hub, LARGE)
    reader = hub.client("reader")
    link = reader.receiver("q", credit=0)
    link.send_flow(credit=10)
    reader.face.receive_data(reader.connection.data_to_send(), hub.world.now_ms)
    hub.world.turn()
    octets = reader.face.data_to_send()
    assert 0 < len(octets) <= 2 * FLUSH_OCTETS
    reader.face.receive_eof(hub.world.now_ms)
    hub.clients.remove(reader)
    other = hub.client("other")
    other.receiver("q")
    assert [len(body_of(each)) for each in other.received()] == [len(LARGE)]


def test_a_stop_waits_for_a_settled_delivery_that_is_half_written(hub):
    published(hub, LARGE)
    reader = hub.client("reader")
    link = reader.receiver("q", credit=0, snd_settle_mode=_spec.SND_SETTLED)
    link.send_flow(credit=10)
    reader.face.receive_data(reader.connection.data_to_send(), hub.world.now_ms)
    hub.world.turn()
    octets = reader.face.data_to_send()
    reader.face.drain(hub.world.now_ms)
    assert not reader.face.drained()
    reader.events += reader.connection.receive_data(octets, hub.world.now_ms)
    reader.step()
    assert reader.face.drained()
    assert [len(body_of(each)) for each in reader.received()] == [len(LARGE)]


def test_a_stop_serves_what_is_under_way_and_gives_nothing_new(hub):
    client = hub.client()
    sender = client.sender("q")
    receiver = client.receiver("q")
    client.send(sender, message(), tag=b"1")
    event = client.take(events.DeliveryReceived)
    client.face.drain(hub.world.now_ms)
    assert not client.face.drained()
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
