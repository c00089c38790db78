"""How many files may be open is asked of the system, and raised where it lets us."""

from __future__ import annotations

import resource

import pytest

from gateway.net.open_files import raise_file_limit

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
