"""One session while it is attached to a channel: ids, completions and the session controls.

Both halves of the specification's session class: we are the sender of our commands, and with
`Incoming` the receiver of the peer's. What can be answered by rule is answered here, but written no
earlier than `flush`, at the end of the turn: so answers merge, and none goes out before attached
does. It must not know what a command means, execution's own three excepted.

Deployed clients decide what is never sent unasked: known-completed, confirmed, expected and timeout
go out only as answers. command-point goes out right after attached, since the Java client wants it
before the first command.
"""

from __future__ import annotations

from typing import Final, final

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.errors import (
    DetachError,
    ExecutionError,
    FramingError,
    InvalidArgumentError,
    UnknownIdsError,
)
from gateway.amqp_0_10.events import (
    Attached,
    CommandReceived,
    CommandsCompleted,
    Event,
    ExceptionReceived,
    ResultReceived,
    SessionEnded,
    TimeoutGranted,
    TimeoutRequested,
)
from gateway.amqp_0_10.frames import FrameWriter
from gateway.amqp_0_10.incoming import Incoming
from gateway.amqp_0_10.primitives import Ranges
from gateway.amqp_0_10.progress import Progress
from gateway.amqp_0_10.states import SESSION_TABLE, Role, SessionInput, SessionState
from gateway.amqp_0_10.structs import close_struct
from gateway.amqp_0_10.types import Command, Control, Struct
from gateway.errors import LocalProtocolError
from gateway.wire.limits import Limits
from gateway.wire.machine import Machine
from gateway.wire.serial import RangeSet

# States that every frame, sent or received, asks about: as plain numbers they compare at no cost.
_ATTACH_RECEIVED: Final = int(SessionState.ATTACH_RECEIVED)
_ATTACHED: Final = int(SessionState.ATTACHED)
_ENDED: Final = int(SessionState.ENDED)

# After so many commands of ours the peer is asked which it has completed.
FLUSH_EVERY: Final = 4_096
DESCRIPTION_MAX: Final = 1_000


