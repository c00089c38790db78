"""Does to an upstream what goes wrong with upstreams, under load; a table to read.

    PYTHONPATH=tests python tests/faults/upstream.py --broker artemis --scenario cut --seconds 30

Without `--scenario` all of them, one after the other; `--seconds` is how long the fault lasts
where that can be chosen.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from faults.upstream_scenarios import SCENARIOS
from interop.brokers.activemq import ActiveMQ
from interop.brokers.artemis import Artemis
from interop.brokers.broker import Broker
from interop.brokers.broker_j import BrokerJ
from interop.brokers.rabbitmq import RabbitMQ4, RabbitMQ310
from support.reconciling import Reconcile, reconciling, session

BROKERS: tuple[type[Broker], ...] = (Artemis, ActiveMQ, RabbitMQ4, RabbitMQ310, BrokerJ)
TITLES = ("confirmed", "consumed", "doubled", "doubts", "MiB", "s")
ROW = "{:<16} {:>9} {:>8} {:>8} {:>7} {:>6} {:>7}  {}"


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    by_name = {kind.peer: kind for kind in BROKERS}
    parser.add_argument("--broker", choices=sorted(by_name), default="artemis")
    parser.add_argument("--scenario", choices=sorted(SCENARIOS), action="append")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--keep", type=Path, help="a directory for everything, to look into")
    asked = parser.parse_args()
    print(ROW.format("scenario", *TITLES, "said of the upstream"))
    with tempfile.TemporaryDirectory() as scratch:
        work = asked.keep or Path(scratch)
        with (
            by_name[asked.broker](work / "broker") as broker,
            session(Path(scratch)) as spark,
        ):
            reconcile = reconciling(spark)
            failed = [
                name
                for name in asked.scenario or SCENARIOS
                if not run(name, work / name, broker, asked.seconds, reconcile)
            ]
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


def run(name: str, directory: Path, broker: Broker, seconds: float, reconcile: Reconcile) -> bool:
    """One scenario, and its rows of the table; whether everything held."""
    directory.mkdir()
    began = time.monotonic()
    try:
        verdict = SCENARIOS[name](directory, broker, seconds)
        lasted = f"{time.monotonic() - began:.1f}"
        reconcile(verdict.audit)
    except Exception as error:
        print(ROW.format(name, *[""] * 6, f"FAILED: {error}"), flush=True)
        return False
    said = verdict.said or [""]
    numbers = (verdict.confirmed, verdict.consumed, verdict.doubled, verdict.doubts)
    print(ROW.format(name, *numbers, verdict.resident_mib, lasted, said[0]), flush=True)
    for line in said[1:]:
        print(ROW.format(*[""] * 7, line), flush=True)
    return True


if __name__ == "__main__":
    main()
