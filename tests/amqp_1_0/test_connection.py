import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.frames_1_0 import octets_of, read_frames
from support.pair_1_0 import T0, Pair
from support.rules import rule

from gateway.amqp_1_0 import _spec, events, frames
from gateway.amqp_1_0.connection import Connection
from gateway.amqp_1_0.states import ConnectionState
from gateway.wire.limits import Limits


def server(**arguments):
    arguments.setdefault("limits", Limits())
    return Connection(
        server=True, container_id="s", now_ms=T0, mechanisms=["PLAIN", "ANONYMOUS"], **arguments
    )


OPEN = _spec.Open(container_id="c")
BEGIN = _spec.Begin(next_outgoing_id=0, incoming_window=9, outgoing_window=9)
FLOW = _spec.Flow(next_outgoing_id=1, incoming_window=1, outgoing_window=1)


def opened(**arguments):
    connection = server(**arguments)
    connection.receive_data(frames.PROTOCOL_AMQP + octets_of(OPEN), T0)
    connection.send_open()
    connection.data_to_send()
    return connection


def violation(found):
    assert isinstance(found[-1], events.Violation), [type(e).__name__ for e in found]
    assert sum(isinstance(e, events.Violation) for e in found) == 1
    return found[-1].error.condition


def closed_with(connection):
    performative = read_frames(connection.data_to_send())[-1][1]
    assert isinstance(performative, _spec.Close)
    return performative.error.condition


def kinds(found):
    return [type(e).__name__ for e in found]


@rule("1.0", "2.2", "header-first")
@rule("1.0", "2.2", "client-sends-at-once")
@rule("1.0", "2.2", "supported-version-is-answered-alike")
@rule("1.0", "5.3", "sasl-header")
@pytest.mark.parametrize("sasl", [False, True])
@pytest.mark.parametrize("chunk", [0, 1, 7])
def test_client_and_server_open_and_close(sasl, chunk):
    pair = Pair(sasl=sasl, chunk=chunk)
    pair.client.send_open(hostname="h", properties={})
    pair.step()
    if sasl:
        asked = pair.take("server", events.AuthenticationRequested)
        assert asked.credentials.mechanism == "ANONYMOUS"
        pair.server.send_verdict(True, T0)
        pair.step()
        pair.take("client", events.Authenticated)
    opened = pair.take("server", events.OpenReceived).open
    assert (opened.container_id, opened.hostname) == ("client", "h")
    pair.server.send_open()
    pair.step()
    assert pair.take("client", events.OpenReceived).open.container_id == "server"
    pair.client.send_close()
    pair.step()
    pair.take("server", events.CloseReceived)
    pair.server.send_close()
    pair.step()
    pair.take("client", events.CloseReceived)
    assert pair.client.closed
    assert pair.server.closed
    assert pair.at_client == pair.at_server == []


@rule("1.0", "5.3.2", "outcome-ends-it")
def test_a_refused_client_hears_the_outcome_and_nothing_else():
    pair = Pair(sasl=True)
    pair.client.send_open()
    pair.step()
    pair.server.send_verdict(False, T0)
    assert pair.server.closed
    pair.step()
    assert pair.kinds("client") == ["Violation"]
    assert pair.client.closed


@rule("1.0", "5.3.3", "header-follows-success")
def test_octets_behind_sasl_init_are_read_after_the_verdict():
    connection = server()
    init = _spec.SaslInit(mechanism="PLAIN", initial_response=b"\0u\0p")
    found = connection.receive_data(
        frames.PROTOCOL_SASL
        + octets_of(init, kind=frames.SASL_FRAME)
        + frames.PROTOCOL_AMQP
        + octets_of(OPEN),
        T0,
    )
    assert kinds(found) == ["AuthenticationRequested"]
    assert (found[0].credentials.username, found[0].credentials.password) == ("u", "p")
    connection.send_verdict(True, T0)
    assert kinds(connection.receive_data(b"", T0)) == ["OpenReceived"]


def test_a_client_that_sends_too_much_before_the_outcome_is_cut_off():
    connection = server()
    init = octets_of(_spec.SaslInit(mechanism="ANONYMOUS"), kind=frames.SASL_FRAME)
    connection.receive_data(frames.PROTOCOL_SASL + init, T0)
    found = connection.receive_data(b"\0" * 70_000, T0)
    assert violation(found) == "amqp:unauthorized-access"
    assert connection.closed


