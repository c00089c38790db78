"""The locks are of what pyproject.toml says now, and let nothing in without a checksum."""

import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from release import locks

ROOT = Path(__file__).parents[2]
ALL = locks.wanted(ROOT)


@pytest.mark.parametrize("lock", ALL)
def test_a_lock_has_all_that_is_wanted_in_a_version_that_fits(lock: str) -> None:
    pinned = locks.pinned(ROOT, lock)
    for text in ALL[lock]:
        wanted = Requirement(text)
        version = pinned.get(locks.normal(wanted.name))
        assert version is not None, f"{text}: run python -m release lock"
        assert wanted.specifier.contains(version), f"{text}: run python -m release lock"


@pytest.mark.parametrize("lock", ALL)
def test_nothing_is_in_a_lock_without_a_checksum(lock: str) -> None:
    text = (ROOT / locks.FOLDER / f"{lock}.txt").read_text(encoding="utf-8")
    entries = re.split(r"^(?=\S)", text, flags=re.MULTILINE)[1:]
    named = [entry for entry in entries if not entry.startswith("#")]
    assert len(named) == len(locks.pinned(ROOT, lock)) > 0
    assert [entry for entry in named if "    --hash=sha256:" not in entry] == []


@pytest.mark.parametrize("script", ["build", "wheel"])
def test_scripts_let_pip_fetch_nothing_without_a_checksum(script: str) -> None:
    text = (ROOT / "image" / script).read_text(encoding="utf-8").replace("\\\n", "")
    lines = [line for line in text.splitlines() if re.search(r"\bpip .*(install|wheel) ", line)]
    assert len(lines) == 4
    for line in lines:
        fetches_none = "--no-index" in line or "--no-deps --no-build-isolation -w" in line
        assert "--require-hashes" in line or fetches_none, line


def test_the_images_run_the_same_versions() -> None:
    image = locks.pinned(ROOT, "gateway").items()
    for other in ("gssapi", "accounting", "demo"):
        assert image <= locks.pinned(ROOT, other).items()


def test_what_compiles_and_what_runs_have_one_librt() -> None:
    assert locks.pinned(ROOT, "build")["librt"] == locks.pinned(ROOT, "gateway")["librt"]
