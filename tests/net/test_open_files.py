"""How many files may be open is asked of the system, and raised where it lets us."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from gateway.net import open_files
from gateway.net.open_files import FileShares, raise_file_limit, share_files

UNLIMITED = resource.RLIM_INFINITY


@pytest.mark.parametrize(
    ("soft", "hard", "needed", "after"),
    [
        (1_000, 5_000, 900, 1_000),
        (1_000, 5_000, 4_000, 4_000),
        (1_000, 5_000, 6_000, 5_000),
        (1_000, UNLIMITED, 6_000, 6_000),
    ],
)
def test_as_many_as_are_needed_and_as_the_system_allows(
    soft: int, hard: int, needed: int, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = [(soft, hard)]
    monkeypatch.setattr(resource, "getrlimit", lambda _what: limits[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda _what, both: limits.append(both))
    assert raise_file_limit(needed) == after
    assert limits[-1] == (after, hard)


def test_where_nothing_is_limited_nothing_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _what: (UNLIMITED, UNLIMITED))
    monkeypatch.delattr(resource, "setrlimit")
    assert raise_file_limit(6_000) == 6_000


@pytest.mark.parametrize(
    ("hard", "upstreams", "shares"),
    [
        (48, 0, FileShares(48, 10, 2)),
        (48, 4, FileShares(48, 6, 2)),
        (20, 0, FileShares(20, 1, 2)),  # it would not have come so far
        (1_000, 0, FileShares(1_000, 864, 100)),
        (1_136, 0, FileShares(1_136, 1_000, 100)),
        (UNLIMITED, 0, FileShares(1_136, 1_000, 100)),
    ],
)
def test_connections_leave_files_for_all_else(
    hard: int, upstreams: int, shares: FileShares, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = [(20, hard)]
    monkeypatch.setattr(open_files, "open_files", lambda: 20)
    monkeypatch.setattr(resource, "getrlimit", lambda _what: limits[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda _what, both: limits.append(both))
    assert share_files(1_000, 100, upstreams) == shares
    taken = 20 + open_files.SPARE + upstreams
    if hard != 20:
        assert taken + shares.clients + shares.admin <= shares.files


def test_files_that_are_open_are_counted(tmp_path: Path) -> None:
    before = open_files.open_files()
    with (tmp_path / "a").open("w"), (tmp_path / "b").open("w"):
        assert open_files.open_files() == before + 2
