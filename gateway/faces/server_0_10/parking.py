"""Commands of a 0-10 session that have come and are not carried out yet, in their order.

A session waits when one of its commands waits for an upstream, and its transfers wait while the
connection has too many octets in doubt. What settles deliveries goes on meanwhile, since it may be
what frees a queue, unless something is parked that has to come before, such as a cancel: what is
released before that comes again. While only transfers wait, so does what they cannot depend on.
"""

from __future__ import annotations

from collections import deque
from typing import Final, final

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.events import CommandReceived
from gateway.amqp_0_10.types import Command
from gateway.faces.doubt import Doubt
from gateway.message import Condition, Refusal
from gateway.wire.accounts import DECODED, Account

SETTLING: Final = frozenset(
    (
        spec.MessageAccept.CODE,
        spec.MessageReject.CODE,
        spec.MessageRelease.CODE,
        spec.MessageAcquire.CODE,
        spec.FileAck.CODE,
        spec.FileReject.CODE,
    )
)
# What moves octets of files, in its own order: behind it the client waits for answers to it.
STAGING: Final = frozenset((spec.FileOpen.CODE, spec.FileOpenOk.CODE, spec.FileStage.CODE))
# What publishes, and so waits while too much is held back.
PUBLISHING: Final = frozenset(
    (spec.MessageTransfer.CODE, spec.FilePublish.CODE, spec.StreamPublish.CODE)
)
# What may go before a transfer that is parked: it takes nothing away that the transfer needs.
BESIDE: Final = frozenset(
    (
        spec.MessageSubscribe.CODE,
        spec.MessageCancel.CODE,
        spec.MessageSetFlowMode.CODE,
        spec.MessageFlow.CODE,
        spec.MessageFlush.CODE,
        spec.MessageStop.CODE,
        spec.ExchangeDeclare.CODE,
        spec.ExchangeQuery.CODE,
        spec.ExchangeBound.CODE,
        spec.QueueDeclare.CODE,
        spec.QueueQuery.CODE,
    )
)

# What settling has nothing to do with, whichever comes first.
APART: Final = frozenset(
    (
        *PUBLISHING,
        spec.MessageSubscribe.CODE,
        spec.MessageSetFlowMode.CODE,
        spec.MessageFlow.CODE,
        spec.ExchangeDeclare.CODE,
        spec.ExchangeQuery.CODE,
        spec.ExchangeBind.CODE,
        spec.ExchangeBound.CODE,
        spec.QueueDeclare.CODE,
        spec.QueueQuery.CODE,
    )
)


PARKED_OCTETS: Final = 256  # what any parked command takes
TOO_MUCH: Final = Refusal(
    Condition.RESOURCE_LIMIT_EXCEEDED, "the connection has too much that is kept for it"
)


def _kept(octets: int) -> int:
    """What a parked command takes, which came in so many octets."""
    return PARKED_OCTETS + DECODED * octets


@final
class Waiting:
    """A command that waits for an upstream; once `answered`, `refusal` is the answer.

    Attributes:
        kept: octets of it on the connection's account.
        carried_out: it takes effect later, and only then is it answered.
        done_upstream: the upstream was not asked whether there is a node, but to do something.
    """

    __slots__ = (
        "answered",
        "carried_out",
        "command",
        "command_id",
        "done_upstream",
        "kept",
        "refusal",
    )

    def __init__(
        self,
        command_id: int,
        command: Command,
        kept: int,
        *,
        done_upstream: bool,
        carried_out: bool,
    ) -> None:
        self.kept = kept
        self.command_id = command_id
        self.command = command
        self.done_upstream = done_upstream
        self.carried_out = carried_out
        self.answered = False
        self.refusal: Refusal | None = None


