"""The store and the audit log on a disk that fails at any one of their operations."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from faults import store_on_disk
from faults.disk import FOREVER, STORE, Disk, compiled, compiler
from store.scenarios import victim
from store.scenarios.test_kill import Turns
from support.stores import reopened

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(
        compiler() is None, reason="no C compiler: run tests/interop/install proton"
    ),
]


def test_whatever_operation_fails_all_turns_are_kept_once(tmp_path: Path) -> None:
    disk = Disk(compiled(tmp_path), tmp_path)
    done = subprocess.run(
        [sys.executable, store_on_disk.__file__, disk.path],
        env={**os.environ, **disk.environment, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 300


@pytest.mark.parametrize("seed", range(6))
def test_a_power_cut_after_a_failed_sync_takes_nothing_that_was_reported(
    seed: int, tmp_path: Path
) -> None:
    chance = random.Random(seed)
    disk = Disk(compiled(tmp_path), tmp_path)
    turns = Turns()
    (tmp_path / "data").mkdir()
    with subprocess.Popen(
        [sys.executable, victim.__file__, tmp_path / "data", str(seed)],
        env={**os.environ, **disk.environment, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        for number, line in enumerate(process.stdout):
            if not line.startswith("failed"):
                turns.read(line)
            if number == 60:
                disk.fail("unsynced", STORE, after=chance.randrange(20), times=1)
            if number == 200 + chance.randrange(100) or number == 300:
                assert disk.failed == 1
                disk.fail("cut", STORE, after=chance.randrange(20), times=FOREVER)
    assert process.returncode == 9
    there = {(entry.queue_id, entry.position) for entry in reopened(tmp_path / "data").entries}
    assert there in turns.prefixes(set())
