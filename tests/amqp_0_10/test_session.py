"""Sessions: attachment, ids, completions, exceptions (class session)."""

import pytest
from support import drive_0_10 as drive
from support.drive_0_10 import says, told
from support.rules import rule

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10 import errors
from gateway.amqp_0_10.commands.progress import AHEAD
from gateway.amqp_0_10.events import (
    AttachReceived,
    CommandReceived,
    SessionEnded,
    TimeoutRequested,
    Violation,
)
from gateway.amqp_0_10.structs import close_struct, open_struct
from gateway.wire.limits import Limits
from gateway.wire.serial import MASK

QUERY = drive.command(spec.QueueQuery(queue="q"))
TRANSFER = drive.command(spec.MessageTransfer(destination="x"), header=b"", body=b"body")


def test_accepting_an_attach_sends_attached_and_a_command_point() -> None:
    server = drive.opened_server()
    [event] = told(server, says(spec.SessionAttach(name=b"s", force=True)))
    assert isinstance(event, AttachReceived)
    assert (event.session.name, event.session.channel, event.force) == (b"s", 1, True)
    assert server.data_to_send() == b""
    event.session.accept()
    assert drive.values(server.data_to_send()) == [
        spec.SessionAttached(name=b"s"),
        spec.SessionCommandPoint(command_id=0, command_offset=0),
    ]


def test_refusing_an_attach_sends_detached_and_frees_the_channel() -> None:
    server = drive.opened_server()
    [event] = told(server, says(spec.SessionAttach(name=b"s")))
    event.session.refuse(spec.DetachCode.SESSION_BUSY)
    assert event.session.ended
    assert drive.values(server.data_to_send()) == [
        spec.SessionDetached(name=b"s", code=spec.DetachCode.SESSION_BUSY)
    ]
    [event] = told(server, says(spec.SessionAttach(name=b"t")))
    assert event.session.name == b"t"


@rule("0-10", "session.attach", "idempotence")
def test_attaching_again_to_the_same_channel_succeeds() -> None:
    server = drive.opened_server()
    session = drive.attached(server)
    assert told(server, says(spec.SessionAttach(name=b"s"))) == []
    assert drive.values(server.data_to_send()) == [spec.SessionAttached(name=b"s")]
    assert not session.ended


@rule("0-10", "session.attach", "one-session-per-transport")
def test_a_channel_has_one_session() -> None:
    server = drive.opened_server()
    session = drive.attached(server)
    assert told(server, says(spec.SessionAttach(name=b"other"))) == []
    assert drive.values(server.data_to_send()) == [
        spec.SessionDetached(name=b"other", code=spec.DetachCode.TRANSPORT_BUSY)
    ]
    assert not session.ended


def test_commands_may_follow_an_attach_before_it_is_answered() -> None:
    server = drive.opened_server()
    events = told(
        server,
        says(spec.SessionAttach(name=b"s")),
        says(spec.SessionCommandPoint(command_id=5, command_offset=0)),
        QUERY,
        says(spec.SessionFlush(completed=True)),
    )
    attach, query = events
    assert isinstance(query, CommandReceived)
    assert query.command_id == 5
    assert query.session is attach.session
    attach.session.accept()
    assert drive.values(server.data_to_send()) == [
        spec.SessionAttached(name=b"s"),
        spec.SessionCommandPoint(command_id=0, command_offset=0),
        spec.SessionCompleted(commands=[]),
    ]


def test_a_command_carries_its_content_in_one_piece() -> None:
    server = drive.opened_server()
    drive.attached(server)
    octets = drive.command(
        spec.MessageTransfer(destination="x"),
        sync=True,
        header=b"h" * 5000,
        body=b"b" * 9000,
        max_frame_size=4096,
    )
    [event] = told(server, octets)
    assert event.command == spec.MessageTransfer(destination="x")
    assert event.sync
    assert event.payload == b"h" * 5000 + b"b" * 9000
    assert event.body_at == 5000


