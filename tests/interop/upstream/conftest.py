"""Fixtures: a gateway in front of each broker, and the matrix that the tests fill and check."""

from collections.abc import Callable, Iterator

import pytest
from interop.brokers.broker import Broker
from interop.upstream import matrix
from interop.upstream.behind import Behind
from interop.upstream.talk import Talk

Cell = Callable[[str, str], None]

LINKS_MAX = {"rabbitmq310": 20}  # of more it accepts some after 5 s, and others after 10 s


@pytest.fixture(scope="session")
def _front(upstream_broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Behind]:
    front = Behind(upstream_broker, tmp_path_factory.mktemp(f"front-{upstream_broker.peer}"))
    with front.gateway:
        front.is_up()
        yield front


@pytest.fixture
def behind(_front: Behind) -> Iterator[Behind]:
    """The gateway in front of each broker in turn."""
    if _front.name in LINKS_MAX and _front.links() > LINKS_MAX[_front.name]:
        _front.starts_anew()
    yield _front
    _front.leave()


@pytest.fixture
def talk(behind: Behind) -> Talk:
    """A 0-10 client at that gateway."""
    return behind.talk()


@pytest.fixture
def cell(behind: Behind) -> Cell:
    """``cell(capability, outcome)``: what the test saw is what the matrix says of this broker."""

    def check(capability: str, outcome: str) -> None:
        matrix.check(capability, behind.name, outcome)

    return check
