"""Logs packed by hand of a gateway that keeps whole books, and one record of them that is harmed.

What is in queues, with outlets and on its way is kept here by the words of the contract, and each
checkpoint says it; a harm comes between that and the log. So a record that is missing or another
one is in no checkpoint, as where a disk or an editor has changed it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from support.hand_log import HandLog

from gateway.audit.schema import BODIED, Kind

Said = dict[str, object]
BRANCH: Final = "branch "  # so begins the name of a shelf
RENUMBERED: Final = 500  # a branch that comes back is another transaction
# What becomes of a record: another one, or none (`None`). It may stand there twice (`TWICE`),
# behind a later one (`BEHIND`: its kind, and what it says), or one that is made up (`FRONT`).
Harm = Callable[[str, Said], Said | None]
TWICE: Final = "twice"
BEHIND: Final = "behind"
FRONT: Final = "front"


def as_it_is(_kind: str, said: Said) -> Said:
    """No harm."""
    return said


@dataclass
class Branch:
    """Of a distributed transaction: what it publishes, and what it accepts."""

    number: int
    publishes: list[tuple[int, str]]
    accepts: list[tuple[str, int]]


class WholeLog(HandLog):
    """A gateway, step by step; each copy's position is its message's number.

    Attributes:
        harm: what becomes of each record.
        length: of a segment, in records; 0: it has all of its run.
    """

    def __init__(self, directory: Path, harm: Harm = as_it_is, length: int = 0) -> None:
        super().__init__(directory)
        self.harm = harm
        self.length = length
        self.held: dict[str, dict[int, str]] = defaultdict(dict)  # message -> "DURABLE" or ""
        self.late: list[tuple[str, Said, str, Said]] = []  # records, each behind which it is to be
        self.branches: dict[str, Branch] = {}  # those that are prepared
        self.bodies: dict[int, int] = {}  # digests, of messages that have a body
        self._forget()

    def _forget(self) -> None:
        self.entered: Counter[str] = Counter()
        self.routed: Counter[str] = Counter()
        self.pending: Counter[str] = Counter()
        self.sent: Counter[int] = Counter()
        self.out: dict[tuple[str, int], int] = {}  # by queue and message, the outlet that has it
        self.leads: dict[int, str] = {}
        self.untold: dict[int, list[int]] = defaultdict(list)

    def add(self, kind: str, **said: object) -> int:
        """One record, unless it is harmed so that there is none."""
        harmed = self.harm(kind, said)
        if harmed is None:
            return self.sequence
        harmed, twice = dict(harmed), TWICE in harmed
        harmed.pop(TWICE, None)
        behind, front = harmed.pop(BEHIND, None), harmed.pop(FRONT, None)
        if behind is not None:
            self.late.append((*behind, kind, harmed))
            return self.sequence
        if front is not None:
            self._write(*front)
        for _ in range(1 + twice):
            self._write(kind, harmed)
        for each in [each for each in self.late if each[0] == kind]:
            if each[1].items() <= said.items():
                self.late.remove(each)
                self._write(*each[2:])
        return self.sequence

    def _write(self, kind: str, said: Said) -> None:
        if self.length and len(self.rows) >= self.length:
            self.cut()
        super().add(kind, **said)

    def begin(self) -> None:
        """A run, which recovers what is durable."""
        self.start()
        self._forget()
        for queue, copies in self.held.items():
            self.held[queue] = {each: flags for each, flags in copies.items() if flags}
            if not queue.startswith(BRANCH):
                self.declare(queue)
            for message, flags in self.held[queue].items():
                self.step("RECOVERED", queue, message, flags=flags)
        for name, branch in self.branches.items():
            branch.number += self.run * RENUMBERED
            self.branch("RECOVERED", name)
            for queue, message in branch.accepts:
                self.send(queue, message, branch.number, body_digest=0)
        self.say()

    def stop(self) -> None:
        """The run ends in order."""
        self.say()
        self.end()

    def declare(self, queue: str) -> None:
        """A queue is there, by name."""
        self.add("TOPOLOGY", node=queue, reason="QUEUE_DECLARED")
        self.held[queue] = self.held[queue]

    def step(self, kind: str, queue: str, message: int, **said: object) -> None:
        """One of a copy."""
        if Kind[kind] in BODIED:
            said = {"body_digest": self.bodies.get(message, 0)} | said
        self.add(kind, message=message, position=message, node=queue, **said)

    def publish(
        self,
        message: int,
        *queues: str,
        link: int,
        flags: str = "",
        transaction: int = 0,
        hears: bool = True,
    ) -> None:
        """A message comes by the exchange that is called as its first queue, and enters them."""
        exchange = queues[0]
        said = {"link": link, "flags": flags, "transaction": transaction}
        said["body_digest"] = self.bodies.get(message, 0)
        self.add("RECEIVED", message=message, exchange=exchange, copies=len(queues), **said)
        self.routed[exchange] += len(queues)
        for queue in queues:
            self.enter(message, queue, exchange, flags, transaction)
        if hears:
            self.untold[link].append(message)

    def enter(
        self, message: int, queue: str, exchange: str, flags: str = "", transaction: int = 0
    ) -> None:
        """A copy is in its queue."""
        said = {"exchange": exchange, "flags": flags, "transaction": transaction}
        self.step("ENTERED", queue, message, **said)
        self.held[queue][message] = "DURABLE" if "DURABLE" in flags else ""
        self.entered[queue] += 1

    def publish_in_vain(self, message: int, queue: str, link: int, transaction: int) -> None:
        """A message comes in a transaction, which is rolled back."""
        said = {"exchange": queue, "transaction": transaction}
        self.add("RECEIVED", message=message, copies=1, link=link, **said)
        self.routed[queue] += 1
        self.add("ROLLED_BACK", message=message, node=queue, **said)
        self.add("TRANSACTION", outcome="ROLLED_BACK", transaction=transaction)

    def tell(self, link: int) -> None:
        """A publisher hears of all that it has not heard of."""
        told = self.untold.pop(link)
        said = {"first": told[0], "last": told[-1], "messages": len(told), "link": link}
        self.add("CONFIRMED", outcome="ACCEPTED", **said)

    def send(self, queue: str, message: int, link: int, **said: object) -> None:
        """An outlet has it."""
        self.step("SENT", queue, message, link=link, **said)
        self.sent[link] += 1
        self.leads[link] = queue
        self.out[queue, message] = link

    def settle(
        self, queue: str, message: int, outcome: str = "ACCEPTED", transaction: int = 0
    ) -> None:
        """Its outlet ends it: it has left, or is there again."""
        link = self.out.pop((queue, message))
        leaves = outcome == "ACCEPTED"
        said = {"link": link, "outcome": outcome, "flags": "REMOVED" if leaves else ""}
        said["transaction"] = transaction
        self.step("SETTLED", queue, message, **said)
        if leaves:
            del self.held[queue][message]

    def give_back(self, queue: str, message: int, reason: str = "SESSION_ENDED") -> None:
        """Its outlet is gone, or the session of that, or it is a branch's: it is there again."""
        said = {"link": self.out.pop((queue, message)), "outcome": "RELEASED"}
        self.step("REQUEUED", queue, message, reason=reason, **said)

    def take(self, queue: str, message: int, link: int) -> None:
        """An outlet has it, and accepts it."""
        self.send(queue, message, link)
        self.settle(queue, message)

    def send_settled(self, queue: str, message: int, link: int) -> None:
        """An outlet has it, for good."""
        self.step("SENT", queue, message, link=link, flags="SETTLED")
        self.sent[link] += 1
        self.leads[link] = queue
        del self.held[queue][message]

    def leave(self, kind: str, queue: str, message: int, reason: str, transaction: int = 0) -> None:
        """It leaves otherwise."""
        self.step(kind, queue, message, reason=reason, transaction=transaction)
        del self.held[queue][message]

    def dead_letter(self, queue: str, message: int, to: str, flags: str = "") -> None:
        """It leaves for the exchange and the queue of that name."""
        self.leave("DEAD_LETTERED", queue, message, "MAX_DELIVERIES")
        self.add("ROUTED", message=message, exchange=to, copies=1, reason="MAX_DELIVERIES")
        self.routed[to] += 1
        self.enter(message, to, to, f"REROUTED {flags}".strip())

    def prepare(
        self,
        name: str,
        number: int,
        link: int,
        publishes: list[tuple[int, str]],
        accepts: list[tuple[str, int]] = [],  # noqa: B006  (it is not changed)
    ) -> None:
        """A branch has what it publishes on its shelf; it has accepted what outlets have."""
        self.branches[name] = Branch(number, publishes, accepts)
        for message, queue in publishes:
            said = {"link": link, "flags": "DURABLE", "transaction": number}
            self.add("RECEIVED", message=message, exchange=queue, copies=1, **said)
            self.routed[queue] += 1
            self.enter(message, BRANCH + name, queue, "DURABLE TRANSIT")
        self.branch("PREPARED", name)

    def branch(self, outcome: str, name: str) -> None:
        """It is prepared, has come back, or has its end."""
        said = {"transaction": self.branches[name].number, "node": BRANCH + name}
        self.add("TRANSACTION", outcome=outcome, **said)

    def commit(self, name: str) -> None:
        """What it has accepted leaves, and what it publishes comes into its queues."""
        branch = self.branches[name]
        number = branch.number
        for queue, message in branch.accepts:
            self.settle(queue, message, transaction=number)
        for message, queue in branch.publishes:
            self.leave("MOVED", BRANCH + name, message, "BRANCH", transaction=number)
            self.add("ROUTED", message=message, exchange=queue, copies=1, reason="BRANCH")
            self.routed[queue] += 1
            self.enter(message, queue, queue, "REROUTED DURABLE", number)
        self.branch("COMMITTED", name)
        del self.branches[name]
        self.held.pop(BRANCH + name, None)

    def roll_back(self, name: str) -> None:
        """What it publishes goes nowhere."""
        branch = self.branches[name]
        for message, _queue in branch.publishes:
            self.leave("PURGED", BRANCH + name, message, "ROLLBACK", transaction=branch.number)
        self.branch("ROLLED_BACK", name)
        del self.branches[name]
        self.held.pop(BRANCH + name, None)

    def detach(self, link: int) -> None:
        """An outlet is gone."""
        self.add("LINK_DETACHED", link=link)
        del self.sent[link]

    def hand_over(self, queue: str, message: int, link: int) -> None:
        """What a session has accepted in a branch is with an outlet of that."""
        self.give_back(queue, message, "BRANCH")
        self.send(queue, message, link)

    def take_back(self, queue: str, message: int) -> None:
        """A branch is rolled back, and its outlet gone: no record says so of that."""
        link = self.out[queue, message]
        self.give_back(queue, message, "ROLLBACK")
        del self.sent[link]

    def say(self) -> None:
        """A whole checkpoint."""
        with_somebody = Counter(queue for queue, _message in self.out)
        queues = {
            queue: {
                "copies": [(message, message) for message in copies],
                "entered": self.entered[queue],
                "unsettled": with_somebody[queue],
            }
            for queue, copies in self.held.items()
        }
        has = Counter(self.out.values())
        outlets = {
            f"l{link}": {"node": self.leads[link], "sent": count, "unsettled": has[link]}
            for link, count in self.sent.items()
        }
        routes = {
            exchange: {"routed": count, "pending": self.pending[exchange]}
            for exchange, count in self.routed.items()
        }
        self.checkpoint(queues, routes, **outlets)
