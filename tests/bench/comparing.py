"""What it costs to compare two logs: CPU seconds for a million records, and how that grows.

    python tests/bench/comparing.py --records 0.4 1.6            # in millions, of both together

Writes the logs of two honest gateways that have had the same messages, four records a message, and
runs the job as people do. What a session of Spark costs by itself is that of the smallest logs:
from one size to the next, that is left out. Java's share is told apart from Python's.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from bench.accounting import Cost, Log, run, shown

LEAST = 4_000  # records of each log, for what a session costs


def compare(near: Path, far: Path, out: Path, master: str, flags: list[str]) -> Cost:
    """As people do it; what it says is shown where it does not say that all matches."""
    job = [sys.executable, "-m", "gateway.accounting", "compare", str(near), "--against", str(far)]
    cost = run([*job, "--out", str(out), "--master", master, *flags])
    if cost.code:
        print(cost.said)
    return cost


def measured(records: int, options: argparse.Namespace) -> Cost:
    """A comparison of two new logs with half of the records each."""
    with tempfile.TemporaryDirectory(dir=options.directory) as name:
        scratch = Path(name)
        for each in ("near", "far"):
            Log(scratch / each, each).grow(records // 2)
        near, far = scratch / "near", scratch / "far"
        return compare(near, far, scratch / "out", options.master, options.flags)


def main() -> None:
    """See the module."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=float, nargs="+", default=[0.4, 1.6], help="in millions")
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--directory", type=Path, help="for the logs (default: a temporary one)")
    parser.add_argument("flags", nargs="*", help="of the job, behind --")
    options = parser.parse_args()
    before, last = 2 * LEAST, measured(2 * LEAST, options)
    print(f"       a session: {shown(last, before / 1e6)}", flush=True)
    for millions in options.records:
        records = int(millions * 1_000_000)
        cost = measured(records, options)
        each_us = (cost.cpu_s - last.cpu_s) / (records - before) * 1e6
        java_us = (cost.java_s - last.java_s) / (records - before) * 1e6
        print(
            f"{millions:6g} million records: {shown(cost, millions)}; "
            f"{each_us:.1f} us a record more, {java_us:.1f} of it Java's",
            flush=True,
        )
        before, last = records, cost


if __name__ == "__main__":
    main()
