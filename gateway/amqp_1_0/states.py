"""The state tables of connection, session and link.

Theory. An endpoint is two halves, ours and the peer's; each half opens once and ends once. The spec
names the combinations (connection 2.4.6, session 2.5.5; for links 2.6.2 to 2.6.6 tell the same
story without a table). Both halves may be pipelined: a peer may open, use and end its half before
it hears from us. Frames are parsed ahead of the face that answers them, so states are needed in
which the peer's half has come and gone while ours has not begun; the spec leaves them to the
implementation. They are marked "ours" below.

An endpoint that *we* end for an error goes to DISCARDING (a link: DETACH_SENT), where everything
but the peer's own end is dropped unread. Legality of data (transfer, flow, disposition) is no
business of
these tables: it is one comparison of the state.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from gateway.wire.machine import Table


class ConnectionState(IntEnum):
    """Figure 2.24; `BOTH_RCVD` is ours: open and close came before our open."""

    START = 0
    HDR_RCVD = 1
    HDR_SENT = 2
    HDR_EXCH = 3
    OPEN_PIPE = 4
    OC_PIPE = 5
    OPEN_RCVD = 6
    OPEN_SENT = 7
    CLOSE_PIPE = 8
    OPENED = 9
    CLOSE_RCVD = 10
    CLOSE_SENT = 11
    DISCARDING = 12
    END = 13
    BOTH_RCVD = 14


class ConnectionInput(IntEnum):
    """What moves a connection; `FAIL` is our close for an error, `LOST` the transport's end."""

    RECV_HEADER = 0
    SEND_HEADER = 1
    RECV_OPEN = 2
    SEND_OPEN = 3
    RECV_CLOSE = 4
    SEND_CLOSE = 5
    FAIL = 6
    LOST = 7


_C = ConnectionState
_I = ConnectionInput

CONNECTION: Final[Table] = {
    (_C.START, _I.RECV_HEADER): _C.HDR_RCVD,
    (_C.START, _I.SEND_HEADER): _C.HDR_SENT,
    (_C.HDR_RCVD, _I.SEND_HEADER): _C.HDR_EXCH,
    (_C.HDR_SENT, _I.RECV_HEADER): _C.HDR_EXCH,
    (_C.HDR_SENT, _I.SEND_OPEN): _C.OPEN_PIPE,
    (_C.HDR_EXCH, _I.RECV_OPEN): _C.OPEN_RCVD,
    (_C.HDR_EXCH, _I.SEND_OPEN): _C.OPEN_SENT,
    (_C.OPEN_PIPE, _I.RECV_HEADER): _C.OPEN_SENT,
    (_C.OPEN_PIPE, _I.SEND_CLOSE): _C.OC_PIPE,
    (_C.OC_PIPE, _I.RECV_HEADER): _C.CLOSE_PIPE,
    (_C.OPEN_RCVD, _I.SEND_OPEN): _C.OPENED,
    (_C.OPEN_RCVD, _I.RECV_CLOSE): _C.BOTH_RCVD,
    (_C.BOTH_RCVD, _I.SEND_OPEN): _C.CLOSE_RCVD,
    (_C.OPEN_SENT, _I.RECV_OPEN): _C.OPENED,
    (_C.OPEN_SENT, _I.SEND_CLOSE): _C.CLOSE_PIPE,
    (_C.CLOSE_PIPE, _I.RECV_OPEN): _C.CLOSE_SENT,
    (_C.OPENED, _I.RECV_CLOSE): _C.CLOSE_RCVD,
    (_C.OPENED, _I.SEND_CLOSE): _C.CLOSE_SENT,
    (_C.OPENED, _I.FAIL): _C.DISCARDING,
    (_C.CLOSE_RCVD, _I.SEND_CLOSE): _C.END,
    (_C.CLOSE_SENT, _I.RECV_CLOSE): _C.END,
    (_C.DISCARDING, _I.RECV_CLOSE): _C.END,
    **{(state, _I.LOST): _C.END for state in ConnectionState if state != _C.END},
    **{
        (state, _I.FAIL): _C.END
        for state in ConnectionState
        if state not in (_C.OPENED, _C.DISCARDING, _C.END)
    },
}


