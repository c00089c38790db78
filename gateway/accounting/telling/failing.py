"""Why a job could not go on, in one line: of Spark, Java, the disk, and of what a worker met."""

from __future__ import annotations

import re
from typing import Final

# Of a file, as a worker's traceback ends in the middle of what Spark says.
_OF_A_FILE: Final = re.compile(r"^\w+: \[Errno \d+\] (.*): '(.*)'\s*$", re.MULTILINE)


def reason(error: Exception) -> str:
    """What the error says, with its name; of a file that a worker could not read, that."""
    said = str(error).strip()
    found = None if isinstance(error, OSError) else _OF_A_FILE.search(said)
    if found:
        why, path = found.groups()
        return f"cannot read {path}: {why}"
    lines = said.splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else 'no more is known'}"
