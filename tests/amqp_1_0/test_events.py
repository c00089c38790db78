"""What a driver in the client's role is told when a peer refuses, misbehaves or goes away."""

import pytest
from support.frames_1_0 import octets_of, read_frames
from support.pair_1_0 import T0, Pair
from support.rules import rule

from gateway.amqp_1_0 import _spec, errors, events, frames, types
from gateway.amqp_1_0._spec import (
    Accepted,
    Attach,
    Begin,
    Close,
    Detach,
    Disposition,
    End,
    Error,
    Open,
    Rejected,
    Source,
    Target,
    Transfer,
)
from gateway.amqp_1_0.connection import Connection
from gateway.amqp_1_0.redirects import redirect_of
from gateway.errors import LocalProtocolError
from gateway.wire.limits import Limits
from gateway.wire.tagged import Tagged

OPEN = Open(container_id="broker")
BEGIN = Begin(remote_channel=0, next_outgoing_id=0, incoming_window=9, outgoing_window=9)
STRAY = Begin(remote_channel=7, next_outgoing_id=0, incoming_window=9, outgoing_window=9)
NOT_FOUND = Error(condition="amqp:not-found", description="no such queue")


class Peer:
    """A client of ours whose server is this test, frame by frame."""

    def __init__(self, **limits):
        self.client = Connection(
            server=False, container_id="gateway", limits=Limits(**limits), now_ms=T0
        )
        self.client.send_open(hostname="h")

    def say(self, *said, payload=b"", at=T0):
        return self.client.receive_data(octets_of(*said, payload=payload), at)

    def heard(self):
        return [frame for _, frame in read_frames(self.client.data_to_send())]

    def opened(self, open=OPEN):
        self.client.receive_data(frames.PROTOCOL_AMQP, T0)
        self.say(open)
        return self

    def begun(self, begin=BEGIN):
        self.opened()
        self.session = self.client.session()
        self.session.send_begin()
        self.say(begin)
        self.heard()
        return self

    def attach(self, role):
        link = self.session.attach("link", role)
        link.send_attach(source=Source(address="q"), target=Target())
        return link

    def receiver(self, credit=1):
        """A receiver of ours, attached, with credit."""
        self.begun()
        link = self.attach(_spec.RECEIVER)
        self.say(answer(_spec.SENDER))
        link.send_flow(credit=credit)
        self.heard()
        return link

    def sender(self, **sent):
        """A sender of ours, attached, with credit."""
        self.begun()
        link = self.attach(_spec.SENDER)
        self.say(answer(_spec.RECEIVER, **sent))
        self.say(
            _spec.Flow(
                next_incoming_id=0,
                incoming_window=9,
                next_outgoing_id=0,
                outgoing_window=9,
                handle=0,
                link_credit=5,
                delivery_count=0,
            )
        )
        self.heard()
        return link


def answer(role, **fields):
    given = {"source": Source(address="q"), "target": Target(), **fields}
    if role == _spec.SENDER:
        given.setdefault("initial_delivery_count", 0)
    return Attach(name="link", handle=0, role=role, **given)


def transfer(number, **fields):
    return Transfer(handle=0, delivery_id=number, delivery_tag=b"%d" % number, **fields)


def kinds(found):
    return [type(event).__name__ for event in found]


# Connections.


def test_what_the_peer_said_of_itself_stays_readable():
    theirs = Open(
        container_id="broker",
        max_frame_size=100_000,
        channel_max=1,
        idle_time_out=30_000,
        offered_capabilities=["ANONYMOUS-RELAY", "sole-connection-for-container"],
        properties={"product": Tagged(types.STRING, "broker")},
    )
    client = Peer().opened(theirs).client
    assert client.open == theirs
    assert client.carrier.peer_max_frame_size == 100_000


def test_a_peer_without_limits_is_taken_at_its_word():
    client = Peer().opened().client
    assert client.carrier.peer_max_frame_size == 0xFFFFFFFF
    assert client.can_begin


@rule("1.0", "2.7.1", "channel-max-is-respected")
def test_sessions_are_limited_by_the_peers_channel_max():
    client = Peer().opened(Open(container_id="broker", channel_max=1)).client
    for _ in range(2):
        assert client.can_begin
        client.session().send_begin()
    assert not client.can_begin
    with pytest.raises(LocalProtocolError):
        client.session().send_begin()
    client.receive_data(octets_of(BEGIN, End()), T0)
    assert not client.can_begin


def test_before_the_peers_open_one_session_may_be_pipelined():
    client = Peer().client
    assert client.can_begin
    client.session().send_begin()
    assert not client.can_begin


