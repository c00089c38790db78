"""The directories of runs: whole or not there, and none is ever written again."""

import errno
import os
import shutil
from pathlib import Path

import pytest
from support.buckets import bucket

from gateway.accounting import runs
from gateway.accounting.locations.remote import Remote

AT = 1_795_721_400.75
NAME = "2026-11-26T193000Z"


def ran(out: Path, at: float = AT, text: str = "a report") -> Path:
    with runs.begin(out, at) as run:
        (run.work / "report.html").write_text(text)
        (run.work / runs.REPORT).write_text("{}")
        run.finish()
    return run.path


def names(out: Path) -> list[str]:
    return sorted(os.listdir(out))


def test_a_run_is_seen_by_its_time_when_all_of_it_is_there(tmp_path):
    out = tmp_path / "new" / "out"
    with runs.begin(out, AT) as run:
        (run.work / "report.html").write_text("half a")
        assert names(out) == [f"unfinished-{NAME}"]
        assert runs.finished(out) == []
        run.finish()
    assert (names(out), run.path) == ([NAME], out / NAME)
    assert (run.path / "report.html").read_text() == "half a"


def test_no_run_takes_the_place_of_another(tmp_path):
    paths = [ran(tmp_path, text=str(number)) for number in range(11)]
    assert [path.name for path in paths] == [NAME, *(f"{NAME}-{each}" for each in range(1, 11))]
    assert [(path / "report.html").read_text() for path in paths] == list(map(str, range(11)))
    assert runs.finished(tmp_path) == paths  # 10 behind 9


def test_two_runs_at_the_same_time_have_a_directory_each(tmp_path):
    with runs.begin(tmp_path, AT) as one, runs.begin(tmp_path, AT) as other:
        other.finish()
        one.finish()
    assert names(tmp_path) == [NAME, f"{NAME}-1"]


@pytest.mark.parametrize("again", [False, True])
def test_what_was_removed_while_it_was_written_is_no_run_whatever_was_written_since(
    tmp_path, again
):
    with runs.begin(tmp_path, AT) as run:
        shutil.rmtree(run.work)
        if again:  # as Spark does it with the next table
            run.work.mkdir()
            (run.work / runs.REPORT).write_text("{}")
        with pytest.raises(OSError, match="was removed while the run wrote it"):
            run.finish()
    assert names(tmp_path) == []


def test_the_newest_segment_that_a_run_has_told_of_is_known(tmp_path):
    assert runs.newest_told(tmp_path) == ""
    assert runs.newest_told(tmp_path / "removed") == ""
    texts = ('{"log": {"newest": "7.audit"}}', "{}", "[]", "half a rep", "[" * 100_000)
    for number, told in enumerate(texts):
        (ran(tmp_path, AT + number) / runs.REPORT).write_text(told)
        assert runs.newest_told(tmp_path) == ("" if number else "7.audit")


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_of_a_run_that_fails_nothing_is_left(tmp_path, error):
    with pytest.raises(type(error)), runs.begin(tmp_path, AT) as run:
        (run.work / "breaks").mkdir()
        raise error
    assert names(tmp_path) == []


def test_what_a_run_left_that_was_killed_is_removed_by_the_next_and_what_is_made_is_not(tmp_path):
    (tmp_path / f"unfinished-{NAME}" / "breaks").mkdir(parents=True)
    (tmp_path / "unfinished-thoughts").mkdir()
    with runs.begin(tmp_path, AT + 60) as at_work:
        assert names(tmp_path) == ["unfinished-2026-11-26T193100Z", "unfinished-thoughts"]
        ran(tmp_path)
        at_work.finish()
    assert names(tmp_path) == [NAME, "2026-11-26T193100Z", "unfinished-thoughts"]


def test_latest_leads_to_the_one_that_ended_last_wherever_the_directory_is_moved(tmp_path):
    out = tmp_path / "out"
    for at in (AT, AT + 60):
        runs.lead_to(ran(out, at))
    out.rename(tmp_path / "moved")
    assert os.readlink(tmp_path / "moved" / "latest") == "2026-11-26T193100Z"
    assert (tmp_path / "moved" / "latest" / "report.html").read_text() == "a report"


def test_where_there_are_no_links_latest_is_a_file_with_the_name(tmp_path, monkeypatch):
    def refused(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(Path, "symlink_to", refused)
    for at in (AT, AT + 60):
        runs.lead_to(ran(tmp_path, at))
    assert (tmp_path / "latest").read_text() == "2026-11-26T193100Z\n"
    assert names(tmp_path) == [NAME, "2026-11-26T193100Z", "latest"]


def test_what_is_called_latest_and_is_none_of_ours_stays(tmp_path):
    (tmp_path / "latest").mkdir()
    run = ran(tmp_path)
    with pytest.raises(OSError, match="latest"):
        runs.lead_to(run)
    assert names(tmp_path) == [NAME, "latest"]


def test_what_is_called_as_a_run_and_is_none_stays(tmp_path):
    (tmp_path / "2020-01-01T000000Z").mkdir()
    (tmp_path / "2020-01-01T000000Z" / "mine.txt").write_text("x")
    (tmp_path / "2019-01-01T000000Z").symlink_to("/")
    (tmp_path / "2026-13-45T999999Z").mkdir()
    (tmp_path / "2026-13-45T999999Z" / runs.REPORT).write_text("{}")
    there = names(tmp_path)
    runs.keep(1, ran(tmp_path))
    assert names(tmp_path) == sorted([*there, NAME])


def test_the_oldest_go_first_and_the_run_itself_never(tmp_path):
    for name in ("state", "2026-11-26"):
        (tmp_path / name).mkdir()
    old = [ran(tmp_path, AT + number) for number in range(3)]
    runs.keep(2, old[2])
    assert runs.finished(tmp_path) == old[1:]
    before = ran(tmp_path, AT - 3600)  # the clock was set back
    runs.keep(1, before)
    assert names(tmp_path) == ["2026-11-26", before.name, "state"]


def ran_elsewhere(directory: Path, at: float) -> Remote:
    """In the directory "out" of a bucket that is there."""
    with runs.begin(bucket(directory) / "out", at) as run:
        (directory / "bucket" / "out" / run.work.name).mkdir(parents=True)  # as no bucket needs it
        (run.work / "report.html").write("a report")
        (run.work / runs.REPORT).write("{}")
        run.finish()
    runs.lead_to(run.path)
    assert isinstance(run.path, Remote)
    return run.path


def test_elsewhere_a_run_is_one_when_its_last_file_is_there(tmp_path):
    out = bucket(tmp_path) / "out"
    with pytest.raises(KeyboardInterrupt), runs.begin(out, AT) as run:
        (tmp_path / "bucket" / "out" / run.work.name).mkdir(parents=True)
        (run.work / "report.html").write("half a")
        raise KeyboardInterrupt
    assert runs.finished(out) == []  # and nothing is left
    first = ran_elsewhere(tmp_path, AT)
    (tmp_path / "bucket" / "out" / "2026-11-26T193001Z").mkdir(parents=True)
    (out / "2026-11-26T193001Z" / "report.html").write("of a run that was killed")
    second, third = ran_elsewhere(tmp_path, AT), ran_elsewhere(tmp_path, AT + 60)
    assert [each.name for each in (first, second)] == [NAME, f"{NAME}-1"]
    whole = [first, second, third]
    assert [each.name for each in runs.finished(out)] == [each.name for each in whole]
    assert (out / runs.LATEST).read(100).decode() == f"{third.name}\n"
    runs.keep(1, third)
    assert [each.name for each in runs.finished(out)] == [third.name]
