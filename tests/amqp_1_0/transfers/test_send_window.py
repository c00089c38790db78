"""What a sending session remembers of deliveries that ended unsettled; large ones it sends."""

import pytest
from support.pair_1_0 import sending

from gateway.amqp_1_0 import _spec, events
from gateway.amqp_1_0.session import Session
from gateway.amqp_1_0.transfers.send_window import FORGOTTEN_FAR, FORGOTTEN_RANGES_MAX
from gateway.wire import serial
from gateway.wire.buffers import FLUSH_OCTETS
from gateway.wire.limits import Limits

IN_TRANSACTION = _spec.TransactionalState(txn_id=b"t", outcome=_spec.Accepted())


def sent(count):
    """A pair whose client has sent so many and then, on the same session, detached that link."""
    pair, sender, _ = sending()
    for number in range(count):
        sender.send_delivery(b"%d" % number, b"", b"", settled=False)
    pair.step()
    sender.send_detach(closed=False)
    pair.step()
    pair.at_client.clear()
    return pair, sender.session


def told(pair, first, last, state):
    """What the sender hears of a disposition for deliveries that have ended."""
    theirs = pair.take("server", events.DetachReceived).link.session
    theirs.write(
        _spec.Disposition(role=_spec.RECEIVER, first=first, last=last, settled=True, state=state)
    )
    pair.step()
    return [each for each in pair.at_client if isinstance(each, events.DispositionReceived)]


def test_what_is_said_in_a_transaction_of_a_delivery_that_has_ended_is_told():
    pair, _ = sent(3)
    (event,) = told(pair, 0, 1, IN_TRANSACTION)
    assert (event.ended, event.deliveries) == (True, [])


def test_of_other_dispositions_nothing_is_told():
    pair, _ = sent(3)
    assert told(pair, 0, 2, _spec.Accepted()) == []


def test_nothing_is_told_of_what_was_never_sent_or_settled_before():
    pair, _ = sent(3)
    assert told(pair, 3, 10, IN_TRANSACTION) == []


def test_many_separate_ends_are_remembered_as_fewer_larger_ones():
    _, session = sent(1)
    sending_half = session.sending
    for number in range(2, 3 * FORGOTTEN_RANGES_MAX, 2):
        sending_half.forgotten.add(number)
    sending_half.next_delivery_id = 3 * FORGOTTEN_RANGES_MAX
    sending_half.forget(7)
    assert len(sending_half.forgotten.ranges) == FORGOTTEN_RANGES_MAX
    assert sending_half.forgotten.ranges[0][0] == 0
    assert 3 * FORGOTTEN_RANGES_MAX - 2 in sending_half.forgotten


def test_what_ended_long_ago_is_forgotten():
    _, session = sent(1)
    sending_half = session.sending
    sending_half.next_delivery_id = serial.add(FORGOTTEN_FAR, 1)
    sending_half.forget(7)
    assert not sending_half.forgotten


# Large deliveries, which take more than one flush.

BODY = bytes(range(256)) * 8192  # 2 MiB


def frames_in(octets):
    """The (channel, performative code) of each frame."""
    found = []
    at = 0
    while at < len(octets):
        size = int.from_bytes(octets[at : at + 4], "big")
        body = octets[at + 8 : at + size]
        channel = int.from_bytes(octets[at + 6 : at + 8], "big")
        found.append((channel, body[2] if body else None))
        at += size
    return found


def large(**arguments):
    """A pair, a sender and a receiver; the client has begun to send `BODY` and not flushed yet."""
    pair, sender, receiver = sending(
        client_limits=Limits(max_frame_size=65536),
        server_limits=Limits(max_frame_size=65536, session_window=10_000),
    )
    sender.send_delivery(b"large", BODY[:100], BODY[100:], **arguments)
    return pair, sender, receiver


def test_of_a_large_delivery_no_flush_writes_all():
    pair, sender, _ = large(settled=False)
    written = []
    while octets := pair.to_server():
        written.append(len(octets))
    assert max(written) <= FLUSH_OCTETS + 65536
    assert len(written) >= len(BODY) // (FLUSH_OCTETS + 65536)
    assert pair.take("server", events.DeliveryReceived).payload == BODY
    assert (pair.client.unfinished, sender.session.blocked, sender.queued) == (0, False, 0)


def test_a_frame_is_no_larger_than_a_flush_whatever_the_peer_takes():
    pair, sender, _ = sending(server_limits=Limits(max_frame_size=16 * 1024 * 1024))
    sender.send_delivery(b"large", b"", BODY, settled=True)
    assert len(pair.to_server()) <= 2 * FLUSH_OCTETS
    pair.step()
    assert pair.take("server", events.DeliveryReceived).payload == BODY


def test_a_delivery_behind_a_large_one_waits_for_it():
    pair, sender, _ = large(settled=False)
    sender.send_delivery(b"small", b"", b"s", settled=False)
    assert sender.session.blocked
    pair.step()
    came = [each for each in pair.at_server if isinstance(each, events.DeliveryReceived)]
    assert [(each.tag, each.payload) for each in came] == [(b"large", BODY), (b"small", b"s")]


