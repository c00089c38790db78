"""Class dtx of a 0-10 session: the branches that it works in, and those that it decides about.

Between start and end a session's transfers and accepts are its branch's, as those of a transaction;
outside they are nobody's but its own. Every exception ends the session, and so dooms the branch
that it works in, and those that it has suspended. Whatever coordinates branches - prepare, commit,
rollback, forget, recover, timeouts - needs no select, and no part in them.
Source: 0-10 XML, class dtx; where that names no exception, what qpidd does.
"""

from __future__ import annotations

from typing import Final, final

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import STRUCT32
from gateway.amqp_0_10.structs import close_struct
from gateway.amqp_0_10.types import Array, Command, Struct
from gateway.bridge.branches.branch import Branch, State, Xid
from gateway.bridge.branches.branches import BUSY, TIMEOUT_MAX_S, Verdict
from gateway.faces.client import Client
from gateway.faces.server_0_10.answers import Answers
from gateway.faces.server_0_10.parking import Parking
from gateway.faces.server_0_10.transactions import Transactions
from gateway.faces.withdrawn import commit_refusal
from gateway.message import Condition, Outcome, OutcomeKind, Refusal
from gateway.permissions.actions import Action, ObjectKind
from gateway.permissions.asked import Asked
from gateway.wire.work import ARGUMENT, ELEMENT, WORK

STATUS: Final = {
    Verdict.OK: spec.XaStatus.XA_OK,
    Verdict.ROLLED_BACK: spec.XaStatus.XA_RBROLLBACK,
    Verdict.TIMED_OUT: spec.XaStatus.XA_RBTIMEOUT,
    Verdict.DECIDED_COMMIT: spec.XaStatus.XA_HEURCOM,
    Verdict.DECIDED_ROLLBACK: spec.XaStatus.XA_HEURRB,
    Verdict.READ_ONLY: spec.XaStatus.XA_RDONLY,
}
DECIDED: Final = {
    State.COMMITTED: Verdict.DECIDED_COMMIT,
    State.ROLLED_BACK: Verdict.DECIDED_ROLLBACK,
}

Answer = Struct | Refusal | None
Outlining = spec.DtxPrepare | spec.DtxCommit | spec.DtxRollback | spec.DtxForget
OfBranch = Outlining | spec.DtxStart | spec.DtxEnd | spec.DtxGetTimeout | spec.DtxSetTimeout