def test_a_connection_may_be_refused_right_behind_the_open():
    peer = Peer()
    refusal = Close(error=Error(condition="amqp:not-found", description="no such virtual host"))
    octets = frames.PROTOCOL_AMQP + octets_of(OPEN, refusal)
    found = peer.client.receive_data(octets, T0)
    assert kinds(found) == ["OpenReceived", "CloseReceived"]
    assert found[1].error == refusal.error
    assert not peer.client.closed
    peer.client.send_close()
    assert isinstance(peer.heard()[-1], Close)
    assert peer.client.closed


@rule("1.0", "2.8.16", "redirect-is-followed")
def test_a_redirected_connection_knows_where_to_go():
    info = {
        "hostname": Tagged(types.STRING, "v"),
        "network-host": Tagged(types.STRING, "other"),
        "port": Tagged(types.UINT, 5672),
    }
    error = Error(condition="amqp:connection:redirect", info=info)
    [closed] = Peer().begun().say(Close(error=error))
    found = redirect_of(closed.error)
    assert (found.hostname, found.network_host, found.port) == ("v", "other", 5672)


@rule("1.0", "2.4.3", "close-is-last")
def test_a_close_takes_sessions_and_links_with_it():
    peer = Peer()
    link = peer.sender()
    link.send_delivery(b"t", b"", b"x", settled=False)
    error = Error(condition="amqp:connection:forced")
    found = peer.say(Close(error=error))
    assert kinds(found) == ["CloseReceived"]
    assert found[0].error == error
    assert not link.attached
    assert not peer.session.sending.unsettled
    assert not peer.session.can_attach
    link.send_detach()
    peer.session.send_end()
    peer.client.send_close()
    assert kinds(peer.heard()[1:]) == ["Close"]


def test_a_peer_that_never_answers_is_given_up_at_the_deadline():
    peer = Peer(handshake_timeout_ms=5000)
    assert peer.client.next_deadline() == T0 + 5000
    [event] = peer.client.handle_deadline(T0 + 5000)
    assert isinstance(event.error, errors.HandshakeTimeoutError)
    assert peer.client.closed


def test_a_peer_that_falls_silent_is_given_up_later():
    peer = Peer(idle_timeout_ms=60_000).opened()
    assert peer.client.next_deadline() == T0 + 60_000
    [event] = peer.client.handle_deadline(T0 + 60_000)
    assert isinstance(event.error, errors.IdleTimeoutError)
    assert isinstance(peer.heard()[-1], Close)
    assert kinds(peer.client.handle_deadline(T0 + 62_000)) == []
    assert peer.client.closed


def test_the_peers_patience_is_kept_by_empty_frames():
    peer = Peer(idle_timeout_ms=0).opened(Open(container_id="b", idle_time_out=1000))
    peer.heard()
    assert peer.client.next_deadline() == T0 + 500
    assert peer.client.handle_deadline(T0 + 500) == []
    assert peer.heard() == [None]


@pytest.mark.parametrize(
    ("octets", "condition"),
    [
        (octets_of(OPEN), "amqp:illegal-state"),
        (octets_of(STRAY, channel=1), "amqp:invalid-field"),
        (octets_of(BEGIN), "amqp:illegal-state"),
        (octets_of(End(), channel=3), "amqp:illegal-state"),
        (octets_of(_spec.SaslOutcome(code=0), kind=frames.SASL_FRAME), "framing-error"),
        (b"\x7f\xff\xff\xff\x02\x00\x00\x00", "framing-error"),
        (b"\x00\x00\x00\x0a\x02\x00\x00\x00\xff\xff", "decode-error"),
    ],
)
def test_illegal_frames_end_the_connection(octets, condition):
    client = Peer().begun().client
    found = client.receive_data(octets, T0)
    assert kinds(found) == ["Violation"]
    assert condition in found[0].error.condition
    assert client.receive_data(octets_of(OPEN), T0) == []


# Sessions.


@rule("1.0", "2.5.1", "remote-channel-only-in-answers")
@rule("1.0", "2.7.2", "remote-channel-in-the-answer")
def test_a_session_of_the_peers_own_is_told_from_the_answer_and_refused():
    peer = Peer().opened()
    ours = peer.client.session()
    ours.send_begin()
    peer.heard()
    theirs = Begin(next_outgoing_id=0, incoming_window=1, outgoing_window=1)
    [first] = peer.client.receive_data(octets_of(BEGIN), T0)
    [second] = peer.client.receive_data(octets_of(theirs, channel=1), T0)
    assert (first.answer, first.session) == (True, ours)
    assert not second.answer
    second.session.refuse(Error(condition="amqp:not-allowed"))
    begin, end = peer.heard()
    assert begin.remote_channel == 1
    assert end.error.condition == "amqp:not-allowed"


