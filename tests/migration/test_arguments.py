"""Arguments of queues: which have an effect here, which have none, which are refused."""

from __future__ import annotations

import pytest

from gateway.faces.arguments.fates import FATES, Fate
from gateway.migration.arguments import NOT_SCALAR, UNKNOWN, fates_of

COUNTED = [
    name
    for names, (fate, _text) in FATES.items()
    if fate == Fate.COUNTED
    for name in names.split(", ")
]


def test_what_has_an_effect_is_kept_as_it_was_said() -> None:
    fates = fates_of({"qpid.max_count": 5, "qpid.policy_type": "ring"})
    assert fates.done == {"qpid.max_count": 5, "qpid.policy_type": "ring"}
    assert (fates.without_effect, fates.refused) == ({}, "")
    assert fates.settings.max_count == 5


@pytest.mark.parametrize("name", [each for each in COUNTED if each != "qpid.group_timestamp"])
def test_what_the_table_counts_has_no_effect_and_the_tables_reason(name: str) -> None:
    fates = fates_of({name: 1})
    assert fates.done == {}
    assert name in fates.without_effect
    assert fates.without_effect[name] != UNKNOWN


def test_what_the_table_does_not_have_is_said_to_be_unknown() -> None:
    assert fates_of({"x-expires": 1}).without_effect == {"x-expires": UNKNOWN}


def test_a_policy_that_is_not_known_has_no_effect() -> None:
    fates = fates_of({"qpid.policy_type": "none", "qpid.max_count": 1})
    assert fates.done == {"qpid.max_count": 1}
    assert list(fates.without_effect) == ["qpid.policy_type"]


def test_what_is_no_number_and_no_text_is_not_kept() -> None:
    assert fates_of({"qpid.max_count": {"a": 1}}).without_effect == {"qpid.max_count": NOT_SCALAR}


def test_what_does_not_go_together_is_refused() -> None:
    fates = fates_of({"qpid.priorities": 5, "qpid.last_value_queue_key": "k"})
    assert fates.refused == "last values do not go with priorities"
