import sys

import pytest
from support.frames_1_0 import octets_of, read_frames
from support.pair_1_0 import T0, Pair, sending
from support.rules import rule
from support.work import units_of

from gateway.amqp_1_0 import _spec, events
from gateway.wire.limits import Limits
from gateway.wire.work import OCTETS_COPIED

FLOW = {"next_incoming_id": 0, "incoming_window": 9, "next_outgoing_id": 0, "outgoing_window": 9}


def transfer(payload=b"x", channel=0, **fields):
    given_fields = {"handle": 0, "delivery_id": 0, "delivery_tag": b"t", **fields}
    return octets_of(_spec.Transfer(**given_fields), channel=channel, payload=payload)


def failed_link(pair, found, condition, *, dropped=0):
    assert [type(e).__name__ for e in found] == ["LinkViolation", *["DeliveryDropped"] * dropped]
    assert found[0].error.condition == condition
    detach = [p for _, p in read_frames(pair.server.data_to_send()) if isinstance(p, _spec.Detach)]
    assert len(detach) == 1
    assert detach[0].closed
    assert detach[0].error.condition == condition


def failed_session(pair, found, condition, *, dropped=0):
    assert [type(e).__name__ for e in found] == ["SessionViolation", *["DeliveryDropped"] * dropped]
    assert found[0].error.condition == condition
    end = read_frames(pair.server.data_to_send())[-1][1]
    assert isinstance(end, _spec.End)
    assert end.error.condition == condition


@rule("1.0", "2.6.5", "error-in-the-detach")
@rule("1.0", "2.6.5", "input-after-an-error-ends-the-session")
@rule("1.0", "2.6.7", "excess-transfers")
def test_a_transfer_without_credit_detaches_the_link():
    pair = Pair().open()
    session, _ = pair.begin()
    _, link = pair.attach(session, _spec.SENDER)
    failed_link(pair, pair.feed(transfer()), "amqp:link:transfer-limit-exceeded", dropped=1)
    [late] = pair.feed(transfer(b"y", state=_spec.Accepted()))  # in flight
    assert isinstance(late, events.DeliveryDropped)
    assert (late.link, late.payload, late.state) == (link, b"y", _spec.Accepted())
    found = pair.feed(octets_of(_spec.Detach(handle=0, closed=True)))
    assert [type(e).__name__ for e in found] == ["DetachReceived"]


@rule("1.0", "2.6.5", "input-after-an-error-ends-the-session")
def test_strictly_what_comes_for_a_failed_link_ends_the_session():
    pair = Pair(strict=True).open()
    session, _ = pair.begin()
    pair.attach(session, _spec.SENDER)
    pair.feed(transfer())
    pair.server.data_to_send()
    failed_session(pair, pair.feed(transfer()), "amqp:session:errant-link", dropped=1)


def test_a_message_larger_than_the_limit_detaches_the_link():
    pair, _, _ = sending(server_limits=Limits(message_size_max=100))
    failed_link(pair, pair.feed(transfer(b"x" * 101)), "amqp:link:message-size-exceeded")


def test_a_message_that_grows_beyond_the_limit_detaches_the_link():
    pair, _, _ = sending(server_limits=Limits(message_size_max=100))
    assert pair.feed(transfer(b"x" * 60, more=True)) == []
    failed_link(pair, pair.feed(transfer(b"x" * 60)), "amqp:link:message-size-exceeded")


@pytest.mark.parametrize(
    ("second", "dropped"),
    [
        ({"delivery_id": 1}, 2),
        ({"delivery_tag": b"u"}, 1),
        ({"message_format": 5}, 1),
    ],
)
def test_a_continuation_must_not_contradict_the_first_transfer(second, dropped):
    pair, _, _ = sending()
    assert pair.feed(transfer(more=True)) == []
    failed_link(pair, pair.feed(transfer(**second)), "amqp:invalid-field", dropped=dropped)


@rule("1.0", "2.7.5", "first-transfer-has-id-tag-and-format")
@pytest.mark.parametrize("absent", ["delivery_id", "delivery_tag"])
def test_a_first_transfer_must_name_the_delivery(absent):
    pair, _, _ = sending()
    failed_link(pair, pair.feed(transfer(**{absent: None})), "amqp:invalid-field", dropped=1)


def test_second_mode_on_a_first_mode_link_is_refused():
    pair, _, _ = sending()
    failed_link(pair, pair.feed(transfer(rcv_settle_mode=1)), "amqp:invalid-field", dropped=1)


@rule("1.0", "2.6.14", "aborted-is-discarded")
@rule("1.0", "2.7.5", "aborted-payload-is-ignored")
def test_an_aborted_delivery_never_was():
    pair, _, receiver = sending()
    assert pair.feed(transfer(more=True)) == []
    for event in pair.feed(transfer(aborted=True) + transfer(delivery_id=1, aborted=True)):
        assert isinstance(event, events.DeliveryAborted)
        assert event.link is receiver
    found = pair.feed(transfer(delivery_id=2, payload=b"y"))
    assert [e.payload for e in found] == [b"y"]
    assert receiver.credit == 7


