import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.frames_1_0 import octets_of, read_frames, read_payloads
from support.pair_1_0 import T0, Pair, links_of, sending
from support.rules import rule

from gateway.amqp_1_0 import _spec, events
from gateway.errors import LocalProtocolError
from gateway.wire.limits import Limits

ACCEPTED = _spec.Accepted()


@rule("1.0", "2.6.4", "detach-is-answered")
def test_a_link_is_attached_and_detached():
    pair = Pair().open()
    session, _ = pair.begin()
    link, theirs = pair.attach(session, _spec.SENDER)
    assert link.attached
    assert theirs.attached
    assert theirs.role == _spec.RECEIVER
    assert theirs.attach.target.address == "b"
    link.send_detach()
    pair.step()
    detach = pair.take("server", events.DetachReceived)
    assert detach.detach.closed
    theirs.send_detach()
    pair.step()
    pair.take("client", events.DetachReceived)
    assert links_of(pair.server) == links_of(pair.client) == 0


def test_how_many_links_a_session_may_have_does_not_depend_on_other_sessions():
    pair = Pair(server_limits=Limits(links_max=3)).open()
    for _ in range(2):
        session, _ = pair.begin()
        for number in range(3):
            pair.attach(session, _spec.SENDER, f"l{number}")
        assert not session.can_attach
    assert links_of(pair.server) == 6
    assert pair.kinds("server") == pair.kinds("client") == []


@rule("1.0", "2.6.3", "null-terminus-then-detach")
@rule("1.0", "2.7.7", "error-tells-the-cause")
def test_a_refused_link_has_a_null_terminus_and_is_detached_with_the_error():
    pair = Pair().open()
    session, _ = pair.begin()
    link = session.attach("l", _spec.RECEIVER)
    link.send_attach(source=_spec.Source(address="nowhere"), target=_spec.Target())
    pair.step()
    theirs = pair.take("server", events.AttachReceived).link
    theirs.refuse(_spec.Error(condition="amqp:not-found", description="no such node"))
    pair.step()
    attach = pair.take("client", events.AttachReceived).attach
    assert attach.source is None
    detach = pair.take("client", events.DetachReceived).detach
    assert detach.closed
    assert detach.error.condition == "amqp:not-found"
    link.send_detach()
    pair.step()
    assert links_of(pair.server) == 0


@rule("1.0", "2.6.7", "credit-goes-down-with-each-delivery")
@rule("1.0", "2.7.5", "settled-defaults-to-false")
@pytest.mark.parametrize("size", [0, 1, 440, 448, 449, 1000, 5000, 70_000])
@pytest.mark.parametrize("head", [b"", b"h" * 100])
def test_a_message_of_any_size_arrives_whole(size, head):
    pair, sender, receiver = sending(server_limits=Limits(max_frame_size=512))
    body = bytes(i % 251 for i in range(size))
    out = sender.send_delivery(b"tag", head, body, settled=False, message_format=7, context="c")
    pair.step()
    got = pair.take("server", events.DeliveryReceived)
    assert got.payload == head + body
    assert (got.tag, got.settled, got.message_format) == (b"tag", False, 7)
    assert got.delivery_id == out.delivery_id
    assert receiver.credit == sender.credit == 9


@rule("1.0", "2.7.1", "max-frame-size-is-respected")
@rule("1.0", "2.7.5", "first-transfer-has-id-tag-and-format")
def test_frames_never_exceed_what_the_peer_takes():
    pair, sender, _ = sending(server_limits=Limits(max_frame_size=512))
    sender.send_delivery(b"t" * 32, b"", b"x" * 3000, settled=False, message_format=2**32 - 1)
    octets = pair.client.data_to_send()
    sizes = []
    pos = 0
    while pos < len(octets):
        sizes.append(int.from_bytes(octets[pos : pos + 4]))
        pos += sizes[-1]
    assert max(sizes) <= 512
    assert len(sizes) == 7
    transfers = [p for _, p in read_frames(octets)]
    assert transfers[0].more
    assert transfers[0].delivery_tag == b"t" * 32
    assert transfers[1] == _spec.Transfer(handle=0, more=True)
    assert transfers[-1] == _spec.Transfer(handle=0)


