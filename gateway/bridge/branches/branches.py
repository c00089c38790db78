"""The branches of one virtual host, by xid, and what their managers ask for.

Sessions work in a branch (`start`, `join`, `resume`, `end`); when none does any more, somebody has
it prepared, committed or rolled back, who need not have worked in it. A branch whose work fails, or
whose session ends in the middle of it, is rollback-only: its work is rolled back at once, and it is
known until somebody ends it, or until long after its time. Which of that is an error in which
protocol is a face's affair.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, final

from gateway.audit.schema import Outcome as AuditOutcome
from gateway.audit.schema import Reason
from gateway.bridge.branches.branch import Branch, Input, State, Xid, xid_of
from gateway.bridge.branches.ending import Preparing, RollingBack, at_once, units_of
from gateway.bridge.branches.holding import Holding
from gateway.bridge.branches.rows import BranchRow
from gateway.bridge.branches.shelf import NAME, Shelf
from gateway.bridge.limits import BridgeLimits
from gateway.bridge.node_names import NodeNames
from gateway.bridge.numbers import Numbers
from gateway.bridge.queues.copies import Copies
from gateway.bridge.queues.queue import Queue
from gateway.bridge.seams import Publisher, PublishStatus
from gateway.bridge.settlement import Settlement
from gateway.bridge.staging.area import Claim, StagingArea
from gateway.bridge.transacting import Transacting
from gateway.bridge.transaction import Transaction
from gateway.message import MODIFIED_FAILED, Condition, Delivery, Outcome, OutcomeKind, Refusal
from gateway.wire.work import LOOK, WORK

TIMEOUT_S: Final = 60
TIMEOUT_MAX_S: Final = 3600
KNOWN_MS: Final = 30 * 60 * 1000  # for so long after its time


class Verdict(IntEnum):
    """What becomes of a branch, as its manager is told (XA: the return codes)."""

    OK = 0
    ROLLED_BACK = 1
    TIMED_OUT = 2
    DECIDED_COMMIT = 4  # by an operator
    DECIDED_ROLLBACK = 5
    READ_ONLY = 7
    PENDING = -1  # the publisher is told


BUSY: Final = Refusal(Condition.ILLEGAL_STATE, "the branch is being prepared or ended")


@final
class Ended:
    """Hears that a branch has been prepared or ended, before who asked. Implements `Publisher`."""

    __slots__ = ("_branch", "_branches", "_by", "_input", "_token")

    def __init__(
        self,
        branches: Branches,
        branch: Branch,
        input: Input,
        by: Publisher | None,
        token: int,
    ) -> None:
        self._branches = branches
        self._branch = branch
        self._input = input
        self._by = by
        self._token = token

    def on_published(self, token: int, outcome: Outcome) -> None:
        """See `Publisher`."""
        if self._input == Input.KEPT and outcome.kind != OutcomeKind.ACCEPTED:
            self._branches.refused(self._branch)
        else:
            self._branches.over(self._branch, self._input)
        if self._by is not None:
            self._by.on_published(self._token, outcome)


@final
class Branches:
    """Those of one virtual host.

    Attributes:
        by_xid: all that are known.
        by_shelf: the same by the number of the shelf, which `Deadlines` has them for.
    """

    __slots__ = (
        "_by_user",
        "_copies",
        "_host",
        "_limits",
        "_names",
        "_numbers",
        "_settlement",
        "_transacting",
        "by_shelf",
        "by_xid",
    )

    def __init__(
        self,
        host: str,
        names: NodeNames,
        transacting: Transacting,
        settlement: Settlement,
        copies: Copies,
        numbers: Numbers,
        limits: BridgeLimits,
    ) -> None:
        self._host = host
        self._names = names
        self._transacting = transacting
        self._settlement = settlement
        self._copies = copies
        self._numbers = numbers
        self._limits = limits
        self._by_user: dict[str, int] = {}
        self.by_xid: dict[Xid, Branch] = {}
        self.by_shelf: dict[int, Branch] = {}

    def recover_claims(self, staging: StagingArea) -> None:
        """What is staged is back: prepared branches use up what they publish of it."""
        for staged in staging.claimed():
            xid = xid_of(staged.branch)
            branch = None if xid is None else self.by_xid.get(xid)
            claim = Claim(staging, staged)
            if branch is None or branch.state != State.PREPARED:
                claim.end(committed=False)
            else:
                branch.transaction.claims.append(claim)

    # Sessions work in them.

    def start(self, xid: Xid, session: int, connection: int, user: str) -> Branch | Refusal:
        """A new branch, which `session` works in; refused: there are too many.

        One user may have half of them. What is only remembered makes room for others.
        """
        limit = self._limits.branches_max
        if self._by_user.get(user, 0) >= (limit + 1) // 2:
            self._forget_one(user)
        if self._by_user.get(user, 0) >= (limit + 1) // 2:
            return Refusal(Condition.RESOURCE_LIMIT_EXCEEDED, "the user has too many branches")
        if len(self.by_xid) >= limit:
            self._forget_one(None)
        if len(self.by_xid) >= limit:
            return Refusal(Condition.RESOURCE_LIMIT_EXCEEDED, "there are too many branches")
        branch = self.make(xid, user, self._numbers.next_queue(), connection)
        branch.sessions[session] = False
        self.set_timeout(branch, 0)
        return branch

    def make(self, xid: Xid, user: str, number: int, connection: int = 0) -> Branch:
        """A branch that is known from now on, with the shelf of that number."""
        copies = self._copies
        shelf = Shelf(self._host, xid.text(), number, copies, self._names, self._numbers)
        branch = Branch(xid, user, self._transacting.begin(connection, local=True), shelf)
        self.by_xid[xid] = branch
        self._by_user[user] = self._by_user.get(user, 0) + 1
        self.by_shelf[number] = branch
        return branch

    def end(self, branch: Branch, session: int, accepted: list[Delivery], *, fail: bool) -> None:
        """`session` works in it no more, and has accepted these; `fail`: in vain."""
        branch.sessions.pop(session, None)
        self.take_over(branch, accepted)
        if fail:
            branch.machine.receive(Input.FAIL)
        if branch.failed:
            self._undo(branch)
        self._forget_if_expired(branch)

    def take_over(self, branch: Branch, accepted: list[Delivery]) -> None:
        """What a session has accepted in it is the branch's from now on."""
        if accepted:
            holding = Holding(self._settlement, self._numbers, branch.user)
            branch.transaction.take_over(holding.take_over(accepted))

    def leave(self, branch: Branch, session: int) -> None:
        """A session ends that works in it, or has suspended it: the branch is rollback-only."""
        self.end(branch, session, [], fail=True)

    def doom(self, branch: Branch) -> None:
        """Nobody works in it, and it may not be committed: it is rolled back."""
        branch.machine.receive(Input.FAIL)
        self._undo(branch)

    def set_timeout(self, branch: Branch, timeout_s: int) -> None:
        """From now on it has so long until it is prepared; 0: as long as any."""
        branch.timeout_s = timeout_s or TIMEOUT_S
        if branch.state == State.OPEN or branch.state == State.DOOMED:
            branch.expires_ms = self._copies.ledger.now_ms + 1000 * branch.timeout_s
            self._copies.deadlines.arm(branch.shelf.queue, branch.expires_ms)

    # Managers decide about them.

    def prepare(self, branch: Branch, publisher: Publisher, token: int) -> Verdict:
        """Make sure that it can be committed, over any restart; nobody works in it.

        `OK`: safe with the current turn. `READ_ONLY`: there was nothing, and it is over.
        `ROLLED_BACK`: it cannot be committed. `PENDING`: the publisher is told; rejected is
        `ROLLED_BACK`. One that is prepared is so.
        """
        if branch.state == State.PREPARED:
            return Verdict.OK
        if branch.failed:
            return self._tell_failed(branch, over=False)
        transaction = branch.transaction
        if not transaction.held and not transaction.retirements:
            transaction.end_claims(committed=True)
            self._end(branch)
            return Verdict.READ_ONLY
        branch.machine.send(Input.PREPARE)
        branch.prepared_ms = self._copies.ledger.now_ms
        waiter = Ended(self, branch, Input.KEPT, publisher, token)
        settlement, copies = self._settlement, self._copies
        row = self._row(branch, State.PREPARED)
        long = Preparing(branch, row, waiter, 0, settlement=settlement, copies=copies)
        if copies.entering.puts_off(units_of(transaction)):
            copies.entering.put_off(long)
            return Verdict.PENDING
        at_once(long, copies)
        if long.refusal is not None:
            self.refused(branch)
            return Verdict.ROLLED_BACK
        self.over(branch, Input.KEPT)
        return Verdict.OK

    def commit(self, branch: Branch, publisher: Publisher, token: int) -> Verdict:
        """Do all that it holds; nobody works in it. Whether it is prepared, its face has looked at.

        `OK`, `ROLLED_BACK`, `PENDING` as of `prepare`, and it is over.
        """
        if branch.failed:
            return self._tell_failed(branch, over=True)
        branch.machine.send(Input.END)
        return self._commit(branch, Input.ENDED, publisher, token)

    def rollback(self, branch: Branch, publisher: Publisher, token: int) -> Verdict:
        """Undo all that it holds; nobody works in it. It is over, or will be: `PENDING`."""
        if branch.state == State.EXPIRED:
            return self._tell_failed(branch, over=True)
        branch.machine.send(Input.END)
        return self._rollback(branch, Input.ENDED, publisher, token)

    def forget(self, branch: Branch) -> None:
        """Its manager has heard what an operator has decided about it."""
        branch.machine.send(Input.FORGET)
        branch.shelf.remove()
        name = NAME + branch.xid.text()
        node = self._names.name(name)
        number = branch.transaction.number
        self._copies.ledger.branch_decided(number, node, AuditOutcome.NONE, Reason.FORGOTTEN)
        self._names.forget(name, node)
        self._remove(branch)

    # An operator decides.

    def decide(self, branch: Branch, *, commit: bool) -> None:
        """An operator ends a prepared branch; its manager hears of it until it forgets it."""
        node = branch.shelf.queue.node
        outcome = AuditOutcome.COMMITTED if commit else AuditOutcome.ROLLED_BACK
        number = branch.transaction.number
        self._copies.ledger.branch_decided(number, node, outcome, Reason.OPERATOR)
        branch.machine.send(Input.END)
        state = State.COMMITTED if commit else State.ROLLED_BACK
        branch.shelf.decided = self._row(branch, state)
        input = Input.DECIDED_COMMIT if commit else Input.DECIDED_ROLLBACK
        if commit:
            self._commit(branch, input, None, 0)
        else:
            self._rollback(branch, input, None, 0)

    def drop(self, branch: Branch) -> None:
        """He ends one that can only be rolled back, and has been; nobody works in it."""
        self._tell_failed(branch, over=True)

    # What happens by itself.

    def on_deadline(self, queue: Queue, now_ms: int) -> bool:
        """The time has come that `Deadlines` had for `queue`; whether that is a branch's."""
        branch = self.by_shelf.get(queue.number)
        if branch is None:
            return False
        if branch.state not in (State.OPEN, State.DOOMED, State.EXPIRED):
            return True
        if branch.expires_ms > now_ms:
            self._copies.deadlines.arm(queue, branch.expires_ms)
            return True
        if branch.state == State.EXPIRED:
            if not branch.sessions:
                self._end(branch)
            return True
        branch.machine.receive(Input.TIME_OVER)
        self._undo(branch)
        branch.expires_ms = now_ms + KNOWN_MS
        self._copies.deadlines.arm(queue, branch.expires_ms)
        return True

    def finish(self) -> None:
        """No turn comes any more but one: what is not prepared is rolled back.

        The next life would do so, but not know of what was accepted that somebody has seen it.
        """
        for branch in self.by_xid.values():
            if branch.state == State.OPEN:
                self._undo(branch)

    def over(self, branch: Branch, input: Input) -> None:
        """It is prepared, or has had its end."""
        branch.machine.send(input)
        if branch.state == State.OVER:
            self._remove(branch)

    def refused(self, branch: Branch) -> None:
        """It cannot be prepared: it is rolled back."""
        branch.machine.send(Input.REFUSED)
        branch.prepared_ms = 0
        self._undo(branch)
        self._copies.deadlines.arm(branch.shelf.queue, branch.expires_ms)

    def in_doubt(self) -> list[Branch]:
        """Those that a manager is to hear of."""
        return [branch for branch in self.by_xid.values() if branch.in_doubt]

    def shelves(self) -> list[Queue]:
        """Those that the audit log knows."""
        shelves = [branch.shelf for branch in self.by_xid.values()]
        return [shelf.queue for shelf in shelves if shelf.open]

    def _commit(
        self, branch: Branch, input: Input, publisher: Publisher | None, token: int
    ) -> Verdict:
        transaction = branch.transaction
        waiter = Ended(self, branch, input, publisher, token)
        published = self._transacting.commit(transaction, [], waiter, 0)
        if published.status == PublishStatus.PENDING:
            return Verdict.PENDING
        self.over(branch, input)
        if published.status != PublishStatus.REFUSED:
            return Verdict.OK
        # What it published has been dropped; what it has accepted comes again.
        for retirement in transaction.retirements:
            self._settlement.settle(retirement.delivery, MODIFIED_FAILED, Reason.ROLLBACK)
        return Verdict.ROLLED_BACK

    def _rollback(
        self, branch: Branch, input: Input, publisher: Publisher | None, token: int
    ) -> Verdict:
        transaction = branch.transaction
        waiter = Ended(self, branch, input, publisher, token)
        if not transaction.enlisted:
            transaction.end_claims(committed=False)
        elif not self._undone(transaction, waiter):
            return Verdict.PENDING
        self.over(branch, input)
        return Verdict.OK

    def _undo(self, branch: Branch) -> None:
        """Roll back what it holds; it may go on, in vain."""
        transaction = branch.transaction
        if transaction.enlisted:
            branch.transaction = self._transacting.begin(transaction.connection, local=True)
            self._undone(transaction, None)
        else:
            transaction.end_claims(committed=False)

    def _undone(self, transaction: Transaction, waiter: Ended | None) -> bool:
        """Roll back; whether that is done, or `waiter` is told."""
        settlement, copies = self._settlement, self._copies
        long = RollingBack(transaction, waiter, 0, settlement=settlement, copies=copies)
        if copies.entering.puts_off(units_of(transaction)):
            copies.entering.put_off(long)
            return False
        at_once(long, copies)
        return True

    def _tell_failed(self, branch: Branch, *, over: bool) -> Verdict:
        """What a manager is told of one that can only be rolled back, which it has been."""
        expired = branch.state == State.EXPIRED
        self._undo(branch)
        if over or expired:
            self._end(branch)
        return Verdict.TIMED_OUT if expired else Verdict.ROLLED_BACK

    def _forget_if_expired(self, branch: Branch) -> None:
        """Its last session has left it long after its time."""
        if branch.state == State.EXPIRED and not branch.sessions:
            self._copies.deadlines.arm(branch.shelf.queue, branch.expires_ms)

    def _forget_one(self, user: str | None) -> None:
        """The oldest, of that user's, that can only be rolled back, and that nobody works in."""
        WORK.units += LOOK * len(self.by_xid)
        for branch in self.by_xid.values():
            if branch.failed and not branch.sessions and user in (None, branch.user):
                self._end(branch)
                return

    def _end(self, branch: Branch) -> None:
        """It holds nothing, and is over."""
        branch.machine.send(Input.END)
        self.over(branch, Input.ENDED)

    def _remove(self, branch: Branch) -> None:
        self._copies.deadlines.disarm(branch.shelf.queue)
        del self.by_xid[branch.xid]
        left = self._by_user[branch.user] - 1
        if left:
            self._by_user[branch.user] = left
        else:
            del self._by_user[branch.user]
        del self.by_shelf[branch.shelf.queue.number]

    def _row(self, branch: Branch, state: State) -> BranchRow:
        return BranchRow(
            self._host,
            branch.xid.text(),
            number=branch.shelf.queue.number,
            state=int(state),
            prepared_ms=branch.prepared_ms,
            timeout_s=branch.timeout_s,
            user=branch.user,
        )
