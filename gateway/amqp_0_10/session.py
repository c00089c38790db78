"""One session while it is attached to a channel: ids, completions and the session controls.

Both halves of the specification's session class: we are the sender of our commands, and with
`Incoming` the receiver of the peer's. What comes is taken apart by `receiving`. What can be
answered by rule is written no earlier than `flush`, at the end of the turn: so answers merge, and
none goes out before attached does. It must not know what a command means.

Deployed clients decide what is never sent unasked: known-completed, confirmed, expected and timeout
go out only as answers. command-point goes out right after attached, since the Java client wants it
before the first command.

With `keep_state` it outlives its attachment: what it sends is kept (`replay`), and `take_over` goes
on with it where another channel was to be attached, also of another connection. On that it sends
nothing before the peer has said what it expects.
"""

from __future__ import annotations

from typing import Final, final

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.commands.incoming import Incoming
from gateway.amqp_0_10.commands.progress import Progress
from gateway.amqp_0_10.commands.replay import Replay, SentCommand
from gateway.amqp_0_10.errors import ExecutionError
from gateway.amqp_0_10.frames import FrameWriter
from gateway.amqp_0_10.primitives import Ranges
from gateway.amqp_0_10.states import SESSION_TABLE, Role, SessionInput, SessionState
from gateway.amqp_0_10.structs import close_struct
from gateway.amqp_0_10.types import Command, Control, Struct
from gateway.errors import LocalProtocolError
from gateway.wire.accounts import Account
from gateway.wire.limits import Limits
from gateway.wire.machine import Machine
from gateway.wire.serial import RangeSet, add
from gateway.wire.work import DELIVERY, WORK

# States that every frame, sent or received, asks about: as plain numbers they compare at no cost.
_ATTACH_RECEIVED: Final = int(SessionState.ATTACH_RECEIVED)
_ATTACHED: Final = int(SessionState.ATTACHED)
_ENDED: Final = int(SessionState.ENDED)

# After so many local commands the peer is asked which it has completed.
FLUSH_EVERY: Final = 4_096
DESCRIPTION_MAX: Final = 1_000
SESSION_OCTETS: Final = 8_192  # what a session takes, apart from its name
RANGES_PER_CONTROL: Final = 1_000


