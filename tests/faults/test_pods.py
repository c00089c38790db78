"""One of several gateways of a group is killed under load, and nothing is lost.

`pods.py`, a program, does it for longer, and with other brokers.
"""

from pathlib import Path

import pytest
from faults.pods import one_killed
from faults.pods_stand import PodsStand
from interop.brokers.artemis import Artemis
from interop.brokers.rabbitmq import RabbitMQ4
from support.gateway_process import GatewayProcess


def test_three_gateways_lose_nothing_when_one_is_killed(artemis: Artemis, tmp_path: Path) -> None:
    verdict = one_killed(tmp_path, artemis)
    assert all(verdict.served), "one of them had no clients"


def test_so_it_is_with_rabbitmq(rabbitmq4: RabbitMQ4, tmp_path: Path) -> None:
    one_killed(tmp_path, rabbitmq4)


def test_a_durable_subscription_goes_on_by_another_gateway_and_a_foreign_group_stands_back(
    artemis: Artemis, tmp_path: Path
) -> None:
    pytest.importorskip("proton", reason="run tests/interop/install proton")
    from interop.peers.durable import Subscriber, publish

    with PodsStand(tmp_path, artemis, "durable", count=2) as stand:
        first, second = stand.pods
        topic = f"{stand.topic}/news.#"
        subscriber = Subscriber(first.amqp_port, topic)
        publish(second.amqp_port, f"{stand.topic}/news.uk", ["one", "two"])
        assert subscriber.take(2) == ["one", "two"]
        subscriber.leave()
        foreign = GatewayProcess(tmp_path / "foreign", first.config)
        with foreign:
            assert foreign.said("somebody else is connected there as 'durable-0'")
            assert foreign.metrics()['gateway_upstream_up{upstream="main"}'] == 0
        publish(second.amqp_port, f"{stand.topic}/news.uk", ["three", "four"])
        first.kill()
        subscriber = Subscriber(second.amqp_port, topic)
        assert subscriber.take(2) == ["three", "four"]
        subscriber.end()