def test_a_state_goes_with_the_first_transfer():
    pair, sender, _ = sending(server_limits=Limits(max_frame_size=512))
    state = _spec.TransactionalState(txn_id=b"t" * 32)
    sender.send_delivery(b"1", b"", b"x" * 2000, settled=False, state=state)
    sender.send_delivery(b"2", b"", b"y", settled=False, state=state)
    pair.step()
    first, second = pair.at_server
    assert first.state == second.state == state
    assert (first.payload, second.payload) == (b"x" * 2000, b"y")


@rule("1.0", "2.5.6", "remote-incoming-window-counts-down")
@rule("1.0", "2.5.6", "no-transfer-beyond-the-window")
def test_a_session_window_holds_transfers_back_and_lets_them_go():
    pair, sender, _receiver = sending(server_limits=Limits(max_frame_size=512, session_window=4))
    for n in range(5):
        sender.send_delivery(bytes([n]), b"", bytes([n]) * 1500, settled=True)
    assert sender.session.blocked
    assert len(read_frames(pair.client.data_to_send())) == 4
    assert sender.credit == 5


@rule("1.0", "2.5.6", "flow-sets-both-windows")
@rule("1.0", "2.6.14", "parts-of-one-link-are-not-interleaved")
def test_blocked_transfers_arrive_in_order_once_the_window_opens():
    pair, sender, _receiver = sending(server_limits=Limits(max_frame_size=512, session_window=4))
    for n in range(5):
        sender.send_delivery(bytes([n]), b"", bytes([n]) * 1500, settled=True)
    pair.step()
    got = [e for e in pair.at_server if isinstance(e, events.DeliveryReceived)]
    assert [e.payload for e in got] == [bytes([n]) * 1500 for n in range(5)]
    assert [e.delivery_id for e in got] == list(range(5))
    assert "WindowOpened" in pair.kinds("client")
    assert not sender.session.blocked


@rule("1.0", "2.7.6", "range-covers-all")
def test_dispositions_of_one_turn_are_one_range():
    pair, sender, receiver = sending()
    sent = [sender.send_delivery(bytes([n]), b"", b"m", settled=False, context=n) for n in range(6)]
    pair.step()
    for event in pair.at_server:
        receiver.session.settle_incoming(event.delivery_id, ACCEPTED)
    octets = pair.to_client()
    dispositions = [p for _, p in read_frames(octets) if isinstance(p, _spec.Disposition)]
    assert dispositions == [
        _spec.Disposition(role=True, first=0, last=5, settled=True, state=ACCEPTED)
    ]
    event = pair.take("client", events.DispositionReceived)
    assert event.deliveries == sent
    assert [d.context for d in event.deliveries] == list(range(6))
    assert event.settled
    assert event.state == ACCEPTED
    assert sender.session.sending.unsettled == receiver.session.unsettled_in == {}


def test_different_outcomes_are_told_apart():
    pair, sender, receiver = sending()
    for n in range(6):
        sender.send_delivery(bytes([n]), b"", b"m", settled=False, context=n)
    pair.step()
    rejected = _spec.Rejected(error=_spec.Error(condition="amqp:not-found"))
    states = [ACCEPTED, rejected, rejected, _spec.Released(), ACCEPTED, ACCEPTED]
    for number, state in enumerate(states):
        receiver.session.settle_incoming(number, state)
    pair.step()
    told = {}
    for event in pair.at_client:
        assert isinstance(event, events.DispositionReceived)
        for delivery in event.deliveries:
            told[delivery.context] = event.state
    assert [told[n] for n in range(6)] == states
    assert len(pair.at_client) == 4


def test_the_second_settle_mode_takes_three_steps():
    pair = Pair().open()
    session, _ = pair.begin()
    sender, receiver = pair.attach(session, _spec.SENDER, rcv_settle_mode=_spec.RCV_SECOND)
    receiver.send_flow(credit=1)
    pair.step()
    out = sender.send_delivery(b"t", b"", b"m", settled=False)
    pair.step()
    got = pair.take("server", events.DeliveryReceived)
    assert got.rcv_second
    receiver.session.settle_incoming(got.delivery_id, ACCEPTED, settled=False)
    pair.step()
    event = pair.take("client", events.DispositionReceived)
    assert (event.settled, event.deliveries) == (False, [out])
    sender.session.settle_outgoing(out, ACCEPTED)
    pair.step()
    event = pair.take("server", events.SenderDispositionReceived)
    assert (event.settled, event.delivery_ids) == (True, [got.delivery_id])
    assert sender.session.sending.unsettled == receiver.session.unsettled_in == {}


