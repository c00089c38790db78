"""Throws octets at the parsers for as long as you like.

    PYTHONPATH=tests python tests/fuzz/run.py [TARGET ...] --seconds 600 --seed 1

What a parser could not bear is written to tests/vectors/crashers, where a test replays it; what
took more than 10 ms and 20 us an octet is listed as slow.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
import traceback
import tracemalloc
from pathlib import Path

from fuzz.mutation import VECTORS, Mutator, Pieces
from fuzz.targets import TARGETS, Target

CRASHERS = VECTORS / "crashers"
MEMORY_FACTOR = 400
MEMORY_SLACK = 3 * 1024 * 1024


def replay(path: Path) -> None:
    """One crasher: a line of hexadecimal for each piece; the target is in its name."""
    name = path.stem.rsplit("_", 1)[0]
    (target,) = [target for target in TARGETS if target.name == name]
    target.run([bytes.fromhex(line) for line in path.read_text().splitlines()])


def keep(target: Target, pieces: Pieces) -> Path:
    """Write what the target could not bear to a file."""
    text = "".join(piece.hex() + "\n" for piece in pieces)
    path = CRASHERS / f"{target.name}_{hashlib.sha256(text.encode()).hexdigest()[:8]}.hex"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def run_bounded(target: Target, pieces: Pieces) -> None:
    """Run with the memory it takes held against the size of the octets."""
    size = sum(map(len, pieces))
    most = MEMORY_FACTOR * size + MEMORY_SLACK
    peak = _peak(target, pieces)
    if peak > most:  # what is made once and kept, as a module or its lines, is not the octets'
        peak = _peak(target, pieces)
    assert peak <= most, f"{peak} octets for {size}"


def _peak(target: Target, pieces: Pieces) -> int:
    tracemalloc.start()
    try:
        target.run(pieces)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def shrunk(target: Target, pieces: Pieces, error: Exception) -> Pieces:
    """Fewer and shorter pieces that still raise the same."""

    def same(attempt: Pieces) -> bool:
        try:
            target.run(attempt)
        except Exception as again:
            return type(again) is type(error)
        return False

    for width in (1 << 14, 1 << 10, 256, 64, 16, 4, 1):
        for at in reversed(range(len(pieces))):
            start = 0
            while start < len(pieces[at]) and len(pieces[at]) < 64 * width:
                shorter = pieces[at][:start] + pieces[at][start + width :]
                attempt = [*pieces[:at], shorter, *pieces[at + 1 :]]
                if same(attempt):
                    pieces = attempt
                else:
                    start += width
    fewer = [piece for piece in pieces if piece]
    return fewer if same(fewer) else pieces


def campaign(target: Target, seconds: float, seed: int) -> int:
    """Run one target for so long; how many different defects were found."""
    mutator = Mutator(target.seeds, seed)
    seen: set[str] = set()
    runs = slow = 0
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        pieces = mutator.next()
        runs += 1
        started = time.process_time()
        try:
            run_bounded(target, pieces) if runs % 20 == 0 else target.run(pieces)
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            where = f"{type(error).__name__} at {frames[-1].filename}:{frames[-1].lineno}"
            if where not in seen:
                seen.add(where)
                path = keep(target, shrunk(target, pieces, error))
                print(f"{target.name}: {where}: {str(error)[:300]}\n    {path}", flush=True)
        taken = time.process_time() - started
        size = sum(map(len, pieces))
        if taken > 0.01 + 20e-6 * size and runs % 20:
            slow += 1
            print(f"{target.name}: slow: {taken * 1000:.0f} ms for {size} octets", flush=True)
    print(f"{target.name}: {runs} runs, {len(seen)} defects, {slow} slow", flush=True)
    return len(seen)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", help=", ".join(t.name for t in TARGETS))
    parser.add_argument("--seconds", type=float, default=60.0, help="for each target")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chosen = [t for t in TARGETS if not options.targets or t.name in options.targets]
    return min(1, sum(campaign(target, options.seconds, options.seed) for target in chosen))


if __name__ == "__main__":
    sys.exit(main())
