"""One Spark session for all tests of the jobs."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from support.audit_frames import Frames


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator:
    from gateway.accounting.java import MISSING, java_home
    from gateway.accounting.session import spark_session

    scratch = tmp_path_factory.mktemp("spark")
    home = java_home(scratch)
    if home is None:
        pytest.skip(MISSING)
    os.environ["JAVA_HOME"] = str(home)
    with spark_session("tests", "local[1]", scratch, small=True) as session:
        yield session


@pytest.fixture(scope="session")
def frames(spark) -> Frames:
    return Frames(spark)