@rule("1.0", "3.4.6", "outcomes-do-not-change")
def test_settling_twice_says_it_once():
    pair, sender, receiver = sending()
    sender.send_delivery(b"t", b"", b"m", settled=False)
    pair.step()
    receiver.session.settle_incoming(0, ACCEPTED)
    receiver.session.settle_incoming(0, _spec.Released())
    pair.step()
    assert pair.take("client", events.DispositionReceived).state == ACCEPTED


@rule("1.0", "2.6.7", "drain-uses-up-the-credit")
def test_drain_gives_the_credit_back():
    pair, sender, receiver = sending()
    receiver.send_flow(credit=10, drain=True)
    pair.step()
    assert pair.take("client", events.FlowReceived).link.drain
    sender.send_delivery(b"t", b"", b"m", settled=True)
    sender.send_drained()
    pair.step()
    assert sender.credit == 0
    assert receiver.credit == 0
    assert pair.kinds("server") == ["DeliveryReceived", "FlowReceived"]
    receiver.send_flow(credit=3)
    pair.step()
    assert sender.credit == 3
    assert not sender.drain


def test_a_drained_flow_waits_for_the_transfers_before_it():
    pair, sender, receiver = sending(server_limits=Limits(max_frame_size=512, session_window=2))
    receiver.send_flow(credit=10, drain=True)
    pair.step()
    sender.send_delivery(b"t", b"", b"m" * 3000, settled=True)
    sender.send_drained()
    pair.step()
    assert pair.kinds("server") == ["DeliveryReceived", "FlowReceived"]
    assert receiver.credit == 0


@rule("1.0", "2.7.4", "echo-is-answered")
def test_echo_is_answered_with_the_link_state():
    pair, sender, receiver = sending()
    receiver.send_flow(credit=0, echo=True)
    pair.step()
    assert "FlowReceived" in pair.kinds("server")
    assert sender.credit == 0


class Counted:
    def __init__(self, number):
        self.number = number

    def available(self):
        return self.number


@pytest.mark.parametrize(
    ("waiting", "told"),
    [
        (None, None),
        (Counted(None), None),
        (Counted(0), 0),
        (Counted(7), 7),
        (Counted(2**40), 2**32 - 1),
    ],
)
def test_a_sender_tells_what_it_has_available_or_nothing(waiting, told):
    pair, sender, receiver = sending()
    sender.waiting = waiting
    receiver.send_flow(credit=0, echo=True)
    pair.step()
    assert receiver.available == told
    assert sender.available is None


def test_a_receiver_repeats_what_the_sender_said_last_or_nothing():
    pair, sender, receiver = sending()
    sender.waiting = Counted(7)
    told = []
    for echo in (True, False):
        receiver.send_flow(credit=5, echo=echo)
        octets = pair.server.data_to_send()
        told += [flow.available for _, flow in read_frames(octets)]
        pair.client.receive_data(octets, T0)
        pair.to_server()
    assert told == [None, 7]


@rule("1.0", "2.6.7", "credit-by-the-formula")
def test_credit_counts_from_the_receivers_delivery_count():
    pair, sender, receiver = sending()
    sender.send_delivery(b"1", b"", b"m", settled=True)
    receiver.send_flow(credit=10)  # written before the transfer has been seen
    octets = pair.server.data_to_send()
    pair.to_server()
    pair.client.receive_data(octets, T0)
    assert sender.credit == 9


def test_unlimited_credit_is_taken_as_it_is():
    pair, sender, _ = sending()
    session = sender.session
    flow = _spec.Flow(
        next_incoming_id=0, incoming_window=2**32 - 1, next_outgoing_id=0,
        outgoing_window=2**32 - 1, handle=0, delivery_count=0, link_credit=2**32 - 1,
    )  # fmt: skip
    pair.client.receive_data(octets_of(flow), T0)
    assert sender.credit == 2**32 - 1
    assert not session.blocked


def test_credit_from_a_count_that_is_ahead_is_no_more_than_a_flow_can_tell():
    pair, sender, _ = sending()
    flow = _spec.Flow(
        next_incoming_id=0, incoming_window=100, next_outgoing_id=0, outgoing_window=100,
        handle=0, delivery_count=1, link_credit=2**32 - 1, echo=True,
    )  # fmt: skip
    pair.client.receive_data(octets_of(flow), T0)
    assert sender.credit == 2**32 - 1
    pair.step()
    assert not pair.client.closed


