"""What comes for one session, taken apart: frames of commands, and the session controls.

Changes the session as the frames say, and tells the driver by events, which name it. What can be
answered by rule is answered, what ends the session only is said by it.
"""

from __future__ import annotations

from typing import Final

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.assembler import PART_MIN, TRANSFER, UNFINISHED
from gateway.amqp_0_10.commands.incoming import NONE, Incoming
from gateway.amqp_0_10.commands.late import give_up, of_session, receive_late
from gateway.amqp_0_10.commands.replay import offsets
from gateway.amqp_0_10.errors import (
    DetachError,
    ExecutionError,
    FramingError,
    InvalidArgumentError,
    ResourceLimitExceededError,
    UnknownIdsError,
)
from gateway.amqp_0_10.events import (
    Attached,
    AttachReceived,
    CommandReceived,
    CommandsCompleted,
    Event,
    ExceptionReceived,
    PartReceived,
    ResultReceived,
    SessionEnded,
    TimeoutGranted,
    TimeoutRequested,
)
from gateway.amqp_0_10.primitives import Ranges
from gateway.amqp_0_10.session import RANGES_PER_CONTROL, Session
from gateway.amqp_0_10.states import SessionInput, SessionState
from gateway.amqp_0_10.types import Command, Control
from gateway.wire.serial import distance
from gateway.wire.work import CONTROL, RANGE, WORK

_ATTACHED: Final = int(SessionState.ATTACHED)  # a plain number: it compares at no cost


def receive_frame(
    session: Session, flags: int, kind: int, buf: bytes, start: int, end: int, events: list[Event]
) -> None:
    """Take a frame of a command."""
    if not session.listens():
        if session.serves:
            receive_late(session, flags, kind, buf, start, end, events)
        return
    incoming = session.incoming
    if not incoming.pointed:
        if incoming.overlap == NONE:
            _ended_for(session, UnknownIdsError("a command before command-point"), events)
            if session.serves:
                receive_late(session, flags, kind, buf, start, end, events)
            return
        start = incoming.skip(flags, kind, start, end)
        if start < 0:
            return
        flags = incoming.flags
    try:
        if incoming.add(flags, kind, buf, start, end):
            _receive_command(session, incoming, events)
    except ResourceLimitExceededError as limit:  # compiled, a name has one type
        refused = _given_up(session, incoming, buf[start:end])
        _broken(session, limit, incoming.assembler.code, incoming.next_id, events, refused)
    except ExecutionError as error:
        refused = _given_up(session, incoming, b"")
        _broken(session, error, incoming.assembler.code, incoming.next_id, events, refused)


def receive_attach(session: Session, force: bool, events: list[Event]) -> None:
    """The peer wants to attach a new session; it is over where it may not be kept."""
    if session.keep():
        events.append(AttachReceived(session, force))
        return
    error = ResourceLimitExceededError(
        "too much is kept for the sessions of the connection or user"
    )
    session.turn_away(error)
    events.append(SessionEnded(session, spec.DetachCode.NORMAL, error))


def receive_no_more(session: Session, events: list[Event]) -> None:
    """No more octets have come for now: what there is of a command has to be kept."""
    incoming = session.incoming
    assembler = incoming.assembler
    if not assembler.settle():
        if not session.listens():
            give_up(session, events)
            return
        refused = _given_up(session, incoming, b"")
        error = ResourceLimitExceededError(UNFINISHED)
        _broken(session, error, assembler.code, incoming.next_id, events, refused)
    else:
        receive_part(session, PART_MIN, events)


def receive_part(session: Session, least: int, events: list[Event]) -> None:
    """What has come of a file that is staged is told, if it is as much as that."""
    if session.serves and session.listens():
        assembler = session.incoming.assembler
        part = assembler.take_part(least)
        if part is not None:
            events.append(PartReceived(session, assembler.payload, part))


def _given_up(session: Session, incoming: Incoming, piece: bytes) -> CommandReceived | None:
    transfer = incoming.assembler.give_up(piece)
    if transfer is None and incoming.assembler.code == TRANSFER:
        transfer = spec.MessageTransfer()  # it cannot be read, but it is one
    return None if transfer is None else of_session(session, transfer)


def receive_control(session: Session, control: Control, events: list[Event]) -> None:
    """Take a session control; `FramingError` when it makes no sense at all."""
    WORK.units += CONTROL
    if isinstance(control, spec.SessionDetach):
        _receive_detach(session, events)
    elif isinstance(control, spec.SessionDetached):
        _receive_detached(session, control, events)
    elif isinstance(control, spec.SessionAttach):
        _receive_attach_again(session, control)
    elif isinstance(control, spec.SessionAttached):
        _receive_attached(session, events)
    elif session.listens():
        try:
            _receive_execution_control(session, control, events)
        except ExecutionError as error:
            _broken(session, error, 0, None, events)


def _broken(
    session: Session,
    error: ExecutionError,
    code: int,
    command_id: int | None,
    events: list[Event],
    refused: CommandReceived | None = None,
) -> None:
    """The peer sent something that ends the session."""
    session.incoming.assembler.reset()
    session.fail(error, command_id=command_id, code=code)
    events.append(SessionEnded(session, spec.DetachCode.NORMAL, error, refused))


