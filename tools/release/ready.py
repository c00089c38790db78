"""What has to be so before anything of a release is published, told all at once."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from gateway.codegen import version
from release import bases, notice


def problems(root: Path, tag: str) -> list[str]:
    """Why this clone cannot be published under a tag; none if it can."""
    number = version.version(root)
    told = [] if tag == f"v{number}" else [f"the tag {tag} is not v{number}, of pyproject.toml"]
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## \[{re.escape(number)}\]", changelog, re.MULTILINE):
        told.append(f"CHANGELOG.md has no section [{number}]")
    loose = bases.unpinned((root / "Dockerfile").read_text(encoding="utf-8"))
    told += [f"Dockerfile: {image} has no digest: python -m release pin" for image in loose]
    told += notice.problems(root)
    for name, text in version.files(root / "gateway").items():
        if (root / "gateway" / name).read_text(encoding="utf-8") != text:
            told.append(f"gateway/{name} is not as python -m gateway.codegen writes it")
    return told + checked_out(root, tag)


def checked_out(root: Path, tag: str) -> list[str]:
    """In what the clone is something else than what the tag names."""

    def git(*arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False
        )
        return done.stdout.strip()

    told = (
        []
        if git("rev-parse", f"refs/tags/{tag}^{{commit}}") == git("rev-parse", "HEAD")
        else [f"what is checked out is not the tag {tag}"]
    )
    if changed := git("status", "--porcelain"):
        told.append(f"what is checked out was changed: {changed.splitlines()[0].strip()} ...")
    return told
