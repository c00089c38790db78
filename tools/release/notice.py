"""NOTICE: which packages the images contain beside the gateway, and by which licences.

Asked of pip, which reads it in the packages themselves (`pip install --report`); nothing is
installed for that.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Final

from release import locks

# Of a package as it says itself: License-Expression, else License where that is a name, else the
# last part of a classifier.
NAME_LENGTH: Final = 60
HEAD: Final = """\
AMQP Gateway
Copyright 2026 The authors of the AMQP Gateway

Licensed under the Apache License, Version 2.0, which is in LICENSE.

The images contain these packages from PyPI, each with its own licence, whose text is in its
`*.dist-info`. Those marked `gssapi` are in an image that is built with that extra, those marked
`accounting` in the one for reconciliation; the others are in all. What is marked `demo` comes with
the extra of that name, and is in no image. Licences of Debian's packages are in
`/usr/share/doc/*/copyright`. A wheel contains none of them.

Written by `python -m release notice`, of image/requirements and what the packages say.

"""
ROW: Final = re.compile(r"^  (\S+) (\S+) +(.+?)(?: +\[(\w+)\])?$", re.MULTILINE)

Row = tuple[str, str, str, str]  # name, version, licence, the lock that has it


def licence(metadata: dict[str, Any]) -> str:  # Any: of JSON
    """What a package says its licence is.

    Raises:
        ValueError: it says nothing.
    """
    if expression := metadata.get("license_expression"):
        return str(expression)
    said = (metadata.get("license") or "").strip()
    if said and "\n" not in said and len(said) <= NAME_LENGTH:
        return str(said)
    for classifier in metadata.get("classifier", []):
        if classifier.startswith("License :: "):
            return str(classifier).rpartition(" :: ")[2]
    raise ValueError(f"{metadata['name']} does not say its licence")


def report(root: Path, lock: str, pip: str) -> dict[str, Any]:  # Any: of JSON
    """What pip finds for a lock, with the metadata of each package."""
    with tempfile.TemporaryDirectory() as work:
        told = Path(work, "report.json")
        subprocess.run(
            [
                *(pip, "install", "--quiet", "--disable-pip-version-check", "--dry-run"),
                *("--ignore-installed", "--require-hashes", "--report", str(told)),
                *("-r", str(root / locks.FOLDER / f"{lock}.txt")),
            ],
            check=True,
        )
        found: dict[str, Any] = json.loads(told.read_text(encoding="utf-8"))
        return found


def page(reports: dict[str, dict[str, Any]]) -> str:  # Any: of JSON
    """The whole file; `reports` by lock, that of the image itself first."""
    rows: dict[str, Row] = {}
    for lock, told in reports.items():
        for each in told["install"]:
            metadata = each["metadata"]
            name = locks.normal(metadata["name"])
            mark = "" if lock == "gateway" else f"[{lock}]"
            rows.setdefault(name, (name, metadata["version"], licence(metadata), mark))
    lines = []
    for name, version, said, mark in sorted(rows.values()):
        lines.append(f"  {f'{name} {version}':<30} {said:<30} {mark}".rstrip() + "\n")
    return HEAD + "".join(lines)


def rows(text: str) -> list[Row]:
    """What a NOTICE lists."""
    return ROW.findall(text)


def problems(root: Path) -> list[str]:
    """In what NOTICE does not fit the locks."""
    listed = {(name, version) for name, version, _, _ in rows((root / "NOTICE").read_text("utf-8"))}
    contained = {pin for lock in locks.RUNS for pin in locks.pinned(root, lock).items()}
    return [
        *(f"NOTICE lacks {name} {version}" for name, version in sorted(contained - listed)),
        *(f"NOTICE has {name} {version} too many" for name, version in sorted(listed - contained)),
    ]
