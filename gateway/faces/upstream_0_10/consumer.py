"""One message.subscribe at a 0-10 upstream, in its session, and the credit that it has.

Credit mode: what is wanted more is given, what is wanted less is taken back by message.stop, which
takes all of it; message.flush has the peer use it up. Both are over when the peer has completed
them: all that was sent before has come then. Source: 0-10 XML, class message.
"""

from __future__ import annotations

from typing import Final, final

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.primitives import Ranges
from gateway.amqp_0_10.session import Session
from gateway.wire.serial import distance

DESTINATION: Final = "gateway"
UNLIMITED: Final = 0xFFFFFFFF
NONE: Final = -1  # no command of ours


@final
class Consumer:
    """That of one session after the other.

    Attributes:
        session: where it is asked for; `None`: there is none.
        agreed: the peer has completed the subscription.
        credit: messages that it may still send.
    """

    __slots__ = ("_cancel", "_ending", "_subscribe", "agreed", "credit", "session")

    def __init__(self) -> None:
        self.session: Session | None = None
        self.agreed = False
        self.credit = 0
        self._subscribe = NONE
        self._ending = NONE  # the command by which all credit ends
        self._cancel = NONE

    def subscribe(self, session: Session, queue: str, *, acquire: bool) -> None:
        """Ask for the queue's messages, none of them yet."""
        self.lose()
        self.session = session
        self._subscribe = session.send_command(
            spec.MessageSubscribe(
                queue=queue,
                destination=DESTINATION,
                accept_mode=spec.AcceptMode.EXPLICIT if acquire else spec.AcceptMode.NONE,
                acquire_mode=spec.AcquireMode.PRE_ACQUIRED
                if acquire
                else spec.AcquireMode.NOT_ACQUIRED,
            ),
            sync=True,
        )
        mode = spec.MessageSetFlowMode(destination=DESTINATION, flow_mode=spec.FlowMode.CREDIT)
        session.send_command(mode)

    def lose(self) -> bool:
        """The session is over; whether there was one."""
        had_session = self.session is not None
        self.session = None
        self.agreed = False
        self.credit = 0
        self._subscribe = self._ending = self._cancel = NONE
        return had_session

    def live(self) -> Session | None:
        """The session, if anything can be said on it."""
        session = self.session
        return None if session is None or session.ended else session

    # What the peer has completed.

    def agrees(self, ranges: Ranges) -> bool:
        """Whether the subscription has come into force by this."""
        if self.agreed or not names(ranges, self._subscribe):
            return False
        self.agreed = True
        return True

    def is_used_up(self, ranges: Ranges) -> bool:
        """Whether no credit is left by this; `credit` is what was not used, until `empty`."""
        return names(ranges, self._ending)

    def empty(self) -> int:
        """There is no credit now; how much was not used."""
        left, self.credit, self._ending = self.credit, 0, NONE
        return left

    def is_cancelled(self, ranges: Ranges) -> bool:
        """Whether nothing comes any more."""
        return names(ranges, self._cancel)

    def took(self) -> None:
        """A message has come."""
        self.credit = max(self.credit - 1, 0)

    # What is wanted.

    def may_follow(self) -> bool:
        """Whether credit can be given, or taken back, now."""
        return self.agreed and self._ending == NONE and self._cancel == NONE

    def follow(self, session: Session, wanted: int) -> None:
        """Have so much credit, about."""
        if wanted < self.credit:
            stop = spec.MessageStop(destination=DESTINATION)
            self._ending = session.send_command(stop, sync=True)
        elif wanted > 0 and self.credit * 2 <= wanted:
            self._give(session, wanted)

    def flush(self, session: Session, wanted: int) -> None:
        """Have the peer send what it has, up to so much."""
        self._give(session, wanted)
        flush = spec.MessageFlush(destination=DESTINATION)
        self._ending = session.send_command(flush, sync=True)

    def cancel(self, session: Session) -> None:
        """Nothing more is wanted."""
        cancel = spec.MessageCancel(destination=DESTINATION)
        self._cancel = session.send_command(cancel, sync=True)

    def _give(self, session: Session, wanted: int) -> None:
        more = wanted - self.credit
        if more <= 0:
            return
        for unit, value in ((spec.CreditUnit.BYTE, UNLIMITED), (spec.CreditUnit.MESSAGE, more)):
            session.send_command(spec.MessageFlow(destination=DESTINATION, unit=unit, value=value))
        self.credit = wanted


def names(ranges: Ranges, command_id: int) -> bool:
    """Whether a command of ours is among these."""
    if command_id == NONE:
        return False
    for first, last in ranges:
        if distance(first, command_id) >= 0 and distance(command_id, last) >= 0:
            return True
    return False
