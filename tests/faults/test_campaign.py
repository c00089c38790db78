"""The disk fails under loaded gateways, in each way: nothing is lost, and nobody is lied to.

It needs a C compiler, which comes with what proton is built with. The program does it for as long
as one likes.
"""

from pathlib import Path

import pytest
from faults import disk
from faults.campaign import KINDS, campaign


@pytest.mark.alone
@pytest.mark.skipif(
    disk.compiler() is None, reason="no C compiler: run tests/interop/install proton"
)
def test_a_disk_that_breaks_in_any_way_loses_nothing_and_is_told_of(tmp_path: Path) -> None:
    told = campaign(tmp_path, len(KINDS))
    for one in told:
        print(one)
    assert [one for one in told if "problem" in one] == []
    assert sum(one["failed_operations"] for one in told) > 0
    assert sum(one.get("blocked", 0) for one in told) > 0
