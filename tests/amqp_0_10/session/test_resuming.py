"""A session whose state is kept goes on on another attachment (class session)."""

import pytest
from support import drive_0_10 as drive
from support.drive_0_10 import says, told
from support.rules import rule

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10 import errors
from gateway.amqp_0_10._spec_constants import STRUCT32, VBIN16
from gateway.amqp_0_10.connection import Connection
from gateway.amqp_0_10.events import AttachReceived, CommandReceived, SessionEnded, Violation
from gateway.amqp_0_10.session import Session
from gateway.amqp_0_10.types import Array, Struct32
from gateway.wire.buffers import Writer
from gateway.wire.limits import Limits

QUERY = spec.QueueQuery(queue="q")
TRANSFER = spec.MessageTransfer(destination="x")
HEADER = b"\0\0\0\x04\x04\x03\0\0"
POINT = says(spec.SessionCommandPoint(command_id=0, command_offset=0))


def kept(server: Connection, sends: int = 0) -> Session:
    """A session with state, of a server that has sent so many commands."""
    session = drive.attached(server)
    session.keep_state()
    for number in range(sends):
        session.send_command(spec.MessageCancel(destination=str(number)))
    server.data_to_send()
    return session


def resumed(session: Session, *behind: bytes) -> tuple[Connection, list[object], list]:
    """The session, its transport lost, on another connection; what that says, and its events."""
    session.lose()
    server = drive.opened_server()
    server.channels.resumable.add(session.name)
    [event] = told(server, says(spec.SessionAttach(name=session.name)), *behind)
    assert isinstance(event, AttachReceived)
    server.resume(event.session, session)
    events = server.receive_data(b"", 0)
    return server, drive.values(server.data_to_send()), events


def within(command_id: int, offset: int) -> bytes:
    """A command-point within a command."""
    return says(spec.SessionCommandPoint(command_id=command_id, command_offset=offset))


def frames_of(body: bytes) -> list[bytes]:
    """The frames of a transfer with that body."""
    octets = drive.command(TRANSFER, header=HEADER, body=body, max_frame_size=4096)
    frames = []
    while octets:
        size = int.from_bytes(octets[2:4], "big")
        frames.append(octets[:size])
        octets = octets[size:]
    return frames


def payload(frames: list[bytes]) -> int:
    return sum(len(frame) - 12 for frame in frames)


def test_a_session_without_anything_sent_says_where_it_goes_on() -> None:
    session = kept(drive.opened_server())
    _, heard, _ = resumed(session)
    assert heard == [
        spec.SessionAttached(name=b"s"),
        spec.SessionCommandPoint(command_id=0, command_offset=0),
    ]


@rule("0-10", "session.command-point", "newly-attached-transports")
def test_on_each_attachment_a_command_point_comes_before_the_first_command() -> None:
    session = kept(drive.opened_server())
    _, heard, events = resumed(session, drive.command(QUERY))
    [ended] = events
    assert isinstance(ended, SessionEnded)
    assert ended.code == spec.DetachCode.UNKNOWN_IDS
    assert heard[-1] == spec.SessionDetached(name=b"s", code=spec.DetachCode.UNKNOWN_IDS)


def test_what_was_sent_waits_until_the_peer_says_what_it_expects() -> None:
    session = kept(drive.opened_server(), sends=3)
    server, heard, _ = resumed(session)
    ask = spec.SessionFlush(expected=True, confirmed=True, completed=True)
    assert heard == [spec.SessionAttached(name=b"s"), ask]
    session.send_command(spec.MessageCancel(destination="new"))
    assert server.data_to_send() == b""
    told(server, says(spec.SessionExpected(commands=[(2, 2)])))
    assert drive.values(server.data_to_send()) == [
        spec.SessionCommandPoint(command_id=2, command_offset=0),
        spec.MessageCancel(destination="2"),
        spec.MessageCancel(destination="new"),
    ]
    session.send_command(spec.MessageCancel(destination="newer"))
    assert drive.values(server.data_to_send()) == [spec.MessageCancel(destination="newer")]


def test_a_peer_that_has_all_is_told_where_the_next_command_is() -> None:
    session = kept(drive.opened_server(), sends=3)
    server, _, _ = resumed(session, says(spec.SessionExpected(commands=[(3, 3)])))
    session.send_command(spec.MessageCancel(destination="3"))
    assert drive.values(server.data_to_send()) == [spec.MessageCancel(destination="3")]


