"""What is known of branches of XA whose gateway is killed, and of the queues they work with."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from faults.kill import text_of

from gateway.clients.letter import Letter

SOURCE, TARGETS = "source", ("target-a", "target-b")
RING, SPOOLED = "ring", "spooled"
HELD = 100  # by the ring
DONE, UNDONE, DOUBT = "done", "undone", "in doubt"
# What a branch may be after its steps so far, where the last one is told to be done, and where not.
SURE = {"prepare": {DOUBT}, "commit": {DONE}, "commit in one phase": {DONE}}
UNSURE = {
    "prepare": {DOUBT, UNDONE},
    "commit": {DOUBT, DONE},
    "commit in one phase": {UNDONE, DONE},
}


@dataclass
class Branch:
    """One branch: what it takes and sends, and what it may be now.

    Attributes:
        decision: the verb that its manager has sent, or will.
    """

    name: str
    takes: list[str] = field(default_factory=list)
    sends: list[tuple[str, str]] = field(default_factory=list)
    may_be: set[str] = field(default_factory=lambda: {UNDONE})
    decision: str = ""

    def asks(self, step: str) -> None:
        """It may have been done, or not."""
        if step == "rollback":
            self.may_be = {DOUBT, UNDONE} if DOUBT in self.may_be else {UNDONE}
        else:
            self.may_be = UNSURE.get(step, {UNDONE})
        if step in ("commit", "rollback"):
            self.decision = step

    def is_told(self, step: str) -> None:
        """It has been done."""
        self.may_be = SURE.get(step, {UNDONE})


class Knowledge:
    """What is known of the branches and of the queues.

    Attributes:
        there: what is in the queues, if all branches that are not over are undone.
        seen: what a session has been sent.
        branches: those that are not over.
        by_hand: what an operator has made of those that are over and not forgotten.
        done: for the ring and the queue with a spool, what each branch that is done has sent.
        unheard: what went into the spool by branches that were told to commit, and whose answer
            nobody heard: it goes out in the turn of the commit, before that is on disk.
        ends: how many were found to be what, after a kill.
    """

    def __init__(self) -> None:
        self.there: Counter[tuple[str, str]] = Counter()
        self.seen: set[str] = set()
        self.branches: list[Branch] = []
        self.by_hand: dict[str, str] = {}
        self.done: dict[str, list[list[str]]] = {RING: [], SPOOLED: []}
        self.unheard: set[str] = set()
        self.ends: Counter[str] = Counter()

    def check(self, found: list[tuple[str, Letter]], doubtful: list[str]) -> None:
        """After a restart: every branch is one thing, and nothing else is lost or there twice."""
        queues = Counter((queue, text_of(letter)) for queue, letter in found if queue != RING)
        known = {branch.name for branch in self.branches} | set(self.by_hand)
        assert set(doubtful) <= known, f"nobody prepared {set(doubtful) - known}"
        assert set(self.by_hand) <= set(doubtful), f"forgotten: {set(self.by_hand) - set(doubtful)}"
        for branch in list(self.branches):
            if DONE in branch.may_be:
                self.unheard.update(text for into, text in branch.sends if into == SPOOLED)
            branch.may_be = {self._look(branch, queues, branch.name in doubtful)}
            self.is_over(branch)
        held = Counter((SOURCE, text) for branch in self.branches for text in branch.takes)
        there = self.there - held
        assert queues == there, f"{queues - there} too much, {there - queues} lost"
        unmarked = [
            text_of(letter)
            for _, letter in found
            if text_of(letter) in self.seen and not letter.redelivered
        ]
        assert not unmarked, f"not marked as redelivered: {unmarked[:5]}"
        self._check_ring([text_of(letter) for queue, letter in found if queue == RING])

    def _check_ring(self, found: list[str]) -> None:
        """It has the last ones; only of the one that it lets go now is a part there."""
        assert len(found) == len(set(found)), "twice in the ring"
        all_sent = sum(map(len, self.done[RING]))
        assert len(found) == min(HELD, all_sent), f"{len(found)} in the ring, of {all_sent}"
        parts = [[text for text in sent if text in set(found)] for sent in self.done[RING]]
        assert sum(map(len, parts)) == len(found), "in the ring is what nobody has committed"
        for sent, part in zip(self.done[RING], parts, strict=True):
            assert part == sent[len(sent) - len(part) :], f"{part} are not the last of {sent}"

    def check_behind(self, found: list[str]) -> None:
        """What has come out of the spool, some of it again after a kill."""
        sent = {text for texts in self.done[SPOOLED] for text in texts}
        assert set(found) >= sent, f"{sent - set(found)} lost"
        assert set(found) <= sent | self.unheard, f"{set(found) - sent - self.unheard} too much"

    def _look(self, branch: Branch, queues: Counter[tuple[str, str]], doubtful: bool) -> str:
        takes = [queues[SOURCE, text] for text in branch.takes]
        sends = [queues[sent] for sent in branch.sends if sent[0] in TARGETS]
        is_so = {
            DONE: not any(takes) and all(sends),
            UNDONE: all(takes) and not any(sends),
            DOUBT: doubtful and not any(takes) and not any(sends),
        }
        told = f"{branch}: {takes} of what it takes are there, {sends} of what it sends"
        assert any(is_so.values()), f"half done: {told}"
        found = [state for state in is_so if is_so[state] and state in branch.may_be]
        assert found and doubtful == (found == [DOUBT]), f"{found}: {told}"
        self.ends[found[0]] += 1
        return found[0]

    def is_over(self, branch: Branch) -> None:
        """If it is known to be done or undone, nothing will change that."""
        if branch.may_be == {DONE}:
            self.there.subtract((SOURCE, text) for text in branch.takes)
            self.there.update(sent for sent in branch.sends if sent[0] in TARGETS)
            self.there = +self.there
            for queue, sent in self.done.items():
                sent.append([text for into, text in branch.sends if into == queue])
        if branch.may_be != {DOUBT}:
            self.branches.remove(branch)
