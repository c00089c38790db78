"""Breaks the disk under a loaded gateway, again and again, and proves that it tells the truth.

    PYTHONPATH=tests:. python tests/faults/campaign.py --runs 500 --results FILE [--seed 1]

Each run has a gateway of its own, with clients of both protocols on local queues, durable and not,
and on queues at an upstream, with a spool and without. At one operation on the files of the store
or the audit log the disk fails: full, broken, a short write, a sync that drops what it was to
write, a slow sync; or a small file system is really full. Meanwhile nobody may be told that a
publish is done, and the probes say what is so; then the disk is mended, or the gateway killed and
started again. In the end every confirmed message is found once, the audit log is whole and its
ledger balances. Runs that FILE has are not run again; what fails leaves its directory.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.error
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from faults.disk import AUDIT, FOREVER, STORE, Disk, compiled
from faults.upstream_load import Book, Load, Publisher
from support.bridge_ledger import BlockLog, LedgerCheck
from support.gateway_process import GatewayProcess
from support.lines import Lines

from gateway.amqp_0_10 import _spec as spec
from gateway.audit.reader import Segment, segment_paths, verify
from gateway.clients.client import Delivered, Subscription
from gateway.clients.letter import Letter

SIZE = 300
TMPFS_OCTETS = 8 * 1024 * 1024
BLOCKED = 'gateway_store_blocked{cause="%s"}'
EASED = "the disk takes everything again"
KINDS = ("full", "broken", "short", "unsynced", "slow", "small")


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
        return Plan(kind, parts, after, times, kind != "small" and chance.random() < 0.25)


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
                "store_reserve": "1MiB",
            },
            environment=self.disk.environment,
        )
        self.books = {name: Book() for name in ("kept", "passing", self.spooled, self.through)}
        self.observed = Counter[str]()

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
        self.go_on(200)

    def publish(self, queue: str, protocol: str, *, durable: bool) -> Publisher:
        size = 20_000 if self.plan.kind == "small" and queue == "kept" else SIZE
        made = self.load.publish(self.books[queue], queue, protocol, size=size, durable=durable)
        made.window = 10
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
        if plan.kind == "small":
            for consumer in self.load.consumers:
                consumer.paused = True
            self.load.run(lambda: self.blocked("full") == 1)
            return
        self.disk.fail(plan.kind, plan.parts, after=plan.after, times=plan.times, slow_us=20_000)
        deadline = time.monotonic() + 2
        self.load.run(lambda: self.disk.failed > 0 or time.monotonic() > deadline)

    def blocked(self, cause: str = "") -> float:
        metrics = self.gateway.metrics()
        causes = [cause] if cause else ["full", "error"]
        return max(metrics[BLOCKED % each] for each in causes)

    def watch(self) -> None:
        """What it tells while the disk fails: nothing is done, and the probes are right."""
        self.turn_for(0.3)
        eased = self.gateway.log().count(EASED)
        confirmed = self.confirmed()
        metrics = self.gateway.metrics()
        ready = self.probe("/readyz")
        health = self.probe("/healthz")
        self.turn_for(0.3)
        blocked = max(metrics[BLOCKED % each] for each in ("full", "error")) == 1
        assert health == 200, "it says that it is not alive"
        if self.gateway.log().count(EASED) != eased or self.blocked() != blocked:
            return  # it went on meanwhile
        if not blocked:
            assert ready == 200, "nothing is blocked, but it says that it is not ready"
            return
        self.observed["blocked"] += 1
        assert self.confirmed() == confirmed, "told to be done while the disk failed"
        if self.plan.kind == "small":
            assert ready == 200, "consumers are not welcome, but the reserve is there for them"
        elif self.plan.times == FOREVER:
            self.observed["unready"] += ready == 503
            assert ready == 503 or self.plan.kind in ("full", "short", "unsynced"), "it says ready"

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
        if self.plan.kind == "small":
            self.load.stop_publishing()  # room is made by what is consumed
        self.load.run(lambda: self.blocked() == 0)
        if self.plan.kind != "small":
            self.go_on(50)
        self.load.stop_publishing()
        self.load.run(self.load.quiet)
        self.load.lines.hang_up()

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
            for text, redelivered in drained(port, queue):
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
        damage = verify(self.gateway.audit)
        if self.plan.killed:  # what was in memory is gone, and that shows
            damage = [one for one in damage if one.problem != "gap"]
        assert not damage, [str(one) for one in damage]
        if not self.plan.killed:
            balance(self.gateway.audit)

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


def drained(port: int, queue: str) -> list[tuple[str, bool]]:
    """What is left in a queue, taken by a client of its own: text, marked as redelivered."""
    lines = Lines(port)
    client = lines.connect_0_10()
    depth = lines.wait_for(client.query(spec.QueueQuery(queue=queue))).message_count or 0
    letters: list[Letter] = []

    def take(delivered: Delivered) -> None:
        letters.append(delivered.letter)
        delivered.settle("accept")

    lines.wait_for(client.receive(Subscription(queue, credit=depth or 1, once=True), take))
    lines.run_until(lambda: len(letters) >= depth)
    lines.hang_up()
    return [(bytes(letter.body.value).decode().rstrip(), letter.redelivered) for letter in letters]


def balance(audit: Path) -> None:
    """The ledger of all records."""
    log = BlockLog()
    for path in segment_paths(audit):
        segment = Segment(path.name, path.read_bytes())
        start = segment.good
        for _block in segment.blocks():
            pass
        log.append(segment.octets[start : segment.good])
    LedgerCheck(log.records()).assert_balanced()


@contextmanager
def disk_for(plan: Plan, data: Path) -> Iterator[None]:
    """For a really full disk: a small file system, where we may mount one."""
    mounted = False
    if plan.kind == "small":
        data.mkdir(parents=True)
        mount = ["mount", "-t", "tmpfs", "-o", f"size={TMPFS_OCTETS}", "tmpfs", str(data)]
        mounted = subprocess.run(mount, check=False, capture_output=True).returncode == 0
    try:
        yield
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(data)], check=True)


def one_run(directory: Path, number: int, plan: Plan, library: Path, back: Back) -> dict[str, Any]:
    """Break one gateway's disk; what there is to read of it. Any: JSON."""
    directory.mkdir(parents=True)
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


