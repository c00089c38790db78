"""A data directory is opened for what it is asked for, or a line says why not."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import cast

import pytest
from support.stopped import filled
from support.whole_gateway import WholeGateway

from gateway.errors import GatewayError
from gateway.offline.checking import Check
from gateway.offline.compacting import compact
from gateway.offline.directory import (
    alone,
    free_octets,
    octets_of,
    own_as,
    refuse_for_want_of_room,
    to_read,
)


def test_while_one_changes_it_nobody_else_does_nor_reads(tmp_path: Path) -> None:
    data = filled(tmp_path / "data", 1)
    with alone(data):
        with pytest.raises(GatewayError, match="used by another process"), alone(data):
            pass
        with pytest.raises(GatewayError, match="used by another process"):
            WholeGateway(data)
        with pytest.raises(GatewayError, match="a gateway is using"), to_read(data):
            pass
    with alone(data):
        pass


def test_a_backup_that_was_not_finished_is_not_changed(tmp_path: Path) -> None:
    (tmp_path / "unfinished-backup").touch()
    with pytest.raises(GatewayError, match="a backup that was not finished"), alone(tmp_path):
        pass


def test_what_is_wrong_while_it_is_read_is_a_line(tmp_path: Path) -> None:
    data = filled(tmp_path / "data", 1)
    with pytest.raises(GatewayError, match="no such table: people"), to_read(data) as database:
        database.execute("SELECT * FROM people")
    with pytest.raises(GatewayError, match=r"gone: No such file"), to_read(data):
        (tmp_path / "gone").read_bytes()
    with pytest.raises(BrokenPipeError), to_read(data):  # of the output: no matter of the store
        raise BrokenPipeError(32, "Broken pipe")


def test_it_cannot_be_written_by_who_reads(tmp_path: Path) -> None:
    data = filled(tmp_path / "data", 1)
    with pytest.raises(GatewayError, match="readonly"), to_read(data) as database:
        database.execute("DELETE FROM log")


def test_room_is_that_of_its_disk(tmp_path: Path) -> None:
    refuse_for_want_of_room(tmp_path, 1)
    with pytest.raises(GatewayError, match="octets are needed, and"):
        refuse_for_want_of_room(tmp_path, 1 << 62)
    assert free_octets(tmp_path) > 0
    assert octets_of(tmp_path) == 0
    sqlite3.connect(tmp_path / "store.sqlite").execute("CREATE TABLE t (a)").close()
    assert octets_of(tmp_path) == (tmp_path / "store.sqlite").stat().st_size


class Elsewhere:
    """A file that somebody else has."""

    def stat(self) -> os.stat_result:
        return os.stat_result((0o100600, 1, 1, 1, 4711, 4712, 0, 0, 0, 0))


def test_what_the_superuser_makes_is_its_directorys_owners(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[tuple[object, ...]] = []
    monkeypatch.setattr("gateway.offline.directory.os.chown", lambda *all_of: given.append(all_of))
    (tmp_path / "file").touch()
    own_as(tmp_path / "file", tmp_path / "file")
    assert given == []
    own_as(tmp_path / "file", cast(Path, Elsewhere()))
    assert given == [(tmp_path / "file", 4711, 4712)]


def test_a_directory_may_have_any_name(tmp_path: Path) -> None:
    data = filled(tmp_path / "data", 1).rename(tmp_path / "a?b#c%41 \udcff")
    with to_read(data) as database:
        assert database.execute("SELECT count(*) FROM topology").fetchone() > (0,)
    compact(data)
    assert list(Check(data).problems()) == []
