"""The mapping rows: loaded once, at import, from `gateway/mappings/*.yaml`.

A row is data for people and tools (configuration, audit, metrics, documentation, tests). Code that
translates declares, at import, which rows it implements, and carries their numbers. This module is
not compiled: it runs before the first message.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from gateway.errors import ConfigurationError

FOLDER: Final = Path(__file__).resolve().parent.parent / "mappings"
FILES: Final = ("messages", "values", "bodies", "outcomes", "addresses", "errors")
POLICIES: Final = ("exact", "escrow", "narrow", "drop", "refuse")
DIRECTIONS: Final = ("to_1_0", "to_0_10")
NUMBER_MAX: Final = 999
# Safe, and where libyaml is, the one that is ten times faster: each start waits for it.
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Row:
    """One mapping.

    Attributes:
        id: its name, such as ``properties.message-id``; never reused.
        number: the same for the audit log; never reused.
        amqp_0_10, amqp_1_0: its two ends.
        directions: where it applies, of `DIRECTIONS`.
        policy: what becomes of a value that does not fit, of `POLICIES`.
        otherwise: what becomes of it where escrow cannot be had; the policy itself for other rows.
        help: a sentence for people.
    """

    id: str
    number: int
    amqp_0_10: str
    amqp_1_0: str
    directions: tuple[str, ...]
    policy: str
    otherwise: str
    help: str


def load(folder: Path = FOLDER) -> list[Row]:
    """All rows, by number; `ConfigurationError` names every row that is wrong."""
    rows: list[Row] = []
    problems: list[tuple[str, str]] = []
    for name in FILES:
        text = (folder / f"{name}.yaml").read_text(encoding="utf-8")
        entries = yaml.load(text, Loader=_LOADER)
        for at, entry in enumerate(entries):
            try:
                rows.append(_row(entry))
            except (KeyError, TypeError, ValueError) as error:
                problems.append((f"mappings/{name}.yaml[{at}]", repr(error)))
    problems += _clashes(rows)
    if problems:
        raise ConfigurationError(problems)
    return sorted(rows, key=lambda row: row.number)


def _row(entry: dict[str, object]) -> Row:
    directions = entry.get("directions", list(DIRECTIONS))
    policy = str(entry["policy"])
    otherwise = str(entry.get("otherwise", policy))
    number = entry["number"]
    if not isinstance(number, int) or not 0 < number <= NUMBER_MAX:
        raise ValueError(f"number {number!r}")
    if policy not in POLICIES or otherwise not in POLICIES or otherwise == "escrow":
        raise ValueError(f"policy {policy!r} otherwise {otherwise!r}")
    if not isinstance(directions, list) or not set(directions) <= set(DIRECTIONS):
        raise ValueError(f"directions {directions!r}")
    unknown = set(entry) - {*Row.__dataclass_fields__}
    if unknown:
        raise ValueError(f"unknown keys {sorted(unknown)}")
    return Row(
        id=str(entry["id"]),
        number=number,
        amqp_0_10=str(entry["amqp_0_10"]),
        amqp_1_0=str(entry["amqp_1_0"]),
        directions=tuple(directions),
        policy=policy,
        otherwise=otherwise,
        help=str(entry["help"]),
    )


def _clashes(rows: list[Row]) -> list[tuple[str, str]]:
    ids: set[str] = set()
    numbers: set[int] = set()
    problems: list[tuple[str, str]] = []
    for row in rows:
        if row.id in ids or row.number in numbers:
            problems.append((f"mappings {row.id}", "id or number is used twice"))
        ids.add(row.id)
        numbers.add(row.number)
    return problems


ALL: Final = load()
ROWS: Final = {row.id: row for row in ALL}
BY_NUMBER: Final = {row.number: row for row in ALL}
declared: Final[set[str]] = set()
"""The ids that code has declared; a test holds it against the data."""


def number(row_id: str) -> int:
    """Declare that the calling module implements the row; its number."""
    declared.add(row_id)
    return ROWS[row_id].number
