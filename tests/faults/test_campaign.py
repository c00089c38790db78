"""The disk fails under loaded gateways, twenty times: nothing is lost, and nobody is lied to.

It needs a C compiler, which comes with what proton is built with.
"""

from pathlib import Path

import pytest
from faults import disk
from faults.campaign import campaign


@pytest.mark.alone
@pytest.mark.skipif(
    disk.compiler() is None, reason="no C compiler: run tests/interop/install proton"
)
def test_twenty_broken_disks_lose_nothing_and_are_told_of(tmp_path: Path) -> None:
    told = campaign(tmp_path, 20)
    for one in told:
        print(one)
    assert [one for one in told if "problem" in one] == []
    assert sum(one["failed_operations"] for one in told) > 0
    assert sum(one.get("blocked", 0) for one in told) > 0
