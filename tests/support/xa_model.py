"""Branches of XA as the specification and our documents have them, without any gateway.

A `Model` is told what each session says, and says what the answer is, and where every message is
then: ready in its queue, out with a session, held by a branch, or gone. It knows no order of
messages; who takes one tells which. A rule that an exception broke ends the session.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

DEFAULT_S, LONGEST_S = 60, 3600
OK, READ_ONLY = "xa-ok", "xa-rdonly"
ROLLED_BACK, TOO_LATE = "xa-rbrollback", "xa-rbtimeout"
COMMITTED_BY_HAND, ROLLED_BACK_BY_HAND = "xa-heurcom", "xa-heurrb"
READY, OUT, PUBLISHED, ACCEPTED, GONE = "ready", "out", "published", "accepted", "gone"


class RefusedError(Exception):
    """The session ends with this code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


@dataclass(eq=False)
class Copy:
    """A message, which goes to one queue.

    Attributes:
        of: the session that it is out with, or the branch that holds it.
        by: the session that has accepted it in the branch, and is in it still.
        again: whether whoever takes it must see that it was out before; `None`: it may.
        kept: the store has it.
    """

    body: str
    queue: str
    where: str
    of: str = ""
    by: str = ""
    again: bool | None = False
    kept: bool = True

    def goes(self, where: str, of: str = "", by: str = "") -> None:
        self.where, self.of, self.by = where, of, by


@dataclass(eq=False)
class Branch:
    """One branch that has been started and is not forgotten.

    Attributes:
        inside, suspended: sessions that are associated with it.
        doomed: what its commit and prepare are answered, as it was rolled back.
        by_hand: what an operator has made of it.
        until_ms: when it is ended if nobody has prepared it.
    """

    until_ms: int
    timeout_s: int = DEFAULT_S
    inside: set[str] = field(default_factory=set)
    suspended: set[str] = field(default_factory=set)
    doomed: str = ""
    prepared: bool = False
    by_hand: str = ""


@dataclass(eq=False)
class Talker:
    """A session: whether it has selected, and the branch that it is in."""

    selected: bool = False
    branch: str = ""