@final
class Distributed:
    """Implements `Publisher`, of what ends branches."""

    __slots__ = (
        "_branches",
        "_client",
        "_number",
        "_parking",
        "_permits",
        "_selected",
        "_suspended",
        "_transactions",
        "_verdict",
    )

    def __init__(self, answers: Answers, parking: Parking, transactions: Transactions) -> None:
        self._client = answers.client
        self._parking = parking
        self._transactions = transactions
        self._branches = answers.client.host.branches
        self._number = answers.client.bridge.numbers.next_owner()
        self._permits = self._client.access.permits
        self._selected = False
        self._suspended: dict[Xid, Branch] = {}
        self._verdict = Verdict.OK  # of the command that waits

    def move(self, client: Client) -> None:
        """The session has another connection, or none."""
        self._client = client

    def carry_out(self, command: Command, command_id: int) -> Answer:
        """Carry out a command of class dtx; one that ends a branch may have to be waited for."""
        if isinstance(command, spec.DtxSelect):
            self._selected = True
            return None
        if isinstance(command, spec.DtxRecover):
            return self._recover()
        assert isinstance(command, OfBranch)
        if command.xid is None:
            return Refusal(Condition.INVALID_ARGUMENT, "an xid is required")
        xid = _xid(command.xid)
        if isinstance(command, spec.DtxStart | spec.DtxEnd):
            if not self._selected:
                return _illegal("the session has not selected distributed transactions")
            if isinstance(command, spec.DtxStart):
                return self._start(command, xid)
            return self._end(command, xid)
        branch = self._branches.by_xid.get(xid)
        if branch is None:
            return _unknown(xid)
        refusal = self._refusal(branch)
        if refusal is not None:
            return refusal
        if isinstance(command, spec.DtxGetTimeout):
            return spec.GetTimeoutResult(timeout=branch.timeout_s)
        if isinstance(command, spec.DtxSetTimeout):
            return self._set_timeout(branch, command.timeout or 0)
        return self._decide(branch, command, command_id)

    def waited(self) -> Answer:
        """The answer to the command that had to be waited for."""
        return _result(self._verdict)

    def on_published(self, token: int, outcome: Outcome) -> None:
        """See `Publisher`: the branch is prepared, or has its end; the token is the command's."""
        accepted = outcome.kind == OutcomeKind.ACCEPTED
        self._verdict = Verdict.OK if accepted else Verdict.ROLLED_BACK
        self._parking.answer(token, None)
        self._client.touch()

    def end(self) -> None:
        """The session is over: what it works in, or has suspended, is rolled back."""
        working = self._transactions.branch
        if working is not None:
            self._transactions.abandon()
            self._branches.leave(working, self._number)
        for branch in self._suspended.values():
            self._branches.leave(branch, self._number)
        self._suspended.clear()

    # Work in branches.

    def _start(self, command: spec.DtxStart, xid: Xid) -> Answer:
        if command.join and command.resume:
            return Refusal(Condition.NOT_ALLOWED, "join and resume exclude one another")
        transactions = self._transactions
        if transactions.branch is not None:
            return _illegal("the session works in a branch")
        if transactions.current is not None:
            return _illegal("the session has selected transactions")
        known = self._branches.by_xid.get(xid)
        if command.join or command.resume:
            return self._go_on(known, xid, resume=command.resume)
        if known is not None:
            return Refusal(Condition.NOT_ALLOWED, f"branch {xid.text()} is known already")
        client = self._client
        made = self._branches.start(xid, self._number, client.peer.connection_id, client.user())
        if isinstance(made, Refusal):
            return made
        return self._enter(made)

    def _go_on(self, branch: Branch | None, xid: Xid, *, resume: bool) -> Answer:
        """Join it, or resume what was suspended."""
        if branch is None:
            return _unknown(xid)
        refusal = self._refusal(branch)
        if refusal is not None:
            return refusal
        if resume != (xid in self._suspended):
            return _illegal("the session has suspended it" if not resume else "it is not suspended")
        if resume:
            del self._suspended[xid]
        if branch.state == State.EXPIRED:
            self._branches.end(branch, self._number, [], fail=True)
            return _result(Verdict.TIMED_OUT)
        if branch.state not in (State.OPEN, State.DOOMED):
            return _illegal("no more work can be done in it")
        return self._enter(branch)

    def _enter(self, branch: Branch) -> Answer:
        branch.sessions[self._number] = False
        self._permits = self._client.access.permits
        self._transactions.enter(branch)
        return _result(Verdict.OK)

    def _end(self, command: spec.DtxEnd, xid: Xid) -> Answer:
        if command.fail and command.suspend:
            return Refusal(Condition.NOT_ALLOWED, "fail and suspend exclude one another")
        branch = self._transactions.branch
        if branch is None or branch.xid != xid:
            return _illegal(f"the session does not work in branch {xid.text()}")
        withdrawn = None
        if not command.fail:
            withdrawn = commit_refusal(self._client, self._permits, branch.transaction)
        if withdrawn is not None:
            return withdrawn
        branch.rules = self._client.access.permits.rules
        accepted = self._transactions.leave()
        if command.suspend and branch.state != State.EXPIRED:
            branch.sessions[self._number] = True
            self._suspended[xid] = branch
            self._branches.take_over(branch, accepted)
        else:
            self._branches.end(branch, self._number, accepted, fail=command.fail)
        self._transactions.on_settled()
        if branch.state == State.EXPIRED:
            return _result(Verdict.TIMED_OUT)
        return _result(Verdict.ROLLED_BACK if command.fail else Verdict.OK)

    # Decisions about branches.

    def _asked(self, branch: Branch) -> Asked | None:
        """What access rules are asked; `None`: it is the client's own, or no qpidd would ask."""
        client = self._client
        if branch.user == client.user() or not client.access.permits.hides:
            return None
        return Asked(Action.DECIDE, ObjectKind.BRANCH, branch.xid.text())

    def _refusal(self, branch: Branch) -> Refusal | None:
        asked = self._asked(branch)
        return None if asked is None else self._client.access.refusal(asked)

    def _hears_of(self, branch: Branch) -> bool:
        asked = self._asked(branch)
        return asked is None or self._client.access.may(asked)

    def _recover(self) -> Answer:
        values: list[object] = [
            close_struct(
                spec.Xid(format=xid.format, global_id=xid.global_id, branch_id=xid.branch_id)
            )
            for xid in [each.xid for each in self._branches.in_doubt() if self._hears_of(each)]
        ]
        WORK.units += (ELEMENT + ARGUMENT) * len(values)
        return spec.RecoverResult(in_doubt=Array(STRUCT32, values))

    def _set_timeout(self, branch: Branch, timeout_s: int) -> Answer:
        if timeout_s > TIMEOUT_MAX_S:
            text = f"a timeout is {TIMEOUT_MAX_S} seconds at most"
            return Refusal(Condition.INVALID_ARGUMENT, text)
        self._branches.set_timeout(branch, timeout_s)
        return None

    def _decide(self, branch: Branch, command: Outlining, command_id: int) -> Answer:
        state = branch.state
        if branch.sessions:
            return _illegal("a session works in the branch, or has suspended that")
        if state == State.PREPARING or state == State.ENDING:
            return BUSY
        decided = DECIDED.get(state)
        if isinstance(command, spec.DtxForget):
            if decided is None:
                return _illegal("no operator has decided about the branch")
            self._branches.forget(branch)
            return None
        if decided is not None:
            prepare = isinstance(command, spec.DtxPrepare)
            return _illegal("an operator has decided about it") if prepare else _result(decided)
        prepared = state == State.PREPARED
        if (
            isinstance(command, spec.DtxCommit)
            and command.one_phase == prepared
            and state != State.EXPIRED
        ):
            return _illegal("one-phase is for what was not prepared, and for nothing else")
        verdict = self._ask(branch, command, command_id)
        if verdict == Verdict.PENDING:
            self._parking.wait(command_id, command)
            return None
        return _result(verdict)

    def _ask(self, branch: Branch, command: Outlining, command_id: int) -> Verdict:
        if not isinstance(command, spec.DtxRollback) and self._is_withdrawn(branch):
            self._branches.doom(branch)
        if isinstance(command, spec.DtxPrepare):
            return self._branches.prepare(branch, self, command_id)
        if isinstance(command, spec.DtxCommit):
            return self._branches.commit(branch, self, command_id)
        return self._branches.rollback(branch, self, command_id)

    def _is_withdrawn(self, branch: Branch) -> bool:
        """Whether other rules are in force than when its work was done, and forbid it.

        Whoever has it prepared is asked, who may be another user than has published.
        """
        rules = self._client.access.permits.rules
        if branch.state != State.OPEN or branch.rules is rules:
            return False
        if commit_refusal(self._client, None, branch.transaction) is not None:
            return True
        branch.rules = rules
        return False


def _xid(given: spec.Xid) -> Xid:
    return Xid(given.format or 0, given.global_id or b"", given.branch_id or b"")


def _result(verdict: Verdict) -> Struct:
    return spec.XaResult(status=STATUS[verdict])


def _illegal(text: str) -> Refusal:
    return Refusal(Condition.ILLEGAL_STATE, text)


def _unknown(xid: Xid) -> Refusal:
    return Refusal(Condition.NOT_FOUND, f"there is no branch {xid.text()}")
