"""The life cycles of a 0-10 connection and of a session's attachment, as tables.

Theory. A connection is negotiated in strict alternation, so one state says whose turn it is; what a
table does not list is refused: from the peer it is a framing error, from us a defect. The two roles
see the same states through mirrored inputs (class connection, grammar). Closing is symmetric:
either side sends close and waits for close-ok; crossing closes answer each other. `DROP` is the end
of the transport, whoever caused it.

A session here is the attachment of a named session to a channel (class session): it begins with
attach, and whatever ends it - detach, detached, an exception - ends with detached. A session that
we made fail waits in `DETACH_SENT` for the peer's answer and ignores everything else meanwhile.
What outlives its attachment is the session's, not the table's: attached again, it begins at `NEW`.
`LOSE` is the end of the transport for one whose state is kept.

What happens inside an open connection or an attached session - commands, completions, credit - is
not life cycle and does not go through these tables.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from gateway.wire.machine import Table


class Role(IntEnum):
    """Which side of the connection we are."""

    SERVER = 0
    CLIENT = 1


class ConnectionState(IntEnum):
    """Where the connection stands; the order is that of negotiation."""

    NEW = 0
    HEADER_SENT = 1
    HEADER_EXCHANGED = 2
    STARTED = 3
    AUTHENTICATING = 4
    CHALLENGED = 5
    TUNING = 6
    TUNED = 7
    OPENING = 8
    OPEN = 9
    REDIRECTED = 10
    CLOSE_SENT = 11
    CLOSE_RECEIVED = 12
    CLOSED = 13


class ConnectionInput(IntEnum):
    """Life-cycle inputs of a connection."""

    RECV_HEADER = 0
    SEND_HEADER = 1
    RECV_START = 2
    SEND_START = 3
    RECV_START_OK = 4
    SEND_START_OK = 5
    RECV_SECURE = 6
    SEND_SECURE = 7
    RECV_SECURE_OK = 8
    SEND_SECURE_OK = 9
    RECV_TUNE = 10
    SEND_TUNE = 11
    RECV_TUNE_OK = 12
    SEND_TUNE_OK = 13
    RECV_OPEN = 14
    SEND_OPEN = 15
    RECV_OPEN_OK = 16
    SEND_OPEN_OK = 17
    RECV_REDIRECT = 18
    SEND_REDIRECT = 19
    RECV_CLOSE = 20
    SEND_CLOSE = 21
    RECV_CLOSE_OK = 22
    SEND_CLOSE_OK = 23
    DROP = 24


_C: Final = ConnectionState
_I: Final = ConnectionInput

_NEGOTIATED: Final = (
    _C.HEADER_EXCHANGED,
    _C.STARTED,
    _C.AUTHENTICATING,
    _C.CHALLENGED,
    _C.TUNING,
    _C.TUNED,
    _C.OPENING,
    _C.OPEN,
    _C.REDIRECTED,
)


def _closing() -> Table:
    table: Table = {
        (_C.CLOSE_SENT, _I.RECV_CLOSE_OK): _C.CLOSED,
        (_C.CLOSE_SENT, _I.RECV_CLOSE): _C.CLOSE_SENT,
        (_C.CLOSE_SENT, _I.SEND_CLOSE_OK): _C.CLOSE_SENT,
        (_C.CLOSE_RECEIVED, _I.SEND_CLOSE_OK): _C.CLOSED,
    }
    for state in _NEGOTIATED:
        table[(state, _I.SEND_CLOSE)] = _C.CLOSE_SENT
        table[(state, _I.RECV_CLOSE)] = _C.CLOSE_RECEIVED
    for state in _C:
        if state != _C.CLOSED:
            table[(state, _I.DROP)] = _C.CLOSED
    return table


SERVER_TABLE: Final[Table] = {
    **_closing(),
    (_C.NEW, _I.RECV_HEADER): _C.HEADER_EXCHANGED,
    (_C.HEADER_EXCHANGED, _I.SEND_START): _C.STARTED,
    (_C.STARTED, _I.RECV_START_OK): _C.AUTHENTICATING,
    (_C.AUTHENTICATING, _I.SEND_SECURE): _C.CHALLENGED,
    (_C.CHALLENGED, _I.RECV_SECURE_OK): _C.AUTHENTICATING,
    (_C.AUTHENTICATING, _I.SEND_TUNE): _C.TUNING,
    (_C.TUNING, _I.RECV_TUNE_OK): _C.TUNED,
    (_C.TUNED, _I.RECV_OPEN): _C.OPENING,
    (_C.OPENING, _I.SEND_OPEN_OK): _C.OPEN,
    (_C.OPENING, _I.SEND_REDIRECT): _C.REDIRECTED,
}

CLIENT_TABLE: Final[Table] = {
    **_closing(),
    (_C.NEW, _I.SEND_HEADER): _C.HEADER_SENT,
    (_C.HEADER_SENT, _I.RECV_HEADER): _C.HEADER_EXCHANGED,
    (_C.HEADER_EXCHANGED, _I.RECV_START): _C.STARTED,
    (_C.STARTED, _I.SEND_START_OK): _C.AUTHENTICATING,
    (_C.AUTHENTICATING, _I.RECV_SECURE): _C.CHALLENGED,
    (_C.CHALLENGED, _I.SEND_SECURE_OK): _C.AUTHENTICATING,
    (_C.AUTHENTICATING, _I.RECV_TUNE): _C.TUNING,
    (_C.TUNING, _I.SEND_TUNE_OK): _C.TUNED,
    (_C.TUNED, _I.SEND_OPEN): _C.OPENING,
    (_C.OPENING, _I.RECV_OPEN_OK): _C.OPEN,
    (_C.OPENING, _I.RECV_REDIRECT): _C.REDIRECTED,
}


class SessionState(IntEnum):
    """Where the attachment of a session stands."""

    NEW = 0
    ATTACH_RECEIVED = 1
    ATTACH_SENT = 2
    ATTACHED = 3
    DETACH_RECEIVED = 4
    DETACH_SENT = 5
    ENDED = 6


class SessionInput(IntEnum):
    """Life-cycle inputs of a session."""

    RECV_ATTACH = 0
    SEND_ATTACH = 1
    RECV_ATTACHED = 2
    SEND_ATTACHED = 3
    RECV_DETACH = 4
    SEND_DETACH = 5
    RECV_DETACHED = 6
    SEND_DETACHED = 7
    LOSE = 8


_S: Final = SessionState
_J: Final = SessionInput

SESSION_TABLE: Final[Table] = {
    (_S.NEW, _J.RECV_ATTACH): _S.ATTACH_RECEIVED,
    (_S.NEW, _J.SEND_ATTACH): _S.ATTACH_SENT,
    (_S.ATTACH_RECEIVED, _J.SEND_ATTACHED): _S.ATTACHED,
    (_S.ATTACH_RECEIVED, _J.SEND_DETACHED): _S.ENDED,
    # The peer asked to be detached before we had answered its attach, or repeats its attach.
    (_S.ATTACH_RECEIVED, _J.RECV_DETACH): _S.DETACH_RECEIVED,
    (_S.ATTACH_RECEIVED, _J.RECV_ATTACH): _S.ATTACH_RECEIVED,
    (_S.ATTACH_SENT, _J.RECV_ATTACHED): _S.ATTACHED,
    (_S.ATTACH_SENT, _J.RECV_DETACHED): _S.ENDED,
    # Idempotence: a session attached to its channel may be attached to it again.
    (_S.ATTACHED, _J.RECV_ATTACH): _S.ATTACHED,
    (_S.ATTACHED, _J.SEND_ATTACHED): _S.ATTACHED,
    (_S.ATTACHED, _J.RECV_DETACH): _S.DETACH_RECEIVED,
    (_S.ATTACHED, _J.SEND_DETACH): _S.DETACH_SENT,
    (_S.ATTACHED, _J.RECV_DETACHED): _S.ENDED,
    (_S.ATTACHED, _J.SEND_DETACHED): _S.ENDED,
    (_S.DETACH_RECEIVED, _J.SEND_DETACHED): _S.ENDED,
    (_S.DETACH_SENT, _J.RECV_DETACHED): _S.ENDED,
    # Crossing detaches answer each other; ours still waits for its own answer.
    (_S.DETACH_SENT, _J.RECV_DETACH): _S.DETACH_SENT,
    (_S.DETACH_SENT, _J.SEND_DETACHED): _S.DETACH_SENT,
    (_S.ATTACH_RECEIVED, _J.LOSE): _S.ENDED,
    (_S.ATTACH_SENT, _J.LOSE): _S.ENDED,
    (_S.ATTACHED, _J.LOSE): _S.ENDED,
    (_S.DETACH_RECEIVED, _J.LOSE): _S.ENDED,
    (_S.DETACH_SENT, _J.LOSE): _S.ENDED,
}
