"""Breaks the disk under a loaded gateway, again and again, and proves that it tells the truth.

    PYTHONPATH=$PWD/tests:$PWD python tests/faults/campaign.py --runs 500 --results FILE [--seed 1]

Each run has a gateway of its own, with clients of both protocols on local queues, durable and not,
and on queues at an upstream, with a spool and without. At one operation on the files of the store
or the audit log the disk fails: full, broken, a short write, a sync that drops what it was to
write, a slow sync, one that does not come back; or a small file system is really full, of large
messages, of very many small ones, or by what was accepted while the store was late. Meanwhile
nobody may be told that a publish is done, and the probes say what is so; then the disk is mended,
or the gateway killed and started again. In the end every confirmed message is found once, in half
of the runs by Proton where that is installed, the audit log is whole and its ledger balances. Where
no small file system can be mounted the fault is a full disk instead; each result says what it was.
Runs that FILE has are not run again; what fails leaves its directory.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from faults.disk import AUDIT, FOREVER, STORE, Disk, compiled
from faults.runs import Runs, Told
from faults.upstream_load import CREDIT, Book, Load, Publisher
from support.bridge_ledger import ledger_of
from support.gateway_process import GatewayProcess
from support.lines import Lines

from gateway.amqp_0_10 import _spec as spec
from gateway.audit.verify import verify
from gateway.clients.client import Delivered, Subscription
from gateway.clients.client_0_10 import Client010
from gateway.clients.letter import Letter

SIZE = 300
BIG = 40_000  # fills a disk soon
TMPFS_OCTETS = {"small": 12 * 1024 * 1024, "many": 6 * 1024 * 1024, "late": 6 * 1024 * 1024}
MANY = ("many", "late")
LATE_FROM = 3 * 1024 * 1024  # free octets, when the store begins to be late
LATE_S = 0.5  # without an answer: nothing more is accepted
HANGING_US = 60_000_000  # or until it is mended
BLOCKED = 'gateway_store_blocked{cause="%s"}'
ON_RESERVE = ("the room set aside for that is in use", "needed to drain the queues")
WAITING = "publishers wait: "
EASED = "the disk takes everything again"
KINDS = ("full", "broken", "short", "unsynced", "slow", "small", "hanging", "many", "late")


@dataclass(frozen=True)
class Plan:
    """What is done to one gateway."""

    kind: str
    parts: int
    after: int
    times: int
    killed: bool

    @staticmethod
    def draw(seed: int, number: int) -> Plan:
        chance = random.Random(f"{seed} {number}")
        kind = KINDS[number % len(KINDS)]
        parts = chance.choice([STORE, AUDIT, STORE | AUDIT])
        after = chance.randrange(20) if kind == "unsynced" else chance.randrange(200)
        times = chance.choice([1, 2, 5, FOREVER])
        return Plan(kind, parts, after, times, kind not in TMPFS_OCTETS and chance.random() < 0.25)


class Run:
    """One gateway on one disk, under load."""

    def __init__(self, directory: Path, plan: Plan, library: Path, back: Back, number: int) -> None:
        self.plan = plan
        self.back = back
        self.disk = Disk(library, directory)
        upstream = {"hosts": [f"amqp://127.0.0.1:{back.gateway.amqp_port}"]}
        self.spooled, self.through = f"spooled.{number}", f"through.{number}"
        self.gateway = GatewayProcess(
            directory,
            {
                "upstreams": {"main": upstream},
                "nodes": [
                    {"queue": "spooled.*", "upstream": "main", "spool": True},
                    {"queue": "through.*", "upstream": "main"},
                ],
                "audit": {"segment_size": "64KiB", "checkpoint_interval": "1s"},
                "store_reserve": "4MiB",
            },
            environment=self.disk.environment,
        )
        self.books = {name: Book() for name in ("kept", "passing", self.spooled, self.through)}
        self.observed = Counter[str]()
        self.foreign = number % 2 == 1 and find_spec("proton") is not None

    def begin(self) -> None:
        """Start it, and publish and consume by both protocols."""
        self.gateway.start()
        self.load = Load(self.gateway.amqp_port)
        client = self.load.connect("0-10")
        for queue in ("kept", "passing"):
            self.load.lines.wait_for(client.declare_queue(queue, durable=True))
        for protocol in ("0-10", "1.0"):
            self.publish("kept", protocol, durable=True)
            self.publish("passing", protocol, durable=False)
            self.publish(self.spooled, protocol, durable=True)
            self.publish(self.through, protocol, durable=True)
            self.load.consume(self.books["kept"], "kept", protocol)
        if self.plan.kind in MANY:
            self.load.consume(self.books["passing"], "passing", "1.0")
        self.go_on(200)

    def publish(self, queue: str, protocol: str, *, durable: bool) -> Publisher:
        big = self.plan.kind == "small" and queue == "kept"
        book, size = self.books[queue], BIG if big else SIZE
        made = self.load.publish(book, queue, protocol, size=size, durable=durable)
        made.window = 2 if self.plan.kind == "small" else 10
        return made

    def confirmed(self) -> int:
        return sum(len(book.confirmed) for book in self.books.values())

    def go_on(self, count: int) -> None:
        """Until so many more publishes are confirmed."""
        wanted = self.confirmed() + count
        self.load.run(lambda: self.confirmed() >= wanted)

    # The fault.

    def break_disk(self) -> None:
        plan = self.plan
        if plan.kind in TMPFS_OCTETS:
            for consumer in self.load.consumers:
                consumer.paused = True
            if plan.kind == "late":
                self.be_late()
            self.load.run(self.waiting)
            return
        if plan.kind == "hanging":
            self.disk.fail("slow", plan.parts, after=0, times=FOREVER, slow_us=HANGING_US)
            self.load.run(self.waiting, within_s=15)
            return
        self.disk.fail(plan.kind, plan.parts, after=plan.after, times=plan.times, slow_us=20_000)
        deadline = time.monotonic() + 2
        self.load.run(lambda: self.disk.failed > 0 or time.monotonic() > deadline)

    def be_late(self) -> None:
        """Near the end of the disk the store is held up until the gateway accepts no more."""
        self.load.run(lambda: shutil.disk_usage(self.gateway.data).free < LATE_FROM)
        self.disk.fail("slow", STORE, after=0, times=FOREVER, slow_us=HANGING_US)
        confirmed, since = self.confirmed(), time.monotonic()

        def stalls() -> bool:
            nonlocal confirmed, since
            if self.confirmed() > confirmed:
                confirmed, since = self.confirmed(), time.monotonic()
            return time.monotonic() - since > LATE_S

        self.load.run(stalls)
        self.disk.heal()

    def waiting(self) -> bool:
        """Whether publishers wait, by the log: the metric costs more."""
        log = self.gateway.log()
        return log.rfind(WAITING) > log.rfind(EASED)

    def blocked(self) -> bool:
        """The same by the metric."""
        metrics = self.gateway.metrics()
        return max(metrics[BLOCKED % cause] for cause in ("full", "slow", "error")) == 1

    def watch(self) -> None:
        """What it tells while the disk fails: nothing is done, and the probes are right."""
        self.turn_for(0.3)
        told = self.told()
        self.turn_for(0.2)  # what was written before that was told is heard of
        confirmed = self.confirmed()
        blocked = self.blocked()
        ready = self.probe("/readyz")
        health = self.probe("/healthz")
        self.turn_for(0.3)
        assert health == 200, "it says that it is not alive"
        if self.told() != told or self.blocked() != blocked:
            return  # it changed meanwhile
        if not blocked:
            assert ready == 200, "nothing is blocked, but it says that it is not ready"
            return
        self.observed["blocked"] += 1
        assert self.confirmed() == confirmed, "told to be done while the disk failed"
        on_reserve = any(words in told[-1] for words in ON_RESERVE)
        self.observed["on_reserve" if on_reserve else "unready"] += 1
        assert on_reserve or self.plan.kind not in TMPFS_OCTETS, "there is no reserve for consumers"
        assert ready == (200 if on_reserve else 503), f"it says {ready}: {told[-1]}"

    def told(self) -> list[str]:
        """Its log lines of publishers that wait, or go on."""
        lines = self.gateway.log().splitlines()
        return [line for line in lines if WAITING in line or EASED in line]

    def probe(self, path: str) -> int:
        try:
            self.gateway.get(path)
        except urllib.error.HTTPError as error:
            return error.code
        return 200

    def turn_for(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        self.load.run(lambda: time.monotonic() >= until)

    def mend(self) -> None:
        """The disk works again, in this life or the next one's."""
        if self.plan.killed:
            self.gateway.kill()
            self.load.lines.hang_up()
            self.disk.heal()
            self.gateway.start()
            return
        self.disk.heal()
        for consumer in self.load.consumers:
            consumer.paused = False
            consumer.share = CREDIT if self.plan.kind in MANY else consumer.share
        if self.plan.kind in TMPFS_OCTETS:
            self.load.stop_publishing()  # room is made by what is consumed
        self.load.run(lambda: not self.waiting())
        if self.plan.kind not in TMPFS_OCTETS:
            self.go_on(50)
        if self.plan.kind in MANY:
            self.take_all()
            self.publish("kept", "1.0", durable=True)
            self.go_on(20)
        self.load.stop_publishing()
        self.load.run(self.load.quiet)
        self.load.lines.hang_up()

    def take_all(self) -> None:
        """Until the queues here are empty, and their publishers have heard of all."""
        books = [self.books[name] for name in ("kept", "passing")]
        wanted = [len(book.all_sent()) for book in books]
        self.load.run(lambda: [len(book.accepted) for book in books] == wanted)

    # What must hold.

    def check(self) -> None:
        """Every confirmed message once, as a client sees it that was not there before."""
        for queue, book in self.books.items():
            port = self.gateway.amqp_port
            if queue in (self.spooled, self.through):
                self.wait_for_spool()
                port = self.back.gateway.amqp_port
            times = Counter(arrival.text for arrival in book.found)
            marked = set()
            for text, redelivered in self.drained(port, queue):
                times[text] += 1
                if redelivered:
                    marked.add(text)
            lost = book.confirmed - set(times)
            if not (self.plan.killed and queue == "passing"):
                assert not lost, f"{queue}: confirmed and lost: {sorted(lost)[:5]}"
            doubled = {text for text, count in times.items() if count > 1} - marked
            assert not doubled, f"{queue}: more than once, unmarked: {sorted(doubled)[:5]}"
            assert set(times) <= book.all_sent(), f"{queue}: something that nobody sent"
        assert self.gateway.stop() == 0, "it did not stop in order"
        damage = verify(self.gateway.audit).damages
        if self.plan.killed:  # what was in memory is gone, and that shows
            damage = [one for one in damage if one.problem != "gap"]
        assert not damage, [str(one) for one in damage]
        if not self.plan.killed:
            ledger_of(self.gateway.audit).assert_balanced()

    def drained(self, port: int, queue: str) -> list[tuple[str, bool]]:
        """What is left in a queue, by a client that is not ours where there is one."""
        if self.foreign:
            self.observed["foreign"] += 1
            return drained_by_proton(port, queue)
        return drained(port, queue)

    def wait_for_spool(self) -> None:
        """Until all that was spooled has been sent on."""
        deadline = time.monotonic() + 20
        name = 'gateway_upstream_spooled_messages{upstream="main"}'
        while self.gateway.metrics()[name] > 0:
            assert time.monotonic() < deadline, "the spool is not sent on"
            time.sleep(0.05)


