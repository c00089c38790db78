"""Records what foreign clients and a foreign broker say to each other, as test vectors.

    cd tests && python -m interop.record_vectors [NAME ...]

Runs each scenario against Broker-J through the recorder and writes both directions under
tests/vectors/0-10 and tests/vectors/1.0, as hexadecimal lines that begin with ``>`` (client to
server) or ``<``, in the order in which the pieces passed. Needs all peers: run
``tests/interop/install`` and ``tests/interop/install broker-j``.
"""

import sys
import tempfile
from pathlib import Path

from interop.brokers.broker_j import BrokerJ
from interop.foreign import ForeignError
from interop.recorder import Conversation, Recorder
from interop.recording_scenarios import SCENARIOS, SERVER, Scenario

VECTORS = Path(__file__).resolve().parents[1] / "vectors"
_INDEX = """# AMQP {protocol} conversations of foreign clients with {server}

One connection a file, as `tests/interop/record_vectors.py` recorded it: a line is a direction
(`>` client to server, `<` server to client) and octets in hexadecimal. Lines are in the order in
which the octets passed; they do not begin or end where frames do.

| file (.hex) | client | what it did |
|---|---|---|
"""


def main(names: list[str]) -> int:
    """Record the named scenarios, or all."""
    failed = 0
    with tempfile.TemporaryDirectory() as work, BrokerJ(Path(work)) as broker:
        for scenario in SCENARIOS:
            if not names or scenario.name in names:
                failed += not _record(scenario, broker)
    for protocol in ("0-10", "1.0"):
        _write_index(protocol)
    return 1 if failed else 0


def _record(scenario: Scenario, broker: BrokerJ) -> bool:
    port = broker.port if scenario.plain else broker.anonymous_port
    with Recorder(port) as relay:
        try:
            said = scenario.run(relay.port, broker.anonymous_port)
        except ForeignError as error:
            print(f"{scenario.name}: FAILED\n{error}", file=sys.stderr)
            return False
    _write(VECTORS / scenario.protocol / f"{scenario.name}.hex", relay.only_conversation())
    print(f"{scenario.name}: sent {len(said.sent)}, received {len(said.received)}", flush=True)
    for event in said.errors:
        print(f"  {event}")
    return True


def _write(place: Path, conversation: Conversation) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(conversation.as_text())


def _write_index(protocol: str) -> None:
    rows = [
        f"| {scenario.name} | {scenario.client} | {scenario.story} |\n"
        for scenario in SCENARIOS
        if scenario.protocol == protocol
    ]
    (VECTORS / protocol / "README.md").write_text(
        _INDEX.format(protocol=protocol, server=SERVER) + "".join(rows)
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
