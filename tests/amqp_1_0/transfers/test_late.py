"""Each delivery that nobody takes is told of once, with what has come of it."""

import pytest
from support.frames_1_0 import octets_of
from support.pair_1_0 import sending

from gateway.amqp_1_0 import _spec, events
from gateway.amqp_1_0._spec import Error
from gateway.wire.limits import Limits

IN_TRANSACTION = _spec.TransactionalState(txn_id=b"1")


def transfer(payload=b"x", **fields):
    named = {"handle": 0, "delivery_id": 0, "delivery_tag": b"t", **fields}
    return octets_of(_spec.Transfer(**named), payload=payload)


def more(payload=b"x", **fields):
    """A continuation that does not say of what."""
    return transfer(payload, delivery_id=None, delivery_tag=None, **fields)


def dropped(found):
    return [each.payload for each in found if isinstance(each, events.DeliveryDropped)]


def detached(**arguments):
    """A link that the server has detached with nothing under way."""
    pair, _, receiver = sending(**arguments)
    receiver.send_detach()
    return pair, receiver


def test_what_was_under_way_is_told_of_when_it_is_whole():
    pair, receiver = detached()
    assert pair.feed(transfer(b"a", more=True, state=IN_TRANSACTION)) == []
    [late] = pair.feed(more(b"b"))
    assert (late.link, late.payload, late.state) == (receiver, b"ab", IN_TRANSACTION)
    assert dropped(pair.feed(transfer(b"c", delivery_id=1))) == [b"c"]


def test_what_had_come_in_part_is_told_of_when_it_is_whole():
    pair, _, receiver = sending()
    pair.feed(transfer(b"a", more=True))
    receiver.send_detach()
    assert dropped(pair.feed(more(b"b", more=True))) == []
    assert dropped(pair.feed(more(b"c"))) == [b"abc"]


@pytest.mark.parametrize("first", [True, False])
def test_what_the_sender_gives_up_is_not_told_of(first):
    pair, _ = detached()
    if first:
        pair.feed(transfer(more=True))
    assert pair.feed(transfer(aborted=True)) == []


def test_what_had_come_in_part_is_let_go_when_the_sender_detaches():
    pair, _, receiver = sending()
    before = pair.server.account.held
    pair.feed(transfer(b"a" * 1000, more=True))
    receiver.send_detach()
    assert pair.server.account.held > before
    pair.feed(octets_of(_spec.Detach(handle=0, closed=True)))
    assert pair.server.account.held < before


def test_what_is_too_large_is_told_of_once_and_what_comes_behind_it_too():
    pair, _, _ = sending(server_limits=Limits(message_size_max=100))
    found = pair.feed(transfer(b"a" * 60, more=True) + more(b"b" * 60, more=True))
    [violation] = found
    assert violation.refused.payload == b"a" * 60 + b"b" * 60
    assert pair.feed(more(b"c" * 60, more=True) + more(b"d")) == []
    assert dropped(pair.feed(transfer(b"e", delivery_id=1))) == [b"e"]


def test_what_is_too_large_in_its_first_transfer_is_told_of_once():
    pair, _, _ = sending(server_limits=Limits(message_size_max=100))
    [violation] = pair.feed(transfer(b"a" * 101, more=True))
    assert violation.refused.payload == b"a" * 101
    assert pair.feed(transfer(b"b", more=True) + more(b"c")) == []
    assert dropped(pair.feed(transfer(b"d", delivery_id=1))) == [b"d"]


def test_a_late_delivery_without_end_is_told_of_with_what_may_be_kept():
    pair, receiver = detached(server_limits=Limits(message_size_max=100))
    before = pair.server.account.held
    assert dropped(pair.feed(transfer(b"a" * 60, more=True))) == []
    assert dropped(pair.feed(more(b"b" * 60, more=True))) == [b"a" * 60 + b"b" * 60]
    assert pair.server.account.held == before
    assert pair.feed(more(more=True) + more()) == []
    assert receiver.incoming.partial is None


