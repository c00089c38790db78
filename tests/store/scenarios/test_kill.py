"""The store under kill -9: every turn that was reported is there, every other whole or not at all.

More kills: PYTHONPATH=tests python tests/store/test_kill.py KILLS
"""

import random
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from support.stores import Running, content

pytestmark = pytest.mark.process
PROGRAM = Path(__file__).with_name("victim.py")
Place = tuple[int, int]


class Turns:
    """What the victim said it did."""

    def __init__(self) -> None:
        self.turns: dict[int, tuple[set[Place], set[Place]]] = {}
        self.safe = 0

    def read(self, line: str) -> None:
        words = line.split()
        if words[:1] == ["committed"] and line.endswith("\n"):
            self.safe = int(words[1])
        elif words[:1] == ["submit"] and line.endswith("\n"):
            self.turns[int(words[1])] = (_places(words[2]), _places(words[3]))
        assert words[:1] != ["failed"], line

    def prefixes(self, before: set[Place]) -> list[set[Place]]:
        """What the store may hold: after the last safe turn, or after any later one."""
        living = set(before)
        possible = [] if self.safe else [set(living)]
        for turn in sorted(self.turns):
            entered, left = self.turns[turn]
            living = (living | entered) - left
            if turn >= self.safe:
                possible.append(set(living))
        return possible


def _places(listed: str) -> set[Place]:
    if listed == "-":
        return set()
    places = [place.split(".") for place in listed.split(",")]
    return {(int(queue_id), int(position)) for queue_id, position in places}


def run_and_kill(directory: Path, seed: int, lines: int) -> Turns:
    """Let the victim say so many lines, and a little more, then kill it."""
    turns = Turns()
    with subprocess.Popen(
        [sys.executable, str(PROGRAM), str(directory), str(seed)], stdout=subprocess.PIPE, text=True
    ) as victim:
        assert victim.stdout is not None
        for _ in range(lines):
            line = victim.stdout.readline()
            assert line, "the victim ended by itself"
            turns.read(line)
        victim.kill()
        for line in victim.stdout:
            turns.read(line)
    return turns


def check(directory: Path, before: set[Place], turns: Turns) -> set[Place]:
    """The store holds a prefix of the turns with all that is safe, each message as it was."""
    sys.path.insert(0, str(PROGRAM.parent))
    from victim import FileSegments, message_of

    segments = FileSegments(directory / "audit.txt")
    running = Running(directory, segments)  # type: ignore[arg-type]  # in a file
    found = content(running)
    running.close()
    assert running.recovered.damage == []
    assert set(found) in turns.prefixes(before)
    for _count, recovered in found.values():
        assert recovered == message_of(recovered.id)
    return set(found)


def campaign(directory: Path, kills: int, seed: int) -> int:
    """Kill and check so often on the same directory; the turns that were reported."""
    chance = random.Random(seed)
    living: set[Place] = set()
    reported: list[int] = []
    for kill in range(1, kills + 1):
        # With more lines than turns can be under way, some of them say "committed".
        lines = 300 if kill == kills else chance.choice([1, 2, 20, 300, 1000])
        turns = run_and_kill(directory, kill, lines)
        living = check(directory, living, turns)
        reported += [turn for turn in turns.turns if turn <= turns.safe]
        audit = [int(n) for n in (directory / "audit.txt").read_bytes().split(b";")[:-1]]
        assert audit == sorted(set(audit))
        assert set(reported) <= set(audit)
    return len(reported)


@pytest.mark.parametrize("seed", [1, 4])  # with kills after 300 lines: some are committed
def test_what_was_reported_before_a_kill_is_there_after_it(tmp_path: Path, seed: int) -> None:
    assert campaign(tmp_path, 6, seed) > 0


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        kills = int(sys.argv[1])
        print(f"{kills} kills, {campaign(Path(scratch), kills, kills)} turns reported: all there")
