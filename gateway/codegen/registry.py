"""Every generator that there is, and the text that all generated files begin with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

GENERATORS: Final[list[Callable[[], dict[str, str]]]] = []


def generate() -> dict[str, str]:
    """All generated files: path relative to ``gateway/`` -> source."""
    files: dict[str, str] = {}
    for generator in GENERATORS:
        files.update(generator())
    return files
