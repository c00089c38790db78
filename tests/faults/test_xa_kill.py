"""No branch of XA is half done, however the gateway dies.

The program kills it as often as one likes.
"""

from pathlib import Path

import pytest
from faults.xa_kill import campaign
from support.reconciling import Reconcile

pytestmark = pytest.mark.alone


def test_no_branch_is_half_done_by_five_kills(tmp_path: Path, reconcile: Reconcile) -> None:
    print(campaign(tmp_path, kills=5, seed=4))
    reconcile(tmp_path / "data" / "audit")