@rule("1.0", "2.6.7", "excess-transfers")
def test_credit_that_is_taken_back_does_not_condemn_what_is_on_its_way():
    pair, sender, receiver = sending()
    sender.send_delivery(b"1", b"", b"m", settled=True)
    receiver.send_flow(credit=0)
    pair.server.data_to_send()
    pair.to_server()
    assert pair.kinds("server") == ["DeliveryReceived"]


@rule("1.0", "2.6.7", "nothing-without-credit")
def test_sending_without_credit_is_our_own_error():
    _pair, sender, _receiver = sending()
    for n in range(10):
        sender.send_delivery(bytes([n]), b"", b"m", settled=True)
    with pytest.raises(LocalProtocolError):
        sender.send_delivery(b"x", b"", b"m", settled=True)


def test_a_pipelined_detach_and_attach_of_one_name_are_two_links():
    pair, _, receiver = sending()
    found = pair.feed(
        octets_of(
            _spec.Detach(handle=0, closed=True),
            _spec.Attach(name="link", handle=0, role=False, initial_delivery_count=0),
        ),
    )
    assert [type(e).__name__ for e in found] == ["DetachReceived", "AttachReceived"]
    assert found[1].link is not receiver


def test_an_attach_detach_pair_that_comes_at_once_is_answered_in_order():
    pair = Pair().open()
    pair.begin()
    found = pair.feed(
        octets_of(_spec.Attach(name="l", handle=0, role=True), _spec.Detach(handle=0, closed=True)),
    )
    link = found[0].link
    link.send_attach(source=_spec.Source(address="a"), target=None)
    link.send_detach()
    sent = [type(p).__name__ for _, p in read_frames(pair.server.data_to_send())]
    assert sent == ["Attach", "Detach"]


def test_a_half_sent_delivery_is_aborted_when_its_link_is_detached():
    pair, sender, _ = sending(server_limits=Limits(max_frame_size=512, session_window=4))
    sender.send_delivery(b"t", b"", b"x" * 3000, settled=False)
    pair.client.data_to_send()
    flow = _spec.Flow(next_incoming_id=0, incoming_window=5, next_outgoing_id=0, outgoing_window=9)
    pair.client.receive_data(octets_of(flow), T0)
    pair.client.data_to_send()
    sender.session.sending.remote_incoming_window = 1
    sender.send_detach()
    sent = read_payloads(pair.client.data_to_send())
    assert [type(p).__name__ for _, p, _ in sent] == ["Transfer", "Detach"]
    assert sent[0][1].aborted


@given(st.data())
def test_credit_windows_and_settlement_stay_in_step_whatever_the_order(data):
    limits = Limits(max_frame_size=512, session_window=data.draw(st.integers(1, 6)))
    pair, sender, receiver = sending(server_limits=limits, chunk=data.draw(st.integers(0, 3)) * 50)
    sent, arrived, settled = [], [], []
    for number in range(data.draw(st.integers(1, 25))):
        action = data.draw(st.sampled_from(["send", "grant", "carry", "settle", "drain"]))
        if action == "send" and sender.credit:
            size = data.draw(st.integers(0, 2000))
            sender.send_delivery(bytes([number]), b"", bytes(size), settled=False, context=number)
            sent.append(number)
        elif action == "grant":
            receiver.send_flow(credit=data.draw(st.integers(0, 8)))
        elif action == "drain":
            receiver.send_flow(credit=receiver.credit, drain=True)
        elif action == "settle" and receiver.session.unsettled_in:
            receiver.session.settle_incoming(min(receiver.session.unsettled_in), ACCEPTED)
        else:
            pair.to_server()
            pair.to_client()
        if sender.drain and sender.credit:
            sender.send_drained()
    pair.step()
    for event in pair.at_server:
        assert not isinstance(event, events.LinkViolation | events.SessionViolation)
        if isinstance(event, events.DeliveryReceived):
            arrived.append(event.tag[0])
            receiver.session.settle_incoming(event.delivery_id, ACCEPTED)
    pair.step()
    for event in pair.at_client:
        if isinstance(event, events.DispositionReceived):
            settled += [d.context for d in event.deliveries]
    assert arrived == sent
    assert sorted(settled) == sent
    assert sender.credit == receiver.credit
    assert sender.delivery_count == receiver.delivery_count
    assert sender.session.sending.unsettled == receiver.session.unsettled_in == {}
