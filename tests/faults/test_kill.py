"""The gateway, killed 20 times under load of both protocols, loses and doubles nothing."""

from pathlib import Path

import pytest
from faults.kill import campaign

pytestmark = pytest.mark.alone


def test_nothing_confirmed_is_lost_or_doubled_by_twenty_kills(tmp_path: Path) -> None:
    print(campaign(tmp_path, kills=20, seed=1))