def _ended_for(session: Session, error: DetachError, events: list[Event]) -> None:
    """Detach without a handshake for what the peer did."""
    session.force_off(error.code)
    events.append(SessionEnded(session, error.code, error))


def _receive_command(session: Session, incoming: Incoming, events: list[Event]) -> None:
    assembler = incoming.assembler
    command = assembler.command
    command_id = incoming.command_id
    assert command is not None
    if assembler.code >> 8 != 3:
        events.append(
            CommandReceived(
                session,
                command_id,
                command,
                assembler.sync,
                assembler.payload,
                assembler.body_at,
                assembler.octets,
                assembler.empty_body,
            )
        )
    elif isinstance(command, spec.ExecutionSync):
        WORK.units += CONTROL
        incoming.sync(command_id)
    else:
        WORK.units += CONTROL
        incoming.complete(command_id, command_id)
        _receive_answer(session, command, events)


def _receive_answer(session: Session, command: Command, events: list[Event]) -> None:
    if isinstance(command, spec.ExecutionResult):
        if command.command_id is None:
            raise InvalidArgumentError("a result without command-id")
        events.append(ResultReceived(session, command.command_id, command.value))
    elif isinstance(command, spec.ExecutionException):
        events.append(ExceptionReceived(session, command))


def _receive_attach_again(session: Session, attach: spec.SessionAttach) -> None:
    if session.ended:
        return
    if attach.name != session.name:
        busy = spec.DetachCode.TRANSPORT_BUSY
        session.send_control(spec.SessionDetached(name=attach.name, code=busy))
    elif not session.machine.receive(SessionInput.RECV_ATTACH):
        raise FramingError("session.attach crosses our own")
    elif session.machine.state == _ATTACHED:
        session.machine.send(SessionInput.SEND_ATTACHED)
        session.send_control(spec.SessionAttached(name=session.name))


def _receive_attached(session: Session, events: list[Event]) -> None:
    if not session.machine.receive(SessionInput.RECV_ATTACHED):
        raise FramingError("session.attached is not expected")
    session.begin()
    events.append(Attached(session))


def _receive_detach(session: Session, events: list[Event]) -> None:
    if not session.machine.receive(SessionInput.RECV_DETACH):
        raise FramingError("session.detach is not expected")
    if session.machine.state == SessionState.DETACH_RECEIVED:
        session.write_answers()
    session.end(spec.DetachCode.NORMAL)
    _tell_ended(session, spec.DetachCode.NORMAL, events)


def _receive_detached(
    session: Session, detached: spec.SessionDetached, events: list[Event]
) -> None:
    if not session.machine.receive(SessionInput.RECV_DETACHED):
        raise FramingError("session.detached is not expected")
    _tell_ended(session, detached.code or 0, events)


def _tell_ended(session: Session, code: int, events: list[Event]) -> None:
    if not session.ended:
        session.ended = session.replay is None
        events.append(SessionEnded(session, code, None))


def _receive_execution_control(session: Session, control: Control, events: list[Event]) -> None:
    """Controls about commands; only while attached."""
    incoming = session.incoming
    if isinstance(control, spec.SessionCompleted):
        _receive_completed(session, control, events)
    elif isinstance(control, spec.SessionFlush):
        session.expected_asked |= control.expected
        session.confirmed_asked |= control.confirmed
        incoming.due |= control.completed
    elif isinstance(control, spec.SessionKnownCompleted):
        incoming.known_completed(control.commands or [])
    elif isinstance(control, spec.SessionCommandPoint):
        incoming.point(control.command_id, control.command_offset)
    elif isinstance(control, spec.SessionGap):
        incoming.gap(control.commands or [])
    elif isinstance(control, spec.SessionRequestTimeout):
        events.append(TimeoutRequested(session, control.timeout))
    elif isinstance(control, spec.SessionTimeout):
        events.append(TimeoutGranted(session, control.timeout))
    elif isinstance(control, spec.SessionExpected):
        _send_expected(session, control)
    elif isinstance(control, spec.SessionConfirmed):
        session.confirm(control.commands or [])


def _receive_completed(
    session: Session, control: spec.SessionCompleted, events: list[Event]
) -> None:
    ranges: Ranges = []
    commands = control.commands or []
    WORK.units += RANGE * len(commands)
    for first, last in commands:
        ranges += session.outgoing.complete(first, last)
        session.outgoing.follow()
        if control.timely_reply:
            session.echo.add_range(first, last)
    if ranges:
        session.confirm(ranges)
        events.append(CommandsCompleted(session, ranges))


def _send_expected(session: Session, expected: spec.SessionExpected) -> None:
    """Send again what the peer expects, if it was asked; the session goes on behind that."""
    replay = session.replay
    if replay is None or not replay.held:
        return
    commands = expected.commands or []
    fragments = offsets(expected.fragments)
    outgoing = session.outgoing
    firsts = [first for first, _ in commands] + list(fragments)
    if any([distance(outgoing.first, first) < 0 for first in firsts]):
        raise InvalidArgumentError("a command is expected from before the first")
    if not commands and not fragments:
        session.redeliver(replay)
    again, missing = replay.wanted(commands, fragments, outgoing.next)
    for at in range(0, len(missing), RANGES_PER_CONTROL):
        gap = spec.SessionGap(commands=missing[at : at + RANGES_PER_CONTROL])
        session.send_control(gap)
    session.send_again(replay, again)
