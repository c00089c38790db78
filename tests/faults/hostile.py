"""Plays attacks against a running gateway while a polite client publishes, and tells what it cost.

    PYTHONPATH=tests python tests/faults/hostile.py [--small] [ATTACK ...]

Each attack has a gateway of its own. The polite client, a process of its own, publishes a message
every 20 ms and waits for its confirmation: its 99th percentile and its longest wait are in the
table. It has no login and the address that most attacks come from, so it is one user with them, and
has its part of what that one may do of a turn; another beside it has an address of its own, and so
is another user (not where attacks are played small). With them is the gateway's memory (before, the
most of it, after), the octets that it kept on its accounts and in its queues, and the units of work
that it did (its own metrics). Attacks are in `hostile_*.py` beside this file, one file a subject;
CI plays them small and asserts octets and units, never times.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.gateway_process import GatewayProcess
from support.raw_peers import Raw010

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.structs import write_header

EVERY_S = 0.02
LOOK_EVERY_S = 0.05
MIB = 1024 * 1024
NEIGHBOUR = "127.0.0.9"  # attacks do not come from there


@dataclass(frozen=True)
class Attack:
    """One attack.

    Attributes:
        name: what is attacked.
        play: attacks a gateway; `size` is how often or how much, the whole or the small one. What
            it returns is kept until the gateway has been looked at, and closed then.
        whole, small: sizes.
        config: of the gateway.
        kept_max: octets that the gateway may have on its accounts after the small one.
        refused: whether the small one meets a limit of these.
        queued_max: octets that its queues may have after the small one; 0: that does not matter.
        grown_max: octets by which its memory may grow meanwhile; 0: that does not matter.
        units_max: what the small one may cost in units of work; 0: that does not matter.
        units_min: what it must have been charged: work that nobody counts is what it asks for.
        prepare: puts into the gateway's directory what its configuration names.
        again: how often it is played once more, all of it closed, after the first time.
        left_max: octets of memory that the small one, played again, may leave behind beyond what
            the first time left.
        first: done to the gateway, with the same size, before it is started once more; what it had
            of memory then is what is there "before".
    """

    name: str
    play: Callable[[GatewayProcess, int], Sequence[Any]]  # Any: whatever has a close()
    whole: int
    small: int
    config: dict[str, Any] = field(default_factory=dict)  # Any: YAML
    kept_max: int = MIB
    refused: bool = False
    queued_max: int = 0
    grown_max: int = 0
    units_max: int = 0
    units_min: int = 0
    prepare: Callable[[Path], None] | None = None
    first: Callable[[GatewayProcess, int], Sequence[Any]] | None = None  # Any: as `play`
    again: int = 0
    left_max: int = 0


@dataclass
class Seen:
    """What an attack came to; sizes are octets."""

    attack: str
    rss_before: int = 0
    rss_most: int = 0
    rss_after: int = 0
    left: int = 0
    kept: int = 0
    refused: int = 0
    queued: int = 0
    units: int = 0
    polite: int = 0
    p99_ms: float = 0.0
    longest_ms: float = 0.0
    other_p99_ms: float = 0.0
    other_longest_ms: float = 0.0
    alive: bool = True

    def row(self) -> str:
        """Its line of the table."""
        memory = [f"{octets / MIB:8.1f}" for octets in (self.rss_before, self.rss_most)]
        kept = f"{self.rss_after / MIB:8.1f} {self.kept / MIB:8.1f} {self.refused:8d}"
        times = f"{self.polite:7d} {self.p99_ms:8.1f} {self.longest_ms:8.1f}"
        times += f" {self.other_p99_ms:8.1f} {self.other_longest_ms:8.1f}"
        ended = "" if self.alive else "  THE POLITE CLIENT WAS DROPPED"
        done = f"{self.queued / MIB:8.1f} {self.units:12d}"
        return f"{self.attack:40} {' '.join(memory)} {kept} {done} {times}{ended}"


HEAD = (
    f"{'attack':40} {'RSS MiB':>8} {'most':>8} {'after':>8} {'kept':>8} {'refused':>8}"
    f" {'queued':>8} {'units':>12} {'polite':>7} {'p99 ms':>8} {'longest':>8}"
    f" {'other':>8} {'longest':>8}"
)


def _octets_of(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


class Memory:
    """The gateway's resident memory, looked at all the time."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.most = self.now()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def now(self) -> int:
        """Octets."""
        return _octets_of(self._pid)

    def _watch(self) -> None:
        while not self._over.wait(LOOK_EVERY_S):
            self.most = max(self.most, self.now())

    def stop(self) -> None:
        """No more."""
        self._over.set()
        self._thread.join()
        self.most = max(self.most, self.now())


