"""Connections: negotiation, closing, heartbeats, violations (class connection)."""

import pytest
from support import drive_0_10 as drive
from support.rules import rule

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10 import errors
from gateway.amqp_0_10.connection import CLOSE_TIMEOUT_MS, Connection
from gateway.amqp_0_10.events import (
    AttachReceived,
    ConnectionClosed,
    ControlReceived,
    HeaderReceived,
    SessionEnded,
    Tuned,
    Violation,
)
from gateway.amqp_0_10.frames import PROTOCOL_HEADER
from gateway.amqp_0_10.states import Role
from gateway.errors import LocalProtocolError
from gateway.wire.limits import Limits

CLOSE_OK = drive.control(spec.ConnectionCloseOk())


def server(limits: Limits | None = None) -> Connection:
    return Connection(Role.SERVER, limits or Limits(), 0)


def client() -> Connection:
    return Connection(Role.CLIENT, Limits(), 0)


def test_a_server_negotiates_step_by_step() -> None:
    connection = server()
    assert connection.receive_data(PROTOCOL_HEADER, 0) == [HeaderReceived()]
    connection.send_start([], ["PLAIN"], ["en_US"])
    assert drive.values(connection.data_to_send()) == [
        PROTOCOL_HEADER,
        spec.ConnectionStart(server_properties=[], mechanisms=["PLAIN"], locales=["en_US"]),
    ]
    start_ok = spec.ConnectionStartOk(mechanism="PLAIN", response=b"\0a\0b")
    assert drive.shown(connection.receive_data(drive.control(start_ok), 0)) == drive.shown(
        [ControlReceived(start_ok)]
    )
    connection.send_secure(b"more")
    secure_ok = spec.ConnectionSecureOk(response=b"r")
    assert drive.shown(connection.receive_data(drive.control(secure_ok), 0)) == drive.shown(
        [ControlReceived(secure_ok)]
    )
    connection.send_tune()
    assert drive.values(connection.data_to_send()) == [
        spec.ConnectionSecure(challenge=b"more"),
        spec.ConnectionTune(
            channel_max=256, max_frame_size=65535, heartbeat_min=0, heartbeat_max=120
        ),
    ]
    tune_ok = drive.control(spec.ConnectionTuneOk(channel_max=5, heartbeat=10))
    open_ = spec.ConnectionOpen(virtual_host="v", insist=True)
    assert drive.shown(connection.receive_data(tune_ok + drive.control(open_), 0)) == drive.shown(
        [
            Tuned(5, 65535, 10),
            ControlReceived(open_),
        ]
    )
    assert not connection.open
    connection.send_open_ok(["amqp:tcp:h:1"])
    assert connection.open
    assert drive.values(connection.data_to_send()) == [
        spec.ConnectionOpenOk(known_hosts=["amqp:tcp:h:1"])
    ]


def test_a_client_is_told_what_it_has_to_answer() -> None:
    pair = drive.Pair()
    assert pair.exchange() == ([HeaderReceived()], [])
    pair.server.send_start([], ["PLAIN"], ["en_US"])
    [start] = pair.exchange()[1]
    assert start.control.mechanisms == ["PLAIN"]
    pair.client.send_start_ok([], "PLAIN", b"", "en_US")
    pair.exchange()
    pair.server.send_secure(b"c")
    assert drive.shown(pair.exchange()[1]) == drive.shown(
        [ControlReceived(spec.ConnectionSecure(challenge=b"c"))]
    )
    pair.client.send_secure_ok(b"r")
    pair.exchange()
    pair.server.send_tune()
    assert pair.exchange() == ([Tuned(256, 65535, 120)], [Tuned(256, 65535, 120)])
    pair.client.send_open("v")
    pair.exchange()
    pair.server.send_open_ok(["h"])
    assert drive.shown(pair.exchange()[1]) == drive.shown(
        [ControlReceived(spec.ConnectionOpenOk(known_hosts=["h"]))]
    )
    assert pair.client.open


def test_a_client_may_be_redirected() -> None:
    pair = drive.Pair()
    pair.open()
    connection = Connection(Role.SERVER, Limits(), 0)
    connection.receive_data(PROTOCOL_HEADER, 0)
    connection.send_start([], [], [])
    connection.receive_data(drive.START_OK, 0)
    connection.send_tune()
    connection.receive_data(drive.TUNE_OK + drive.OPEN, 0)
    connection.send_redirect("other", [])
    assert drive.values(connection.data_to_send())[-1] == spec.ConnectionRedirect(
        host="other", known_hosts=[]
    )
    close = spec.ConnectionClose(reply_code=200, reply_text="bye")
    assert connection.receive_data(drive.control(close), 0) == [ConnectionClosed(200, "bye", True)]
    assert connection.closed