def test_controls_may_come_between_the_frames_of_a_command() -> None:
    server = drive.opened_server()
    drive.attached(server)
    octets = drive.command(
        spec.MessageTransfer(), header=b"h", body=b"b" * 9000, max_frame_size=4096
    )
    cut = octets[:4200]
    parser_size = int.from_bytes(octets[2:4], "big")
    head, tail = octets[:parser_size], octets[parser_size:]
    assert cut.startswith(head)
    [event] = told(server, head, says(spec.SessionFlush(completed=True)), tail)
    assert event.payload == b"h" + b"b" * 9000


def test_completions_of_a_turn_are_told_once() -> None:
    server = drive.opened_server()
    session = drive.attached(server)
    for event in told(server, TRANSFER * 5):
        assert event.payload == b"body"
    session.complete(0, 1)
    session.complete(2, 2)
    session.complete(4, 4)
    assert drive.values(server.data_to_send()) == [spec.SessionCompleted(commands=[(0, 2), (4, 4)])]
    assert server.data_to_send() == b""
    session.complete(3, 3)
    assert drive.values(server.data_to_send()) == [spec.SessionCompleted(commands=[(0, 4)])]


@rule("0-10", "session.completed.commands", "exclude-known-complete")
def test_what_is_known_to_be_completed_is_not_told_again() -> None:
    server = drive.opened_server()
    session = drive.attached(server)
    told(server, TRANSFER * 5)
    session.complete(0, 3)
    server.data_to_send()
    assert told(server, says(spec.SessionKnownCompleted(commands=[(0, 2)]))) == []
    session.complete(4, 4)
    assert drive.values(server.data_to_send()) == [spec.SessionCompleted(commands=[(3, 4)])]


def test_a_timely_reply_is_asked_for_when_much_is_not_known_to_be_known() -> None:
    server = drive.opened_server(Limits(commands_in_doubt_max=200_000))
    session = drive.attached(server)
    for _ in range(70):
        first = told(server, TRANSFER * 1000)[0].command_id
        session.complete(first, first + 999)
    [completed] = drive.values(server.data_to_send())
    assert completed == spec.SessionCompleted(commands=[(0, 69_999)], timely_reply=True)
    told(server, says(spec.SessionKnownCompleted(commands=[(0, 69_999)])), TRANSFER)
    session.complete(70_000, 70_000)
    assert drive.values(server.data_to_send()) == [
        spec.SessionCompleted(commands=[(70_000, 70_000)])
    ]


def test_completions_that_a_peer_knows_in_very_many_pieces_are_told_once_more_only() -> None:
    server = drive.opened_server()
    session = drive.attached(server)
    for _ in range(10):
        first = told(server, TRANSFER * 1000)[0].command_id
        session.complete(first, first + 999)
    server.data_to_send()
    known = [(number, number) for number in range(0, 9000, 2)]
    told(server, says(spec.SessionKnownCompleted(commands=known)), TRANSFER)
    session.complete(10_000, 10_000)
    answers = drive.values(server.data_to_send())
    ranges = [each for answer in answers for each in answer.commands]
    assert ranges == [*[(number, number) for number in range(1, 8999, 2)], (8999, 10_000)]
    told(server, TRANSFER)
    session.complete(10_001, 10_001)
    assert drive.values(server.data_to_send()) == [
        spec.SessionCompleted(commands=[(10_001, 10_001)])
    ]


@rule("0-10", "session.expected", "include-next-command")
@rule("0-10", "session.expected", "no-overlaps")
@rule("0-10", "session.expected", "minimal-fragments")
@rule("0-10", "session.confirmed", "no-overlaps")
@rule("0-10", "session.confirmed", "minimal-fragments")
def test_flush_is_answered_by_what_it_asks_for() -> None:
    server = drive.opened_server()
    session = drive.attached(server)
    told(server, TRANSFER * 3)
    session.complete(0, 0)
    told(server, says(spec.SessionFlush(expected=True, confirmed=True, completed=True)))
    assert drive.values(server.data_to_send()) == [
        spec.SessionExpected(commands=[(3, 3)]),
        spec.SessionConfirmed(commands=[(0, 0)]),
        spec.SessionCompleted(commands=[(0, 0)]),
    ]