@pytest.mark.parametrize("size", [0, 1, 300])
def test_a_delivery_in_small_parts_takes_little_more_memory_than_its_octets(size):
    pair, _, receiver = sending()
    assert pair.feed(transfer(more=True, payload=b"")) == []
    for _ in range(1024):
        assert pair.feed(transfer(more=True, payload=b"y" * size)) == []
    assert sys.getsizeof(receiver.incoming.partial.octets) <= 1200 * size + 200
    [whole] = pair.feed(transfer(payload=b"z"))
    assert whole.payload == b"y" * size * 1024 + b"z"


@rule("1.0", "2.7.5", "settled-holds-for-the-delivery")
def test_settled_on_any_transfer_settles_the_delivery():
    pair, _, receiver = sending()
    pair.feed(transfer(more=True, settled=True))
    found = pair.feed(transfer())
    assert found[0].settled
    assert receiver.session.unsettled_in == {}


@rule("1.0", "2.6.13", "resumed-and-unknown-is-ignored")
def test_a_resumed_delivery_that_we_do_not_know_is_ignored():
    pair, _, _ = sending()
    (event,) = pair.feed(transfer(resume=True))
    assert isinstance(event, events.DeliveryAborted)  # its credit can be given again


@rule("1.0", "2.5.4", "end-carries-the-error")
@rule("1.0", "2.5.4", "discarding-until-end")
@rule("1.0", "2.5.6", "incoming-window-counts-down")
@rule("1.0", "2.5.6", "transfer-beyond-the-window-is-a-violation")
@rule("1.0", "2.7.8", "error-tells-the-cause")
def test_a_transfer_beyond_the_window_ends_the_session():
    pair, _, _ = sending(server_limits=Limits(session_window=2))
    pair.feed(transfer(delivery_id=0) + transfer(delivery_id=1))
    found = pair.feed(transfer(delivery_id=2))
    failed_session(pair, found, "amqp:session:window-violation", dropped=1)
    [late] = pair.feed(transfer(delivery_id=3))
    assert isinstance(late, events.DeliveryDropped)
    found = pair.feed(octets_of(_spec.End()))
    assert [type(e).__name__ for e in found] == ["EndReceived"]


@rule("1.0", "2.7.4", "unattached-handle")
@pytest.mark.parametrize(
    ("octets", "dropped"),
    [
        (transfer(handle=5), 1),
        (octets_of(_spec.Detach(handle=5)), 0),
        (octets_of(_spec.Flow(handle=5, **FLOW)), 0),
    ],
    ids=["transfer", "detach", "flow"],
)
def test_an_unattached_handle_ends_the_session(octets, dropped):
    pair, _, _ = sending()
    failed_session(pair, pair.feed(octets), "amqp:session:unattached-handle", dropped=dropped)


@rule("1.0", "2.7.3", "handle-in-use")
def test_a_handle_in_use_ends_the_session():
    pair, _, _ = sending()
    attach = _spec.Attach(name="other", handle=0, role=False, initial_delivery_count=0)
    failed_session(pair, pair.feed(octets_of(attach)), "amqp:session:handle-in-use")


@rule("1.0", "2.7.2", "handle-out-of-range-is-a-framing-error")
def test_a_handle_beyond_the_limit_closes_the_connection():
    pair, _, _ = sending(server_limits=Limits(links_max=4))
    attach = _spec.Attach(name="other", handle=4, role=False, initial_delivery_count=0)
    found = pair.feed(octets_of(attach))
    assert found[-1].error.condition == "amqp:connection:framing-error"


def test_an_inverted_range_ends_the_session():
    pair, _, _ = sending()
    disposition = _spec.Disposition(role=True, first=5, last=4, settled=True)
    failed_session(pair, pair.feed(octets_of(disposition)), "amqp:invalid-field")


def test_a_delivery_id_in_use_ends_the_session():
    pair, _, _ = sending()
    pair.feed(transfer())
    failed_session(pair, pair.feed(transfer(delivery_tag=b"u")), "amqp:invalid-field", dropped=1)


def test_too_many_unsettled_deliveries_end_the_session():
    pair, _, _ = sending(server_limits=Limits(unsettled_max=2))
    pair.feed(transfer(delivery_id=0) + transfer(delivery_id=1))
    found = pair.feed(transfer(delivery_id=2))
    failed_session(pair, found, "amqp:resource-limit-exceeded", dropped=1)


def test_a_flow_that_has_seen_the_future_ends_the_session():
    pair, _, _ = sending()
    flow = _spec.Flow(**{**FLOW, "next_incoming_id": 7})
    failed_session(pair, pair.feed(octets_of(flow)), "amqp:invalid-field")