@final
class Parking:
    """The parked commands of one session.

    Attributes:
        waiting: the command that all others wait for.
        octets: of the command that is carried out, which may have to wait.
    """

    __slots__ = ("_account", "_barriers", "_doubt", "_events", "_others", "octets", "waiting")

    def __init__(self, doubt: Doubt, account: Account) -> None:
        self.octets = 0
        self._account = account
        self.waiting: Waiting | None = None
        self._doubt = doubt
        self._events: deque[CommandReceived] = deque()
        self._others = 0  # how many of them are no transfers
        self._barriers = 0  # and how many have to come before what settles

    def move(self, doubt: Doubt, account: Account) -> None:
        """The session has another connection, or none: what is kept is on its account."""
        octets = 0 if self.waiting is None else self.waiting.kept
        parked = 0
        for event in self._events:
            octets += _kept(event.octets)
            parked += len(event.payload)
        self._account.give(octets)
        account.note(octets)
        self._doubt.parked -= parked
        doubt.parked += parked
        self._account = account
        self._doubt = doubt

    def __len__(self) -> int:
        return len(self._events)

    def holds(self, command: Command, *, slow: bool) -> bool:
        """Whether `command`, which has come just now, is to be parked; `slow`: if a transfer."""
        code = command.CODE
        if code in SETTLING:
            return self._barriers > 0
        if code in STAGING:
            return False
        if self.waiting is not None:
            return True
        if self._events:
            return self._others > 0 or code not in BESIDE
        return slow and code in PUBLISHING

    def park(self, event: CommandReceived) -> bool:
        """Keep a command for later; `False`: too much is kept already."""
        if not self._account.take(_kept(event.octets)):
            return False
        self._events.append(event)
        self._doubt.parked += len(event.payload)
        self._count(event.command.CODE, 1)
        return True

    def next(self, *, slow: bool) -> CommandReceived | None:
        """Take the command whose turn has come, if it may go on; `slow`: transfers may not."""
        events = self._events
        if not events or self.waiting is not None:
            return None
        if slow and events[0].command.CODE in PUBLISHING:
            return None
        event = events.popleft()
        self._account.give(_kept(event.octets))
        self._doubt.parked -= len(event.payload)
        self._count(event.command.CODE, -1)
        return event

    def _count(self, code: int, number: int) -> None:
        if code not in PUBLISHING:
            self._others += number
        if code not in APART:
            self._barriers += number

    def wait(
        self,
        command_id: int,
        command: Command,
        *,
        done_upstream: bool = False,
        carried_out: bool = False,
    ) -> None:
        """All later commands wait for what an upstream says to this one, or for its effect."""
        kept = _kept(self.octets)
        room = self._account.take(kept)
        self.waiting = Waiting(
            command_id,
            command,
            kept if room else 0,
            done_upstream=done_upstream,
            carried_out=carried_out,
        )
        if not room:
            self.answer(command_id, TOO_MUCH)

    def answer(self, command_id: int, refusal: Refusal | None) -> None:
        """What the upstream says; of no account if nobody waits for that any more."""
        waiting = self.waiting
        if waiting is not None and waiting.command_id == command_id and not waiting.answered:
            waiting.answered = True
            waiting.refusal = refusal

    def answer_waiting(self, refusal: Refusal | None) -> None:
        """What an upstream says to the command that all others wait for, if there is one."""
        waiting = self.waiting
        if waiting is not None:
            self.answer(waiting.command_id, refusal)

    def take_answered(self) -> Waiting | None:
        """The command that waited and has its answer; nothing waits for it any more."""
        waiting = self.waiting
        if waiting is None or not waiting.answered:
            return None
        self.waiting = None
        self._account.give(waiting.kept)
        return waiting

    def clear(self) -> list[CommandReceived]:
        """The session is over: nothing of this is carried out."""
        dropped = list(self._events)
        if self.waiting is not None:
            self._account.give(self.waiting.kept)
            self.waiting = None
        for event in self._events:
            self._account.give(_kept(event.octets))
            self._doubt.parked -= len(event.payload)
        self._events.clear()
        self._others = 0
        self._barriers = 0
        return dropped