@rule("0-10", "session.expected", "commands-empty-means-new-session")
def test_a_session_without_state_expects_nothing() -> None:
    server = drive.opened_server()
    drive.attached(server, pointed=False)
    told(server, says(spec.SessionFlush(expected=True)))
    assert drive.values(server.data_to_send()) == [spec.SessionExpected(commands=[])]


def test_execution_sync_completes_when_all_before_it_have() -> None:
    server = drive.opened_server()
    session = drive.attached(server)
    assert len(told(server, TRANSFER, drive.command(spec.ExecutionSync()), TRANSFER)) == 2
    assert server.data_to_send() == b""
    session.complete(2, 2)
    assert drive.values(server.data_to_send()) == [spec.SessionCompleted(commands=[(2, 2)])]
    session.complete(0, 0)
    assert drive.values(server.data_to_send()) == [spec.SessionCompleted(commands=[(0, 2)])]


def test_a_result_goes_out_before_the_completion() -> None:
    server = drive.opened_server()
    session = drive.attached(server)
    told(server, QUERY)
    result = spec.QueueQueryResult(queue="q", message_count=3, subscriber_count=0)
    session.send_result(0, result)
    sent = drive.values(server.data_to_send())
    assert open_struct(sent[0].value) == result
    assert sent == [
        spec.ExecutionResult(command_id=0, value=close_struct(result)),
        spec.SessionCompleted(commands=[(0, 0)]),
    ]


@rule("0-10", "session.command-point", "newly-attached-transports")
def test_a_command_before_a_command_point_is_of_unknown_ids() -> None:
    server = drive.opened_server()
    session = drive.attached(server, pointed=False)
    [event] = told(server, QUERY)
    assert (event.session, event.code) == (session, spec.DetachCode.UNKNOWN_IDS)
    assert isinstance(event.error, errors.UnknownIdsError)
    assert session.ended
    assert drive.values(server.data_to_send()) == [
        spec.SessionDetached(name=b"s", code=spec.DetachCode.UNKNOWN_IDS)
    ]


def test_a_replayed_command_is_told_again_and_not_executed_twice() -> None:
    server = drive.opened_server()
    session = drive.attached(server)
    told(server, TRANSFER * 3)
    session.complete(0, 1)
    server.data_to_send()
    told(server, says(spec.SessionKnownCompleted(commands=[(0, 1)])))
    point = says(spec.SessionCommandPoint(command_id=1, command_offset=0))
    [event] = told(server, point, TRANSFER * 3)
    assert event.command_id == 3
    assert drive.values(server.data_to_send()) == [spec.SessionCompleted(commands=[(1, 1)])]


def test_a_command_point_ahead_counts_what_it_skips_as_done() -> None:
    server = drive.opened_server()
    session = drive.attached(server)
    [event] = told(server, says(spec.SessionCommandPoint(command_id=4, command_offset=0)), TRANSFER)
    assert event.command_id == 4
    session.complete(4, 4)
    assert drive.values(server.data_to_send()) == [spec.SessionCompleted(commands=[(0, 4)])]


def test_a_session_may_have_more_commands_than_serial_numbers_tell_apart() -> None:
    server = drive.opened_server()
    session = drive.attached(server)
    command_id = 0
    for _ in range(18):
        command_id = (command_id + AHEAD) & MASK
        point = says(spec.SessionCommandPoint(command_id=command_id, command_offset=0))
        [event] = told(server, point, TRANSFER)
        assert event.command_id == command_id
        session.complete(command_id, command_id)
        [completed] = drive.values(server.data_to_send())
        assert completed.commands[-1][1] == command_id
        command_id += 1


@rule("0-10", "session.gap", "gap-confirmation-and-completion")
@rule("0-10", "session.gap", "aborted-commands")
def test_a_gap_aborts_the_command_under_way_and_counts_as_completed() -> None:
    server = drive.opened_server()
    drive.attached(server)
    partial = drive.frame(0x0B, 1, 1, bytes.fromhex("0401 0100 0000"))
    [event] = told(server, partial, says(spec.SessionGap(commands=[(0, 2)])), TRANSFER)
    assert event.command_id == 3
    assert drive.values(server.data_to_send()) == [spec.SessionCompleted(commands=[(0, 2)])]


