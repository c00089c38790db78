"""Kills a gateway at every step of XA branches, and proves that none is ever half done.

    PYTHONPATH=$PWD/tests:$PWD python tests/faults/xa_kill.py --kills 200 --results FILE [--seed 1]

A branch takes messages of one queue and sends others to two, to a ring, and to a queue at another
gateway, into a spool in front of it; it is committed or rolled back, in one phase or two. In each
life some branches go all the way, then each session stops at a step of its own, most of them while
the answer is under way; then kill -9. After the restart, what `recover` names and what is in the
queues says of each branch that it is done, undone or in doubt, all of it:

* what was prepared for sure is in doubt until it is asked to end, however often the gateway dies;
* what was told to be committed is done, and what was told to be rolled back is undone;
* where the answer was under way it is one or the other, and stays so;
* what an operator has ended is so, and `recover` names it until its manager has forgotten it;
* each message is in one place, and what was out comes again as redelivered;
* the ring has as many as it holds of those that branches have sent that are done, the last of each;
* once the spool is empty the other gateway has all that those branches have sent to it, and nothing
  of branches that nobody has told to be committed.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from faults.kill import text_of
from faults.runs import play
from faults.xa_behind import Behind, browsed
from faults.xa_branches import DONE, HELD, RING, SOURCE, SPOOLED, TARGETS, UNDONE, Branch, Knowledge
from support.gateway_process import GatewayProcess
from support.lines import Lines
from support.qpidd_lines import in_doubt, result_in_words, xid
from support.verbs import amqp_gateway

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import INT64, STR16
from gateway.audit.verify import verify
from gateway.clients.client import Subscription
from gateway.clients.client_0_10 import Client010, Delivered010
from gateway.clients.letter import Letter, Typed
from gateway.wire.tagged import Tagged

RING_ARGUMENTS = [
    ("qpid.policy_type", Tagged(STR16, "ring")),
    ("qpid.max_count", Tagged(INT64, HELD)),
]
IN_SPOOL = 'gateway_upstream_spooled_messages{upstream="behind"}'
KILLS_A_RUN = 4
LARGE = 300  # messages for each target: it is prepared, and ended, over several turns
SESSIONS, STOCK = 12, 120
DECISIVE = ("prepare", "commit", "commit in one phase")
ENDS = ("commit", "commit in one phase", "rollback")
WORK = ("start", "take", "accept", "send", "end")
KINDS = {
    "in two phases": (*WORK, "prepare", "commit"),
    "in two phases, rolled back": (*WORK, "prepare", "rollback"),
    "in one phase": (*WORK, "commit in one phase"),
    "rolled back": (*WORK, "rollback"),
}


class Worker:
    """A session, and the branch that it works in."""

    def __init__(self, lines: Lines, knowledge: Knowledge, chance: random.Random) -> None:
        self.lines = lines
        self.knowledge = knowledge
        self.chance = chance
        self.client: Client010 = lines.connect_0_10()
        self.had: list[Delivered010] = []
        self.branch = Branch("")
        lines.wait_for(self.client.command(spec.DtxSelect()))
        subscription = Subscription(SOURCE, credit=3)
        lines.wait_for(self.client.receive(subscription, self._take))

    def _take(self, delivered: Any) -> None:  # Any: what this client delivers
        self.knowledge.seen.add(text_of(delivered.letter))
        self.had.append(delivered)

    def begins(self, name: str) -> None:
        """Another branch."""
        self.branch = Branch(name)
        self.knowledge.branches.append(self.branch)

    def does(self, step: str) -> None:
        """A step, until it is told to be done."""
        for waits in self.asks(step):
            self.lines.wait_for(waits)
        self.branch.is_told(step)
        if step in ENDS:
            self.knowledge.is_over(self.branch)

    def asks(self, step: str) -> list[Any]:  # Any: Deferreds of anything
        """A step; what tells that it is done."""
        self.branch.asks(step)
        if step in ("accept", "take", "send"):
            own: Callable[[], list[Any]] = getattr(self, f"_{step}s")
            return own()
        commands = {
            "start": spec.DtxStart,
            "end": spec.DtxEnd,
            "prepare": spec.DtxPrepare,
            "commit": spec.DtxCommit,
            "commit in one phase": spec.DtxCommit,
            "rollback": spec.DtxRollback,
        }
        fields: dict[str, object] = {"xid": xid(self.branch.name)}
        if step == "commit in one phase":
            fields["one_phase"] = True
        asked = self.client.query(commands[step](**fields))
        asked.addCallback(must_be_ok)
        return [asked]

    def _takes(self) -> list[Any]:
        wanted = self.chance.randrange(1, 3)
        self.lines.run_until(lambda: len(self.had) >= wanted)
        return []

    def _accepts(self) -> list[Any]:
        ids = [(each._command_id, each._command_id) for each in self.had]
        self.branch.takes = [text_of(each.letter) for each in self.had]
        for each in self.had:
            self.client.complete(each._command_id)
        self.had = []
        return [self.client.command(spec.MessageAccept(transfers=ids))]

    def _sends(self) -> list[Any]:
        waits = []
        large = self.chance.random() < 0.1
        for queue in (*TARGETS, RING, SPOOLED):
            for number in range(LARGE if large else self.chance.randrange(1, 4)):
                text = f"{self.branch.name}.{number}"
                self.branch.sends.append((queue, text))
                waits.append(self.client.send(queue, durable(text)))
        return waits


def durable(text: str) -> Letter:
    return Letter(body=Typed("string", text), durable=True)


def must_be_ok(result: Any) -> None:  # Any: a struct
    status = result_in_words(result)
    assert status == "xa-ok", status


class Life:
    """One start of the gateway, in which branches are worked at until it dies."""

    def __init__(
        self,
        gateway: GatewayProcess,
        behind: Behind,
        knowledge: Knowledge,
        chance: random.Random,
        name: str,
    ) -> None:
        self.gateway = gateway.start()
        self.behind = behind
        self.knowledge = knowledge
        self.chance = chance
        self.name = name
        self.branches = 0
        self.lines = Lines(self.gateway.amqp_port)
        self.manager = self.lines.connect_0_10()

    def looks(self) -> None:
        """What recover says, and what is in the queues."""
        found: list[tuple[str, Letter]] = []
        self.lines.wait_for(self.manager.declare_queue(SPOOLED, durable=True))
        for queue in (SOURCE, *TARGETS, RING):
            arguments = RING_ARGUMENTS if queue == RING else None
            declare = spec.QueueDeclare(queue=queue, durable=True, arguments=arguments)
            self.lines.wait_for(self.manager.command(declare))
            found += [(queue, letter) for letter in browsed(self.lines, self.manager, queue)]
        doubtful = in_doubt(self.lines.wait_for(self.manager.query(spec.DtxRecover())))
        self.knowledge.check(found, doubtful)
        while self.gateway.metrics()[IN_SPOOL]:
            self.lines.turn(0.01)
        self.knowledge.check_behind(self.behind.texts())

    def ends_what_is_in_doubt(self, *, all_of_it: bool) -> None:
        """The manager decides, or an operator, or it is left to the next life."""
        for name, state in list(self.knowledge.by_hand.items()):
            self._hears_of(name, state)
        for branch in list(self.knowledge.branches):
            left = not all_of_it and self.chance.random() < 0.4
            if left:
                continue
            branch.decision = branch.decision or self.chance.choice(["commit", "rollback"])
            if not all_of_it and self.chance.random() < 0.4:
                self._ends_by_hand(branch)
            else:
                must_be_ok(self.lines.wait_for(self.manager.query(self._ending(branch))))
            branch.may_be = {DONE if branch.decision == "commit" else UNDONE}
            self.knowledge.is_over(branch)

    def _ending(self, branch: Branch) -> spec.DtxCommit | spec.DtxRollback:
        command = spec.DtxCommit if branch.decision == "commit" else spec.DtxRollback
        return command(xid=xid(branch.name))

    def _ends_by_hand(self, branch: Branch) -> None:
        address = f"http://127.0.0.1:{self.gateway.admin_port}"
        token = self.gateway.config["admin_token_file"]
        given = ("ctl", "--admin", address, "--token-file", token)
        name = f"1.{branch.name.encode().hex()}."
        told = amqp_gateway(*given, "decide", name, branch.decision)
        assert told.exit_code == 0, told.output
        state = "xa-heurcom" if branch.decision == "commit" else "xa-heurrb"
        self.knowledge.by_hand[branch.name] = state

    def _hears_of(self, name: str, state: str) -> None:
        """The manager asks for another end than the operator's, is told, and forgets."""
        command = spec.DtxRollback if state == "xa-heurcom" else spec.DtxCommit
        asked = self.lines.wait_for(self.manager.query(command(xid=xid(name))))
        assert result_in_words(asked) == state
        self.lines.wait_for(self.manager.command(spec.DtxForget(xid=xid(name))))
        del self.knowledge.by_hand[name]

    def fills(self) -> None:
        """The source has enough."""
        there = sum(self.knowledge.there[key] for key in self.knowledge.there if key[0] == SOURCE)
        texts = [f"{self.name}.{number}" for number in range(STOCK - there)]
        for sent in [self.manager.send(SOURCE, durable(text)) for text in texts]:
            self.lines.wait_for(sent)
        self.knowledge.there.update((SOURCE, text) for text in texts)

    def works(self, sessions: int) -> None:
        """Branches that go all the way, then of each session one that stops, and the kill."""
        workers = [Worker(self.lines, self.knowledge, self.chance) for _ in range(sessions)]
        last = []
        for worker in workers:
            for _ in range(self.chance.randrange(3)):
                for step in self._begins(worker):
                    worker.does(step)
            steps = self._begins(worker)
            decisive = [at for at, step in enumerate(steps) if step in DECISIVE]
            at = self.chance.choice([*range(len(steps)), *decisive * 5])
            for step in steps[:at]:
                worker.does(step)
            last.append((worker, steps[at]))
        for worker, step in last:
            worker.does(step) if self.chance.random() < 0.2 else worker.asks(step)
        for _ in range(self.chance.randrange(6)):
            self.lines.turn(self.chance.random() / 20)

    def _begins(self, worker: Worker) -> tuple[str, ...]:
        self.branches += 1
        worker.begins(f"{self.name}-{self.branches}")
        return KINDS[self.chance.choice(list(KINDS))]