@rule("1.0", "5.3.3", "mechanism-not-announced-closes")
@pytest.mark.parametrize("mechanism", ["GSSAPI", "EXTERNAL", ""])
def test_a_mechanism_that_was_not_offered_is_denied(mechanism):
    connection = server()
    init = octets_of(_spec.SaslInit(mechanism=mechanism), kind=frames.SASL_FRAME)
    violation(connection.receive_data(frames.PROTOCOL_SASL + init, T0))
    assert read_frames(connection.data_to_send())[-1][1].code == _spec.SASL_AUTH
    assert connection.closed


def test_a_challenge_is_sent_where_plain_comes_without_a_response():
    connection = server()
    init = octets_of(_spec.SaslInit(mechanism="PLAIN"), kind=frames.SASL_FRAME)
    assert connection.receive_data(frames.PROTOCOL_SASL + init, T0) == []
    assert read_frames(connection.data_to_send())[-1][1] == _spec.SaslChallenge(challenge=b"")
    response = octets_of(_spec.SaslResponse(response=b"\0u\0p"), kind=frames.SASL_FRAME)
    assert kinds(connection.receive_data(response, T0)) == ["AuthenticationRequested"]


@rule("1.0", "2.2", "mismatch-closes")
@pytest.mark.parametrize(
    ("sasl", "answer"), [(True, frames.PROTOCOL_SASL), (False, frames.PROTOCOL_AMQP)]
)
@pytest.mark.parametrize("header", [b"AMQP\0\2\0\0", b"GET / HT", b"AMQP\x02\1\0\0"])
def test_a_foreign_protocol_header_is_answered_with_ours_and_the_end(sasl, answer, header):
    connection = server(sasl_required=sasl)
    violation(connection.receive_data(header, T0))
    assert connection.data_to_send() == answer
    assert connection.closed


def test_a_plain_client_is_sent_away_where_sasl_is_required():
    connection = server(sasl_required=True)
    violation(connection.receive_data(frames.PROTOCOL_AMQP, T0))
    assert connection.data_to_send() == frames.PROTOCOL_SASL


def with_tail(octets):
    longer = octets + b"\x40"
    return len(longer).to_bytes(4) + longer[4:]


@rule("1.0", "2.4.3", "close-before-closing")
@rule("1.0", "2.4.6", "discarding-until-close")
@rule("1.0", "2.7.9", "error-tells-the-cause")
@pytest.mark.parametrize(
    ("octets", "condition"),
    [
        pytest.param(
            b"\0\0\0\7\2\0\0\0",
            "amqp:connection:framing-error",
            marks=rule("1.0", "2.3.1", "size-below-header-is-malformed"),
        ),
        pytest.param(
            b"\0\1\0\0\2\0\0\0",
            "amqp:connection:framing-error",
            marks=rule("1.0", "2.7.1", "oversize-frame-is-a-framing-error"),
        ),
        pytest.param(
            b"\0\0\0\x08\1\0\0\0",
            "amqp:connection:framing-error",
            marks=rule("1.0", "2.3.1", "doff-below-two-is-malformed"),
        ),
        (b"\0\0\0\x08\3\0\0\0", "amqp:connection:framing-error"),
        (b"\0\0\0\x08\2\1\0\0", "amqp:connection:framing-error"),
        (b"\0\0\0\x08\2\0\xff\xff", "amqp:connection:framing-error"),
        pytest.param(
            b"\0\0\0\x09\2\0\0\0\x40",
            "amqp:decode-error",
            marks=rule("1.0", "2.3.2", "performatives-only"),
        ),
        (b"\0\0\0\x0c\2\0\0\0\0\x53\x10\x45", "amqp:decode-error"),
        (octets_of(OPEN), "amqp:illegal-state"),
        (octets_of(_spec.End()), "amqp:illegal-state"),
        (octets_of(BEGIN, BEGIN), "amqp:illegal-state"),
        (with_tail(octets_of(BEGIN)), "amqp:decode-error"),
    ],
)
def test_what_breaks_framing_closes_the_connection_with_its_condition(octets, condition):
    connection = opened()
    assert violation(connection.receive_data(octets, T0)) == condition
    assert closed_with(connection) == condition
    if octets[:4] in (b"\0\0\0\7", b"\0\1\0\0"):
        # There is no telling where a next frame would begin, so there is no waiting for a close.
        assert connection.closed
        return
    assert connection.state == ConnectionState.DISCARDING
    assert connection.receive_data(octets_of(FLOW), T0) == []
    assert connection.receive_data(octets_of(_spec.Close()), T0) == []
    assert connection.closed


