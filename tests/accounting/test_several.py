"""Several logs of one run: each by its id, and none twice."""

import shutil
from pathlib import Path

import pytest
from support.hand_log import HandLog

from gateway.accounting import several
from gateway.accounting.command_line import parser


def log(directory: Path, name: str) -> Path:
    made = HandLog(directory, name=name)
    made.start()
    return made.end()


def asked(*logs: Path, state: Path | None = None) -> dict:
    options = parser().parse_args(["reconcile", *map(str, logs), "--out=o"])
    options.log, *options.others = logs
    options.state = state
    return several.each_of(options)


def test_one_log_is_asked_of_as_it_is(tmp_path):
    [(name, one)] = asked(tmp_path / "a", state=tmp_path / "state").items()
    assert (name, one.log, one.state) == ("", tmp_path / "a", tmp_path / "state")


def test_each_of_several_has_a_state_of_its_own_by_its_id(tmp_path):
    logs = [log(tmp_path / name, f"{name}1") for name in "ab"]
    found = asked(*logs, state=tmp_path / "state")
    assert {name: (each.log, each.state) for name, each in found.items()} == {
        "a1": (logs[0], tmp_path / "state" / "a1"),
        "b1": (logs[1], tmp_path / "state" / "b1"),
    }
    assert {each.state for each in asked(*logs).values()} == {None}


def test_what_cannot_be_told_apart_is_refused(tmp_path):
    first = log(tmp_path / "a", "a1")
    shutil.copytree(first, tmp_path / "copy")
    with pytest.raises(ValueError, match="are one log, with id a1"):
        asked(first, tmp_path / "copy")
    for name in ("", "../a"):
        other = log(tmp_path / f"other {len(name)}", name)
        with pytest.raises(ValueError, match="has no id"):
            asked(first, other)
