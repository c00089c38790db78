"""Sessions and flow states of 1.0 (2.5, 2.7.4): which fields are told, and when."""

from support.frames_1_0 import octets_of, read_frames
from support.pair_1_0 import T0, Pair
from support.rules import rule

from gateway.amqp_1_0 import _spec, events

FLOW = {"next_incoming_id": 0, "incoming_window": 9, "next_outgoing_id": 0, "outgoing_window": 9}
LINK_FIELDS = ("delivery_count", "link_credit", "available", "drain")


def flows(octets):
    return [one for _, one in read_frames(octets) if isinstance(one, _spec.Flow)]


def talking():
    """A pair with a link on which the client sends; pair, sender, receiver."""
    pair = Pair().open()
    session, _ = pair.begin()
    sender, receiver = pair.attach(session, _spec.SENDER)
    return pair, sender, receiver


@rule("1.0", "2.5.3", "simultaneous-end")
def test_both_sides_may_end_a_session_at_once():
    pair = Pair().open()
    ours, theirs = pair.begin()
    ours.send_end()
    theirs.send_end()
    pair.step()
    assert pair.kinds("client") == pair.kinds("server") == ["EndReceived"]
    again = pair.client.session()
    again.send_begin()
    assert again.channel_out == 0


@rule("1.0", "2.7.4", "link-fields-need-a-handle")
def test_a_flow_of_the_session_says_nothing_of_links():
    pair, _, _ = talking()
    echo = octets_of(_spec.Flow(**FLOW, echo=True))
    pair.server.receive_data(echo, T0)
    [flow] = flows(pair.server.data_to_send())
    assert flow.handle is None
    assert [getattr(flow, name) for name in LINK_FIELDS] == [None] * 4


@rule("1.0", "2.7.4", "next-incoming-id-behind-begin")
def test_next_incoming_id_is_told_once_the_peer_has_begun():
    pair = Pair().open()
    ours = pair.client.session()
    ours.send_begin()
    link = ours.attach("l", _spec.RECEIVER)
    link.send_attach(source=_spec.Source(address="a"), target=_spec.Target())
    link.send_flow(credit=5)
    octets = pair.client.data_to_send()
    [flow] = flows(octets)
    assert flow.next_incoming_id is None
    assert flow.delivery_count is None
    pair.server.receive_data(octets, T0)
    theirs = pair.server.sessions()[0]
    theirs.send_begin()
    pair.to_client()
    link.send_flow(credit=6)
    [flow] = flows(pair.client.data_to_send())
    assert flow.next_incoming_id == 0


@rule("1.0", "2.7.4", "sender-tells-its-delivery-count")
@rule("1.0", "2.7.4", "receiver-tells-the-last-delivery-count")
def test_both_ends_of_a_link_tell_the_senders_delivery_count():
    pair, sender, receiver = talking()
    receiver.send_flow(credit=5)
    pair.step()
    sender.send_delivery(b"1", b"", b"m", settled=True)
    sender.send_delivery(b"2", b"", b"m", settled=True)
    sender.send_drained()
    [told] = flows(pair.to_server())
    assert (told.delivery_count, told.link_credit) == (5, 0)
    receiver.send_flow(credit=3)
    [told] = flows(pair.to_client())
    assert (told.delivery_count, told.link_credit) == (5, 3)


@rule("1.0", "2.7.4", "echo-is-not-echoed")
def test_an_echo_does_not_ask_for_another():
    pair, _, receiver = talking()
    receiver.send_flow(credit=1, echo=True)
    [asked] = flows(pair.to_client())
    [answer] = flows(pair.to_server())
    assert (asked.echo, answer.echo) == (True, None)
    assert pair.to_client() == b""


@rule("1.0", "2.6.7", "absent-delivery-count-is-the-initial-one")
def test_credit_without_a_delivery_count_counts_from_the_first_delivery():
    pair, sender, receiver = talking()
    receiver.send_flow(credit=5)
    pair.step()
    sender.send_delivery(b"1", b"", b"m", settled=True)
    pair.client.receive_data(octets_of(_spec.Flow(**FLOW, handle=0, link_credit=10)), T0)
    assert sender.credit == 9


@rule("1.0", "2.6.7", "delivery-count-wraps")
@rule("1.0", "2.8.10", "serial-numbers-wrap")
def test_the_delivery_count_goes_on_behind_its_largest_value():
    pair = Pair().open()
    session, _ = pair.begin()
    link = session.attach("l", _spec.SENDER)
    link.initial_delivery_count = link.delivery_count = 2**32 - 2
    link.send_attach(source=_spec.Source(address="a"), target=_spec.Target(address="b"))
    pair.step()
    receiver = pair.take("server", events.AttachReceived).link
    receiver.send_attach(source=_spec.Source(address="a"), target=_spec.Target(address="b"))
    receiver.send_flow(credit=4)
    pair.step()
    for number in range(4):
        link.send_delivery(bytes([number]), b"", b"m", settled=True)
    pair.step()
    assert len([one for one in pair.kinds("server") if one == "DeliveryReceived"]) == 4
    assert (link.delivery_count, receiver.delivery_count) == (2, 2)
    receiver.send_flow(credit=3)
    pair.step()
    assert (link.credit, receiver.credit) == (3, 3)