@rule("1.0", "2.4.1", "open-before-other-frames")
def test_an_error_before_our_open_is_told_behind_one():
    connection = server()
    found = connection.receive_data(frames.PROTOCOL_AMQP + b"\0\0\0\7\2\0\0\0", T0)
    violation(found)
    sent = [performative for _, performative in read_frames(connection.data_to_send())]
    assert kinds(sent) == ["Open", "Close"]


@rule("1.0", "2.4.2", "pipelined-open")
def test_pipelined_open_begin_and_close_are_answered_in_order():
    connection = server()
    found = connection.receive_data(
        frames.PROTOCOL_AMQP + octets_of(OPEN, BEGIN, _spec.End(), _spec.Close()), T0
    )
    assert kinds(found) == ["OpenReceived", "BeginReceived", "EndReceived", "CloseReceived"]
    connection.send_open()
    connection.send_close()
    assert kinds(p for _, p in read_frames(connection.data_to_send())) == ["Open", "Close"]
    assert connection.closed


@pytest.mark.parametrize("strict", [False, True])
def test_what_comes_behind_a_close_is_ignored_unless_strict(strict):
    connection = opened(strict=strict)
    connection.receive_data(octets_of(BEGIN), T0)
    found = connection.receive_data(octets_of(_spec.Close(), _spec.End()), T0)
    assert kinds(found) == ["CloseReceived", "Violation"][: 1 + strict]
    if not strict:
        connection.send_close()
        [(_, close)] = read_frames(connection.data_to_send())
        assert close.error is None
        assert connection.closed


@pytest.mark.parametrize("code", range(256))
def test_no_first_octets_of_a_frame_body_break_anything(code):
    connection = opened()
    body = b"\x00\x53" + bytes([code]) + b"\x45"
    connection.receive_data((8 + len(body)).to_bytes(4) + b"\2\0\0\0" + body, T0)


@rule("1.0", "2.4.5", "silent-peer-is-closed")
def test_silence_beyond_the_idle_time_out_ends_the_connection():
    connection = opened(limits=Limits(idle_timeout_ms=1000))
    assert connection.next_deadline() == T0 + 1000
    assert connection.handle_deadline(T0 + 999) == []
    found = connection.handle_deadline(T0 + 1000)
    assert violation(found) == "amqp:resource-limit-exceeded"
    closed_with(connection)
    deadline = connection.next_deadline()
    assert connection.handle_deadline(deadline) == []
    assert connection.closed
    assert connection.next_deadline() is None


@rule("1.0", "2.4.5", "silent-peer-is-closed")
def test_octets_of_a_frame_that_takes_long_are_no_silence():
    connection = opened(limits=Limits(idle_timeout_ms=1000))
    frame = octets_of(_spec.Begin(next_outgoing_id=0, incoming_window=1, outgoing_window=1))
    for number, octet in enumerate(frame[:-1]):
        now_ms = T0 + 999 * (number + 1)
        assert connection.handle_deadline(now_ms) == []
        connection.receive_data(bytes([octet]), now_ms)
        assert connection.account.held == number + 1
    connection.receive_data(b"", now_ms + 500)  # nothing has come
    assert connection.handle_deadline(now_ms + 999) == []
    assert violation(connection.handle_deadline(now_ms + 1000)) == ("amqp:resource-limit-exceeded")


@rule("1.0", "2.4.5", "half-the-threshold-is-told")
def test_half_of_our_patience_is_what_open_says():
    connection = server(limits=Limits(idle_timeout_ms=60_000))
    connection.receive_data(frames.PROTOCOL_AMQP + octets_of(OPEN), T0)
    connection.send_open()
    assert read_frames(connection.data_to_send())[0][1].idle_time_out == 30_000


@rule("1.0", "2.4.5", "empty-frames-go-on-channel-zero")
@rule("1.0", "2.4.5", "empty-frames-keep-alive")
def test_empty_frames_keep_the_peer_from_timing_out():
    connection = server(limits=Limits(idle_timeout_ms=0))
    connection.receive_data(
        frames.PROTOCOL_AMQP + octets_of(_spec.Open(container_id="c", idle_time_out=1000)), T0
    )
    connection.send_open()
    connection.data_to_send()
    assert connection.next_deadline() == T0 + 500
    assert connection.handle_deadline(T0 + 499) == []
    assert connection.data_to_send() == b""
    assert connection.handle_deadline(T0 + 500) == []
    assert read_frames(connection.data_to_send()) == [(0, None)]
    assert connection.next_deadline() == T0 + 1000


