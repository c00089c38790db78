"""Branches of XA in every wrong order, by several sessions, over crashes: as the model has it.

After each step, everybody who looks into the queues sees what the model says, and at the end each
message is there once, or nowhere, and the ledger balances.
"""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from support.examples import examples
from support.qpidd_lines import xid
from support.talk_0_10 import Gateway
from support.xa_model import OUT, Copy, Model
from support.xa_talk import Talks

from gateway.bridge.branches.branch import Xid

WHO = st.sampled_from(["a", "b", "c"])
NAMES = st.sampled_from(["x", "x", "y", "x.1"])
QUEUES = ("durable", "passing", "small")
QUEUE = st.sampled_from(["durable", "durable", "passing", "small"])
SMALL = 3
ANYTHING: list[tuple[str, dict[str, bool]]] = [
    ("start", {}),
    ("end", {}),
    ("end", {"fail": True, "suspend": True}),
    ("prepare", {}),
    ("commit", {}),
    ("commit", {"one_phase": True}),
    ("rollback", {}),
    ("forget", {}),
]
DECISIONS = ("prepare", "prepare", "prepare", "commit", "rollback", "forget")
SELDOM = st.integers(0, 4).map(lambda number: number == 4)
PICK = st.integers(0, 100)
# A branch whose time is over is forgotten when nobody has asked for so long.
REMEMBERED_MS = 30 * 60 * 1000


