"""Many runs of one kind, seeded: each appends what it came to to a file, and none runs twice."""

from __future__ import annotations

import argparse
import json
import random
import shutil
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

Told = dict[str, Any]  # Any: JSON
Run = Callable[[int, Path], Told]
Campaign = Callable[[Path, int, int], object]  # its directory, how many kills, its seed


class Runs:
    """The runs of one seed.

    Args:
        results: the file, with one JSON object a line; `None`: nothing is kept.
    """

    def __init__(self, seed: int, results: Path | None) -> None:
        self.seed = seed
        self.results = results
        self.told: list[Told] = []

    def play(self, count: int, directory: Path, run: Run) -> list[Told]:
        """The first `count` runs, less those that are done; those that did not hold.

        A run has a directory of its own, which stays if it does not hold.
        """
        done = self._done()
        for number in range(count):
            if number not in done:
                self._keep(self._one(number, directory / f"run-{number}", run))
        bad = [told for told in self.told if "problem" in told]
        print(f"{len(self.told)} runs, {len(bad)} did not hold{f': {directory}' if bad else ''}")
        return bad

    def _one(self, number: int, directory: Path, run: Run) -> Told:
        began = time.monotonic()
        directory.mkdir(parents=True)
        told: Told = {"seed": self.seed, "run": number}
        try:
            told |= run(number, directory)
        except Exception as error:
            notes = [f"; {note}" for note in getattr(error, "__notes__", ())]
            told["problem"] = f"{type(error).__name__}: {error}{''.join(notes)}"
            (directory / "traceback").write_text(traceback.format_exc())
        else:
            shutil.rmtree(directory)
        told["seconds"] = round(time.monotonic() - began, 1)
        return told

    def _keep(self, told: Told) -> None:
        self.told.append(told)
        line = json.dumps(told)
        print(line, flush=True)
        if self.results is not None:
            with self.results.open("a") as file:
                file.write(line + "\n")

    def _done(self) -> set[int]:
        if self.results is None or not self.results.exists():
            return set()
        lines = [json.loads(line) for line in self.results.read_text().splitlines()]
        return {line["run"] for line in lines if line["seed"] == self.seed}


def play(
    about: str,
    name: str,
    at_once: int,
    campaign: Campaign,
    *,
    unit: str = "kills",
    count: int = 20,
) -> int:
    """A program that plays a campaign of `at_once` kills again and again; its exit code.

    What it came to is whatever the campaign tells. `unit`: of which it may also be one of others,
    `count` of them where nobody says how many.
    """
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument(f"--{unit}", dest="count", type=int, default=count)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", type=Path, default=None)
    options = parser.parse_args()

    def run(number: int, scratch: Path) -> Told:
        chance = random.Random(f"{options.seed} {number}")
        return {"came_to": campaign(scratch, at_once, chance.randrange(1 << 30))}

    directory = Path(tempfile.mkdtemp(prefix=f"{name}-"))
    runs = Runs(options.seed, options.results)
    return 1 if runs.play(-(-options.count // at_once), directory, run) else 0