@rule("1.0", "2.4.5", "timeout-that-cannot-be-kept-is-refused")
def test_an_idle_time_out_that_cannot_be_kept_is_refused():
    small = octets_of(_spec.Open(container_id="c", idle_time_out=5))
    found = server().receive_data(frames.PROTOCOL_AMQP + small, T0)
    assert violation(found) == "amqp:invalid-field"


def test_a_handshake_that_takes_too_long_is_given_up():
    connection = server(limits=Limits(handshake_timeout_ms=100))
    assert connection.next_deadline() == T0 + 100
    violation(connection.handle_deadline(T0 + 100))
    assert connection.closed


def test_the_end_of_the_transport_is_told_once():
    connection = opened()
    assert kinds(connection.receive_eof()) == ["ConnectionLost"]
    assert connection.closed
    assert connection.receive_eof() == []


@rule("1.0", "2.7.1", "channel-out-of-range-is-a-framing-error")
def test_sessions_may_use_any_channel_up_to_the_limit_and_none_beyond():
    connection = opened(limits=Limits(sessions_max=3))
    found = connection.receive_data(octets_of(BEGIN, channel=2) + octets_of(BEGIN, channel=0), T0)
    assert kinds(found) == ["BeginReceived", "BeginReceived"]
    found = connection.receive_data(octets_of(BEGIN, channel=3), T0)
    assert violation(found) == "amqp:connection:framing-error"


def test_a_channel_is_taken_again_only_when_the_peer_has_ended_its_half_too():
    pair = Pair().open()
    ours, theirs = pair.begin()
    ours.send_end()
    meanwhile = pair.client.session()
    meanwhile.send_begin()
    pair.step()
    assert (ours.channel_out, meanwhile.channel_out) == (0, 1)
    theirs.send_end()
    pair.step()
    after = pair.client.session()
    after.send_begin()
    assert after.channel_out == 0


def told(found):
    return [
        (type(e).__name__, getattr(getattr(e, "error", None), "condition", None)) for e in found
    ]


CONVERSATION = (
    frames.PROTOCOL_AMQP
    + octets_of(
        OPEN,
        BEGIN,
        _spec.Attach(name="l", handle=0, role=True, source=_spec.Source(address="q")),
        _spec.Attach(name="m", handle=1, role=False, initial_delivery_count=0),
        _spec.Flow(
            next_incoming_id=0, incoming_window=9, next_outgoing_id=0, outgoing_window=9, handle=0,
            delivery_count=0, link_credit=5, echo=True,
        ),
        _spec.Disposition(role=True, first=0, last=4, settled=True, state=_spec.Accepted()),
    )
    + octets_of(_spec.Transfer(handle=1, delivery_id=0, delivery_tag=b"t"), payload=b"x")
    + octets_of(_spec.Detach(handle=0, closed=True), _spec.End(), _spec.Close())
)  # fmt: skip


@given(st.data())
def test_any_cut_and_any_change_give_the_same_events_and_at_most_one_violation(data):
    octets = bytearray(CONVERSATION)
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, max(0, len(octets) - 1)))
        how = data.draw(st.sampled_from(["change", "cut", "insert"]))
        if how == "change":
            octets[at : at + 1] = bytes([data.draw(st.integers(0, 255))])
        elif how == "cut":
            del octets[at:]
        else:
            octets[at:at] = data.draw(st.binary(max_size=20))
    whole = server()
    at_once = whole.receive_data(bytes(octets), T0)
    single = server()
    one_by_one = []
    for octet in octets:
        one_by_one += single.receive_data(bytes([octet]), T0)
    assert told(at_once) == told(one_by_one)
    assert whole.state == single.state
    taken = [e for e in at_once if not isinstance(e, events.DeliveryDropped)]
    violations = [e for e in taken if isinstance(e, events.Violation)]
    assert violations == [] or violations == taken[-1:]
    assert whole.data_to_send() == single.data_to_send()


@given(st.binary(max_size=300))
def test_any_octets_at_all_end_in_events(octets):
    for connection in (server(), opened()):
        found = connection.receive_data(octets, T0)
        assert sum(isinstance(e, events.Violation) for e in found) <= 1
        connection.data_to_send()