def campaign(
    directory: Path, runs: int, seed: int = 1, results: Path | None = None
) -> list[dict[str, Any]]:
    """So many runs, less those that `results` has; what each came to. Any: JSON."""
    done = finished(results, seed)
    library = compiled(directory)
    mounts = may_mount()
    back = Back(directory / "back")
    told: list[dict[str, Any]] = []
    try:
        for number in range(runs):
            if number in done:
                continue
            plan = Plan.draw(seed, number)
            if plan.kind == "small" and not mounts:
                plan = Plan("full", plan.parts, plan.after, plan.times, plan.killed)
            told.append(reported(directory / f"run-{number}", number, plan, library, back))
            if results is not None:
                with results.open("a") as file:
                    file.write(json.dumps({"seed": seed, **told[-1]}) + "\n")
    finally:
        back.gateway.kill()
    return told


def reported(directory: Path, number: int, plan: Plan, library: Path, back: Back) -> dict[str, Any]:
    """One run, and how it ended. Any: JSON."""
    began = time.monotonic()
    told: dict[str, Any] = {"run": number, "plan": asdict(plan)}
    try:
        told |= one_run(directory, number, plan, library, back)
    except Exception as error:
        told["problem"] = f"{type(error).__name__}: {error}"
        (directory / "traceback").write_text(traceback.format_exc())
    else:
        shutil.rmtree(directory)
    told["seconds"] = round(time.monotonic() - began, 1)
    return told


def finished(results: Path | None, seed: int) -> set[int]:
    """The runs of an earlier campaign."""
    if results is None or not results.exists():
        return set()
    lines = [json.loads(line) for line in results.read_text().splitlines()]
    return {line["run"] for line in lines if line["seed"] == seed}


def main() -> int:
    """Run it as a program; 1 if anything did not hold."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", type=Path, default=None)
    options = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="faults-"))
    told = campaign(directory, options.runs, options.seed, options.results)
    bad = [one for one in told if "problem" in one]
    for one in told:
        print(json.dumps(one))
    print(f"{len(told)} runs, {len(bad)} did not hold")
    if bad:
        print(f"see {directory}")
    else:
        shutil.rmtree(directory)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
