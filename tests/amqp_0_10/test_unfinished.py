"""Messages that take more than one flush: their frames, what goes between, and what goes behind."""

import pytest
from support import drive_0_10 as drive
from support.drive_0_10 import Pair

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.errors import NotFoundError
from gateway.amqp_0_10.events import CommandReceived, ExceptionReceived, SessionEnded
from gateway.amqp_0_10.frames import FrameParser
from gateway.wire.buffers import FLUSH_OCTETS
from gateway.wire.limits import Limits

BODY = bytes(range(256)) * 8192  # 2 MiB
TRANSFER = spec.MessageTransfer(destination="d")


def frames_in(octets):
    """The (channel, segment type) of each frame."""
    parser = FrameParser()
    parser.feed(octets)
    found = []
    while parser.next(65535):
        found.append((parser.channel, parser.type))
    assert parser.held() == 0
    return found


@pytest.fixture
def pair():
    pair = Pair()
    pair.open()
    return pair


def flushes(pair):
    """All that the server has to write, flush by flush; what the client makes of it."""
    written = []
    events = []
    while octets := pair.server.data_to_send():
        written.append(octets)
        events += pair.client.receive_data(octets, 0)
    return written, events


def test_of_a_large_message_no_flush_writes_all(pair):
    _, session = pair.session()
    session.send_command(TRANSFER, header=b"head", body=BODY)
    written, events = flushes(pair)
    assert max(map(len, written)) <= FLUSH_OCTETS + 65535
    assert len(written) >= len(BODY) // (FLUSH_OCTETS + 65535)
    (event,) = [each for each in events if isinstance(each, CommandReceived)]
    assert event.payload == b"head" + BODY
    assert not pair.server.unfinished


def test_a_large_header_goes_on_like_a_body(pair):
    _, session = pair.session()
    session.send_command(TRANSFER, header=BODY, body=b"body")
    written, _ = flushes(pair)  # our own client takes no such header
    assert max(map(len, written)) <= FLUSH_OCTETS + 65535
    assert drive.values(b"".join(written)) == [TRANSFER, BODY, b"body"]


def test_an_empty_body_behind_a_large_header_has_its_segment(pair):
    _, session = pair.session()
    session.send_command(TRANSFER, header=BODY, body=b"", empty_body=True)
    session.send_command(TRANSFER, header=b"next")
    written, _ = flushes(pair)
    assert drive.values(b"".join(written)) == [TRANSFER, BODY, b"", TRANSFER, b"next"]


def test_what_is_said_of_a_session_comes_behind_it_in_order(pair):
    _, session = pair.session()
    for number in range(3):
        session.send_command(TRANSFER, header=b"%d" % number, body=BODY)
        session.send_command(TRANSFER, header=b"small", body=b"%d" % number)
    _, events = flushes(pair)
    found = [each for each in events if isinstance(each, CommandReceived)]
    assert [each.command_id for each in found] == list(range(6))
    assert [len(each.payload) for each in found] == [len(BODY) + 1, 6] * 3


def test_of_what_comes_behind_it_only_answers_are_counted_as_unread(pair):
    _, session = pair.session()
    for _ in range(3):
        session.send_command(TRANSFER, header=b"", body=BODY)
    assert pair.server.unread_behind == 0
    session.send_command(spec.QueueDeclare(queue="q" * 200, alternate_exchange="a" * 200))
    session.send_control(spec.SessionFlush(completed=True))
    assert 400 < pair.server.unread_behind < 500
    flushes(pair)
    assert pair.server.unread_behind == 0


def test_an_exception_comes_behind_it_and_then_the_detach(pair):
    ours, session = pair.session()
    ours.send_command(spec.ExecutionSync())
    pair.server.receive_data(pair.client.data_to_send(), 0)
    session.send_command(TRANSFER, header=b"", body=BODY)
    session.fail(NotFoundError("no such queue"), command_id=0)
    _, events = flushes(pair)
    kinds = [type(each) for each in events]
    assert kinds.index(CommandReceived) < kinds.index(ExceptionReceived)