@rule("0-10", "session.gap", "completed-or-confirmed-commands")
def test_a_gap_leaves_commands_alone_that_have_come() -> None:
    server = drive.opened_server()
    session = drive.attached(server)
    told(server, TRANSFER * 2)
    assert told(server, says(spec.SessionGap(commands=[(0, 0)]))) == []
    assert server.data_to_send() == b""
    session.complete(0, 1)
    assert drive.values(server.data_to_send()) == [spec.SessionCompleted(commands=[(0, 1)])]


@pytest.mark.parametrize(
    ("control", "error"),
    [
        (spec.SessionGap(commands=[(5, 6)]), errors.NotImplementedHereError),
        (spec.SessionCommandPoint(command_offset=0), errors.InvalidArgumentError),
        (
            spec.SessionCommandPoint(command_id=0, command_offset=9),
            errors.InvalidArgumentError,
        ),
        (
            spec.SessionCommandPoint(command_id=0xFFFFFFFF, command_offset=0),
            errors.InvalidArgumentError,
        ),
        (
            spec.SessionCommandPoint(command_id=AHEAD + 1, command_offset=0),
            errors.InvalidArgumentError,
        ),
        (
            spec.SessionCommandPoint(command_id=0x7FFFFFFF, command_offset=0),
            errors.InvalidArgumentError,
        ),
        (
            spec.SessionCommandPoint(command_id=0x80000000, command_offset=0),
            errors.InvalidArgumentError,
        ),
        (spec.SessionGap(commands=[(0, AHEAD)]), errors.InvalidArgumentError),
    ],
)
def test_a_control_about_commands_that_cannot_be_ends_the_session(
    control: object, error: type
) -> None:
    server = drive.opened_server()
    session = drive.attached(server)
    [event] = told(server, says(control))
    assert isinstance(event, SessionEnded)
    assert isinstance(event.error, error)
    exception, detach = drive.values(server.data_to_send())
    assert exception.error_code == error.code
    assert detach == spec.SessionDetach(name=b"s")
    assert session.ended


BROKEN = [
    pytest.param(drive.frame(0x0F, 1, 1, bytes.fromhex("0801 0100 0001")), 503, id="cut short"),
    pytest.param(drive.frame(0x0F, 1, 1, bytes.fromhex("2a01 0100")), 503, id="unknown class"),
    pytest.param(drive.command(spec.MessageAccept(transfers=[(5, 4)])), 503, id="inverted range"),
    pytest.param(drive.command(spec.FileQosOk()), 530, id="not for a server"),
    pytest.param(
        drive.command(spec.MessageCancel(), header=b"h"), 503, id="a header where none belongs"
    ),
    pytest.param(
        drive.frame(0x0B, 1, 1, bytes.fromhex("0408 0100 0000")) + drive.frame(0x07, 3, 1, b"body"),
        503,
        id="a body where none belongs",
    ),
    pytest.param(
        drive.command(spec.QueueDelete(queue="q")).replace(b"\x01q", b"\x01\xff"),
        503,
        id="not UTF-8",
    ),
    pytest.param(
        drive.command(spec.MessageTransfer(), header=b"", body=bytes(2000)), 506, id="too large"
    ),
    pytest.param(
        drive.command(spec.MessageTransfer(), header=bytes(500)), 506, id="header too large"
    ),
]