class Polite:
    """The polite client, as a child process; see `be_polite`."""

    def __init__(self, port: int, address: str = "") -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--polite", str(port), "--from", address],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert self._process.stdout is not None
        self._process.stdout.readline()  # it is connected

    def stop(self) -> dict[str, Any]:  # Any: JSON
        """What it has seen."""
        told, _ = self._process.communicate("")
        return dict(json.loads(told))


def be_polite(port: int, address: str) -> None:
    """Publish every 20 ms until standard input ends; print how long confirmations took."""
    over = threading.Event()
    waits: list[float] = []
    alive = True
    queue = f"polite{address}"
    with Raw010(port, patience_s=120, address=address) as client:
        client.log_in()
        session = client.attach()
        client.does(session, [spec.QueueDeclare(queue=queue)])
        print("connected", flush=True)
        threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
        header = write_header(spec.DeliveryProperties(routing_key=queue), None)
        published = 0
        while alive and not (over.wait(EVERY_S) and waits):
            began = time.monotonic()
            client.publish(session, header, b"polite")
            published += 1
            alive = client.does(session, [])
            waits.append((time.monotonic() - began) * 1000)
            if published % 50 == 0:
                client.does(session, [spec.QueuePurge(queue=queue)])
    waits.sort()
    seen = {
        "polite": len(waits),
        "p99_ms": waits[len(waits) * 99 // 100] if waits else 0.0,
        "longest_ms": waits[-1] if waits else 0.0,
        "alive": alive,
    }
    print(json.dumps(seen))


def play(attack: Attack, directory: Path, *, small: bool) -> Seen:
    """One attack on a gateway of its own."""
    if attack.prepare is not None:
        attack.prepare(directory)
    size = attack.small if small else attack.whole
    with GatewayProcess(directory, attack.config) as gateway:
        fresh = _octets_of(gateway.pid)
        if attack.first is not None:
            for peer in attack.first(gateway, size):
                peer.close()
            gateway.stop()
            gateway.start()
        polite = Polite(gateway.amqp_port)
        other = None if small else Polite(gateway.amqp_port, NEIGHBOUR)
        memory = Memory(gateway.pid)
        seen = Seen(attack.name, rss_before=fresh)
        peers = attack.play(gateway, size)
        once = memory.now()
        for _ in range(attack.again):
            for peer in peers:
                peer.close()
            peers = attack.play(gateway, size)
        seen.left = memory.now() - once
        metrics = gateway.metrics()
        seen.kept = int(metrics["gateway_kept_bytes"])
        seen.refused = int(sum(_all(metrics, "gateway_kept_refused_total")))
        seen.queued = int(metrics["gateway_queue_depth_bytes"])
        seen.units = int(sum(_all(metrics, "gateway_work_units_total")))
        for peer in peers:
            peer.close()
        told = polite.stop()
        memory.stop()
        seen.rss_most = memory.most
        seen.rss_after = memory.now()
        seen.polite, seen.alive = told["polite"], told["alive"]
        seen.p99_ms, seen.longest_ms = told["p99_ms"], told["longest_ms"]
        if other is not None:
            told = other.stop()
            seen.alive = seen.alive and told["alive"]
            seen.other_p99_ms, seen.other_longest_ms = told["p99_ms"], told["longest_ms"]
        return seen


def _all(metrics: dict[str, float], name: str) -> list[float]:
    return [value for key, value in metrics.items() if key.partition("{")[0] == name]


def attacks() -> list[Attack]:
    """All of them, by subject."""
    from faults import (
        hostile_admin,
        hostile_logins,
        hostile_octets,
        hostile_pages,
        hostile_tls,
        hostile_values,
        hostile_work,
    )

    octets_and_work = (hostile_octets, hostile_values, hostile_work, hostile_pages)
    rooms = (*octets_and_work, hostile_logins, hostile_admin, hostile_tls)
    return [attack for room in rooms for attack in room.ATTACKS]


def main(arguments: list[str]) -> None:
    """The program."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--small", action="store_true", help="as CI does")
    parser.add_argument("--polite", type=int, metavar="PORT", help=argparse.SUPPRESS)
    parser.add_argument("--from", dest="address", default="", help=argparse.SUPPRESS)
    parser.add_argument("attack", nargs="*", help="some of them only")
    asked = parser.parse_args(arguments)
    if asked.polite:
        be_polite(asked.polite, asked.address)
        return
    print(HEAD, flush=True)
    failed = False
    for attack in attacks():
        if asked.attack and attack.name not in asked.attack:
            continue
        with tempfile.TemporaryDirectory() as directory:
            try:
                print(play(attack, Path(directory), small=asked.small).row(), flush=True)
            except AssertionError as error:  # the others are played all the same
                print(f"{attack.name}: {error}", flush=True)
                failed = True
    sys.exit(failed)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    main(sys.argv[1:])