def campaign(directory: Path, kills: int, seed: int) -> str:
    """So many lives on one directory; what was proved, in a line."""
    behind = Behind(directory / "behind")
    try:
        told = lives(directory, kills, seed, behind)
    finally:
        behind.stop()
    return told


def lives(directory: Path, kills: int, seed: int, behind: Behind) -> str:
    """The same, with what is behind there."""
    chance = random.Random(seed)
    knowledge = Knowledge()
    token = directory / "token"
    token.write_text("secret\n")
    gateway = GatewayProcess(directory, {"admin_token_file": str(token), **behind.config()})
    for number in range(1, kills + 1):
        life = Life(gateway, behind, knowledge, chance, str(number))
        try:
            life.looks()
            life.ends_what_is_in_doubt(all_of_it=False)
            life.fills()
            life.works(chance.choice([0, SESSIONS, SESSIONS]))
        finally:
            life.gateway.kill()
            life.lines.hang_up()
    last = Life(gateway, behind, knowledge, chance, "last")
    try:
        last.looks()
        last.ends_what_is_in_doubt(all_of_it=True)
        last.looks()
        assert not knowledge.branches and not knowledge.by_hand
    finally:
        last.lines.hang_up()
        code = gateway.stop()
    assert code == 0, f"exit code {code}"
    damage = verify(gateway.audit).damages
    assert not damage, [str(one) for one in damage]
    ends = ", ".join(f"{count} {state}" for state, count in sorted(knowledge.ends.items()))
    return f"{kills} kills: branches found {ends}"


if __name__ == "__main__":
    sys.exit(play(__doc__, "xa-kills", KILLS_A_RUN, campaign))
