"""What a client's session does (class session)."""

import pytest
from support import drive_0_10 as drive
from support.drive_0_10 import says, told
from support.rules import rule

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10 import errors
from gateway.amqp_0_10.events import (
    Attached,
    CommandsCompleted,
    ExceptionReceived,
    ResultReceived,
    SessionEnded,
    TimeoutGranted,
    TimeoutRequested,
    Violation,
)
from gateway.amqp_0_10.session import FLUSH_EVERY
from gateway.amqp_0_10.structs import close_struct
from gateway.errors import LocalProtocolError


def test_a_client_is_attached_and_may_send() -> None:
    pair = drive.Pair()
    pair.open()
    ours = pair.client.attach(b"s", 1)
    with pytest.raises(LocalProtocolError):
        ours.send_command(spec.ExecutionSync())
    [attach] = pair.exchange()[0]
    attach.session.accept()
    assert drive.shown(pair.exchange()[1]) == drive.shown([Attached(ours)])
    assert ours.send_command(spec.QueueQuery(queue="q"), sync=True) == 0
    assert ours.in_doubt() == 1
    [event] = pair.exchange()[0]
    assert (event.command_id, event.command, event.sync) == (0, spec.QueueQuery(queue="q"), True)
    result = spec.QueueQueryResult(queue="q")
    event.session.send_result(0, result)
    assert drive.shown(pair.exchange()[1]) == drive.shown(
        [
            ResultReceived(ours, 0, close_struct(result)),
            CommandsCompleted(ours, [(0, 0)]),
        ]
    )
    assert ours.in_doubt() == 0


def test_completions_are_told_to_the_face_once() -> None:
    pair = drive.Pair()
    pair.open()
    ours, theirs = pair.session()
    for _ in range(4):
        ours.send_command(spec.MessageTransfer(), header=b"")
    pair.exchange()
    theirs.complete(1, 1)
    assert drive.shown(pair.exchange()[1]) == drive.shown([CommandsCompleted(ours, [(1, 1)])])
    theirs.complete(0, 3)
    assert drive.shown(pair.exchange()[1]) == drive.shown(
        [CommandsCompleted(ours, [(0, 0), (2, 3)])]
    )


@rule("0-10", "session.completed", "known-completed-reply")
@rule("0-10", "session.completed", "delayed-reply")
@rule("0-10", "session.completed", "merged-reply")
@rule("0-10", "session.known-completed", "stateless")
def test_a_timely_reply_is_given_and_only_then() -> None:
    server = drive.opened_server()
    session = drive.attached(server)
    for _ in range(3):
        session.send_command(spec.MessageTransfer(), header=b"")
    server.data_to_send()
    told(server, says(spec.SessionCompleted(commands=[(0, 1)])))
    assert server.data_to_send() == b""
    told(server, says(spec.SessionCompleted(commands=[(0, 1)], timely_reply=True)))
    told(server, says(spec.SessionCompleted(commands=[(0, 2)], timely_reply=True)))
    assert drive.values(server.data_to_send()) == [spec.SessionKnownCompleted(commands=[(0, 2)])]


def test_completions_of_commands_that_were_never_sent_are_nothing() -> None:
    server = drive.opened_server()
    session = drive.attached(server)
    session.send_command(spec.MessageTransfer(), header=b"")
    assert drive.shown(
        told(server, says(spec.SessionCompleted(commands=[(0, 900), (902, 0x7FFFFFFF)])))
    ) == drive.shown([CommandsCompleted(session, [(0, 0)])])


def test_the_peer_is_asked_for_completions_from_time_to_time() -> None:
    server = drive.opened_server()
    session = drive.attached(server)
    for _ in range(FLUSH_EVERY):
        session.send_command(spec.MessageTransfer(), header=b"")
    assert drive.values(server.data_to_send())[-1] == spec.SessionFlush(completed=True)


def test_an_exception_reaches_the_client_and_ends_its_session() -> None:
    pair = drive.Pair()
    pair.open()
    ours, theirs = pair.session()
    ours.send_command(spec.QueueDelete(queue="q"))
    pair.exchange()
    theirs.fail(errors.NotFoundError("q"), command_id=0, code=spec.QueueDelete.CODE)
    exception, ended = pair.exchange()[1]
    assert isinstance(exception, ExceptionReceived)
    assert exception.exception.error_code == 404
    assert drive.shown(ended) == drive.shown(SessionEnded(ours, 0, None))
    assert theirs.detached and ours.detached


def test_both_ends_may_detach_even_at_once() -> None:
    pair = drive.Pair()
    pair.open()
    ours, theirs = pair.session()
    ours.detach()
    assert drive.shown(pair.exchange()) == drive.shown(
        ([SessionEnded(theirs, 0, None)], [SessionEnded(ours, 0, None)])
    )
    ours, theirs = pair.session()
    ours.detach()
    theirs.detach()
    assert drive.shown(pair.exchange()) == drive.shown(
        ([SessionEnded(theirs, 0, None)], [SessionEnded(ours, 0, None)])
    )
    assert ours.detached and theirs.detached


def test_a_refused_client_session_ends() -> None:
    pair = drive.Pair()
    pair.open()
    ours = pair.client.attach(b"s", 1)
    [attach] = pair.exchange()[0]
    attach.session.refuse(spec.DetachCode.SESSION_BUSY)
    busy = spec.DetachCode.SESSION_BUSY
    assert drive.shown(pair.exchange()[1]) == drive.shown([SessionEnded(ours, busy, None)])
    pair.session()


def test_a_client_asks_for_a_timeout_and_is_granted_one() -> None:
    pair = drive.Pair()
    pair.open()
    ours, theirs = pair.session()
    ours.request_timeout(None)
    assert drive.shown(pair.exchange()[0]) == drive.shown([TimeoutRequested(theirs, None)])
    theirs.send_timeout(0)
    assert drive.shown(pair.exchange()[1]) == drive.shown([TimeoutGranted(ours, 0)])
    ours.send_flush()
    pair.exchange()


@pytest.mark.parametrize(
    "octets",
    [
        drive.control(spec.SessionAttached(name=b"s"), 1),
    ],
)
def test_answers_that_nothing_asked_for_are_framing_errors(octets: bytes) -> None:
    server = drive.opened_server()
    drive.attached(server)
    [event] = told(server, octets)
    assert isinstance(event, Violation)
