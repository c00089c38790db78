"""What a sending session remembers of deliveries that ended unsettled, with their links."""

from support.pair_1_0 import sending

from gateway.amqp_1_0 import _spec, events
from gateway.amqp_1_0.transfers.send_window import FORGOTTEN_FAR, FORGOTTEN_RANGES_MAX
from gateway.wire import serial

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
