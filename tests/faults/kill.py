"""Kills a loaded gateway, again and again, and proves that nothing confirmed was lost or doubled.

    PYTHONPATH=$PWD/tests:$PWD python tests/faults/kill.py --kills 500 --results FILE [--seed 1]

The program kills two lives on each data directory, so that a run takes seconds, and appends what
came of it to FILE; runs that FILE has are not run again. What does not hold leaves its directory.

In each life, clients of both protocols publish durable messages and consume them; then kill -9, and
after the restart the queues are browsed. What the clients know:

* a publish that was confirmed must be in its queue, once, unless its settlement was at least sent;
* a settlement that was confirmed (0-10 tells, 1.0 does not) must have taken the message away;
* what neither says may be there once or not at all, as long as it was ever sent;
* what a consumer held when the gateway died must come back as redelivered.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any
from zlib import crc32

from faults.runs import play
from support.gateway_process import GatewayProcess
from support.lines import Lines

from gateway.amqp_0_10 import _spec as spec
from gateway.audit.verify import verify
from gateway.clients.client import Delivered, Subscription
from gateway.clients.client_0_10 import Client010, Delivered010
from gateway.clients.client_1_0 import Client10
from gateway.clients.letter import Letter, Typed

Config = dict[str, Any] | None  # Any: YAML
QUEUES = ("from-old", "from-new")
OUTSTANDING = 40
KILLS_A_RUN = 2


class Knowledge:
    """What the clients know of each message, by its text."""

    def __init__(self) -> None:
        self.sent: set[str] = set()
        self.confirmed: set[str] = set()
        self.seen: set[str] = set()
        self.settled: set[str] = set()
        self.settled_for_sure: set[str] = set()
        self.failures: list[str] = []

    def check(self, queues: list[list[Letter]]) -> None:
        """After a restart: what is browsed is what must be there."""
        letters = {text_of(letter): letter for queue in queues for letter in queue}
        there = Counter(text_of(letter) for queue in queues for letter in queue)
        doubled = [text for text, times in there.items() if times > 1]
        assert not doubled, f"more than once: {doubled[:5]}"
        lost = self.confirmed - self.settled - set(there)
        assert not lost, f"confirmed, never settled, not there: {sorted(lost)[:5]}"
        back = self.settled_for_sure & set(there)
        assert not back, f"settled and confirmed, but there: {sorted(back)[:5]}"
        assert set(there) <= self.sent, "something that nobody sent"
        unmarked = [text for text in self.seen & set(there) if not letters[text].redelivered]
        assert not unmarked, f"seen before, not marked redelivered: {unmarked[:5]}"
        # What is not there any more was settled, or never stored: no later life may bring it back.
        gone = self.sent - set(there)
        self.settled_for_sure |= gone
        self.settled |= gone


def text_of(letter: Letter) -> str:
    value = letter.body.value
    return value.decode() if isinstance(value, bytes) else str(value)


class Life:
    """One start of the gateway, and the clients under whose load it dies."""

    def __init__(self, directory: Path, knowledge: Knowledge, number: int, config: Config) -> None:
        self.gateway = GatewayProcess(directory, config).start()
        self.knowledge = knowledge
        self.number = number
        self.sent = 0
        self.outstanding = {queue: 0 for queue in QUEUES}
        self.confirmations = 0
        self.lines = Lines(self.gateway.amqp_port)
        self.seen_now: set[str] = set()

    def browse(self) -> list[list[Letter]]:
        """Everything in the queues, as a 0-10 browser sees it."""
        client = self.lines.connect_0_10()
        found = []
        for queue in QUEUES:
            self.lines.wait_for(client.declare_queue(queue, durable=True))
            depth = self.lines.wait_for(client.query(spec.QueueQuery(queue=queue))).message_count
            letters: list[Letter] = []
            browser = Subscription(queue, credit=depth or 1, once=True, settled=True, browse=True)
            self.lines.wait_for(
                client.receive(browser, lambda got, into=letters: into.append(got.letter))
            )
            self.lines.run_until(lambda want=depth, got=letters: len(got) >= want)
            found.append(letters)
        self.lines.hang_up()
        return found

    def fill(self, confirmations: int) -> None:
        """Publish with both protocols, and nobody takes anything."""
        old, new = self.lines.connect_0_10(), self.lines.connect_1_0()
        while self.confirmations < confirmations:
            self.publish(old, QUEUES[0])
            self.publish(new, QUEUES[1])
            self.lines.turn()
        self.confirmations = 0

    def load(self, confirmations: int) -> None:
        """Publish and consume with both protocols until so many publishes are confirmed."""
        old, new = self.lines.connect_0_10(), self.lines.connect_1_0()
        taker_old, taker_new = self.lines.connect_0_10(), self.lines.connect_1_0()
        self.lines.wait_for(
            taker_old.receive(
                Subscription(QUEUES[1], credit=20), lambda got: self.take_old(taker_old, got)
            )
        )
        self.lines.wait_for(taker_new.receive(Subscription(QUEUES[0], credit=20), self.take_new))
        while self.confirmations < confirmations:
            self.publish(old, QUEUES[0])
            self.publish(new, QUEUES[1])
            self.lines.turn()
            assert not self.knowledge.failures, self.knowledge.failures

    def paged(self) -> float:
        """How many messages are on disk alone."""
        return self.gateway.metrics()["gateway_paged_messages"]

    def publish(self, client: Client010 | Client10, queue: str) -> None:
        while self.outstanding[queue] < OUTSTANDING:
            self.sent += 1
            self.outstanding[queue] += 1
            text = f"{self.number}.{self.sent}"
            self.knowledge.sent.add(text)
            letter = Letter(body=Typed("string", text), durable=True)
            done = client.send(queue, letter)
            done.addCallbacks(self.on_confirmed, lambda _lost: None, (queue, text))

    def on_confirmed(self, outcome: str, queue: str, text: str) -> None:
        self.outstanding[queue] -= 1
        self.confirmations += 1
        if outcome == "accepted":
            self.knowledge.confirmed.add(text)
        else:
            self.knowledge.failures.append(f"{text} was {outcome}")

    def see(self, delivered: Delivered) -> str:
        text = text_of(delivered.letter)
        knowledge = self.knowledge
        if text in self.seen_now or text in knowledge.settled_for_sure:
            knowledge.failures.append(f"{text} was delivered twice")
        if text in knowledge.seen and not delivered.letter.redelivered:
            knowledge.failures.append(f"{text} came again without being marked")
        self.seen_now.add(text)
        knowledge.seen.add(text)
        return text

    def take_old(self, client: Client010, delivered: Delivered) -> None:
        """Accept nine of ten, and hear of it: a 0-10 settlement is a command."""
        text = self.see(delivered)
        assert isinstance(delivered, Delivered010)
        command_id = delivered._command_id
        client.complete(command_id)
        if crc32(text.encode()) % 10:
            self.knowledge.settled.add(text)
            done = client.command(spec.MessageAccept(transfers=[(command_id, command_id)]))
            done.addCallbacks(
                lambda _done: self.knowledge.settled_for_sure.add(text), lambda _lost: None
            )

    def take_new(self, delivered: Delivered) -> None:
        """Accept; nobody says when that is safe."""
        text = self.see(delivered)
        self.knowledge.settled.add(text)
        delivered.settle("accept")


def campaign(
    directory: Path, kills: int, seed: int, *, backlog: int = 0, config: Config = None
) -> str:
    """So many lives on one directory; what was proved, in a line.

    `backlog`: messages that come in each life before anybody takes some.
    """
    chance = random.Random(seed)
    knowledge = Knowledge()
    paged = 0.0
    for number in range(1, kills + 1):
        life = Life(directory, knowledge, number, config)
        try:
            knowledge.check(life.browse())
            life.fill(backlog)
            paged = max(paged, life.paged() if backlog else 0)
            life.load(chance.choice([1, 30, 100, 300, 600]))
            for _ in range(chance.randrange(4)):
                life.lines.turn(chance.random() / 50)
        finally:
            life.gateway.kill()
            life.lines.hang_up()
        assert not knowledge.failures, knowledge.failures
    assert paged or not backlog, "all of it was in memory"
    last = Life(directory, knowledge, kills + 1, config)
    try:
        knowledge.check(last.browse())
    finally:
        code = last.gateway.stop()
    assert code == 0, f"exit code {code}"
    damage = verify(last.gateway.audit).damages
    assert not damage, [str(one) for one in damage]
    return (
        f"{kills} kills: {len(knowledge.sent)} sent, {len(knowledge.confirmed)} confirmed, "
        f"{len(knowledge.seen)} delivered, {len(knowledge.settled_for_sure)} surely settled"
    )


if __name__ == "__main__":
    sys.exit(play(__doc__, "kills", KILLS_A_RUN, campaign))
