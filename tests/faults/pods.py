"""Kills one of three gateways of a group under load, behind a balancer; a report to read.

    PYTHONPATH=tests python tests/faults/pods.py --broker artemis --messages 20000 --kills 3

What was confirmed is found at the broker, by queue and by exchange, what was there was consumed,
and the audit log of each gateway balances.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from faults.pods_stand import PodsStand, PodsVerdict
from interop.brokers.artemis import Artemis
from interop.brokers.broker import Broker
from interop.brokers.broker_j import BrokerJ
from interop.brokers.rabbitmq import RabbitMQ4
from support.bridge_ledger import ledger_of
from support.reconciling import reconciling, session

BROKERS: tuple[type[Broker], ...] = (Artemis, RabbitMQ4, BrokerJ)


def one_killed(
    directory: Path, broker: Broker, *, messages: int = 600, kills: int = 1, between: int = 100
) -> PodsVerdict:
    """Each time the next gateway: it is killed, the others go on, it comes back with its volume."""
    with PodsStand(directory, broker, "pods") as stand:
        stand.start_loaded(messages)
        for kill in range(kills):
            number = (kill + 1) % len(stand.pods)
            stand.kill(number)
            stand.run_on(between)
            stand.start(number)
            stand.run_on(between)
        stand.finish()
        verdict = stand.check()
    for audit in verdict.audits:
        ledger_of(audit).assert_balanced()
    return verdict


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    by_name = {kind.peer: kind for kind in BROKERS}
    parser.add_argument("--broker", choices=sorted(by_name), default="artemis")
    parser.add_argument("--messages", type=int, default=5_000)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--between", type=int, default=1_000)
    parser.add_argument("--reconcile", action="store_true", help="by the job, too: takes Spark")
    parser.add_argument("--keep", type=Path, help="a directory for everything, to look into")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        work = asked.keep or Path(scratch)
        with by_name[asked.broker](work / "broker") as broker:
            (work / "pods").mkdir()
            began = time.monotonic()
            verdict = one_killed(
                work / "pods",
                broker,
                messages=asked.messages,
                kills=asked.kills,
                between=asked.between,
            )
            lasted = time.monotonic() - began
        if asked.reconcile:
            with session(Path(scratch)) as spark:
                for audit in verdict.audits:
                    reconciling(spark)(audit)
    print(f"{asked.broker}: three gateways, {asked.kills} kills, {lasted:.0f} s")
    print(f"  confirmed {verdict.confirmed}, all found; consumed {verdict.consumed}, all accepted")
    print(f"  found twice {verdict.doubled}, each named in doubt ({verdict.doubts} were)")
    print(f"  connections by gateway {verdict.served}; the ledgers of all three balance")
    if asked.reconcile:
        print("  each log is reconciled by the job, in one session, and balanced")


if __name__ == "__main__":
    main()