@pytest.mark.parametrize(("octets", "code"), BROKEN)
def test_a_broken_command_ends_its_session_and_no_other(octets: bytes, code: int) -> None:
    server = drive.opened_server(Limits(message_size_max=1000, table_size_max=400))
    session = drive.attached(server)
    other = drive.attached(server, b"other", 2)
    first, last = told(server, QUERY, octets, QUERY)
    assert isinstance(first, CommandReceived)
    assert isinstance(last, SessionEnded)
    assert last.error.code == code
    exception, detach = drive.values(server.data_to_send())
    assert (exception.error_code, exception.command_id) == (code, 1)
    assert detach == spec.SessionDetach(name=b"s")
    assert told(server, says(spec.SessionDetached(name=b"s", code=0))) == []
    assert session.detached
    assert [event.session for event in told(server, QUERY.replace(b"\0\1\0\1", b"\0\1\0\2"))] == [
        other
    ]


def test_an_exception_tells_completions_first_and_names_the_command() -> None:
    server = drive.opened_server()
    session = drive.attached(server)
    told(server, TRANSFER, QUERY)
    session.complete(0, 0)
    session.fail(errors.NotFoundError("no such queue"), command_id=1, code=spec.QueueQuery.CODE)
    assert drive.values(server.data_to_send()) == [
        spec.SessionCompleted(commands=[(0, 0)]),
        spec.ExecutionException(
            error_code=404,
            command_id=1,
            class_code=8,
            command_code=4,
            description="no such queue",
        ),
        spec.SessionDetach(name=b"s"),
    ]


def test_a_failed_session_ignores_all_but_detach_and_detached() -> None:
    server = drive.opened_server()
    session = drive.attached(server)
    session.fail(errors.NotFoundError("x"))
    server.data_to_send()
    noise = [
        QUERY,
        says(spec.SessionGap(commands=[(0, 9)])),
        says(spec.SessionFlush(completed=True)),
        says(spec.SessionRequestTimeout(timeout=0)),
        says(spec.SessionAttach(name=b"t")),
    ]
    assert told(server, *noise) == []
    session.complete(0, 5)
    session.send_result(0, spec.XaResult(status=0))
    session.send_timeout(0)
    session.fail(errors.NotFoundError("again"))
    assert server.data_to_send() == b""
    assert told(server, says(spec.SessionDetach(name=b"s"))) == []
    assert drive.values(server.data_to_send()) == [spec.SessionDetached(name=b"s", code=0)]
    assert not session.detached
    told(server, says(spec.SessionDetached(name=b"s", code=0)))
    assert session.detached


def test_a_session_that_breaks_before_it_is_accepted_is_attached_first() -> None:
    server = drive.opened_server()
    attach, ended = told(
        server,
        says(spec.SessionAttach(name=b"s")),
        says(spec.SessionGap(commands=[(5, 6)])),
    )
    assert isinstance(ended, SessionEnded)
    attach.session.accept()
    sent = drive.values(server.data_to_send())
    assert sent[0] == spec.SessionAttached(name=b"s")
    assert sent[2].error_code == spec.ErrorCode.NOT_IMPLEMENTED
    assert sent[3] == spec.SessionDetach(name=b"s")


def test_a_session_may_be_detached_before_it_is_accepted() -> None:
    server = drive.opened_server()
    attach, ended = told(
        server, says(spec.SessionAttach(name=b"s")), says(spec.SessionDetach(name=b"s"))
    )
    assert drive.shown(ended) == drive.shown(SessionEnded(attach.session, 0, None))
    attach.session.accept()
    attach.session.refuse(1)
    assert drive.values(server.data_to_send()) == [spec.SessionDetached(name=b"s", code=0)]


def test_detach_is_answered_after_the_last_completions() -> None:
    server = drive.opened_server()
    session = drive.attached(server)
    told(server, TRANSFER)
    session.complete(0, 0)
    assert drive.shown(told(server, says(spec.SessionDetach(name=b"s")))) == drive.shown(
        [SessionEnded(session, 0, None)]
    )
    assert drive.values(server.data_to_send()) == [
        spec.SessionCompleted(commands=[(0, 0)]),
        spec.SessionDetached(name=b"s", code=0),
    ]
    assert session.ended and session.detached


