"""The state table of what receives from a node of an upstream for one client.

Theory of a receiver. It serves one subscription of a client, from the bridge's `open` to the
end, whatever becomes of its link: the slot knows that, and nothing of it is told twice. What
counts is what the client has been promised. Until the peer has attached once, it waits: a new
subscription (ASKING) for a yes or no; one that was in force with another link, whose node has
moved (MOVING_IN), for a while through refusals, too. IN_FORCE is with or without a link. A drain
is one flow that asks for what there is, and ends with its answer, with the wish, or with the link;
if the client wants more than one flow may ask for, the next one begins another.

When nobody wants its messages any more, what is on its way has to be let go before the link
is detached: LEAVING lasts until the peer has answered, has not answered for too long, or is gone.
QUIET waits for the client's outcomes of what had come; then it is OVER. Who never had a link is
QUIET at once. A refusal ends what waits or is in force; who has left is not refused any more.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from gateway.wire.machine import Table


class ReceiverState(IntEnum):
    """What a receiver owes its client; from LEAVING on there is none."""

    ASKING = 0  # a refusal ends the subscription
    MOVING_IN = 1  # it was in force with another link: refusals pass for a while
    IN_FORCE = 2  # the peer has attached once, and the client knows
    DRAINING = 3  # and the peer is to send what it has
    LEAVING = 4  # credit is taken back; what comes late is let go
    QUIET = 5  # nothing more can come, and something has no outcome yet
    OVER = 6


class ReceiverInput(IntEnum):
    """What moves a receiver."""

    RECV_ATTACH = 0  # as it was asked for
    SEND_DRAIN = 1
    DRAINED = 2  # the peer has answered, or need not any more
    LOSE = 3  # the link is gone
    LEAVE = 4  # nobody wants its messages any more
    NOTHING_COMES = 5  # the peer has said so, or has been given the time to
    REFUSE = 6  # the subscription is refused, or ends for what the peer says
    END = 7  # the link is given up


_RS = ReceiverState
_RI = ReceiverInput

RECEIVER: Final[Table] = {
    (_RS.ASKING, _RI.RECV_ATTACH): _RS.IN_FORCE,
    (_RS.ASKING, _RI.LEAVE): _RS.QUIET,
    (_RS.ASKING, _RI.REFUSE): _RS.OVER,
    (_RS.MOVING_IN, _RI.RECV_ATTACH): _RS.IN_FORCE,
    (_RS.MOVING_IN, _RI.LEAVE): _RS.QUIET,
    (_RS.MOVING_IN, _RI.REFUSE): _RS.OVER,
    (_RS.IN_FORCE, _RI.RECV_ATTACH): _RS.IN_FORCE,
    (_RS.IN_FORCE, _RI.SEND_DRAIN): _RS.DRAINING,
    (_RS.IN_FORCE, _RI.LEAVE): _RS.LEAVING,
    (_RS.IN_FORCE, _RI.REFUSE): _RS.OVER,
    (_RS.DRAINING, _RI.DRAINED): _RS.IN_FORCE,
    (_RS.DRAINING, _RI.LOSE): _RS.IN_FORCE,
    (_RS.DRAINING, _RI.LEAVE): _RS.LEAVING,
    (_RS.LEAVING, _RI.NOTHING_COMES): _RS.QUIET,
    (_RS.LEAVING, _RI.LOSE): _RS.QUIET,
    (_RS.QUIET, _RI.END): _RS.OVER,
}
