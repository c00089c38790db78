"""Who is told of the end of a copy, and not of its beginning: publishes that await an upstream.

A *ticket* is one publish of which copies are in transit queues, or one message that an upstream
sent us. It is over when its last copy has ended; whoever holds it is told at the end of a turn in
which that is so and what the copies made durable is safe.
"""

from __future__ import annotations

from collections import deque
from typing import Final, final

from gateway.bridge.pressure import Pressure
from gateway.bridge.seams import Publisher
from gateway.message import ACCEPTED, Outcome, OutcomeKind, UpstreamTransaction

# Of several copies the one that went furthest decides.
RANK: Final = {
    OutcomeKind.RELEASED: 0,
    OutcomeKind.MODIFIED: 1,
    OutcomeKind.REJECTED: 2,
    OutcomeKind.ACCEPTED: 3,
}


@final
class Ticket:
    """One publish whose copies have not all ended.

    Attributes:
        left: how many of them.
        turn: what must be safe before its publisher is told; 0: nothing.
        stays: copies of it stay in local queues, so that its publisher waits for room, too.
        counted: among those that a stop waits for.
        outcome: the best so far.
        forgotten: the upstream that sent the message knows it no more: it is the gateway's.
        late: it did so when a client had it: what that says of it is too late.
        transaction: at an upstream, which has begun, that its copies are sent in.
    """

    __slots__ = (
        "counted",
        "forgotten",
        "late",
        "left",
        "outcome",
        "publisher",
        "stays",
        "token",
        "transaction",
        "turn",
    )

    def __init__(self, publisher: Publisher, token: int, left: int) -> None:
        self.publisher = publisher
        self.token = token
        self.left = left
        self.turn = 0
        self.stays = False
        self.counted = False
        self.forgotten = False
        self.late = False
        self.outcome: Outcome | None = None
        self.transaction: UpstreamTransaction | None = None


@final
class Tickets:
    """All of them.

    Attributes:
        open: publishes to upstreams that those have not ended.
    """

    __slots__ = ("_done", "_pressure", "open")

    def __init__(self, pressure: Pressure) -> None:
        self._pressure = pressure
        self._done: deque[Ticket] = deque()
        self.open = 0

    @property
    def waiting(self) -> int:
        """How many publishers wait for an upstream, or for what is not safe."""
        return self.open + len(self._done)

    def begin(self, publisher: Publisher, token: int, copies: int) -> Ticket:
        """A publish of which `copies` go to upstreams."""
        ticket = Ticket(publisher, token, copies)
        ticket.counted = True
        self.open += 1
        return ticket

    def end(self, ticket: Ticket, outcome: Outcome) -> None:
        """One copy has ended."""
        best = ticket.outcome
        if best is None or RANK[outcome.kind] > RANK[best.kind]:
            ticket.outcome = outcome
        ticket.left -= 1
        if ticket.left == 0:
            if ticket.counted:
                self.open -= 1
            self._done.append(ticket)

    def over(self, publisher: Publisher, token: int, outcome: Outcome, turn: int = 0) -> None:
        """Something ended as soon as it came: tell `publisher` when `turn` is safe."""
        ticket = Ticket(publisher, token, 1)
        ticket.turn = turn
        self.end(ticket, outcome)

    def tell(self, safe: int) -> None:
        """Tell whose copies have all ended; `safe` is the latest safe turn.

        Nobody while the disk refuses: how they ended is to be in the audit log.
        """
        done = self._done
        for _ in range(len(done)):
            ticket = done.popleft()
            outcome = ticket.outcome or ACCEPTED
            if ticket.turn > safe or self._pressure.blocked:
                done.append(ticket)
            elif ticket.stays and self._pressure.high:
                self._pressure.hold_back(ticket.turn, ticket.publisher, ticket.token, outcome)
            else:
                ticket.publisher.on_published(ticket.token, outcome)
