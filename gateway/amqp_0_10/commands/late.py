"""Messages that nobody takes: they came behind the end of their session, or of the connection.

Each is told of once, as a command of a session that is over, so that its message is in the books.
Of a body that has more than one frame only the first is looked at: nothing is kept of it.
"""

from __future__ import annotations

from typing import Final

from gateway.amqp_0_10.assembler import MESSAGES
from gateway.amqp_0_10.errors import CloseError, ExecutionError
from gateway.amqp_0_10.events import CommandReceived, Event
from gateway.amqp_0_10.frames import BODY, COMMAND, FIRST_FRAME, FIRST_SEGMENT
from gateway.amqp_0_10.session import Session
from gateway.amqp_0_10.types import Command

BEGINS: Final = FIRST_SEGMENT | FIRST_FRAME


def receive_late(
    session: Session, flags: int, kind: int, buf: bytes, start: int, end: int, events: list[Event]
) -> None:
    """Take a frame of a command that is not carried out."""
    assembler = session.incoming.assembler
    begins = flags & BEGINS == BEGINS and kind == COMMAND
    if begins:
        give_up(session, events)
    elif assembler.idle():
        return  # the rest of what has been told of
    try:
        whole = assembler.add(flags, kind, buf, start, end)
    except (CloseError, ExecutionError):
        give_up(session, events)
        return
    if whole:
        _tell(session, assembler.command, events)
        assembler.reset()
    elif kind == BODY:
        give_up(session, events)


def give_up(session: Session, events: list[Event]) -> None:
    """What has come of a command will not come whole, or is enough of it."""
    assembler = session.incoming.assembler
    if not assembler.idle():
        _tell(session, assembler.give_up(b""), events)
        assembler.reset()


def _tell(session: Session, command: object, events: list[Event]) -> None:
    if isinstance(command, MESSAGES):
        events.append(of_session(session, command))


def of_session(session: Session, transfer: Command) -> CommandReceived:
    """The command that the assembler of a session has just put together, or given up."""
    incoming = session.incoming
    assembler = incoming.assembler
    return CommandReceived(
        session,
        incoming.next_id,
        transfer,
        assembler.sync,
        assembler.payload,
        assembler.body_at,
        assembler.octets,
        assembler.empty_body,
    )