def test_an_ended_session_takes_its_links_and_says_why():
    peer = Peer()
    link = peer.sender()
    link.send_delivery(b"t", b"", b"x", settled=False)
    [ended] = peer.say(End(error=Error(condition="amqp:session:errant-link")))
    assert ended.error.condition == "amqp:session:errant-link"
    assert (link.attached, peer.session.sending.unsettled) == (False, {})
    peer.session.send_end()
    assert kinds(peer.heard()) == ["Transfer", "End"]
    again = peer.client.session()
    again.send_begin()
    assert kinds(peer.heard()) == ["Begin"]


@rule("1.0", "2.7.2", "no-handle-above-handle-max")
def test_links_are_limited_by_the_peers_handle_max():
    begin = Begin(
        remote_channel=0, next_outgoing_id=0, incoming_window=9, outgoing_window=9, handle_max=0
    )
    peer = Peer().begun(begin)
    assert peer.session.can_attach
    peer.attach(_spec.SENDER)
    assert not peer.session.can_attach
    with pytest.raises(LocalProtocolError):
        peer.session.attach("another", _spec.SENDER).send_attach(source=None, target=None)


def test_a_session_violation_needs_no_answer():
    peer = Peer()
    peer.receiver()
    found = peer.say(transfer(0, more=False), Detach(handle=5))
    assert kinds(found) == ["DeliveryReceived", "SessionViolation"]
    assert kinds(peer.heard()) == ["End"]
    peer.session.send_end()
    assert peer.heard() == []
    assert kinds(peer.say(End())) == ["EndReceived"]


# Links.


@pytest.mark.parametrize("role", [_spec.SENDER, _spec.RECEIVER])
def test_a_refused_link_says_so_before_the_detach_says_why(role):
    peer = Peer().begun()
    link = peer.attach(role)
    peer.heard()
    nothing = {"target": None} if role == _spec.SENDER else {"source": None}
    refusal = answer(not role, initial_delivery_count=None, **nothing)
    [attached] = peer.say(refusal)
    assert attached.answer
    assert link.refused
    [detached] = peer.say(Detach(handle=0, closed=True, error=NOT_FOUND))
    assert detached.detach.error == NOT_FOUND
    link.send_detach()
    assert kinds(peer.heard()) == ["Detach"]


def test_a_sender_that_is_attached_but_does_not_count_is_a_violation():
    peer = Peer().begun()
    peer.attach(_spec.RECEIVER)
    peer.heard()
    found = peer.say(answer(_spec.SENDER, initial_delivery_count=None))
    assert kinds(found) == ["AttachReceived", "LinkViolation"]


@pytest.mark.parametrize(
    "attach",
    [
        Attach(name="link", handle=0, role=_spec.SENDER, initial_delivery_count=0),
        Attach(name="other", handle=0, role=_spec.RECEIVER),
    ],
    ids=["our role", "another name"],
)
def test_a_link_of_the_peers_own_is_told_from_the_answer_and_refused(attach):
    peer = Peer().begun()
    ours = peer.attach(_spec.SENDER)
    peer.heard()
    [came] = peer.say(attach)
    assert not came.answer
    assert came.link is not ours
    assert not came.link.refused
    came.link.refuse(Error(condition="amqp:not-allowed"))
    assert kinds(peer.heard()) == ["Attach", "Detach"]
    assert ours.attach is None


def test_what_the_peer_made_of_our_attach_is_readable():
    peer = Peer()
    link = peer.sender(
        target=Target(address="other"),
        snd_settle_mode=_spec.SND_SETTLED,
        max_message_size=1000,
        offered_capabilities=["queue"],
    )
    assert link.attach.target.address == "other"
    assert link.attach.snd_settle_mode == _spec.SND_SETTLED
    assert link.attach.offered_capabilities == ["queue"]
    assert link.peer_max_message_size == 1000
    assert not link.resume_only


def test_a_target_that_the_peer_names_is_readable():
    peer = Peer().begun()
    link = peer.session.attach("link", _spec.SENDER)
    link.send_attach(source=Source(), target=Target(dynamic=True))
    peer.say(answer(_spec.RECEIVER, target=Target(address="temp-1", dynamic=True)))
    assert link.attach.target.address == "temp-1"
    assert link.peer_max_message_size == 0


@rule("1.0", "2.8.18", "link-redirect-is-followed")
def test_a_redirected_link_knows_where_to_go():
    peer = Peer()
    peer.sender()
    error = Error(
        condition="amqp:link:redirect", info={"address": Tagged(types.STRING, "elsewhere")}
    )
    [detached] = peer.say(Detach(handle=0, closed=True, error=error))
    assert redirect_of(detached.detach.error).address == "elsewhere"