@final
class Session:
    """An attached session, or one on its way to that or from it.

    Attributes:
        name: the session's name, as octets.
        channel: the channel that it is attached to.
        serves: the peer is a client.
        ended: nothing may be sent or completed any more, and the face knows; not when its state is
            kept without an attachment.
        incoming: what is known of the peer's commands; `outgoing`: of our own.
        echo: completions that the peer wants to be told we know of.
        expected_asked, confirmed_asked: the peer wants to be told these.
        replay: what is kept of what it has sent; `None`: its state ends with its attachment.
    """

    __slots__ = (
        "_account",
        "_exception",
        "_frames",
        "_kept",
        "_replay_max",
        "channel",
        "confirmed_asked",
        "echo",
        "ended",
        "expected_asked",
        "incoming",
        "machine",
        "name",
        "outgoing",
        "replay",
        "serves",
    )

    def __init__(
        self,
        name: bytes,
        channel: int,
        frames: FrameWriter,
        limits: Limits,
        role: Role,
        account: Account,
    ) -> None:
        handled = spec.SERVER_COMMANDS if role == Role.SERVER else spec.CLIENT_COMMANDS
        self.name = name
        self.serves = role == Role.SERVER
        self.channel = channel
        self._frames = frames
        self.machine = Machine(SESSION_TABLE, SessionState.NEW)
        self.incoming = Incoming(limits, handled, account)
        self._account = account
        self._kept = 0
        self._replay_max = limits.octets_in_doubt_max
        self.outgoing = Progress()
        self.echo = RangeSet()
        self.expected_asked = False
        self.confirmed_asked = False
        # An exception that has to wait until the attach is answered.
        self._exception: spec.ExecutionException | None = None
        self.ended = False
        self.replay: Replay | None = None

    @property
    def detached(self) -> bool:
        """The channel is free again."""
        return self.machine.state == _ENDED

    # What a face calls.

    def accept(self) -> None:
        """Answer `AttachReceived`: attached."""
        if self.machine.state != _ATTACH_RECEIVED:
            return  # it was detached in the same octets
        self.machine.send(SessionInput.SEND_ATTACHED)
        self.send_control(spec.SessionAttached(name=self.name))
        self.begin()
        exception = self._exception
        if exception is not None:
            self._send_exception(exception)

    def keep(self) -> bool:
        """What it takes is on the account from now on; `False`: it may not be."""
        octets = SESSION_OCTETS + len(self.name)
        if not self._account.take(octets):
            return False
        self._kept = octets
        return True

    def refuse(self, code: int) -> None:
        """Answer `AttachReceived`: detached, with a detach code."""
        if self.machine.state != _ATTACH_RECEIVED:
            return
        self.ended = True
        self.end(code)

    def turn_away(self, error: ExecutionError) -> None:
        """Answer an attach for which there is no room: exception and detached, and it is over.

        There is no handshake, so nothing of it has to be kept meanwhile. No event follows.
        """
        self.accept()
        self.ended = True
        self.send_command(spec.ExecutionException(error_code=error.code, description=str(error)))
        self.end(spec.DetachCode.NORMAL)

    def attach(self, force: bool) -> None:
        """Ask the peer to attach the session; `Attached` or `SessionEnded` answers."""
        self.machine.send(SessionInput.SEND_ATTACH)
        self.send_control(spec.SessionAttach(name=self.name, force=force))

    def detach(self) -> None:
        """End the session in good order; `SessionEnded` follows."""
        self.write_answers()
        self.machine.send(SessionInput.SEND_DETACH)
        self.send_control(spec.SessionDetach(name=self.name))

    def force_off(self, code: int) -> None:
        """Detach at once, without a handshake, as when another transport takes the name."""
        if self.listens():
            self.ended = self.replay is None
            self.end(code)

    def send_command(
        self,
        command: Command,
        *,
        sync: bool = False,
        header: bytes | None = None,
        body: bytes = b"",
        empty_body: bool = False,
    ) -> int:
        """Send a command; its id. With content, `header` is given, `b""` being an empty one.

        `empty_body`: also an empty `body` has its segment.
        """
        replay = self.replay
        if replay is not None:
            return self._send_kept(replay, SentCommand(command, sync, header, body, empty_body))
        if self.machine.state != _ATTACHED:
            raise LocalProtocolError("a command on a session that is not attached")
        command_id = self.outgoing.advance()
        self._frames.command(self.channel, command, sync, header, body, empty_body)
        if command_id % FLUSH_EVERY == FLUSH_EVERY - 1:
            self.send_control(spec.SessionFlush(completed=True))
        return command_id

    def _send_kept(self, replay: Replay, sent: SentCommand) -> int:
        """Send a command, now or when the peer has said what it expects, and keep it."""
        command_id = self.outgoing.advance()
        before = replay.octets
        replay.add(command_id, sent)
        self._account.note(replay.octets - before)
        if self.machine.state == _ATTACHED and not replay.held:
            self._frames.again(self.channel, sent, 0)
            half = self._replay_max // 2
            often = command_id % FLUSH_EVERY == FLUSH_EVERY - 1
            if often or before < half <= replay.octets:
                self.send_control(spec.SessionFlush(completed=True))
        return command_id

    def has_room(self, octets: int) -> bool:
        """Whether a command of so many octets may be sent; where all are kept, one always may."""
        replay = self.replay
        if replay is None or len(replay) == 0:
            return True
        if replay.octets + octets > self._replay_max:
            return False
        if not self._account.take(octets):
            return False
        self._account.give(octets)
        return True

    def keeps_too_much(self) -> bool:
        """Whether twice as much is kept as there is room for: of answers that are not completed."""
        replay = self.replay
        return replay is not None and replay.octets > 2 * self._replay_max

    def uncompleted(self) -> int:
        """How many commands of the peer are not completed."""
        return self.incoming.uncompleted()

    def in_doubt(self) -> int:
        """How many local commands the peer has not completed."""
        return self.outgoing.incomplete()

    def send_result(self, command_id: int, result: Struct) -> None:
        """Send execution.result for the peer's command, and complete that."""
        if self.ended:
            return
        value = close_struct(result)
        self.send_command(spec.ExecutionResult(command_id=command_id, value=value))
        self.complete(command_id, command_id)

    def send_flush(self) -> None:
        """Ask the peer which of our commands it has completed."""
        self.send_control(spec.SessionFlush(completed=True))

    def request_timeout(self, timeout_s: int | None) -> None:
        """Ask the peer to keep the session's state after a detach; `TimeoutGranted` answers."""
        self.send_control(spec.SessionRequestTimeout(timeout=timeout_s))

    def send_timeout(self, timeout_s: int | None) -> None:
        """Answer `TimeoutRequested`."""
        if not self.ended:
            self.send_control(spec.SessionTimeout(timeout=timeout_s))

    def complete(self, first: int, last: int) -> None:
        """The peer's commands `first` .. `last` are done; told to the peer at the next flush."""
        self.incoming.complete(first, last)

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
        self.ended = True
        if self.replay is not None:
            if self.replay.held and self.machine.state == _ATTACHED:
                self.point()
            self.lose_state()
        exception = spec.ExecutionException(
            error_code=error.code,
            command_id=command_id,
            class_code=code >> 8 if code else None,
            command_code=code & 0xFF if code else None,
            field_index=field_index,
            description=str(error)[:DESCRIPTION_MAX],
        )
        if self.machine.state == _ATTACH_RECEIVED:
            self._exception = exception
        elif self.machine.state == _ATTACHED:
            self._send_exception(exception)

    def release(self) -> None:
        """Its channel is free: nothing is kept of it but what has come of a message."""
        if self.replay is None:
            self._account.give(self._kept)
            self._kept = 0

    # Its state, which may outlive its attachment.

    def keep_state(self) -> None:
        """From now on it outlives its attachment: what it sends is kept, and what comes in part."""
        if self.replay is None and not self.ended:
            self.replay = Replay()

    def lose_state(self) -> None:
        """It ends with its attachment, or now where it has none; nothing is kept any more."""
        replay = self.replay
        if replay is None:
            return
        if replay.held and self.machine.state == _ATTACHED and not self.ended:
            self.send_again(replay, replay.all())  # it does not say any more what it expects
        self.replay = None
        self._account.give(replay.octets)
        if self.detached:
            self.ended = True
            self.incoming.assembler.reset()
            self.release()

    def move(self, account: Account) -> None:
        """What is kept of it is on another account from now on."""
        octets = self.octets()
        self._account.give(octets)
        account.note(octets)
        self._account = account
        self.incoming.assembler.move(account)

    def octets(self) -> int:
        """What is kept of it, apart from a command that has come in part."""
        return self._kept + (0 if self.replay is None else self.replay.octets)

    def lose(self) -> None:
        """Its transport is over."""
        self.machine.receive(SessionInput.LOSE)

    def take_over(self, fresh: Session) -> None:
        """Go on on the channel where `fresh`, which has said and heard nothing, is attached to."""
        self.machine = fresh.machine
        self.channel = fresh.channel
        self._frames = fresh._frames
        self.move(fresh._account)
        fresh.release()
        self.incoming.attach_again()
        self.echo = RangeSet()
        self.expected_asked = False
        self.confirmed_asked = False

    def begin(self) -> None:
        """It is attached: say where our commands begin, or ask which of them are expected."""
        replay = self.replay
        if replay is None or self.outgoing.next == self.outgoing.first:
            self.point()
            return
        replay.held = True
        self.send_control(spec.SessionFlush(expected=True, confirmed=True, completed=True))

    def confirm(self, ranges: Ranges) -> None:
        """The peer has these commands for good, whether it has completed them or not."""
        if self.replay is not None:
            self._account.give(self.replay.forget(ranges))

    def redeliver(self, replay: Replay) -> None:
        """The client has lost its state: messages that it is sent again may have come before."""
        if self.serves:
            self._account.note(replay.redeliver())

    def send_again(self, replay: Replay, again: list[tuple[int, int]]) -> None:
        """Send kept commands, each from one of its octets on; what is new goes behind them."""
        replay.held = False
        WORK.units += DELIVERY * len(again)
        pointed = -1  # no id
        for command_id, offset in again:
            if command_id != pointed or offset:
                point = spec.SessionCommandPoint(command_id=command_id, command_offset=offset)
                self.send_control(point)
            self._frames.again(self.channel, replay.get(command_id), offset)
            pointed = add(command_id, 1)
        if pointed != self.outgoing.next:
            self.point()

    # What the connection calls, and `receiving`.

    def flush(self) -> bool:
        """The turn ends: write the answers that it has gathered; `False`: it is over."""
        self.incoming.fresh = 0
        state = self.machine.state
        if state == _ATTACHED and not self._frames.is_unfinished(self.channel):
            self.write_answers()  # which are gathered as long as they would wait
        return state != _ENDED

    def listens(self) -> bool:
        """Whether commands and what is said of them are taken; else they are dropped."""
        state = self.machine.state
        attached = state in (_ATTACHED, _ATTACH_RECEIVED)
        return attached and not self.ended

    def send_control(self, control: Control) -> None:
        """Write a control on the session's channel."""
        self._frames.control(self.channel, control)

    def point(self) -> None:
        """Say which of our commands comes next; both sides do when the session is attached."""
        self.send_control(spec.SessionCommandPoint(command_id=self.outgoing.next, command_offset=0))

    def end(self, code: int) -> None:
        """Write detached."""
        self.machine.send(SessionInput.SEND_DETACHED)
        self.send_control(spec.SessionDetached(name=self.name, code=code))

    def _send_exception(self, exception: spec.ExecutionException) -> None:
        self.write_answers()
        self._exception = None
        self.send_command(exception)
        self.machine.send(SessionInput.SEND_DETACH)
        self.send_control(spec.SessionDetach(name=self.name))

    def write_answers(self) -> None:
        """Write what the peer has asked for, and completions."""
        incoming = self.incoming
        if self.expected_asked:
            self.expected_asked = False
            self.send_control(spec.SessionExpected(commands=incoming.expected()))
        if self.confirmed_asked:
            self.confirmed_asked = False
            confirmed = incoming.confirmed()
            # An empty one is an answer, too; one control holds 8,191 ranges at most.
            for at in range(0, len(confirmed) or 1, RANGES_PER_CONTROL):
                ranges = confirmed[at : at + RANGES_PER_CONTROL]
                self.send_control(spec.SessionConfirmed(commands=ranges))
        if incoming.due:
            for control in incoming.completed():
                self.send_control(control)
        if self.echo:
            known = self.echo.take()
            for at in range(0, len(known), RANGES_PER_CONTROL):
                ranges = known[at : at + RANGES_PER_CONTROL]
                self.send_control(spec.SessionKnownCompleted(commands=ranges))