@rule("0-10", "connection.start", "protocol-name")
@pytest.mark.parametrize(
    "octets",
    [b"AMQP\x00\x01\x00\x00", b"AMQP\x01\x01\x00\x09", b"GET / HT", b"AMQP\x01\x01\x08\x00"],
)
def test_another_protocol_header_is_answered_with_ours_and_a_close(octets: bytes) -> None:
    connection = server()
    [event] = connection.receive_data(octets + b"more", 0)
    assert isinstance(event, Violation)
    assert connection.closed
    assert connection.data_to_send() == PROTOCOL_HEADER
    assert connection.receive_data(b"x", 0) == []


@rule("0-10", "connection.start", "client-support")
def test_a_client_leaves_a_server_of_another_version() -> None:
    connection = client()
    assert connection.data_to_send() == PROTOCOL_HEADER
    [event] = connection.receive_data(b"AMQP\x01\x01\x00\x09", 0)
    assert isinstance(event, Violation)
    assert connection.closed
    assert connection.data_to_send() == b""


@pytest.mark.parametrize(
    "octets",
    [
        drive.OPEN,
        drive.control(spec.SessionAttach(name=b"s"), 1),
        drive.command(spec.ExecutionSync()),
        drive.control(spec.ConnectionStart(mechanisms=[], locales=[])),
        CLOSE_OK,
        drive.frame(0x0F, 0, 0, b"\x01"),
        drive.frame(0x0F, 0, 0, b"\x09\x63"),
        drive.frame(0x0F, 0, 0, b"\x01\x02\xff\xff"),
    ],
    ids=[
        "out of turn",
        "session control too early",
        "command too early",
        "not for a server",
        "close-ok without close",
        "cut short",
        "unknown",
        "unknown flags",
    ],
)
def test_what_makes_no_sense_is_a_framing_error(octets: bytes) -> None:
    connection = server()
    connection.receive_data(PROTOCOL_HEADER, 0)
    connection.send_start([], [], [])
    connection.data_to_send()
    [event] = connection.receive_data(octets, 0)
    assert isinstance(event, Violation)
    assert isinstance(event.error, errors.FramingError)
    [close] = drive.values(connection.data_to_send())
    assert close.reply_code == spec.CloseCode.FRAMING_ERROR
    assert close.reply_text
    assert not connection.closed


@rule("0-10", "connection.tune-ok.max-frame-size", "minimum")
def test_tune_ok_out_of_range_closes_without_negotiation() -> None:
    connection = server()
    connection.receive_data(PROTOCOL_HEADER, 0)
    connection.send_start([], [], [])
    connection.receive_data(drive.START_OK, 0)
    connection.send_tune()
    connection.data_to_send()
    tune_ok = drive.control(spec.ConnectionTuneOk(channel_max=5, max_frame_size=100))
    [event] = connection.receive_data(tune_ok + drive.OPEN, 0)
    assert isinstance(event, Violation)
    assert connection.closed
    assert connection.data_to_send() == b""


def test_after_a_violation_only_close_ok_is_looked_at() -> None:
    connection = drive.opened_server()
    noise = drive.control(spec.SessionAttach(name=b"s"), 1)
    [event] = connection.receive_data(drive.OPEN + noise + drive.OPEN, 5)
    assert isinstance(event, Violation)
    assert connection.receive_data(noise + drive.command(spec.ExecutionSync()), 6) == []
    assert len(drive.values(connection.data_to_send())) == 1
    assert connection.receive_data(CLOSE_OK, 7) == []
    assert connection.closed


def test_after_octets_that_are_no_frames_nothing_is_looked_at() -> None:
    connection = drive.opened_server()
    [event] = connection.receive_data(b"\xff" * 50, 5)
    assert isinstance(event, Violation)
    assert connection.receive_data(CLOSE_OK, 6) == []
    assert not connection.closed
    assert connection.next_deadline() == 5 + CLOSE_TIMEOUT_MS
    assert connection.handle_deadline(5 + CLOSE_TIMEOUT_MS) == []
    assert connection.closed


@rule("0-10", "connection.tune-ok.max-frame-size", "max-frame-size")
def test_a_control_out_of_turn_is_named_with_those_that_are_expected() -> None:
    connection = server()
    connection.receive_data(PROTOCOL_HEADER, 0)
    connection.send_start([], ["PLAIN"], ["en_US"])
    [event] = connection.receive_data(drive.control(spec.ConnectionTuneOk()), 0)
    assert isinstance(event, Violation)
    told = str(event.error)
    assert told.startswith("connection.tune-ok where connection.start-ok")
    assert told.endswith("is expected")