@rule("0-10", "session.completed.commands", "completed-implies-confirmed")
def test_a_peer_that_has_lost_its_state_is_sent_all_that_is_not_confirmed() -> None:
    server = drive.opened_server()
    session = kept(server, sends=4)
    told(server, says(spec.SessionCompleted(commands=[(0, 0)])))
    told(server, says(spec.SessionConfirmed(commands=[(1, 1)])))
    server, heard, _ = resumed(session, says(spec.SessionExpected(commands=[])))
    assert heard[2:] == [
        spec.SessionCommandPoint(command_id=2, command_offset=0),
        spec.MessageCancel(destination="2"),
        spec.MessageCancel(destination="3"),
    ]


def test_only_what_is_expected_is_sent_again() -> None:
    session = kept(drive.opened_server(), sends=6)
    _, heard, _ = resumed(session, says(spec.SessionExpected(commands=[(1, 2), (5, 5)])))
    assert heard[2:] == [
        spec.SessionCommandPoint(command_id=1, command_offset=0),
        spec.MessageCancel(destination="1"),
        spec.MessageCancel(destination="2"),
        spec.SessionCommandPoint(command_id=5, command_offset=0),
        spec.MessageCancel(destination="5"),
    ]


def test_what_is_expected_and_not_kept_any_more_is_a_gap() -> None:
    server = drive.opened_server()
    session = kept(server, sends=4)
    told(server, says(spec.SessionCompleted(commands=[(0, 1)])))
    server, heard, _ = resumed(session, says(spec.SessionExpected(commands=[(0, 0x7FFFFFF0)])))
    assert heard[2:] == [
        spec.SessionGap(commands=[(0, 1)]),
        spec.SessionCommandPoint(command_id=2, command_offset=0),
        spec.MessageCancel(destination="2"),
        spec.MessageCancel(destination="3"),
    ]


@pytest.mark.parametrize(
    "expected",
    [
        pytest.param(spec.SessionExpected(commands=[(4, 4)]), id="ahead of what was sent"),
        pytest.param(spec.SessionExpected(commands=[(0xFFFFFFFE, 1)]), id="before the first"),
        pytest.param(
            spec.SessionExpected(
                commands=[(3, 3)],
                fragments=Array(VBIN16, [bytes.fromhex("00000009 0010" + "00" * 16)]),
            ),
            id="a fragment of what was never sent",
        ),
        pytest.param(
            spec.SessionExpected(
                commands=[(3, 3)],
                fragments=Array(VBIN16, [bytes.fromhex("00000001 0010 " + "00" * 7 + "ff" * 9)]),
            ),
            id="behind the end of a command",
        ),
        pytest.param(
            spec.SessionExpected(commands=[(3, 3)], fragments=Array(VBIN16, [b"\0"])),
            id="cut short",
        ),
    ],
)
def test_what_cannot_be_expected_ends_the_session(expected: spec.SessionExpected) -> None:
    session = kept(drive.opened_server(), sends=3)
    _, heard, [ended] = resumed(session, says(expected))
    assert isinstance(ended, SessionEnded)
    assert isinstance(ended.error, errors.InvalidArgumentError)
    exception, detach = heard[-2:]
    assert exception.error_code == 542
    assert detach == spec.SessionDetach(name=b"s")
    assert session.replay is None


def test_a_command_that_has_come_in_part_is_sent_from_there() -> None:
    server = drive.opened_server()
    server._frames.max_frame_size = 4096
    session = kept(server)
    body = bytes(range(256)) * 40
    session.send_command(TRANSFER, header=HEADER, body=body)
    whole = b"".join(each for each in drive.values(server.data_to_send())[1:])
    assert whole == HEADER + body
    writer = Writer()
    spec.CommandFragment(command_id=0, byte_ranges=[(5000, 2**64 - 1)]).encode(writer)
    fragments = Array(STRUCT32, [Struct32(0x0200, writer.getvalue())])
    expected = spec.SessionExpected(commands=[(1, 1)], fragments=fragments)
    server, heard, _ = resumed(session, says(expected))
    point, rest = heard[2:]
    assert point == spec.SessionCommandPoint(command_id=0, command_offset=5000)
    assert (HEADER + body).endswith(rest)
    assert len(rest) == len(TRANSFER_OCTETS) + len(whole) - 5000


TRANSFER_OCTETS = drive.command(TRANSFER)[12:]


# What comes again.