@final
class Session:
    """An attached session, or one on its way to that or from it.

    Attributes:
        name: the session's name, as octets.
        channel: the channel that it is attached to.
    """

    __slots__ = (
        "_confirmed_asked",
        "_echo",
        "_exception",
        "_expected_asked",
        "_frames",
        "_incoming",
        "_machine",
        "_outgoing",
        "_told_ended",
        "channel",
        "name",
    )

    def __init__(
        self, name: bytes, channel: int, frames: FrameWriter, limits: Limits, role: Role
    ) -> None:
        handled = spec.SERVER_COMMANDS if role == Role.SERVER else spec.CLIENT_COMMANDS
        self.name = name
        self.channel = channel
        self._frames = frames
        self._machine = Machine(SESSION_TABLE, SessionState.NEW)
        self._incoming = Incoming(limits, handled)
        self._outgoing = Progress()
        # Completions that the peer wants to be told we know of.
        self._echo = RangeSet()
        self._expected_asked = False
        self._confirmed_asked = False
        # An exception that has to wait until the attach is answered.
        self._exception: spec.ExecutionException | None = None
        self._told_ended = False

    @property
    def ended(self) -> bool:
        """Nothing may be sent or completed any more."""
        return self._told_ended

    @property
    def detached(self) -> bool:
        """The channel is free again."""
        return self._machine.state == _ENDED

    # What a face calls.

    def accept(self) -> None:
        """Answer `AttachReceived`: attached."""
        if self._machine.state != _ATTACH_RECEIVED:
            return  # it was detached in the same octets
        self._machine.send(SessionInput.SEND_ATTACHED)
        self._send(spec.SessionAttached(name=self.name))
        self._point()
        exception = self._exception
        if exception is not None:
            self._send_exception(exception)

    def refuse(self, code: int) -> None:
        """Answer `AttachReceived`: detached, with a detach code."""
        if self._machine.state != _ATTACH_RECEIVED:
            return
        self._told_ended = True
        self._end(code)

    def attach(self, force: bool) -> None:
        """Ask the peer to attach the session; `Attached` or `SessionEnded` answers."""
        self._machine.send(SessionInput.SEND_ATTACH)
        self._send(spec.SessionAttach(name=self.name, force=force))

    def detach(self) -> None:
        """End the session in good order; `SessionEnded` follows."""
        self._write_answers()
        self._machine.send(SessionInput.SEND_DETACH)
        self._send(spec.SessionDetach(name=self.name))

    def force_off(self, code: int) -> None:
        """Detach at once, without a handshake, as when another transport takes the name."""
        if self._listens():
            self._told_ended = True
            self._end(code)

    def send_command(
        self,
        command: Command,
        *,
        sync: bool = False,
        header: bytes | None = None,
        body: bytes = b"",
    ) -> int:
        """Send a command; its id. With content, `header` is given, `b""` being an empty one."""
        if self._machine.state != _ATTACHED:
            raise LocalProtocolError("a command on a session that is not attached")
        command_id = self._outgoing.advance()
        self._frames.command(self.channel, command, sync, header, body)
        if command_id % FLUSH_EVERY == FLUSH_EVERY - 1:
            self._send(spec.SessionFlush(completed=True))
        return command_id

    def uncompleted(self) -> int:
        """How many commands of the peer are not completed."""
        return self._incoming.uncompleted()

    def in_doubt(self) -> int:
        """How many commands of ours the peer has not completed."""
        return self._outgoing.incomplete()

    def send_result(self, command_id: int, result: Struct) -> None:
        """Send execution.result for the peer's command, and complete that."""
        if self.ended:
            return
        value = close_struct(result)
        self.send_command(spec.ExecutionResult(command_id=command_id, value=value))
        self.complete(command_id, command_id)

    def send_flush(self) -> None:
        """Ask the peer which of our commands it has completed."""
        self._send(spec.SessionFlush(completed=True))

    def request_timeout(self, timeout_s: int | None) -> None:
        """Ask the peer to keep the session's state after a detach; `TimeoutGranted` answers."""
        self._send(spec.SessionRequestTimeout(timeout=timeout_s))

    def send_timeout(self, timeout_s: int | None) -> None:
        """Answer `TimeoutRequested`."""
        if not self.ended:
            self._send(spec.SessionTimeout(timeout=timeout_s))

    def complete(self, first: int, last: int) -> None:
        """The peer's commands `first` .. `last` are done; told to the peer at the next flush."""
        self._incoming.complete(first, last)

    def fail(
        self,
        error: ExecutionError,
        *,
        command_id: int | None = None,
        code: int = 0,
        field_index: int | None = None,
    ) -> None:
        """End the session for what a command asked: execution.exception, then detach.

        `code` is the command's `CODE`. No event follows.
        """
        self._told_ended = True
        exception = spec.ExecutionException(
            error_code=error.code,
            command_id=command_id,
            class_code=code >> 8 if code else None,
            command_code=code & 0xFF if code else None,
            field_index=field_index,
            description=str(error)[:DESCRIPTION_MAX],
        )
        if self._machine.state == _ATTACH_RECEIVED:
            self._exception = exception
        elif self._machine.state == _ATTACHED:
            self._send_exception(exception)

    # What the connection calls.

    def receive_attach(self) -> None:
        """The peer asked for this session on a channel that had none."""
        self._machine.receive(SessionInput.RECV_ATTACH)

    def receive_frame(
        self, flags: int, kind: int, buf: bytes, start: int, end: int, events: list[Event]
    ) -> None:
        """Take a frame of a command."""
        if not self._listens():
            return
        incoming = self._incoming
        if not incoming.pointed:
            self._ended_for(UnknownIdsError("a command before command-point"), events)
            return
        try:
            if incoming.add(flags, kind, buf, start, end):
                self._receive_command(incoming, events)
        except ExecutionError as error:
            self._broken(error, incoming.assembler.code, incoming.next_id, events)

    def receive_control(self, control: Control, events: list[Event]) -> None:
        """Take a session control; `FramingError` when it makes no sense at all."""
        if isinstance(control, spec.SessionDetach):
            self._receive_detach(events)
        elif isinstance(control, spec.SessionDetached):
            self._receive_detached(control, events)
        elif isinstance(control, spec.SessionAttach):
            self._receive_attach_again(control)
        elif isinstance(control, spec.SessionAttached):
            self._receive_attached(events)
        elif self._listens():
            try:
                self._receive_execution_control(control, events)
            except ExecutionError as error:
                self._broken(error, 0, None, events)

    def flush(self) -> None:
        """The turn ends: write the answers that it has gathered."""
        self._incoming.fresh = 0
        if self._machine.state == _ATTACHED:
            self._write_answers()

    # The rest.

    def _listens(self) -> bool:
        state = self._machine.state
        attached = state in (_ATTACHED, _ATTACH_RECEIVED)
        return attached and not self._told_ended

    def _send(self, control: Control) -> None:
        self._frames.control(self.channel, control)

    def _point(self) -> None:
        self._send(spec.SessionCommandPoint(command_id=self._outgoing.next, command_offset=0))

    def _end(self, code: int) -> None:
        self._machine.send(SessionInput.SEND_DETACHED)
        self._send(spec.SessionDetached(name=self.name, code=code))

    def _send_exception(self, exception: spec.ExecutionException) -> None:
        self._write_answers()
        self._exception = None
        self.send_command(exception)
        self._machine.send(SessionInput.SEND_DETACH)
        self._send(spec.SessionDetach(name=self.name))

    def _broken(
        self, error: ExecutionError, code: int, command_id: int | None, events: list[Event]
    ) -> None:
        """The peer sent something that ends the session."""
        self._incoming.assembler.reset()
        self.fail(error, command_id=command_id, code=code)
        events.append(SessionEnded(self, spec.DetachCode.NORMAL, error))

    def _ended_for(self, error: DetachError, events: list[Event]) -> None:
        """Detach without a handshake for what the peer did."""
        self.force_off(error.code)
        events.append(SessionEnded(self, error.code, error))

    def _write_answers(self) -> None:
        incoming = self._incoming
        if self._expected_asked:
            self._expected_asked = False
            self._send(spec.SessionExpected(commands=incoming.expected()))
        if self._confirmed_asked:
            self._confirmed_asked = False
            self._send(spec.SessionConfirmed(commands=incoming.confirmed()))
        if incoming.due:
            for control in incoming.completed():
                self._send(control)
        if self._echo:
            self._send(spec.SessionKnownCompleted(commands=self._echo.take()))

    def _receive_command(self, incoming: Incoming, events: list[Event]) -> None:
        assembler = incoming.assembler
        command = assembler.command
        command_id = incoming.command_id
        assert command is not None
        if assembler.code >> 8 != 3:
            events.append(
                CommandReceived(
                    self,
                    command_id,
                    command,
                    assembler.sync,
                    assembler.payload,
                    assembler.body_at,
                )
            )
        elif isinstance(command, spec.ExecutionSync):
            incoming.sync(command_id)
        else:
            incoming.complete(command_id, command_id)
            self._receive_answer(command, events)

    def _receive_answer(self, command: Command, events: list[Event]) -> None:
        if isinstance(command, spec.ExecutionResult):
            if command.command_id is None:
                raise InvalidArgumentError("a result without command-id")
            events.append(ResultReceived(self, command.command_id, command.value))
        elif isinstance(command, spec.ExecutionException):
            events.append(ExceptionReceived(self, command))

    def _receive_attach_again(self, attach: spec.SessionAttach) -> None:
        if self._told_ended:
            return
        if attach.name != self.name:
            busy = spec.DetachCode.TRANSPORT_BUSY
            self._send(spec.SessionDetached(name=attach.name, code=busy))
        elif not self._machine.receive(SessionInput.RECV_ATTACH):
            raise FramingError("session.attach crosses our own")
        elif self._machine.state == _ATTACHED:
            self._machine.send(SessionInput.SEND_ATTACHED)
            self._send(spec.SessionAttached(name=self.name))

    def _receive_attached(self, events: list[Event]) -> None:
        if not self._machine.receive(SessionInput.RECV_ATTACHED):
            raise FramingError("session.attached is not expected")
        self._point()
        events.append(Attached(self))

    def _receive_detach(self, events: list[Event]) -> None:
        if not self._machine.receive(SessionInput.RECV_DETACH):
            raise FramingError("session.detach is not expected")
        if self._machine.state == SessionState.DETACH_RECEIVED:
            self._write_answers()
        self._end(spec.DetachCode.NORMAL)
        self._tell_ended(spec.DetachCode.NORMAL, events)

    def _receive_detached(self, detached: spec.SessionDetached, events: list[Event]) -> None:
        if not self._machine.receive(SessionInput.RECV_DETACHED):
            raise FramingError("session.detached is not expected")
        self._tell_ended(detached.code or 0, events)

    def _tell_ended(self, code: int, events: list[Event]) -> None:
        if not self._told_ended:
            self._told_ended = True
            events.append(SessionEnded(self, code, None))

    def _receive_execution_control(self, control: Control, events: list[Event]) -> None:
        """Controls about commands; only while attached."""
        incoming = self._incoming
        if isinstance(control, spec.SessionCompleted):
            self._receive_completed(control, events)
        elif isinstance(control, spec.SessionFlush):
            self._expected_asked |= control.expected
            self._confirmed_asked |= control.confirmed
            incoming.due |= control.completed
        elif isinstance(control, spec.SessionKnownCompleted):
            incoming.known_completed(control.commands or [])
        elif isinstance(control, spec.SessionCommandPoint):
            incoming.point(control.command_id, control.command_offset)
        elif isinstance(control, spec.SessionGap):
            incoming.gap(control.commands or [])
        elif isinstance(control, spec.SessionRequestTimeout):
            events.append(TimeoutRequested(self, control.timeout))
        elif isinstance(control, spec.SessionTimeout):
            events.append(TimeoutGranted(self, control.timeout))
        # expected and confirmed speak of replays: we keep nothing to replay.

    def _receive_completed(self, control: spec.SessionCompleted, events: list[Event]) -> None:
        ranges: Ranges = []
        for first, last in control.commands or []:
            ranges += self._outgoing.complete(first, last)
            if control.timely_reply:
                self._echo.add_range(first, last)
        if ranges:
            events.append(CommandsCompleted(self, ranges))
