"""Who is told of the end of a copy, and not of its beginning: publishes that await an upstream.

A *ticket* is one publish of which copies are in transit queues, or one message that an upstream
sent us. It is over when its last copy has ended; whoever holds it is told at the end of a turn in
which that is so and what the copies made durable is safe. Copies in local queues are among those
that it waits for while flow control withholds it (`queues.flow`).
"""

from __future__ import annotations

from collections import deque
from typing import Final, final

from mypy_extensions import i64 as int64

from gateway.bridge.pressure import Pressure
from gateway.bridge.queues.latency import Run
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
        left: how many of them it waits for, and one more while it is `entering`.
        turn: what must be safe before its publisher is told; 0: nothing.
        entering: its copies are not all in: those in stopped queues are among what it waits for.
        stays: copies of it stay in local queues, so that its publisher waits for room, too.
        connection: by which it came, for that.
        counted: among those that a stop waits for (`Tickets.open`).
        withheld: among those that flow control withholds.
        outcome: the best so far.
        forgotten: the upstream that sent the message knows it no more: it is the gateway's.
        late: it did so when a client had it: what that says of it is too late.
        transaction: at an upstream, which has begun, that its copies are sent in.
        run: where it is counted how long its publisher waits, `since_us`; `None`: it is not.
    """

    __slots__ = (
        "connection",
        "counted",
        "entering",
        "forgotten",
        "late",
        "left",
        "outcome",
        "publisher",
        "run",
        "since_us",
        "stays",
        "token",
        "transaction",
        "turn",
        "withheld",
    )

    def __init__(self, publisher: Publisher, token: int, left: int) -> None:
        self.publisher = publisher
        self.token = token
        self.left = left
        self.turn = 0
        self.entering = False
        self.stays = False
        self.connection = 0
        self.counted = False
        self.withheld = False
        self.forgotten = False
        self.late = False
        self.outcome: Outcome | None = None
        self.transaction: UpstreamTransaction | None = None
        self.run: Run | None = None
        self.since_us: int64 = 0


@final
class Tickets:
    """All of them.

    Attributes:
        open: publishes to upstreams that those have not ended.
        withheld: those to local queues that flow control withholds.
    """

    __slots__ = ("_done", "_pressure", "open", "withheld")

    def __init__(self, pressure: Pressure) -> None:
        self._pressure = pressure
        self._done: deque[Ticket] = deque()
        self.open = 0
        self.withheld = 0

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

    def enter(self, publisher: Publisher, token: int, copies: int) -> Ticket:
        """The same, if it enters now; there may be none of them. `entered` follows."""
        ticket = self.begin(publisher, token, copies) if copies else Ticket(publisher, token, 0)
        ticket.left += 1
        ticket.entering = True
        return ticket

    def entered(self, ticket: Ticket) -> bool:
        """All copies of a publish are in; `False`: it waits for none of them."""
        ticket.entering = False
        ticket.left -= 1
        if ticket.counted:
            self._end_if_over(ticket)
            return True
        if ticket.left == 0:
            return False
        ticket.withheld = True
        self.withheld += 1
        return True

    def end(self, ticket: Ticket, outcome: Outcome | None) -> None:
        """One copy has ended; or its publisher need not wait for it, which has not (`None`)."""
        best = ticket.outcome
        if outcome is not None and (best is None or RANK[outcome.kind] > RANK[best.kind]):
            ticket.outcome = outcome
        ticket.left -= 1
        self._end_if_over(ticket)

    def _end_if_over(self, ticket: Ticket) -> None:
        if ticket.left:
            return
        if ticket.counted:
            self.open -= 1
        elif ticket.withheld:
            self.withheld -= 1
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
            elif ticket.stays and self._pressure.holds_back(ticket.connection):
                self._pressure.hold_back(
                    ticket.turn,
                    ticket.publisher,
                    ticket.token,
                    outcome,
                    ticket.connection,
                    run=ticket.run,
                    since_us=ticket.since_us,
                )
            else:
                if ticket.run is not None:
                    ticket.run.count_one(ticket.since_us)
                ticket.publisher.on_published(ticket.token, outcome)
