"""The table keeps its rules."""

import re

import pytest

from gateway.metrics import METRICS, OBJECT_METRICS, MetricRow

UNITS = ("seconds", "bytes", "messages", "total", "info", "ready", "turns", "rows", "damaged")
THINGS = (
    *("segments", "number", "balanced", "wrong"),
    "connections",
    "sessions",
    "moves",
    "links",
    "spans",
    "transactions",
    "branches",
    "files",
    "recovered",
    "queues",
    "subscriptions",
    "publishes",
    "logins",
    "entries",
    "tries",
    "up",
    "rules",
    "blocked",
    "stopped",
    "differences",
    "sequence",
    "segment",
    "signed",
    "connections",
    "messages",
)


@pytest.mark.parametrize("row", [*METRICS, *OBJECT_METRICS], ids=lambda row: row.name)
def test_a_metric_has_a_unit_a_help_text_and_labels_that_are_words(row: MetricRow) -> None:
    assert re.fullmatch(r"gateway_[a-z_]+", row.name)
    assert row.name.endswith(UNITS + THINGS)
    assert row.name.endswith("_total") == (row.kind == "counter")
    assert row.help.endswith(".")
    assert all(re.fullmatch(r"[a-z_]+", label) for label in row.labels)


def test_a_limit_stands_beside_what_it_limits() -> None:
    names = {row.name for row in (*METRICS, *OBJECT_METRICS)}
    limits = {name for name in names if "_limit_" in name}
    assert len(limits) > 5
    assert {name.replace("_limit_", "_") for name in limits} <= names


def test_no_metric_stands_twice_and_names_of_queues_are_only_in_the_table_for_objects() -> None:
    names = [row.name for row in (*METRICS, *OBJECT_METRICS)]
    assert len(set(names)) == len(names)
    assert not any("queue" in row.labels for row in METRICS)
