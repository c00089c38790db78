"""A state elsewhere, where there is no lock."""

import os
import time

import pytest
from support.buckets import bucket

from gateway.accounting.state.folder import Covered, Folder, Said, State, StateError


@pytest.fixture
def there(tmp_path):
    """What makes a run's own view of one state, and a directory with its files."""
    return (lambda: Folder(bucket(tmp_path)), tmp_path / "bucket")


def state(*folders: str, records: str = "") -> State:
    said = tuple(Said(name, 7) for name in folders)
    return State("id", 5, (Covered("0000000001-000001.audit", 10, "a"),), said, records)


def put(directory, *names: str) -> None:
    for name in names:
        (directory / name).mkdir(parents=True)
        (directory / name / "part.parquet").touch()


def test_what_is_written_is_read_and_what_it_names_no_more_is_deleted(there):
    run, directory = there
    put(directory, "00000001", "00000002", "00000003", "00000004")
    first = run()
    with first.held():
        assert first.read() == State()
        first.write(state("00000001", records="00000002"))
    second = run()
    assert second.read() == state("00000001", records="00000002")
    second.write(state("00000001", "00000003", records="00000004"))
    assert sorted(os.listdir(directory)) == ["00000001", "00000003", "00000004", "state.json"]


def test_of_two_runs_at_once_the_later_one_says_so_and_changes_nothing(there):
    run, directory = there
    put(directory, "00000001", "00000002", "00000003", "00000004")
    run().write(state("00000001"))
    one, other = run(), run()
    for each in (one, other):
        with each.held():
            each.read()
    one.write(state("00000001", "00000002"))
    with pytest.raises(StateError, match="was gone on from by another run meanwhile"):
        other.write(state("00000001", "00000003"))
    assert run().read() == state("00000001", "00000002")
    assert "00000003" in os.listdir(directory)


def test_a_run_that_breaks_off_leaves_nothing_of_its_own(there):
    run, directory = there
    put(directory, "00000001")
    first = run()
    first.write(state("00000001"))
    with pytest.raises(OSError, match="gone"), first.held():
        begun, _other = first.fresh(first.read())
        put(directory, begun)
        raise OSError("the server is gone")
    assert sorted(os.listdir(directory)) == ["00000001", "state.json"]


def test_two_runs_at_once_have_folders_of_their_own(there):
    run, _directory = there
    names = {run().fresh(state("00000005", records="00000006")) for _ in range(8)}
    assert len({name for both in names for name in both}) == 16
    assert all(int(one) > 6 and int(one) % 2 for one, _other in names)


def test_what_a_run_left_that_broke_off_goes_when_it_is_old(there):
    run, directory = there
    put(directory, "00000001", "00000002", "00000003")
    long_ago = time.time() - 30 * 24 * 3600
    os.utime(directory / "00000002" / "part.parquet", (long_ago, long_ago))
    run().write(state("00000001"))
    assert sorted(os.listdir(directory)) == ["00000001", "00000003", "state.json"]


def test_to_begin_anew_takes_nothing_from_a_run_at_work_but_its_state(there):
    run, directory = there
    put(directory, "00000001", "00000002")
    run().write(state("00000001"))
    at_work = run()
    at_work.read()
    anew = run()
    anew.clear()
    assert anew.read() == State()
    assert "00000001" in os.listdir(directory)
    with pytest.raises(StateError, match="another run"):
        at_work.write(state("00000001", "00000002"))


def test_a_state_that_names_what_is_not_there_is_refused(there):
    run, directory = there
    put(directory, "00000001")
    run().write(state("00000001"))
    (directory / "00000001" / "part.parquet").unlink()
    (directory / "00000001").rmdir()
    with pytest.raises(StateError, match="is missing, which the state names"):
        run().read()
