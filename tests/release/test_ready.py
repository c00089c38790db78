"""What keeps a clone from being published."""

import shutil
import subprocess
from pathlib import Path

import pytest
from release import bases, ready

from gateway import __version__

ROOT = Path(__file__).parents[2]
TAG = f"v{__version__}"
FILES = ["pyproject.toml", "Dockerfile", "NOTICE", "gateway/__init__.py", "helm/Chart.yaml"]


def git(root: Path, *arguments: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "-C", str(root), *who, *arguments], check=True, capture_output=True)


def changed(path: Path, before: str, after: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after, 1), encoding="utf-8")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """One that is ready, with what is looked at."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "image", tmp_path / "image")
    (tmp_path / "CHANGELOG.md").write_text(f"## [{__version__}] - 2027-01-01\n", "utf-8")
    dockerfile = tmp_path / "Dockerfile"
    dockerfile.write_text(bases.pinned(dockerfile.read_text("utf-8"), lambda _: OLD), "utf-8")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "Release")
    git(tmp_path, "tag", TAG)
    return tmp_path


OLD = "sha256:" + "1" * 64


def test_a_clone_that_is_ready_is_published_by_the_tag_of_its_version_alone(clone: Path) -> None:
    assert ready.problems(clone, TAG) == []
    assert ready.problems(clone, "v9.9.9") == [
        f"the tag v9.9.9 is not {TAG}, of pyproject.toml",
        "what is checked out is not the tag v9.9.9",
    ]


def test_everything_that_is_not_so_is_told_at_once(clone: Path) -> None:
    changed(clone / "CHANGELOG.md", __version__, "Unreleased")
    changed(clone / "Dockerfile", f"@{OLD}", "")
    changed(clone / "helm/Chart.yaml", f'appVersion: "{__version__}"', 'appVersion: "0.0.1"')
    changed(clone / "NOTICE", "  twisted ", "  twisted-of-old ")
    told = ready.problems(clone, TAG)
    assert told[:2] == [
        f"CHANGELOG.md has no section [{__version__}]",
        "Dockerfile: debian:bookworm-slim has no digest: python -m release pin",
    ]
    assert [line.partition(" ")[0] + " " + line.split()[1] for line in told[2:4]] == [
        "NOTICE lacks",
        "NOTICE has",
    ]
    assert told[4] == "gateway/../helm/Chart.yaml is not as python -m gateway.codegen writes it"
    assert told[5].startswith("what is checked out was changed: ")
    assert len(told) == 6


def test_a_commit_after_the_tag_is_not_the_release(clone: Path) -> None:
    git(clone, "commit", "-q", "--allow-empty", "-m", "More")
    assert ready.problems(clone, TAG) == [f"what is checked out is not the tag {TAG}"]