@rule("0-10", "session", "attachment")
def test_controls_and_commands_without_a_session_are_not_attached() -> None:
    server = drive.opened_server()
    detached = spec.SessionDetached(name=b"", code=spec.DetachCode.NOT_ATTACHED)
    [nobodys] = told(server, says(spec.SessionGap(commands=[(0, 1)]), 9), TRANSFER)
    assert isinstance(nobodys, CommandReceived)
    assert nobodys.session not in server.channels.sessions.values()
    assert drive.values(server.data_to_send()) == [detached, detached]
    assert told(server, says(spec.SessionDetach(name=b"q"))) == []
    assert drive.values(server.data_to_send()) == [
        spec.SessionDetached(name=b"q", code=spec.DetachCode.NOT_ATTACHED)
    ]
    assert told(server, says(spec.SessionDetached(name=b"q", code=0))) == []
    assert told(server, says(spec.SessionAttached(name=b"q"))) == []
    assert server.data_to_send() == b""


def test_too_many_commands_not_completed_end_the_session() -> None:
    server = drive.opened_server(Limits(commands_in_doubt_max=3))
    drive.attached(server)
    assert [type(event) for event in told(server, TRANSFER * 3)] == [CommandReceived] * 3
    server.data_to_send()
    [event] = told(server, TRANSFER)
    assert type(event) is SessionEnded
    assert event.error.code == spec.ErrorCode.RESOURCE_LIMIT_EXCEEDED
    assert drive.values(server.data_to_send())[0].command_id == 3


def test_commands_that_come_in_one_piece_are_all_taken_and_counted_after_the_turn() -> None:
    server = drive.opened_server(Limits(commands_in_doubt_max=3))
    drive.attached(server)
    events = told(server, TRANSFER * 10)
    assert [type(event) for event in events] == [CommandReceived] * 10
    session = events[0].session
    session.complete(0, 7)
    server.data_to_send()
    assert [type(event) for event in told(server, TRANSFER * 10)] == [CommandReceived] * 10
    server.data_to_send()
    assert [type(event) for event in told(server, TRANSFER)] == [SessionEnded]


@rule("0-10", "session.command-point", "zero-offset")
@pytest.mark.parametrize(
    "octets",
    [
        drive.frame(0x03, 1, 1, b""),
        drive.frame(0x03, 2, 1, b""),
        drive.frame(0x0B, 2, 1, b""),
        TRANSFER[: int.from_bytes(TRANSFER[2:4], "big")] * 2,
        TRANSFER[: int.from_bytes(TRANSFER[2:4], "big")]
        + drive.frame(0x03, 3, 1, b"")
        + drive.frame(0x07, 2, 1, b""),
        drive.frame(0x0A, 1, 1, b"") + drive.frame(0x05, 2, 1, b""),
        drive.frame(0x0C, 1, 1, b""),
    ],
    ids=[
        "no first segment",
        "header without command",
        "header as first segment",
        "command in command",
        "header after body",
        "segment within segment",
        "no first frame",
    ],
)
def test_segments_out_of_order_are_a_framing_error_of_the_connection(octets: bytes) -> None:
    server = drive.opened_server()
    drive.attached(server)
    [event] = told(server, octets)
    assert isinstance(event, Violation)
    assert event.error.code == spec.CloseCode.FRAMING_ERROR
    assert drive.values(server.data_to_send())[0].reply_code == spec.CloseCode.FRAMING_ERROR


def test_request_timeout_is_asked_of_the_face() -> None:
    server = drive.opened_server()
    session = drive.attached(server)
    assert drive.shown(told(server, says(spec.SessionRequestTimeout(timeout=0)))) == drive.shown(
        [TimeoutRequested(session, 0)]
    )
    session.send_timeout(0)
    assert drive.values(server.data_to_send()) == [spec.SessionTimeout(timeout=0)]


def test_the_channel_is_freed_when_another_transport_takes_the_name() -> None:
    server = drive.opened_server()
    session = drive.attached(server)
    session.force_off(spec.DetachCode.SESSION_BUSY)
    assert drive.values(server.data_to_send()) == [
        spec.SessionDetached(name=b"s", code=spec.DetachCode.SESSION_BUSY)
    ]
    drive.attached(server, b"next")
