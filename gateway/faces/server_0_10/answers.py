"""What the client of a 0-10 session is told of its commands: complete, accepted, rejected, failed.

Owns which command ids may be completed when. accept-mode explicit adds a message.accept or
message.reject, sent to nobody who did not ask for it: some clients break the connection over them.
Sources: 0-10 XML, classes message and execution.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.session import Session
from gateway.amqp_0_10.types import Command, Struct
from gateway.faces.client import Client
from gateway.faces.safe_with import SafeWith
from gateway.faces.server_0_10.contents.windows import SharedWindows
from gateway.faces.server_0_10.errors import execution_error
from gateway.message import Outcome, Refusal
from gateway.translate.outcomes import reject_of
from gateway.wire.serial import RangeSet, distance

RANGES_PER_COMMAND: Final = 1_000


class SessionHolder(Protocol):
    """Who has the sessions of a connection, or one that has none."""

    def on_session_over(self, session: Session) -> None:
        """The gateway has ended that session: it holds nothing any more."""

    def hand_over(self, session: Session) -> None:
        """Another connection goes on with it, behind all that has come by this one."""

    def windows(self) -> SharedWindows:
        """How much all its sessions may be sent ahead, of the classes file and stream."""

    def resume(self) -> None:
        """There is room again, for whatever was held back for want of it."""


@final
class Answers:
    """Implements `CommitWaiter`, `LookUpWaiter`.

    Attributes:
        session: the protocol's, which may have ended while earlier commands are carried out.
        over: the session has ended, and nobody is told of anything.
    """

    __slots__ = (
        "_accepted",
        "_explicit",
        "_holder",
        "_late",
        "_results",
        "_safe_with",
        "client",
        "over",
        "session",
    )

    def __init__(self, client: Client, session: Session, holder: SessionHolder) -> None:
        self.client = client
        self.session = session
        self.over = False
        self._holder = holder
        # Transfers whose client wants an accept or a reject, and has not been told yet.
        self._explicit = RangeSet()
        # Those of them that are accepted, to be told at the end of the turn.
        self._accepted = RangeSet()
        self._safe_with = SafeWith(client.bridge)
        self._results: dict[int, Struct] = {}  # of commands that are done when that is safe
        self._late = 0  # commands whose effects come in later turns

    def move(self, client: Client, holder: SessionHolder) -> None:
        """The session has another connection, or none."""
        self.client = client
        self._holder = holder

    def windows(self) -> SharedWindows:
        """See `SessionHolder`."""
        return self._holder.windows()

    def resume_all(self) -> None:
        """What all sessions of the connection may be sent has changed."""
        self._holder.resume()

    # Completion.

    def complete(self, command_id: int) -> None:
        """A command is done."""
        if not self.over:
            self.session.complete(command_id, command_id)
            self.client.touch()

    def complete_when_safe(self, command_id: int) -> None:
        """A command is done when this turn's durable effects are on disk."""
        if not self.over:
            self._safe_with.add(command_id, self)

    def complete_when_settled(self, command_id: int) -> None:
        """The same of one by which copies may go to where they do not get in this turn."""
        if self.client.host.settlement.is_late(self, command_id):
            self._late += 1
        else:
            self.complete_when_safe(command_id)

    def on_looked_up(self, token: int, refusal: Refusal | None) -> None:
        """What a command has settled is where it belongs."""
        self._late -= 1
        self.complete_when_safe(token)

    def on_committed(self, turn: int) -> None:
        """Complete the commands of that turn, and accept the transfers among them."""
        if self.over:
            return
        for first, last in self._safe_with.take(turn):
            if self._results:
                self._send_results(first, last)
            self.take(first, last)
        self.client.touch()

    def uncommitted(self) -> bool:
        """Whether a command waits for the disk, or for its effects."""
        return self._late > 0 or self._safe_with.waiting()

    def send_result(self, command_id: int, result: Struct) -> None:
        """What a command that asks for something is answered with."""
        self.session.send_result(command_id, result)

    def send_result_when_safe(self, command_id: int, result: Struct) -> None:
        """The same, when this turn's durable effects are on disk."""
        if not self.over:
            self._results[command_id] = result
            self._safe_with.add(command_id, self)

    def _send_results(self, first: int, last: int) -> None:
        for command_id in [each for each in self._results if distance(first, each) >= 0]:
            if distance(command_id, last) >= 0:
                self.session.send_result(command_id, self._results.pop(command_id))

    def fail(self, refusal: Refusal, *, command_id: int | None = None, code: int = 0) -> None:
        """Answer a command, or something that happened, with an exception: the session ends.

        `code` is the command's `CODE`.
        """
        if self.over:
            return
        self.client.uses.on_refused(refusal)
        self.client.on_session_refused(refusal.condition)
        self.client.visit.step(f"a session is ended: {refusal.description}")
        self.flush()
        self.session.fail(execution_error(refusal), command_id=command_id, code=code)
        self._holder.on_session_over(self.session)

    # Transfers, which may want an accept or a reject as well.

    def expect(self, command_id: int) -> None:
        """The client wants to hear whether this transfer is accepted."""
        self._explicit.add(command_id)

    def take(self, first: int, last: int) -> None:
        """All from `first` to `last` are where they belong: accept those that asked for it."""
        explicit = self._explicit
        if explicit:
            for low, high in explicit.within(first, last):
                self._accepted.add_range(low, high)
            explicit.remove_range(first, last)
        self.session.complete(first, last)

    def reject(self, command_id: int, outcome: Outcome) -> bool:
        """Nobody took a transfer; whether the client is told so, and it is done."""
        if command_id not in self._explicit:
            return False
        self._explicit.remove_range(command_id, command_id)
        code, text = reject_of(outcome, self.client.settings.translated)
        transfers = [(command_id, command_id)]
        self.send(spec.MessageReject(transfers=transfers, code=code, text=text or None))
        self.session.complete(command_id, command_id)
        return True

    def flush(self) -> None:
        """Tell what the turn has accepted."""
        if self._accepted:
            ranges = self._accepted.take()
            for at in range(0, len(ranges), RANGES_PER_COMMAND):
                self.send(spec.MessageAccept(transfers=ranges[at : at + RANGES_PER_COMMAND]))

    def send(self, command: Command) -> None:
        """A command of the gateway, unless the protocol's session has ended."""
        if not self.session.ended:
            self.session.send_command(command)

    def send_content(
        self, command: Command, header: bytes, body: bytes, *, empty_body: bool = False
    ) -> None:
        """The same of one with content."""
        if not self.session.ended:
            self.session.send_command(command, header=header, body=body, empty_body=empty_body)
