"""The brokers that faults are done to, and one Spark session to reconcile the logs after them."""

from collections.abc import Iterator

import pytest
from faults.reconciling import Reconcile, reconciling
from interop.brokers.fixtures import artemis, rabbitmq4, rabbitmq310

__all__ = ["artemis", "rabbitmq4", "rabbitmq310"]


@pytest.fixture(scope="session")
def reconcile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reconcile]:
    """Fails where an audit log is not balanced."""
    with reconciling(tmp_path_factory.mktemp("spark")) as run:
        yield run