@rule("1.0", "2.7.3", "initial-delivery-count-of-senders")
def test_a_sender_without_initial_delivery_count_is_detached_after_the_attach():
    pair = Pair().open()
    _session, _ = pair.begin()
    found = pair.feed(octets_of(_spec.Attach(name="l", handle=0, role=False)))
    assert [type(e).__name__ for e in found] == ["AttachReceived", "LinkViolation"]
    found[0].link.send_attach(source=None, target=_spec.Target(address="a"))
    sent = [type(p).__name__ for _, p in read_frames(pair.server.data_to_send())]
    assert sent == ["Attach", "Detach"]
    found[0].link.send_detach()
    assert pair.server.data_to_send() == b""


@rule("1.0", "2.6.1", "stolen-link-is-detached")
def test_a_link_that_is_attached_again_is_stolen_from_the_first():
    pair, _, receiver = sending()
    attach = _spec.Attach(name="link", handle=1, role=False, initial_delivery_count=0)
    found = pair.feed(octets_of(attach))
    assert [type(e).__name__ for e in found] == ["LinkViolation", "AttachReceived"]
    assert found[0].link is receiver
    assert found[0].error.condition == "amqp:link:stolen"


def test_a_session_failed_before_our_begin_is_begun_and_ended():
    pair = Pair().open()
    begin = _spec.Begin(next_outgoing_id=0, incoming_window=9, outgoing_window=9)
    found = pair.feed(octets_of(begin, _spec.Detach(handle=3)))
    assert [type(e).__name__ for e in found] == ["BeginReceived", "SessionViolation"]
    found[0].session.send_begin()
    sent = [type(p).__name__ for _, p in read_frames(pair.server.data_to_send())]
    assert sent == ["Begin", "End"]


@pytest.mark.parametrize("aborted", [True, False])
def test_a_delivery_of_several_transfers_is_work_by_its_octets_when_it_is_over(aborted):
    def units(octets):
        pair, _, _ = sending()
        pair.feed(transfer(bytes(octets), more=True))
        return units_of(lambda: pair.feed(transfer(b"", aborted=aborted)))

    assert units(60_000) - units(0) == 60_000 // OCTETS_COPIED


def test_unfinished_deliveries_of_all_links_together_are_bounded():
    pair = Pair(server_limits=Limits(message_size_max=1000)).open()
    session, _ = pair.begin()
    account = pair.server.account
    for name in ("a", "b", "c"):
        _, receiver = pair.attach(session, _spec.SENDER, name=name)
        receiver.send_flow(credit=5)
    pair.step()
    before = account.held
    account.limit = before + 2000
    assert pair.feed(transfer(b"x" * 900, more=True)) == []
    assert pair.feed(transfer(b"x" * 900, handle=1, delivery_id=1, more=True)) == []
    found = pair.feed(transfer(b"x" * 900, handle=2, delivery_id=2, more=True))
    failed_link(pair, found, "amqp:resource-limit-exceeded")
    tags = 2 * len(b"t")
    assert account.held == before + 1800 + tags
    assert account.refused == 1
    assert len(pair.feed(transfer(b"x"))) == 1
    assert account.held == before + 900 + tags // 2
    [detached] = pair.feed(octets_of(_spec.Detach(handle=1, closed=True)))
    assert account.held == before  # what it consists of is, until it is answered
    detached.link.send_detach()
    assert account.held < before


def small_framed(**open_fields):
    """A server connection whose client takes frames of 512 octets only, with a session."""
    from support.frames_1_0 import octets_of

    from gateway.amqp_1_0 import frames
    from gateway.amqp_1_0.connection import Connection

    server = Connection(server=True, container_id="s", limits=Limits(), now_ms=T0)
    begin = _spec.Begin(next_outgoing_id=0, incoming_window=9, outgoing_window=9)
    found = server.receive_data(
        frames.PROTOCOL_AMQP
        + octets_of(_spec.Open(container_id="c", max_frame_size=512, **open_fields), begin),
        T0,
    )
    server.send_open()
    return server, found[1].session


def test_an_answer_that_the_peer_cannot_take_closes_the_connection():
    server, session = small_framed()
    session.send_begin()
    attach = _spec.Attach(name="x" * 600, handle=0, role=True, source=_spec.Source(address="a"))
    found = server.receive_data(octets_of(attach), T0)
    found[0].link.send_attach(source=_spec.Source(address="a"), target=_spec.Target())
    found[0].link.send_detach()
    close = read_frames(server.data_to_send())[-1][1]
    assert close.error.condition == "amqp:frame-size-too-small"
    told = server.receive_data(octets_of(_spec.Close()), T0)
    assert [type(e).__name__ for e in told] == ["Violation"]
    assert server.closed


def test_more_sessions_than_the_peer_itself_allows_close_the_connection():
    server, session = small_framed(channel_max=0)
    session.send_begin()
    begin = _spec.Begin(next_outgoing_id=0, incoming_window=9, outgoing_window=9)
    found = server.receive_data(octets_of(begin, channel=1), T0)
    found[0].session.send_begin()
    close = read_frames(server.data_to_send())[-1][1]
    assert close.error.condition == "amqp:resource-limit-exceeded"
    assert [type(e).__name__ for e in server.receive_eof()] == ["Violation"]