def test_an_oversize_frame_is_a_framing_error() -> None:
    tune_ok = drive.control(spec.ConnectionTuneOk(channel_max=5, max_frame_size=4096))
    connection = drive.opened_server(tune_ok=tune_ok)
    [event] = connection.receive_data(drive.frame(0x0F, 0, 0, bytes(4097 - 12)), 0)
    assert isinstance(event.error, errors.FramingError)


@rule("0-10", "connection.tune-ok.channel-max", "available-channels")
def test_a_channel_above_the_maximum_is_a_framing_error() -> None:
    tune_ok = drive.control(spec.ConnectionTuneOk(channel_max=5))
    connection = drive.opened_server(tune_ok=tune_ok)
    [event] = connection.receive_data(drive.control(spec.SessionAttach(name=b"s"), 5), 0)
    assert isinstance(event, AttachReceived)
    [event] = connection.receive_data(drive.control(spec.SessionAttach(name=b"t"), 6), 0)
    assert isinstance(event.error, errors.FramingError)


def test_the_peer_closes() -> None:
    connection = drive.opened_server()
    close = spec.ConnectionClose(reply_code=200)
    assert connection.receive_data(drive.control(close) + drive.OPEN, 0) == [
        ConnectionClosed(200, "", True)
    ]
    assert drive.values(connection.data_to_send()) == [spec.ConnectionCloseOk()]
    assert connection.closed
    assert connection.next_deadline() is None
    assert connection.handle_deadline(10**9) == []
    assert connection.receive_eof() == []


def test_we_close_and_wait_for_the_answer() -> None:
    connection = drive.opened_server()
    session = drive.attached(connection)
    connection.receive_data(drive.command(spec.MessageTransfer(), header=b""), 0)
    session.complete(0, 0)
    connection.send_close(spec.CloseCode.CONNECTION_FORCED, "\u20ac" * 200, 100)
    connection.send_close(spec.CloseCode.CONNECTION_FORCED, "again", 100)
    completed, close = drive.values(connection.data_to_send())
    assert completed == spec.SessionCompleted(commands=[(0, 0)])
    assert close.reply_code == 320
    assert close.reply_text == "\u20ac" * 85
    assert connection.next_deadline() == 100 + CLOSE_TIMEOUT_MS
    assert connection.receive_data(CLOSE_OK, 200) == [ConnectionClosed(320, "\u20ac" * 200, False)]
    assert connection.closed


def test_closes_may_cross() -> None:
    connection = drive.opened_server()
    connection.send_close(320, "", 0)
    connection.data_to_send()
    assert connection.receive_data(drive.control(spec.ConnectionClose(reply_code=200)), 0) == []
    assert drive.values(connection.data_to_send()) == [spec.ConnectionCloseOk()]
    assert not connection.closed
    assert connection.receive_data(CLOSE_OK, 0) == [ConnectionClosed(320, "", False)]


def test_a_close_that_is_not_answered_ends_in_time() -> None:
    connection = drive.opened_server()
    connection.send_close(320, "stop", 100)
    assert connection.handle_deadline(CLOSE_TIMEOUT_MS) == []
    assert connection.handle_deadline(100 + CLOSE_TIMEOUT_MS) == [
        ConnectionClosed(320, "stop", False)
    ]
    assert connection.closed


def test_a_handshake_that_takes_too_long_ends() -> None:
    connection = server(Limits(handshake_timeout_ms=500))
    assert connection.next_deadline() == 500
    [event] = connection.handle_deadline(500)
    assert isinstance(event, ConnectionClosed)
    assert not event.by_peer
    assert connection.closed


def test_in_a_handshake_the_time_that_we_take_does_not_count() -> None:
    connection = server(Limits(handshake_timeout_ms=500))
    connection.hold(400)
    assert connection.next_deadline() is None
    assert connection.handle_deadline(9000) == []
    connection.go_on(9000)
    connection.go_on(9500)
    assert connection.next_deadline() == 9100
    [event] = connection.handle_deadline(9100)
    assert isinstance(event, ConnectionClosed)


def test_an_open_connection_without_heartbeats_has_no_deadline() -> None:
    assert drive.opened_server().next_deadline() is None


HEARTBEATS = drive.control(spec.ConnectionTuneOk(channel_max=5, heartbeat=10))