def test_a_peer_that_sends_beyond_our_credit_loses_the_link_alone():
    peer = Peer()
    link = peer.receiver(credit=1)
    found = peer.say(transfer(0), transfer(1), transfer(2))
    assert kinds(found) == ["DeliveryReceived", "LinkViolation", *["DeliveryDropped"] * 2]
    assert found[1].error.condition == "amqp:link:transfer-limit-exceeded"
    [detach] = peer.heard()
    assert detach.error.condition == "amqp:link:transfer-limit-exceeded"
    assert detach.closed
    link.send_detach()
    link.send_flow(credit=5)
    peer.session.settle_incoming(0, Accepted())
    assert peer.heard() == []
    assert kinds(peer.say(Detach(handle=0, closed=True))) == ["DetachReceived"]
    again = peer.attach(_spec.RECEIVER)
    assert kinds(peer.heard()) == ["Attach"]
    [came] = peer.say(answer(_spec.SENDER))
    assert came.link is again


def test_a_message_without_end_loses_the_link():
    peer = Peer(message_size_max=1000)
    peer.receiver(credit=1)
    before = peer.client.account.held
    found = []
    for _ in range(11):
        found += peer.say(transfer(0, more=True), payload=b"x" * 100)
    assert kinds(found) == ["LinkViolation"]
    assert found[0].error.condition == "amqp:link:message-size-exceeded"
    assert peer.client.account.held == before


@rule("1.0", "2.7.6", "dispositions-by-role")
@pytest.mark.parametrize("settled", [False, True])
def test_a_disposition_of_nothing_that_we_know_is_passed_over(settled):
    peer = Peer()
    link = peer.sender()
    link.send_delivery(b"0", b"", b"x", settled=False)
    unknown = Disposition(
        role=_spec.RECEIVER, first=3, last=4000, settled=settled, state=Accepted()
    )
    assert peer.say(unknown) == []
    known = Disposition(role=_spec.RECEIVER, first=0, settled=settled, state=Rejected())
    [told] = peer.say(known)
    assert [each.tag for each in told.deliveries] == [b"0"]
    assert peer.say(Disposition(role=_spec.SENDER, first=0, settled=True)) == []


def test_no_credit_is_given_on_a_link_that_the_peer_has_detached():
    peer = Peer()
    link = peer.receiver(credit=1)
    peer.say(transfer(0), Detach(handle=0, closed=True))
    peer.session.settle_incoming(0, Accepted())
    link.send_flow(credit=10)
    assert kinds(peer.heard()) == ["Disposition"]
    link.send_detach()
    assert kinds(peer.heard()) == ["Detach"]


def test_a_state_that_fits_no_frame_ends_the_connection_and_not_the_driver():
    pair = Pair(server_limits=Limits(max_frame_size=512)).open()
    session, _ = pair.begin()
    link, receiver = pair.attach(session, _spec.SENDER)
    receiver.send_flow(credit=1)
    pair.step()
    error = Error(condition="amqp:internal-error", description="x" * 600)
    link.send_delivery(b"t", b"", b"x", settled=False, state=Rejected(error=error), resume=True)
    pair.step()
    event = pair.take("client", events.Violation)
    assert isinstance(event.error, errors.FrameSizeTooSmallError)
    closed = pair.take("server", events.CloseReceived)
    assert closed.error.condition == "amqp:frame-size-too-small"


def test_a_session_that_we_end_before_it_is_answered_does_no_harm():
    peer = Peer().opened()
    ended = peer.client.session()
    ended.send_begin()
    ended.send_end()
    other = peer.client.session()
    other.send_begin()
    assert kinds(peer.heard()) == ["Open", "Begin", "End", "Begin"]
    assert (ended.channel_out, other.channel_out) == (0, 1)
    found = peer.say(BEGIN, End())
    assert kinds(found) == ["BeginReceived", "EndReceived"]
    assert found[0].session is found[1].session is ended
    ended.send_end()
    assert peer.heard() == []
    again = peer.client.session()
    again.send_begin()
    assert again.channel_out == 0


@pytest.mark.parametrize("reused", [0, 1])
def test_a_link_that_we_give_up_before_it_is_answered_may_be_attached_again_at_once(reused):
    peer = Peer().begun()
    given_up = peer.attach(_spec.SENDER)
    given_up.send_detach()
    again = peer.attach(_spec.SENDER)
    assert kinds(peer.heard()) == ["Attach", "Detach", "Attach"]
    second = answer(_spec.RECEIVER)
    second.handle = reused
    found = peer.say(answer(_spec.RECEIVER), Detach(handle=0, closed=True), second)
    assert kinds(found) == ["DetachReceived", "AttachReceived"]
    assert found[0].link is given_up
    assert found[1].link is again
    assert found[1].answer
    assert again.attached
