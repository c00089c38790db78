"""Which tests run in one worker of pytest-xdist, one after the other, and which groups come first.

Tests that share something costly stay together, so that it is started once: a broker, a Spark
session, or what the tests of a file share. A group that takes long comes early, so that no worker
is left alone with it at the end.
"""

from __future__ import annotations

from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

# A test that uses several of these goes with the first.
BROKERS = ("artemis", "rabbitmq4", "broker_j", "activemq", "rabbitmq310")
EITHER_BROKER = "upstream_broker"  # each of them in turn
# All of the jobs, and who else has their session, but those that start a Spark of their own, and
# stories, which take as long as the rest: two workers have a session each.
SPARK, SESSION = "accounting", "spark"
STORIES = f"{SPARK}/scenarios"
STARTED = tuple(f"{SPARK}/{name}" for name in ("test_bundle", "test_main"))
EARLY = (*BROKERS, STORIES, SPARK, *STARTED, "faults/test_kill", "interop/test_serve")


def group_of(item: pytest.Item) -> str:
    """The name of the group that a test belongs to."""
    uses = set(getattr(item, "fixturenames", ()))
    given = getattr(item, "callspec", None)
    if given is not None and EITHER_BROKER in given.params:
        uses.add(given.params[EITHER_BROKER])
    for broker in BROKERS:
        if broker in uses:
            return broker
    file = item.path.relative_to(TESTS)
    own = file.with_suffix("").as_posix()
    if file.parts[0] == SPARK:
        if own in STARTED:
            return own
        return STORIES if own.startswith(STORIES) else SPARK
    if SESSION in uses:
        # In the step of what needs others, these have the session that is there.
        return SPARK if item.get_closest_marker("alone") else BROKERS[0]
    return own


def name_group(item: pytest.Item) -> None:
    """Tell pytest-xdist the group of a test; it looks before collection ends."""
    item.add_marker(pytest.mark.xdist_group(group_of(item)))


def put_early_first(items: list[pytest.Item]) -> None:
    """Let the groups that take long come first."""
    ranks = {group: rank for rank, group in enumerate(EARLY)}
    items.sort(key=lambda item: ranks.get(group_of(item), len(ranks)))