class Back:
    """The upstream: a gateway, too, on a good disk."""

    def __init__(self, directory: Path) -> None:
        self.gateway = GatewayProcess(directory).start()

    def make(self, *queues: str) -> None:
        lines = Lines(self.gateway.amqp_port)
        client = lines.connect_0_10()
        for queue in queues:
            lines.wait_for(client.declare_queue(queue, durable=True))
        lines.hang_up()


def depth_of(client: Client010, lines: Lines, queue: str) -> int:
    return lines.wait_for(client.query(spec.QueueQuery(queue=queue))).message_count or 0


def drained_by_proton(port: int, queue: str) -> list[tuple[str, bool]]:
    """As `drained`, by another library and another codec, through 1.0."""
    from proton.utils import BlockingConnection

    lines = Lines(port)
    depth = depth_of(lines.connect_0_10(), lines, queue)
    lines.hang_up()
    connection = BlockingConnection(f"127.0.0.1:{port}", allowed_mechs="ANONYMOUS", timeout=20)
    receiver = connection.create_receiver(queue, credit=min(depth, CREDIT) or 1)
    found: list[tuple[str, bool]] = []
    while len(found) < depth:
        message = receiver.receive()
        receiver.accept()
        marked = message.delivery_count > 0 or not message.first_acquirer
        found.append((bytes(message.body).decode().rstrip(), marked))
    connection.close()
    return found


