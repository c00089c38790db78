"""The gateway, killed under load of both protocols, loses and doubles nothing.

The program kills it as often as one likes.
"""

from pathlib import Path

import pytest
from faults.kill import campaign

pytestmark = pytest.mark.alone


def test_nothing_confirmed_is_lost_or_doubled_by_eight_kills(tmp_path: Path) -> None:
    print(campaign(tmp_path, kills=8, seed=1))


def test_nor_of_queues_that_are_larger_than_memory(tmp_path: Path) -> None:
    config = {"queues": {"memory": "256KiB"}}
    print(campaign(tmp_path, kills=3, seed=2, backlog=8000, config=config))