class SessionState(IntEnum):
    """2.5.5; ours: `BOTH_RCVD` (begin and end came before our begin), `BOTH_SENT`, `ENDED`."""

    UNMAPPED = 0
    BEGIN_SENT = 1
    BEGIN_RCVD = 2
    MAPPED = 3
    END_SENT = 4
    END_RCVD = 5
    DISCARDING = 6
    BOTH_RCVD = 7
    BOTH_SENT = 8
    ENDED = 9


class SessionInput(IntEnum):
    """What moves a session; `FAIL` is our end for an error, `LOST` the connection's end."""

    RECV_BEGIN = 0
    SEND_BEGIN = 1
    RECV_END = 2
    SEND_END = 3
    FAIL = 4
    LOST = 5


_S = SessionState
_J = SessionInput

SESSION: Final[Table] = {
    (_S.UNMAPPED, _J.SEND_BEGIN): _S.BEGIN_SENT,
    (_S.UNMAPPED, _J.RECV_BEGIN): _S.BEGIN_RCVD,
    (_S.BEGIN_SENT, _J.RECV_BEGIN): _S.MAPPED,
    (_S.BEGIN_SENT, _J.SEND_END): _S.BOTH_SENT,
    (_S.BEGIN_RCVD, _J.SEND_BEGIN): _S.MAPPED,
    (_S.BEGIN_RCVD, _J.RECV_END): _S.BOTH_RCVD,
    (_S.BOTH_SENT, _J.RECV_BEGIN): _S.END_SENT,
    (_S.BOTH_RCVD, _J.SEND_BEGIN): _S.END_RCVD,
    (_S.MAPPED, _J.SEND_END): _S.END_SENT,
    (_S.MAPPED, _J.RECV_END): _S.END_RCVD,
    (_S.MAPPED, _J.FAIL): _S.DISCARDING,
    (_S.END_SENT, _J.RECV_END): _S.ENDED,
    (_S.END_RCVD, _J.SEND_END): _S.ENDED,
    (_S.DISCARDING, _J.RECV_END): _S.ENDED,
    **{(state, _J.LOST): _S.ENDED for state in SessionState if state != _S.ENDED},
}


class LinkState(IntEnum):
    """Which halves are attached; `BOTH_RCVD`, `BOTH_SENT`: one came and went before the other."""

    DETACHED = 0
    ATTACH_SENT = 1
    ATTACH_RCVD = 2
    ATTACHED = 3
    DETACH_SENT = 4
    DETACH_RCVD = 5
    BOTH_RCVD = 6
    BOTH_SENT = 7
    GONE = 8


class LinkInput(IntEnum):
    """What moves a link; `LOST` is the end of its session."""

    RECV_ATTACH = 0
    SEND_ATTACH = 1
    RECV_DETACH = 2
    SEND_DETACH = 3
    LOST = 4


_L = LinkState
_K = LinkInput

LINK: Final[Table] = {
    (_L.DETACHED, _K.SEND_ATTACH): _L.ATTACH_SENT,
    (_L.DETACHED, _K.RECV_ATTACH): _L.ATTACH_RCVD,
    (_L.ATTACH_SENT, _K.RECV_ATTACH): _L.ATTACHED,
    (_L.ATTACH_SENT, _K.SEND_DETACH): _L.BOTH_SENT,
    (_L.ATTACH_RCVD, _K.SEND_ATTACH): _L.ATTACHED,
    (_L.ATTACH_RCVD, _K.RECV_DETACH): _L.BOTH_RCVD,
    (_L.BOTH_SENT, _K.RECV_ATTACH): _L.DETACH_SENT,
    (_L.BOTH_RCVD, _K.SEND_ATTACH): _L.DETACH_RCVD,
    (_L.ATTACHED, _K.SEND_DETACH): _L.DETACH_SENT,
    (_L.ATTACHED, _K.RECV_DETACH): _L.DETACH_RCVD,
    (_L.DETACH_SENT, _K.RECV_DETACH): _L.GONE,
    (_L.DETACH_RCVD, _K.SEND_DETACH): _L.GONE,
    **{(state, _K.LOST): _L.GONE for state in LinkState if state != _L.GONE},
}
