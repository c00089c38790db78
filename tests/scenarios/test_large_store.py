"""The program that measures starts on large stores, on a small one: what it does, not how fast."""

from pathlib import Path

import pytest
from bench import large_store


@pytest.mark.process
def test_who_connects_to_a_gateway_that_starts_is_served_when_all_is_back(tmp_path: Path) -> None:
    starts = large_store.measure(tmp_path, messages=5000, queues=3, octets=50)
    assert len(starts) == 2  # behind a stop in order, and behind a kill
    for each in starts:
        assert 0 < each.listening_s < each.delivered_s
        assert 0 < each.resident_mib <= each.highest_mib