@pytest.mark.parametrize("overlap", [0, 1, 700, 4084, 4085, 5000])
@rule("0-10", "session.command-point", "nonzero-offset")
def test_a_command_goes_on_where_it_broke_off_whatever_comes_twice(overlap: int) -> None:
    body = bytes(range(251)) * 50
    frames = frames_of(body)
    server = drive.opened_server()
    session = kept(server)
    assert told(server, *frames[:4]) == []
    come = payload(frames[:4])
    whole = b"".join(frame[12:] for frame in frames)
    rest = whole[come - overlap :]
    first = rest[: 1000 if overlap < 1000 else 4000]
    again = [
        drive.frame(0x04, 3, 1, first),
        drive.frame(0x05, 3, 1, rest[len(first) :]),
    ]
    _, _, events = resumed(session, within(0, come - overlap), *again, drive.command(QUERY))
    transfer, query = events
    assert isinstance(transfer, CommandReceived)
    assert (transfer.command_id, transfer.payload[transfer.body_at :]) == (0, body)
    assert (query.command_id, query.command) == (1, QUERY)


def test_a_command_may_go_on_with_its_next_segment() -> None:
    frames = frames_of(b"body")
    session = kept(server := drive.opened_server())
    assert told(server, *frames[:2]) == []
    _, _, [transfer] = resumed(session, within(0, payload(frames[:2])), frames[2])
    assert transfer.payload == HEADER + b"body"


def test_an_empty_segment_that_comes_again_is_passed_over() -> None:
    command, header, body = frames_of(b"body")
    empty = header[:2] + b"\0\x0c" + header[4:12]
    session = kept(server := drive.opened_server())
    assert told(server, command, empty) == []
    _, _, [transfer] = resumed(session, within(0, payload([command])), empty, body)
    assert transfer.payload == b"body"


def test_a_command_that_was_done_may_come_again_from_its_middle() -> None:
    frames = frames_of(b"body")
    session = kept(server := drive.opened_server())
    told(server, *frames)
    session.complete(0, 0)
    again = (within(0, payload(frames[:1])), *frames[1:], drive.command(QUERY))
    _, heard, [query] = resumed(session, *again)
    assert (query.command_id, query.command) == (1, QUERY)
    assert spec.SessionCompleted(commands=[(0, 0)]) in heard


@pytest.mark.parametrize(("command_id", "offset"), [(0, 40), (1, 1), (0xFFFFFFFF, 1)])
def test_a_command_point_within_what_has_not_come_ends_the_session(
    command_id: int, offset: int
) -> None:
    frames = frames_of(b"body")
    session = kept(server := drive.opened_server())
    told(server, frames[0])
    assert payload(frames[:1]) < 40
    _, _, [ended] = resumed(session, within(command_id, offset))
    assert isinstance(ended, SessionEnded)
    assert isinstance(ended.error, errors.InvalidArgumentError)


@rule("0-10", "session.command-point", "nonzero-offset")
def test_no_command_begins_where_one_is_to_go_on() -> None:
    frames = frames_of(b"body")
    session = kept(server := drive.opened_server())
    told(server, frames[0])
    _, _, [violation] = resumed(session, within(0, 1), frames[0])
    assert isinstance(violation, Violation)
    assert violation.error.code == 501


def test_what_has_come_in_part_is_expected_whole_and_so_is_what_is_behind() -> None:
    frames = frames_of(b"body")
    session = kept(server := drive.opened_server())
    told(server, *frames, frames[0])
    server, heard, _ = resumed(session, says(spec.SessionFlush(expected=True)))
    assert heard[-1] == spec.SessionExpected(commands=[(1, 2)])
    point = says(spec.SessionCommandPoint(command_id=1, command_offset=0))
    [transfer] = told(server, point, *frames)
    assert transfer.command_id == 1


def test_completions_that_may_not_have_been_heard_are_told_again() -> None:
    session = kept(server := drive.opened_server())
    told(server, drive.command(QUERY), drive.command(QUERY))
    session.complete(0, 0)
    server.data_to_send()
    session.lose()
    session.complete(1, 1)
    _, heard, _ = resumed(session)
    assert spec.SessionCompleted(commands=[(0, 1)]) in heard