def test_late_deliveries_that_are_interleaved_are_each_told_of():
    pair, _ = detached()
    octets = transfer(b"a", more=True) + transfer(b"b", delivery_id=1, more=True)
    assert dropped(pair.feed(octets)) == [b"a"]
    assert dropped(pair.feed(more(b"c"))) == [b"bc"]


def test_a_delivery_that_is_changed_is_told_of_once():
    pair, _, _ = sending()
    found = pair.feed(transfer(b"a", more=True) + transfer(b"b", delivery_tag=b"u", more=True))
    assert dropped(found) == [b"a"]
    assert pair.feed(more()) == []


def test_a_delivery_without_an_id_is_told_of_once():
    pair, _ = detached()
    assert dropped(pair.feed(more(b"a", more=True))) == [b"a"]
    assert pair.feed(more(b"b")) == []
    assert dropped(pair.feed(more(b"c"))) == [b"c"]


# Sessions


def test_of_a_session_that_is_over_each_delivery_is_told_of_once():
    pair, _, receiver = sending()
    receiver.session.send_end(error=Error(condition="amqp:internal-error"))
    octets = transfer(b"a", state=IN_TRANSACTION) + transfer(b"b", delivery_id=1, more=True)
    found = pair.feed(octets + more(b"c") + transfer(b"d", delivery_id=1) + transfer(delivery_id=2))
    assert dropped(found) == [b"a", b"b", b"x"]
    assert found[0].session is receiver.session
    assert (found[0].link, found[0].state) == (None, IN_TRANSACTION)
    assert pair.feed(transfer(delivery_id=3, aborted=True)) == []


def test_what_has_come_in_part_when_a_session_fails_is_told_of_and_the_rest_of_it_is_not():
    pair, _, _ = sending()
    pair.feed(transfer(b"a", delivery_id=4, more=True))
    found = pair.feed(transfer(b"b", handle=7, delivery_id=5, delivery_tag=b"u"))
    assert dropped(found) == [b"a", b"b"]
    assert dropped(pair.feed(more(b"c") + transfer(b"d", delivery_id=6))) == [b"d"]


@pytest.mark.parametrize("state", [None, IN_TRANSACTION])
def test_what_ends_its_session_when_it_is_whole_is_told_of_with_all_of_it(state):
    pair, _, _ = sending()
    pair.feed(transfer(b"a"))
    found = pair.feed(transfer(b"b", more=True, state=state) + more(b"c"))
    assert dropped(found) == [b"bc"]


def test_octets_that_are_no_transfer_are_passed_over_when_the_session_is_over():
    pair, _, receiver = sending()
    receiver.session.send_end()
    broken = transfer(b"a").replace(b"\xa0\x01t", b"\xff\x01t")
    assert broken != transfer(b"a")
    assert pair.feed(broken) == []
    assert dropped(pair.feed(transfer(b"b"))) == [b"b"]
    assert not pair.server.closed


# Connections


def test_what_comes_behind_what_broke_the_connection_is_told_of():
    pair, _, _ = sending()
    pair.feed(transfer(b"a", more=True))
    broken = transfer().replace(b"\xa0\x01t", b"\xff\x01t")
    found = pair.feed(broken + more(b"b") + transfer(b"c", delivery_id=1))
    assert [type(each).__name__ for each in found] == [
        "DeliveryDropped",
        "Violation",
        "DeliveryDropped",
    ]
    assert dropped(found) == [b"a", b"c"]
    assert dropped(pair.feed(transfer(b"d", delivery_id=2) + broken)) == [b"d"]
    assert pair.feed(octets_of(_spec.Close())) == []
    assert pair.server.closed
    assert pair.feed(transfer(b"e", delivery_id=3)) == []


def test_what_comes_behind_our_close_is_told_of():
    pair, _, _ = sending()
    pair.feed(transfer(b"a", more=True))
    pair.server.send_close()
    assert dropped(pair.feed(more(b"b") + transfer(b"c", delivery_id=1))) == [b"a", b"c"]
