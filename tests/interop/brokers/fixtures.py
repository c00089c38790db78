"""Fixtures of the brokers: each is started when a first test asks for it, and lives to the end.

A test that kills, pauses or restarts one must leave it running. Tests share it: they use names of
their own for queues and topics.
"""

from collections.abc import Iterator
from typing import TypeVar

import pytest
from interop.brokers.activemq import ActiveMQ
from interop.brokers.artemis import Artemis
from interop.brokers.broker import Broker
from interop.brokers.broker_j import BrokerJ
from interop.brokers.rabbitmq import RabbitMQ4, RabbitMQ310
from interop.needed import needed

_AnyBroker = TypeVar("_AnyBroker", bound=Broker)
UPSTREAM_BROKERS = ("artemis", "activemq", "rabbitmq4", "rabbitmq310", "broker_j")


def _running(kind: type[_AnyBroker], factory: pytest.TempPathFactory) -> Iterator[_AnyBroker]:
    for peer in (kind.peer, "proton"):
        needed(peer)
    with kind(factory.mktemp(kind.peer)) as broker:
        yield broker


@pytest.fixture(scope="session")
def artemis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Artemis]:
    """ActiveMQ Artemis."""
    yield from _running(Artemis, tmp_path_factory)


@pytest.fixture(scope="session")
def activemq(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ActiveMQ]:
    """ActiveMQ Classic."""
    yield from _running(ActiveMQ, tmp_path_factory)


@pytest.fixture(scope="session")
def rabbitmq4(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RabbitMQ4]:
    """RabbitMQ with native 1.0."""
    yield from _running(RabbitMQ4, tmp_path_factory)


@pytest.fixture(scope="session")
def rabbitmq310(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RabbitMQ310]:
    """RabbitMQ with the 1.0 plugin."""
    yield from _running(RabbitMQ310, tmp_path_factory)


@pytest.fixture(scope="session")
def broker_j(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerJ]:
    """Apache Qpid Broker-J."""
    yield from _running(BrokerJ, tmp_path_factory)


@pytest.fixture(scope="session", params=UPSTREAM_BROKERS)
def upstream_broker(request: pytest.FixtureRequest) -> Broker:
    """Each of the brokers in turn."""
    broker: Broker = request.getfixturevalue(request.param)
    return broker