@rule("0-10", "session.gap", "aborted-commands")
def test_a_gap_over_a_command_that_has_come_in_part_aborts_it() -> None:
    frames = frames_of(b"body")
    session = kept(server := drive.opened_server())
    told(server, frames[0])
    gap = says(spec.SessionGap(commands=[(0, 0)]))
    point = says(spec.SessionCommandPoint(command_id=1, command_offset=0))
    _, heard, [query] = resumed(session, gap, point, drive.command(QUERY))
    assert query.command_id == 1
    assert spec.SessionCompleted(commands=[(0, 0)]) in heard


def test_a_gap_over_a_command_that_was_to_be_continued_goes_on_behind_it() -> None:
    frames = frames_of(b"body")
    session = kept(server := drive.opened_server())
    told(server, frames[0])
    gap = says(spec.SessionGap(commands=[(0, 0)]))
    _, _, [query] = resumed(session, within(0, 1), gap, drive.command(QUERY))
    assert query.command_id == 1


# Its life.


def test_a_detach_leaves_the_state_and_another_attach_goes_on_with_it() -> None:
    session = kept(server := drive.opened_server(), sends=2)
    [ended] = told(server, says(spec.SessionDetach(name=b"s")))
    assert isinstance(ended, SessionEnded)
    assert session.detached and not session.ended
    assert session.send_command(spec.MessageCancel(destination="2")) == 2
    server.data_to_send()
    _, heard, _ = resumed(session, says(spec.SessionExpected(commands=[(2, 2)])))
    assert heard[2:] == [
        spec.SessionCommandPoint(command_id=2, command_offset=0),
        spec.MessageCancel(destination="2"),
    ]


def test_an_exception_ends_the_state_with_the_session() -> None:
    session = kept(drive.opened_server(), sends=2)
    session.fail(errors.NotFoundError("q"))
    assert session.ended and session.replay is None


def test_who_wants_no_state_any_more_is_sent_all_that_is_in_doubt() -> None:
    session = kept(drive.opened_server(), sends=2)
    server, _, _ = resumed(session)
    session.lose_state()
    session.send_command(spec.MessageCancel(destination="2"))
    assert drive.values(server.data_to_send()) == [
        spec.SessionCommandPoint(command_id=0, command_offset=0),
        *[spec.MessageCancel(destination=str(number)) for number in range(3)],
    ]


def test_nothing_stays_on_the_account_when_a_detached_session_is_given_up() -> None:
    server = drive.opened_server()
    before = server.account.held
    session = kept(server, sends=5)
    told(server, *frames_of(b"body" * 4000)[:4])
    assert server.account.held > before + 10_000
    told(server, says(spec.SessionDetach(name=b"s")))
    server.data_to_send()
    session.lose_state()
    assert server.account.held == before
    assert session.ended


def test_what_is_kept_moves_to_the_account_of_the_next_connection() -> None:
    session = kept(first := drive.opened_server(), sends=5)
    told(first, *frames_of(b"body" * 4000)[:4])
    bare = drive.opened_server().account.held
    held = first.account.held
    second, _, _ = resumed(session)
    assert (first.account.held, second.account.held) == (bare, held)


def test_there_is_room_for_one_command_and_else_for_as_many_octets_as_may_be_in_doubt() -> None:
    server = drive.opened_server(Limits(octets_in_doubt_max=64 * 1024))
    session = kept(server)
    assert session.has_room(1 << 20)
    session.send_command(TRANSFER, header=HEADER, body=bytes(60 * 1024))
    assert not session.has_room(8 * 1024)
    assert drive.values(server.data_to_send())[-1] == spec.SessionFlush(completed=True)
    told(server, says(spec.SessionCompleted(commands=[(0, 0)])))
    assert session.has_room(8 * 1024)


def test_behind_the_attach_of_what_may_be_kept_all_waits_for_the_answer() -> None:
    server = drive.opened_server()
    server.channels.resumable.add(b"s")
    [event] = told(server, says(spec.SessionAttach(name=b"s")), POINT)
    assert server.standing
    assert told(server, drive.command(QUERY)) == []
    event.session.accept()
    assert server.goes_on
    [query] = server.receive_data(b"", 0)
    assert isinstance(query, CommandReceived)
    assert query.session is event.session


def test_so_it_does_on_a_connection_that_has_asked_for_a_timeout() -> None:
    server = drive.opened_server()
    drive.attached(server)
    ask = says(spec.SessionRequestTimeout(timeout=60))
    events = told(
        server,
        ask,
        says(spec.SessionDetach(name=b"s")),
        says(spec.SessionAttach(name=b"t")),
        POINT,
        drive.command(QUERY),
    )
    assert len(events) == 3
    assert server.standing