def test_a_heartbeat_goes_out_where_nothing_else_does() -> None:
    connection = drive.opened_server(tune_ok=HEARTBEATS)
    beats = []
    for now_ms in range(0, 29_500, 500):
        deadline = connection.next_deadline()
        assert deadline is not None
        if now_ms >= deadline:
            assert connection.handle_deadline(now_ms) == []
        if drive.values(connection.data_to_send()) == [spec.ConnectionHeartbeat()]:
            beats.append(now_ms)
        if now_ms % 10_000 == 0:
            connection.receive_data(drive.control(spec.ConnectionHeartbeat()), now_ms)
    assert beats == [10_000, 20_000]


def test_a_silent_peer_is_given_up_after_twice_the_delay() -> None:
    connection = drive.opened_server(tune_ok=HEARTBEATS)
    assert connection.receive_data(drive.control(spec.ConnectionHeartbeat()), 9_000) == []
    assert connection.handle_deadline(28_999) == []
    [event] = connection.handle_deadline(29_000)
    assert isinstance(event, ConnectionClosed)
    assert connection.closed


def test_the_end_of_the_transport_ends_the_connection_once() -> None:
    connection = drive.opened_server()
    [event] = connection.receive_eof()
    assert isinstance(event, ConnectionClosed)
    assert connection.closed
    assert connection.receive_eof() == []


def test_dropping_says_nothing() -> None:
    connection = drive.opened_server()
    connection.drop()
    assert connection.closed
    assert connection.data_to_send() == b""
    connection.drop()


def test_what_the_state_does_not_allow_is_our_defect() -> None:
    connection = server()
    with pytest.raises(LocalProtocolError):
        connection.send_tune()
    pair = drive.Pair()
    with pytest.raises(LocalProtocolError):
        pair.client.attach(b"s", 1)
    pair.open()
    pair.client.attach(b"s", 1)
    with pytest.raises(LocalProtocolError):
        pair.client.attach(b"t", 1)


def test_controls_of_several_frames_are_put_together_by_channel() -> None:
    connection = drive.opened_server()
    whole = drive.control(spec.SessionAttach(name=b"name"), 1)[12:]
    other = drive.control(spec.SessionAttach(name=b"two"), 2)
    octets = [
        drive.frame(0x0E, 0, 1, whole[:3]),
        other,
        drive.frame(0x0C, 0, 1, whole[3:5]),
        drive.frame(0x0D, 0, 1, whole[5:]),
    ]
    second, first = connection.receive_data(b"".join(octets), 0)
    assert second.session.name == b"two"
    assert first.session.name == b"name"


@pytest.mark.parametrize(
    "frames",
    [
        [drive.frame(0x0C, 0, 1, b"ab")],
        [drive.frame(0x0E, 0, 1, b"ab"), drive.frame(0x0F, 0, 1, b"ab")],
        [drive.frame(0x0E, 0, 1, bytes(300)), drive.frame(0x0E, 0, 2, bytes(300))],
    ],
    ids=["no first frame", "one within another", "too much unfinished"],
)
def test_unfinished_controls_are_bounded_and_ordered(frames: list[bytes]) -> None:
    connection = drive.opened_server(Limits(table_size_max=500))
    events = connection.receive_data(b"".join(frames), 0)
    assert [type(event) for event in events] == [Violation]


def test_a_session_that_ends_with_the_connection_gets_no_event_of_its_own() -> None:
    connection = drive.opened_server()
    drive.attached(connection)
    events = connection.receive_data(drive.control(spec.ConnectionClose(reply_code=200)), 0)
    assert not any(isinstance(event, SessionEnded) for event in events)


def test_answers_to_a_connection_that_is_closing_come_to_nothing() -> None:
    connection = server()
    events = connection.receive_data(PROTOCOL_HEADER + b"\xff" * 20, 0)
    assert [type(event) for event in events] == [HeaderReceived, Violation]
    connection.send_start([], [], [])
    header, close = drive.values(connection.data_to_send())
    assert header == PROTOCOL_HEADER
    assert close.reply_code == spec.CloseCode.FRAMING_ERROR


@pytest.mark.parametrize("octets", [b"\xff" * 20, drive.control(spec.ConnectionClose())])
def test_answers_to_commands_of_a_connection_that_is_closing_are_not_sent(octets: bytes) -> None:
    connection = drive.opened_server()
    session = drive.attached(connection)
    connection.receive_data(drive.command(spec.QueueQuery(queue="q")) + octets, 0)
    session.send_result(0, spec.QueueQueryResult())
    session.send_command(spec.ExecutionSync())
    session.fail(errors.NotFoundError("x"))
    assert len(drive.values(connection.data_to_send())) == 1
