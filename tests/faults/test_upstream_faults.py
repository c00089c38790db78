"""Upstreams fail, and nothing that was confirmed is lost; nothing is doubled without being named.

What each scenario proves is said where it is defined; here they last as long as proves it. The
ledger of each audit log balances, and two are reconciled by the job. All of them, longer ones and
other brokers: `upstream.py`, a program.
"""

from pathlib import Path

import pytest
from faults.upstream_scenarios import SCENARIOS
from interop.brokers.artemis import Artemis
from interop.brokers.rabbitmq import RabbitMQ4, RabbitMQ310
from support.bridge_ledger import ledger_of
from support.reconciling import Reconcile

SECONDS = {"slow": 60.0}  # long enough for memory to grow, if it did; one second proves the others


RECONCILED = ("cut", "consumed_queue_gone")


@pytest.mark.parametrize("fault", sorted(set(SCENARIOS) - {"rejecting", *RECONCILED}))
def test_every_confirmed_message_is_found_after(
    fault: str, artemis: Artemis, tmp_path: Path
) -> None:
    ledger_of(SCENARIOS[fault](tmp_path, artemis, SECONDS.get(fault, 1.0)).audit).assert_balanced()


@pytest.mark.parametrize("fault", RECONCILED)
def test_the_job_finds_every_message_after(
    fault: str, artemis: Artemis, reconcile: Reconcile, tmp_path: Path
) -> None:
    reconcile(SCENARIOS[fault](tmp_path, artemis, 1.0).audit)


@pytest.mark.parametrize("fault", ["cut", "rejecting", "consumed_queue_gone"])
def test_so_it_is_with_rabbitmq(fault: str, rabbitmq4: RabbitMQ4, tmp_path: Path) -> None:
    ledger_of(SCENARIOS[fault](tmp_path, rabbitmq4, 1.0).audit).assert_balanced()


def test_so_it_is_with_rabbitmqs_plugin(rabbitmq310: RabbitMQ310, tmp_path: Path) -> None:
    ledger_of(SCENARIOS["cut"](tmp_path, rabbitmq310, 1.0).audit).assert_balanced()