def drained(port: int, queue: str) -> list[tuple[str, bool]]:
    """What is left in a queue, taken by a client of its own: text, marked as redelivered."""
    lines = Lines(port)
    client = lines.connect_0_10()
    depth = depth_of(client, lines, queue)
    letters: list[Letter] = []

    def take(delivered: Delivered) -> None:
        letters.append(delivered.letter)
        delivered.settle("accept")

    lines.wait_for(client.receive(Subscription(queue, credit=depth or 1, once=True), take))
    lines.run_until(lambda: len(letters) >= depth)
    lines.hang_up()
    return [(bytes(letter.body.value).decode().rstrip(), letter.redelivered) for letter in letters]


@contextmanager
def disk_for(plan: Plan, data: Path) -> Iterator[None]:
    """For a really full disk: a small file system, where we may mount one."""
    mounted = False
    if plan.kind in TMPFS_OCTETS:
        data.mkdir(parents=True)
        mount = [
            "mount",
            "-t",
            "tmpfs",
            "-o",
            f"size={TMPFS_OCTETS[plan.kind]}",
            "tmpfs",
            str(data),
        ]
        mounted = subprocess.run(mount, check=False, capture_output=True).returncode == 0
    try:
        yield
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(data)], check=True)


def one_run(directory: Path, number: int, plan: Plan, library: Path, back: Back) -> Told:
    """Break one gateway's disk; what there is to read of it."""
    with disk_for(plan, directory / "data"):
        run = Run(directory, plan, library, back, number)
        back.make(run.spooled, run.through)
        try:
            run.begin()
            run.break_disk()
            run.watch()
            run.mend()
            run.check()
        finally:
            if run.gateway.running:
                run.gateway.kill()
    return {
        "confirmed": run.confirmed(),
        "failed_operations": run.disk.failed,
        "operations": run.disk["store_operations"] + run.disk["audit_operations"],
        **run.observed,
    }


