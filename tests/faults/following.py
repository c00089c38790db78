"""Kills who follows a log, again and again, and holds what it has told against a run by itself.

    PYTHONPATH=tests python tests/faults/following.py --kills 20 --seed 1

Before each start the log grows. Some seconds later, by the seed, SIGKILL hits the program, its
Java or one of its workers; what does not end by that is killed when it has gone on for as long. The
last one is left alone until all that is closed is told of, and ended by SIGTERM. Then the last
report has what one run over the same segments has, and no two reports have the same end.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from support.audit_logs import ScriptedGateway

from gateway.accounting.runs import REPORT, finished
from gateway.audit.reader import segment_paths

TARGETS: Final = ("program", "java", "worker")
LAST_S: Final = 3600  # for the last one to tell of everything, on a busy machine
LOOKED_S: Final = 0.5
SAME: Final = ("verdict", "sums", "classes", "unproven", "losses")


class Follower:
    """The command, in a session of its own: so what it has started is known."""

    def __init__(self, scratch: Path) -> None:
        self.out = scratch / "out"
        self._said = (scratch / "stderr").open("a")
        job = [sys.executable, "-P", "-m", "gateway.accounting", "reconcile", str(scratch / "log")]
        state = f"--state={scratch / 'state'}"
        command = [*job, f"--out={self.out}", state, "--follow=1", "--master=local[1]"]
        self.process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=self._said, start_new_session=True
        )

    def others(self) -> dict[str, list[int]]:
        """What it has started and runs, by target."""
        found: dict[str, list[int]] = {"java": [], "worker": []}
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                name, _, rest = stat.read_text().partition("(")[2].rpartition(")")
            except OSError:  # it has just ended
                continue
            pid = int(stat.parent.name)
            if int(rest.split()[3]) == self.process.pid and pid != self.process.pid:
                found["java" if name == "java" else "worker"].append(pid)
        return found

    def kill(self, target: str) -> str:
        """What was hit: without such a process it is the program."""
        there = [] if target == "program" else self.others()[target]
        target = target if there else "program"
        os.kill(there[-1] if there else self.process.pid, signal.SIGKILL)
        return target

    def end(self) -> None:
        """All that is left of it."""
        for pids in (self.others().values(), [[self.process.pid]]):
            for pid in [each for some in pids for each in some]:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
        self.process.wait()
        self._said.close()

    def wait(self, seconds: float) -> bool:
        """Whether it ends within so long."""
        try:
            self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            return False
        return True


def grow(gateway: ScriptedGateway, segments: int) -> None:
    """So many segments more are closed."""
    before = len(segment_paths(gateway.directory))
    while len(segment_paths(gateway.directory)) < before + segments:
        gateway.consume("orders", gateway.publish("orders"))
        gateway.turn()


def ends(out: Path) -> list[str]:
    """Of all reports, the last segment that they tell of."""
    return [report(run)["log"]["newest"] for run in finished(out)] if out.is_dir() else []


def report(run: Any) -> dict[str, Any]:  # Any: of JSON
    """What a run has written."""
    told: dict[str, Any] = json.loads((run / REPORT).read_text())
    return told


def by_itself(scratch: Path) -> dict[str, Any]:  # Any: of JSON
    """What one run says of all segments that are closed."""
    closed = scratch / "closed"
    closed.mkdir()
    for path in segment_paths(scratch / "log")[:-1]:
        shutil.copy(path, closed)
    job = [sys.executable, "-P", "-m", "gateway.accounting", "reconcile", str(closed)]
    subprocess.run([*job, f"--out={scratch / 'whole'}", "--master=local[1]"], check=True)
    return report(finished(scratch / "whole")[-1])


def main() -> None:
    """See the module."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--within", type=float, default=40, help="seconds from start to kill")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        gateway = ScriptedGateway(scratch / "log", segment_octets=4000)
        for number in range(1, options.kills + 1):
            grow(gateway, chance.randint(1, 4))
            follower, target = Follower(scratch), chance.choice(TARGETS)
            after = chance.uniform(0.1, options.within)
            follower.wait(after)
            hit = follower.kill(target)
            ended = follower.wait(options.within)
            told = f"kill {number}: {hit} after {after:.1f} s, "
            told += f"exit code {follower.process.returncode}" if ended else "it went on"
            follower.end()
            print(f"{told}, reports so far {len(ends(follower.out))}", flush=True)
        grow(gateway, 1)
        last(scratch)
        held(scratch)


def last(scratch: Path) -> None:
    """The one that is left alone, until it has told of everything."""
    closed = segment_paths(scratch / "log")[-2].name
    follower, since = Follower(scratch), time.monotonic()
    while closed not in ends(follower.out):
        assert time.monotonic() < since + LAST_S, "it does not come to an end"
        assert not follower.wait(LOOKED_S), f"it ended with {follower.process.returncode}"
    told_s, since = time.monotonic() - since, time.monotonic()
    follower.process.terminate()
    follower.process.wait()
    ended_s = time.monotonic() - since
    print(f"told of everything after {told_s:.0f} s; SIGTERM: exit code", end=" ")
    print(f"{follower.process.returncode} after {ended_s:.1f} s", flush=True)
    follower.end()


def held(scratch: Path) -> None:
    """What was told against what one run says."""
    there = ends(scratch / "out")
    assert there == sorted(set(there)), f"told of twice: {there}"
    mine, whole = report(finished(scratch / "out")[-1]), by_itself(scratch)
    for name in SAME:
        assert mine.get(name) == whole.get(name), (name, mine.get(name), whole.get(name))
    print(
        f"{len(there)} reports, none twice; {', '.join(SAME)} are those of one run: {whole['sums']}"
    )
    print((scratch / "stderr").read_text(), end="")


if __name__ == "__main__":
    main()
