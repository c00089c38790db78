"""A record that is missing, or says something else, is one break by its name, and that alone.

The log is that of a gateway whose checkpoints have all that they have, packed by hand. What is
found is the same whether it is read whole, message by message, or by two runs with a state.
"""

from __future__ import annotations

import shutil

import pytest
from support import (
    harmed_branches,
    harmed_extremes,
    harmed_innocents,
    harmed_neighbours,
    harmed_references,
)
from support.harmed_records import FIRST, NUMBERS, STORIES, harmed_log
from support.whole_log import BRANCH

from gateway.accounting.reconcile import Result, reconcile
from gateway.accounting.state.folder import Folder
from gateway.audit.reader import segment_paths

# Their stories are told, too.
OTHERS = (
    *(harmed_branches, harmed_extremes, harmed_innocents),
    *(harmed_neighbours, harmed_references),
)
SEGMENT = 80  # records: nearly every story goes over several
SAME = ("class", "message", "node", "link", "sequence", "since", "count", "certain", "detail")


def is_of(row: dict, name: str) -> bool:
    numbers = range(FIRST[name], FIRST[name] + NUMBERS)
    return (
        (row["node"] or "").removeprefix(BRANCH).split(",")[0] == name
        or row["message"] in numbers
        or row["link"] in numbers
    )


def told(result: Result) -> dict[str, list[tuple]]:
    """By story, class and message of what is found; the rest by no name."""
    found: dict[str, list[tuple]] = {name: [] for name in (*STORIES, "")}
    for row in result.breaks:
        names = [name for name in STORIES if is_of(row, name)] or [""]
        assert row["proven"], row
        found[names[0]].append((row["class"], row["message"]))
    return {name: sorted(rows, key=str) for name, rows in found.items()}


@pytest.fixture(scope="module")
def harmed(tmp_path_factory):
    return harmed_log(tmp_path_factory.mktemp("harmed") / "whole", cut=SEGMENT)


@pytest.fixture(scope="module")
def whole(spark, harmed, tmp_path_factory) -> Result:
    log, _wanted = harmed
    return reconcile(spark, log.directory, tmp_path_factory.mktemp("out"))


@pytest.fixture(scope="module")
def told_of_whole(whole) -> dict[str, list[tuple]]:
    return told(whole)


@pytest.mark.parametrize("name", STORIES)
def test_it_is_found_once_by_its_name_with_its_message(harmed, told_of_whole, name):
    _log, wanted = harmed
    assert told_of_whole[name] == sorted(wanted[name], key=str)


def test_nothing_else_is_found(told_of_whole):
    assert told_of_whole[""] == []


def same(result: Result) -> list[str]:
    return sorted(str([row[key] for key in SAME]) for row in result.breaks)


def test_message_by_message_and_by_two_runs_with_a_state_the_same_is_found(
    spark, harmed, whole, tmp_path
):
    """The second of the two runs reads message by message, the whole log folds what it can."""
    log, _wanted = harmed
    growing = tmp_path / "growing"
    growing.mkdir()
    paths = segment_paths(log.directory)
    state = Folder(tmp_path / "state")
    for fold, part in ((True, paths[: len(paths) // 2]), (False, paths[len(paths) // 2 :])):
        for path in part:
            shutil.copy(path, growing)
        result = reconcile(spark, growing, tmp_path / "out", state=state, fold=fold)
    assert same(result) == same(whole)
    assert result.sums == whole.sums