def may_mount() -> bool:
    """Whether a small file system can be had."""
    with tempfile.TemporaryDirectory() as scratch:
        mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", scratch]
        if subprocess.run(mount, check=False, capture_output=True).returncode != 0:
            return False
        subprocess.run(["umount", scratch], check=True)
        return True


def campaign(directory: Path, runs: int, seed: int = 1, results: Path | None = None) -> list[Told]:
    """So many runs, less those that `results` has; what each came to."""
    library = compiled(directory)
    mounts = may_mount()
    back = Back(directory / "back")
    played = Runs(seed, results)

    def run(number: int, scratch: Path) -> Told:
        plan = Plan.draw(seed, number)
        if plan.kind in TMPFS_OCTETS and not mounts:
            plan = replace(plan, kind="full")
        try:
            return {"plan": asdict(plan), **one_run(scratch, number, plan, library, back)}
        except Exception as error:
            error.add_note(f"by {plan}")
            raise

    try:
        played.play(runs, directory, run)
    finally:
        back.gateway.kill()
    return played.told


def main() -> int:
    """Run it as a program; 1 if anything did not hold."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", type=Path, default=None)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_told: sys.exit("told to end"))  # and clean up
    directory = Path(tempfile.mkdtemp(prefix="faults-"))
    told = campaign(directory, options.runs, options.seed, options.results)
    if any("problem" in one for one in told):
        return 1
    shutil.rmtree(directory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