def test_sessions_go_on_in_turn(pair):
    _, first = pair.session(b"1", 1)
    _, second = pair.session(b"2", 2)
    first.send_command(TRANSFER, header=b"", body=BODY)
    second.send_command(TRANSFER, header=b"", body=BODY)
    written, events = flushes(pair)
    channels = [sorted({channel for channel, _ in frames_in(each)}) for each in written]
    assert channels[:5] == [[1, 2], [1], [2], [1], [2]]
    assert [each.payload for each in events if isinstance(each, CommandReceived)] == [BODY, BODY]


def test_completions_wait_until_it_has_been_written(pair):
    ours, session = pair.session()
    session.send_command(TRANSFER, header=b"", body=BODY)
    for _ in range(3):
        ours.send_command(TRANSFER, header=b"", body=b"x")
        pair.server.receive_data(pair.client.data_to_send(), 0)
        number = ours.outgoing.next - 1
        session.complete(number, number)
        octets = pair.server.data_to_send()
        assert all(kind != 0 for channel, kind in frames_in(octets) if channel)
        pair.client.receive_data(octets, 0)
    flushes(pair)
    assert ours.in_doubt() == 0


def test_while_the_transport_is_full_only_heartbeats_go():
    limits = Limits(heartbeat_s=10)
    pair = Pair(limits)
    pair.open()
    _, session = pair.session()
    session.send_command(TRANSFER, header=b"", body=BODY)
    first = pair.server.data_to_send()
    pair.server.on_full(True)
    assert pair.server.data_to_send() == b""
    now_ms = 0
    octets = b""
    while not octets:
        now_ms = pair.server.next_deadline()
        pair.server.receive_data(drive.control(spec.ConnectionHeartbeat()), now_ms)
        pair.server.handle_deadline(now_ms)
        octets = pair.server.data_to_send()
    assert drive.values(octets) == [spec.ConnectionHeartbeat()]
    pair.server.on_full(False)
    events = pair.client.receive_data(first + octets, 0) + flushes(pair)[1]
    assert [each.payload for each in events if isinstance(each, CommandReceived)] == [BODY]


def test_what_waits_is_on_the_account_until_it_has_been_written(pair):
    _, session = pair.session()
    before = pair.server.account.held
    session.send_command(TRANSFER, header=b"", body=BODY)
    pair.client.receive_data(pair.server.data_to_send(), 0)
    assert pair.server.account.held == before + len(BODY)
    flushes(pair)
    assert pair.server.account.held == before


@pytest.mark.parametrize("end", ["close", "closed", "eof"])
def test_a_connection_that_ends_in_the_middle_lets_it_go(pair, end):
    _, session = pair.session()
    session.send_command(TRANSFER, header=b"", body=BODY)
    pair.client.receive_data(pair.server.data_to_send(), 0)
    if end == "close":
        pair.server.send_close(spec.CloseCode.NORMAL, "", 0)
    elif end == "closed":
        pair.client.send_close(spec.CloseCode.NORMAL, "", 0)
        pair.server.receive_data(pair.client.data_to_send(), 0)
    else:
        pair.server.receive_eof()
    octets = pair.server.data_to_send()
    assert all(channel == 0 for channel, _ in frames_in(octets))
    assert len(octets) < 100
    assert not pair.server.unfinished
    assert pair.server.account.held < len(BODY)


def test_a_session_that_is_detached_in_the_middle_ends_behind_it(pair):
    ours, session = pair.session()
    session.send_command(TRANSFER, header=b"", body=BODY)
    ours.detach()
    pair.server.receive_data(pair.client.data_to_send(), 0)
    _, events = flushes(pair)
    assert isinstance(events[-1], SessionEnded)
    assert not pair.server.unfinished
    _, again = pair.session()
    again.send_command(TRANSFER, header=b"", body=b"again")
    assert [each.payload for each in flushes(pair)[1] if isinstance(each, CommandReceived)] == [
        b"again"
    ]