class Script(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.gateway = Gateway()
        self.world = self.gateway.world
        self.model = Model(self.world.now_ms, {"small": SMALL})
        self.began_ms = self.world.now_ms
        self.talks = Talks(self.gateway)
        self.numbers: dict[int, int] = {}  # of deliveries, by the identity of their copy
        self.sent = 0
        self.world.queue("durable", durable=True)
        self.world.queue("passing")
        self.world.queue("small", durable=True, max_count=SMALL)

    def _same(self, who: str, verb: str, *arguments: object, **flags: bool) -> None:
        said = self.talks.says(who, verb, *arguments, **flags)  # type: ignore[arg-type]  # model's
        assert said == self.model.says(who, verb, *arguments, **flags)

    # Anything, in any order.

    @rule(who=WHO, name=NAMES, join=SELDOM, resume=SELDOM, seldom=SELDOM)
    def start(self, who: str, name: str, join: bool, resume: bool, seldom: bool) -> None:
        if not seldom:
            self._same(who, "select")
        self._same(who, "start", name, join=join, resume=resume)

    @rule(who=WHO, name=NAMES, said=st.sampled_from(ANYTHING))
    def anything(self, who: str, name: str, said: tuple[str, dict[str, bool]]) -> None:
        self._same(who, said[0], name, **said[1])

    @rule(who=WHO, name=NAMES, seconds=st.sampled_from([0, 5, 90, 3600, 3601]), seldom=SELDOM)
    def set_timeout(self, who: str, name: str, seconds: int, seldom: bool) -> None:
        if seldom or name in self.model.branches:
            self._same(who, "set_timeout", name, seconds)
            self._same(who, "get_timeout", name)

    # What a sensible client does, so that there is something to put out of order.

    @rule(
        who=WHO,
        name=NAMES,
        sends=st.lists(st.tuples(QUEUE, st.booleans()), min_size=1, max_size=2),
        takes=st.lists(QUEUE, max_size=2),
        stays=SELDOM,
    )
    def work(
        self,
        who: str,
        name: str,
        sends: list[tuple[str, bool]],
        takes: list[str],
        stays: bool,
    ) -> None:
        """In a branch of its own, or that of others."""
        self._same(who, "select")
        branch = self.model.branches.get(name)
        inside = self.model.talkers[who].branch
        if not inside:
            suspended = branch is not None and who in branch.suspended
            joins = branch is not None and not suspended
            self._same(who, "start", name, join=joins, resume=suspended)
        for queue, kept in sends:
            self.publish(who, queue, kept)
        for queue in takes:
            self.take(who, queue)
        for copy in self.model.out(who):
            self._settles(copy, "accept")
        inside = who in self.model.talkers and self.model.talkers[who].branch
        if inside and not stays:
            self._same(who, "end", inside)

    @precondition(lambda self: self._working())
    @rule(pick=PICK, fail=SELDOM, suspend=SELDOM)
    def end_its_own(self, pick: int, fail: bool, suspend: bool) -> None:
        working = self._working()
        who = working[pick % len(working)]
        self._same(who, "end", self.model.talkers[who].branch, fail=fail, suspend=suspend)

    def _working(self) -> list[str]:
        return sorted(who for who, each in self.model.talkers.items() if each.branch)

    @precondition(lambda self: self._idle())
    @rule(who=WHO, pick=PICK, verb=st.sampled_from(DECISIONS))
    def decide(self, who: str, pick: int, verb: str) -> None:
        idle = self._idle()
        name = idle[pick % len(idle)]
        branch = self.model.branches[name]
        if verb == "commit":
            self._same(who, "commit", name, one_phase=not branch.prepared)
        else:
            self._same(who, verb, name)
        self._same(who, "recover")

    def _idle(self) -> list[str]:
        branches = self.model.branches.items()
        return sorted(name for name, each in branches if not each.inside | each.suspended)

    @rule(who=WHO, queue=QUEUE, kept=st.booleans())
    def publish(self, who: str, queue: str, kept: bool) -> None:
        self.sent += 1
        body = str(self.sent)
        told = self.talks.publishes(who, body, queue, kept=kept)
        kept = kept and queue != "passing"
        assert told == self.model.says(who, "publish", body, queue, kept=kept)

    @rule(who=WHO, queue=QUEUE)
    def take(self, who: str, queue: str) -> None:
        came = self.talks.takes(who, queue)
        if came is None:
            assert not self.model.ready(queue)
            return
        copy = self.model.takes(who, came.body, queue)
        assert copy.again is None or copy.again == came.again
        self.numbers[id(copy)] = came.number

    def _out(self) -> list[Copy]:
        return [copy for copy in self.model.copies if copy.where == OUT]

    @precondition(lambda self: self._out())
    @rule(pick=PICK, verb=st.sampled_from(["accept", "accept", "accept", "release"]))
    def settle(self, pick: int, verb: str) -> None:
        out = self._out()
        self._settles(out[pick % len(out)], verb)

    def _settles(self, copy: Copy, verb: str) -> None:
        who = copy.of
        told = self.talks.settles(who, verb, self.numbers[id(copy)])
        assert told == self.model.says(who, verb, copy)

    @precondition(lambda self: self.talks.talks)
    @rule(who=WHO, seldom=SELDOM)
    def lose(self, who: str, seldom: bool) -> None:
        if seldom:
            self.leave(who)

    def leave(self, who: str) -> None:
        self.talks.leaves(who)
        self.model.leaves(who)

    @precondition(lambda self: self.world.now_ms < self.began_ms + REMEMBERED_MS // 2)
    @rule(seconds=st.sampled_from([1, 1, 6, 61]))
    def wait(self, seconds: int) -> None:
        self.world.pass_time(1000 * seconds)
        self.model.time_passes(1000 * seconds)

    @precondition(lambda self: self._prepared())
    @rule(pick=PICK, commit=st.booleans())
    def operator_decides(self, pick: int, commit: bool) -> None:
        prepared = self._prepared()
        name = prepared[pick % len(prepared)]
        assert self.model.operator_ends(name, commit=commit)
        branches = self.world.host.branches
        branches.decide(branches.by_xid[called(name)], commit=commit)
        self.world.turn()

    def _prepared(self) -> list[str]:
        return sorted(name for name, each in self.model.branches.items() if each.prepared)

    @precondition(lambda self: self.model.branches)
    @rule(in_order=st.booleans(), seldom=SELDOM)
    def start_again(self, in_order: bool, seldom: bool) -> None:
        if not seldom:
            return
        if in_order:
            for who in list(self.talks.talks):
                self.talks.leaves(who)
            self.world.restart()
        else:
            self.talks.talks.clear()
            self.world.crash()
        self.model.crashes("passing")
        self.world.queue("passing")

    @invariant()
    def who_looks_sees_what_is_there(self) -> None:
        for queue in QUEUES:
            seen = sorted(self.talks.browses(queue))
            assert seen == sorted(copy.body for copy in self.model.ready(queue))

    def teardown(self) -> None:
        """Somebody ends all branches: nothing is in doubt then, and nothing left."""
        for who in ("a", "b", "c"):
            self.leave(who)
        for name, branch in sorted(self.model.branches.items()):
            if branch.by_hand:
                self._same("a", "forget", name)
            else:
                self._same("a", "commit" if branch.prepared and len(name) > 1 else "rollback", name)
        self._same("a", "recover")
        assert not self.world.host.branches.by_xid
        self.who_looks_sees_what_is_there()
        for queue in QUEUES:
            while self.model.ready(queue):
                self.take("a", queue)
        while self._out():
            self.settle(0, "accept")
        assert [self.world.depth(queue) for queue in QUEUES] == [0, 0, 0]
        self.world.check()


def called(name: str) -> Xid:
    """The bridge's form of a branch's name."""
    branch = xid(name)
    return Xid(branch.format or 0, branch.global_id or b"", branch.branch_id or b"")


TestAnyBranch = Script.TestCase
TestAnyBranch.settings = settings(max_examples=examples(40), stateful_step_count=40, deadline=None)
