"""1.0 links that are resumed lose and double nothing, wherever their connections break.

The program cuts them as often as one likes.
"""

from pathlib import Path

import pytest
from faults.cuts_1_0 import campaign

pytestmark = pytest.mark.alone


def test_every_message_comes_once_and_in_order_over_twenty_cuts(tmp_path: Path) -> None:
    print(campaign(tmp_path, cuts=20, seed=1))
