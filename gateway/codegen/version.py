"""Writes pyproject.toml's version, which is the only one, to where it is needed without that file.

That is the package itself - in a job's zip, nothing else tells it -, and the chart: its own version
and that of the image which it installs.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).parent.parent
# Where a version stands: a file, relative to `gateway/` -> the lines before and after it.
PLACES: Final = {
    "__init__.py": [(r'^__version__: Final = "', '"$')],
    "../helm/Chart.yaml": [("^version: ", "$"), ('^appVersion: "', '"$')],
}


def version(root: Path) -> str:
    """The project's, in a clone."""
    described = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    return str(described["project"]["version"])


def with_version(text: str, places: list[tuple[str, str]], number: str) -> str:
    """A file's text, with the version in each of its places."""
    for before, after in places:
        text, count = re.subn(f"({before}).*?({after})", rf"\g<1>{number}\2", text, flags=re.M)
        assert count == 1, before
    return text


def files(package: Path = PACKAGE) -> dict[str, str]:
    """The files that have a version: path relative to ``gateway/`` -> text."""
    number = version(package.parent)
    return {
        name: with_version((package / name).read_text(encoding="utf-8"), places, number)
        for name, places in PLACES.items()
    }
