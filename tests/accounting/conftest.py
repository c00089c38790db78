"""The tests of the jobs: without Spark none of them is there to run."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from support.audit_frames import Frames
from support.reconciling import LIBRARIES

LACKING = [name for name in LIBRARIES if importlib.util.find_spec(name) is None]


class Unimportable(pytest.Module):
    """A test file whose imports would fail."""

    def collect(self) -> list[pytest.Item]:
        pytest.skip(
            f"no {', '.join(LACKING)}: pip install '.[accounting]'", allow_module_level=True
        )


def pytest_pycollect_makemodule(
    module_path: Path, parent: pytest.Collector
) -> pytest.Module | None:
    return Unimportable.from_parent(parent, path=module_path) if LACKING else None


def pytest_itemcollected(item: pytest.Item) -> None:
    """Several reconciliations, beside whatever else a machine does, take their time."""
    item.add_marker(pytest.mark.timeout(1200))


@pytest.fixture(scope="session")
def frames(spark) -> Frames:
    return Frames(spark)
