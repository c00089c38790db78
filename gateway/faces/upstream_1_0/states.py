"""The state table of a link that outlives connections to an upstream.

Theory of a slot. It outlives connections and sessions: it goes round from IDLE through a session to
ATTACHED and back to IDLE, as often as it must, until its user drops it. IDLE is every state in
which nothing is under way: there is no connection, the link is due and has not been placed, its
token has not been granted, or its user has not decided about an end. What is due is a list of the
connection's, and no state: who is on it has still to be admitted. A slot that backs off is IDLE
again when its time is over, or at once when somebody is in a hurry for it.

LEAVE stands for every way off a session: the peer detached or refused, broke a rule, did not
answer, ended the session, or the connection is gone; and for the session that has no handle left.
Where there was no session, there is nothing to leave: it is refused, and nothing changes. A slot
that was dropped takes no input any more, so that whoever is told of an end late cannot revive it.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from gateway.wire.machine import Table


class SlotState(IntEnum):
    """How far a link is."""

    IDLE = 0  # nothing is under way
    BACKING_OFF = 1  # it is attached again after a while
    QUEUED = 2  # its session has not begun, or is asked about another link
    ATTACHING = 3
    ATTACHED = 4
    DROPPED = 5


class SlotInput(IntEnum):
    """What moves a slot."""

    BACK_OFF = 0  # its user wants another try, or there is no session for it
    DUE = 1  # the back-off is over
    PLACE = 2  # it goes into a session
    SEND_ATTACH = 3
    RECV_ATTACH = 4  # and the peer has not refused
    LEAVE = 5  # it is off its session
    DROP = 6  # its user has given it up


_S = SlotState
_I = SlotInput

SLOT: Final[Table] = {
    (_S.IDLE, _I.BACK_OFF): _S.BACKING_OFF,
    (_S.IDLE, _I.PLACE): _S.QUEUED,
    (_S.IDLE, _I.DROP): _S.DROPPED,
    (_S.BACKING_OFF, _I.DUE): _S.IDLE,
    (_S.BACKING_OFF, _I.DROP): _S.DROPPED,
    (_S.QUEUED, _I.SEND_ATTACH): _S.ATTACHING,
    (_S.QUEUED, _I.LEAVE): _S.IDLE,
    (_S.ATTACHING, _I.RECV_ATTACH): _S.ATTACHED,
    (_S.ATTACHING, _I.LEAVE): _S.IDLE,
    (_S.ATTACHED, _I.LEAVE): _S.IDLE,
}