class Model:
    """Sessions, branches and messages of one virtual host.

    Args:
        limits: of queues that take no more messages than that.
    """

    def __init__(self, now_ms: int = 0, limits: dict[str, int] | None = None) -> None:
        self.now_ms = now_ms
        self.limits = limits or {}
        self.talkers: dict[str, Talker] = {}
        self.branches: dict[str, Branch] = {}
        self.copies: list[Copy] = []

    # What sessions say.

    def says(self, who: str, verb: str, *arguments: object, **flags: object) -> str:
        """The answer: a status, a result in words, "ok", or the code of an exception."""
        said: Callable[..., str] = getattr(self, f"_{verb}")
        try:
            return said(who, *arguments, **flags)
        except RefusedError as refused:
            self.leaves(who)
            return str(refused.code)

    def leaves(self, who: str) -> None:
        """Its session ends: what it has goes back, and its branches are rolled back."""
        self.talkers.pop(who, None)
        for copy in self.out(who):
            self._goes_back(copy)
        for name, branch in self.branches.items():
            if who in branch.inside | branch.suspended:
                branch.inside.discard(who)
                branch.suspended.discard(who)
                self._dooms(name, ROLLED_BACK)

    def out(self, who: str) -> list[Copy]:
        """What the session has been sent and has not settled."""
        return [copy for copy in self.copies if (copy.where, copy.of) == (OUT, who)]

    def ready(self, queue: str) -> list[Copy]:
        """What whoever looks into the queue sees."""
        return [copy for copy in self.copies if (copy.where, copy.queue) == (READY, queue)]

    def held(self, name: str) -> list[Copy]:
        """What the branch holds: publishes and accepts."""
        held = (PUBLISHED, ACCEPTED)
        return [copy for copy in self.copies if copy.where in held and copy.of == name]

    def _talker(self, who: str) -> Talker:
        return self.talkers.setdefault(who, Talker())

    def _publish(self, who: str, body: str, queue: str, *, kept: bool = True) -> str:
        branch = self._talker(who).branch
        _must(self._room_in(queue) > 0, 506)
        copy = Copy(body, queue, READY, kept=kept)
        self.copies.append(copy)
        if branch:
            copy.goes(GONE if self.branches[branch].doomed else PUBLISHED, branch)
        return "ok"

    def takes(self, who: str, body: str, queue: str) -> Copy:
        """It was sent a message, which must have been ready."""
        [copy] = [each for each in self.ready(queue) if each.body == body]
        copy.goes(OUT, who)
        return copy

    def _accept(self, who: str, copy: Copy) -> str:
        branch = self._talker(who).branch
        copy.goes(ACCEPTED, branch, who) if branch else copy.goes(GONE)
        return "ok"

    def _release(self, who: str, copy: Copy) -> str:
        copy.goes(READY)
        copy.again = copy.again or None
        return "ok"

    # Demarcation.

    def _select(self, who: str) -> str:
        self._talker(who).selected = True
        return "ok"

    def _start(self, who: str, name: str, *, join: bool = False, resume: bool = False) -> str:
        talker = self._talker(who)
        _must(talker.selected, 409)
        _must(not (join and resume), 530)
        _must(not talker.branch, 409)
        if not join and not resume:
            _must(name not in self.branches, 530)
            self.branches[name] = Branch(self.now_ms + DEFAULT_S * 1000)
        branch = self._known(name)
        _must(not branch.prepared and not branch.by_hand, 409)
        _must((who in branch.suspended) == resume, 409)
        branch.suspended.discard(who)
        if branch.doomed == TOO_LATE:
            return TOO_LATE
        branch.inside.add(who)
        talker.branch = name
        return OK

    def _end(self, who: str, name: str, *, fail: bool = False, suspend: bool = False) -> str:
        talker = self._talker(who)
        _must(talker.selected, 409)
        _must(not (fail and suspend), 530)
        _must(bool(talker.branch) and talker.branch == name, 409)
        branch = self.branches[name]
        branch.inside.discard(who)
        talker.branch = ""
        for copy in self.held(name):
            copy.by = "" if copy.by == who else copy.by
        if suspend and branch.doomed != TOO_LATE:
            branch.suspended.add(who)
        elif fail or branch.doomed:
            self._dooms(name, ROLLED_BACK)
        return TOO_LATE if branch.doomed == TOO_LATE else ROLLED_BACK if fail else OK

    # Coordination.

    def _prepare(self, who: str, name: str) -> str:
        branch = self._idle(name)
        _must(not branch.by_hand, 409)
        if branch.prepared:
            return OK
        if branch.doomed == TOO_LATE:
            return self._forgets(name, TOO_LATE)
        if branch.doomed:
            self._rolls_back(name)
            return ROLLED_BACK
        if not self.held(name):
            return self._forgets(name, READ_ONLY)
        if not self._has_room(name):
            self._dooms(name, ROLLED_BACK)
            return ROLLED_BACK
        branch.prepared = True
        return OK

    def _commit(self, who: str, name: str, *, one_phase: bool = False) -> str:
        branch = self._idle(name)
        if branch.by_hand:
            return branch.by_hand
        _must(branch.prepared != one_phase or branch.doomed == TOO_LATE, 409)
        if not branch.prepared and not branch.doomed and not self._has_room(name):
            branch.doomed = ROLLED_BACK
        if branch.doomed:
            self._rolls_back(name)
            return self._forgets(name, branch.doomed)
        self._commits(name)
        return self._forgets(name, OK)

    def _rollback(self, who: str, name: str) -> str:
        branch = self._idle(name)
        if branch.by_hand:
            return branch.by_hand
        self._rolls_back(name)
        return self._forgets(name, branch.doomed if branch.doomed == TOO_LATE else OK)

    def _forget(self, who: str, name: str) -> str:
        _must(bool(self._idle(name).by_hand), 409)
        return self._forgets(name, "ok")

    def _recover(self, who: str) -> str:
        doubtful = [name for name, each in self.branches.items() if each.prepared or each.by_hand]
        return f"in doubt: {', '.join(sorted(doubtful)) or 'none'}"

    def _get_timeout(self, who: str, name: str) -> str:
        return f"timeout {self._known(name).timeout_s}"

    def _set_timeout(self, who: str, name: str, seconds: int) -> str:
        branch = self._known(name)
        _must(seconds <= LONGEST_S, 542)
        branch.timeout_s = seconds or DEFAULT_S
        branch.until_ms = self.now_ms + branch.timeout_s * 1000
        return "ok"

    def _known(self, name: str) -> Branch:
        _must(name in self.branches, 404)
        return self.branches[name]

    def _idle(self, name: str) -> Branch:
        branch = self._known(name)
        _must(not branch.inside and not branch.suspended, 409)
        return branch

    def _has_room(self, name: str) -> bool:
        """All that it publishes can enter: what it accepts is there until then."""
        enters = Counter(copy.queue for copy in self.held(name) if copy.where == PUBLISHED)
        return all(count <= self._room_in(queue) for queue, count in enters.items())

    def _room_in(self, queue: str) -> int:
        """How many it takes beside what is in it, and what prepared branches are to publish."""
        if queue not in self.limits:
            return len(self.copies) + 1
        there = [copy for copy in self.copies if copy.queue == queue and copy.where != GONE]
        prepared = {name for name, branch in self.branches.items() if branch.prepared}
        return self.limits[queue] - sum(
            copy.where != PUBLISHED or copy.of in prepared for copy in there
        )

    # What happens without them.

    def time_passes(self, ms: int) -> None:
        self.now_ms += ms
        for name, branch in self.branches.items():
            ends = not branch.prepared and not branch.by_hand
            if ends and branch.until_ms <= self.now_ms:
                branch.doomed = TOO_LATE
                self._dooms(name, TOO_LATE)

    def operator_ends(self, name: str, *, commit: bool) -> bool:
        """By hand, which can be done with what is prepared."""
        branch = self.branches.get(name)
        if branch is None or not branch.prepared or branch.by_hand:
            return False
        self._commits(name) if commit else self._rolls_back(name)
        branch.by_hand = COMMITTED_BY_HAND if commit else ROLLED_BACK_BY_HAND
        branch.prepared = False
        return True

    def crashes(self, *lost_queues: str) -> None:
        """And starts again: of branches those are there that were prepared.

        What was not out may seem to have been, as after any kill.
        """
        for who in self.talkers.keys() | {copy.of for copy in self.copies if copy.where == OUT}:
            self.leaves(who)
        for name, branch in list(self.branches.items()):
            if not branch.prepared and not branch.by_hand:
                self._rolls_back(name)
                del self.branches[name]
        for copy in self.copies:
            copy.again = copy.again or None
            if copy.queue in lost_queues or not copy.kept:
                copy.goes(GONE)

    def _dooms(self, name: str, why: str) -> None:
        """What a session in it has accepted goes back when that leaves it."""
        branch = self.branches[name]
        branch.doomed = branch.doomed or why
        self._rolls_back(name, *branch.inside)

    def _forgets(self, name: str, answer: str) -> str:
        del self.branches[name]
        return answer

    def _commits(self, name: str) -> None:
        for copy in self.held(name):
            copy.goes(READY if copy.where == PUBLISHED else GONE)

    def _rolls_back(self, name: str, *but_of: str) -> None:
        for copy in self.held(name):
            if copy.where == PUBLISHED:
                copy.goes(GONE)
            elif copy.by not in but_of:
                self._goes_back(copy)

    def _goes_back(self, copy: Copy) -> None:
        copy.goes(READY)
        copy.again = True


def _must(so: bool, code: int) -> None:
    if not so:
        raise RefusedError(code)