def test_what_waits_is_on_the_account_until_it_has_been_written():
    pair, sender, _ = large(settled=False)
    before = pair.client.account.held - len(BODY)
    pair.to_server()
    assert pair.client.account.held == before + len(BODY)
    pair.step()
    assert pair.client.account.held == before
    assert sender.session.sending.unsettled  # and not settled yet


def test_sessions_go_on_in_turn():
    pair, first, _ = sending(server_limits=Limits(max_frame_size=65536, session_window=10_000))
    session, _ = pair.begin()
    second, receiver = pair.attach(session, _spec.SENDER)
    receiver.send_flow(credit=10)
    pair.step()
    first.send_delivery(b"first", b"", BODY, settled=True)
    second.send_delivery(b"second", b"", BODY, settled=True)
    flushes = []
    while octets := pair.to_server():
        flushes.append(sorted({channel for channel, code in frames_in(octets) if code is not None}))
    assert flushes[:5] == [[0, 1], [0], [1], [0], [1]]
    came = [each for each in pair.at_server if isinstance(each, events.DeliveryReceived)]
    assert [each.payload == BODY for each in came] == [True, True]


def test_while_the_transport_is_full_nothing_goes_on():
    pair, _sender, receiver = large(settled=False)
    pair.to_server()
    pair.client.on_full(True)
    receiver.send_flow(credit=20)  # with the window: which alone would let it go on
    pair.to_client()
    assert (pair.to_server(), pair.client.unfinished) == (b"", 1)
    pair.client.on_full(False)
    pair.step()
    assert pair.take("server", events.DeliveryReceived).payload == BODY


def test_empty_frames_go_between():
    pair, _, _ = large(settled=False)
    pair.to_server()
    pair.client.on_full(True)
    pair.now = pair.client.next_deadline()
    pair.client.handle_deadline(pair.now)
    assert frames_in(pair.to_server()) == [(0, None)]
    pair.client.on_full(False)
    pair.step()
    assert pair.take("server", events.DeliveryReceived).payload == BODY


def test_a_window_that_closes_in_the_middle_is_waited_for():
    pair, sender, _ = sending(
        server_limits=Limits(max_frame_size=65536, session_window=10),
    )
    sender.send_delivery(b"large", b"", BODY, settled=False)
    pair.step()
    assert pair.take("server", events.DeliveryReceived).payload == BODY
    assert pair.client.unfinished == 0


@pytest.mark.parametrize("settled", [False, True])
def test_a_sender_that_detaches_in_the_middle_aborts(settled):
    pair, sender, receiver = large(settled=settled)
    held = pair.client.account.held - len(BODY)
    pair.to_server()
    sender.send_detach()
    octets = pair.to_server()
    assert [code for _, code in frames_in(octets)] == [_spec.TRANSFER, _spec.DETACH]
    pair.take("server", events.DeliveryAborted)
    assert pair.client.account.held <= held
    assert (pair.client.unfinished, receiver.incoming.partial) == (0, None)


def test_a_receiver_that_detaches_in_the_middle_has_it_aborted():
    pair, _sender, receiver = large(settled=False)
    pair.to_server()
    receiver.send_detach()
    pair.to_client()
    pair.take("client", events.DetachReceived)
    octets = pair.to_server()
    assert [code for _, code in frames_in(octets)] == [_spec.TRANSFER]
    assert pair.client.unfinished == 0
    assert pair.client.account.held < len(BODY)


def test_a_delivery_that_is_rejected_in_the_middle_is_written_to_its_end():
    pair, sender, receiver = large(settled=False)
    pair.to_server()
    receiver.session.write(
        _spec.Disposition(
            role=_spec.RECEIVER, first=0, last=0, settled=True, state=_spec.Rejected()
        )
    )
    pair.to_client()
    (event,) = [each for each in pair.at_client if isinstance(each, events.DispositionReceived)]
    assert event.deliveries[0].tag == b"large"
    assert not sender.session.sending.unsettled
    pair.step()
    assert pair.take("server", events.DeliveryReceived).payload == BODY
    assert pair.client.account.held < len(BODY)


@pytest.mark.parametrize("end", ["end", "close", "eof"])
def test_a_session_that_ends_in_the_middle_lets_it_go(end):
    pair, _sender, receiver = large(settled=False)
    pair.to_server()
    if end == "end":
        receiver.session.send_end()
        pair.to_client()
    elif end == "close":
        pair.server.send_close()
        pair.to_client()
    else:
        pair.client.receive_eof()
    assert pair.client.unfinished == 0
    assert pair.client.account.held < len(BODY)
    assert _spec.TRANSFER not in [code for _, code in frames_in(pair.to_server())]


def test_a_session_that_was_never_begun_here_takes_nothing_from_the_first_one():
    pair, _, _ = large(settled=False)
    session = Session(pair.client.carrier, pair.client.channels)
    session.sending.clear()
    pair.step()
    assert pair.take("server", events.DeliveryReceived).payload == BODY
