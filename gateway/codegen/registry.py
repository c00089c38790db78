"""Every generator that there is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from gateway.codegen import (
    amqp_0_10,
    amqp_1_0,
    arguments,
    chart,
    dashboards,
    mapping,
    metrics,
    version,
)

GENERATORS: Final[list[Callable[[], dict[str, str]]]] = [
    amqp_0_10.files,
    amqp_1_0.files,
    arguments.files,
    chart.files,
    dashboards.files,
    mapping.files,
    metrics.files,
    version.files,
]


def generate() -> dict[str, str]:
    """All generated files: path relative to ``gateway/`` -> source."""
    files: dict[str, str] = {}
    for generator in GENERATORS:
        files.update(generator())
    return files
