"""One of several gateways of a group is killed under load, and nothing is lost.

`pods.py`, a program, does it for longer, and with other brokers.
"""

from pathlib import Path

from faults.pods import one_killed
from interop.brokers.artemis import Artemis
from interop.brokers.rabbitmq import RabbitMQ4


def test_three_gateways_lose_nothing_when_one_is_killed(artemis: Artemis, tmp_path: Path) -> None:
    verdict = one_killed(tmp_path, artemis)
    assert all(verdict.served), "one of them had no clients"


def test_so_it_is_with_rabbitmq(rabbitmq4: RabbitMQ4, tmp_path: Path) -> None:
    one_killed(tmp_path, rabbitmq4)
