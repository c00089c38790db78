"""The matrix of capabilities by broker: what the tests saw, checked, and shown in the documents.

`matrix.yaml` is the record. A test that sees something else than it says fails; with
``INTEROP_MATRIX=write`` in the environment it takes the new outcome over.
``python tests/interop/upstream/matrix.py`` writes the section of `docs/upstreams.md` from it,
``--check`` says whether that is needed.
"""

import os
import sys
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).resolve().parent
RECORD = HERE / "matrix.yaml"
PAGE = HERE.parents[2] / "docs" / "upstreams.md"
BEGIN = "<!-- matrix: begin, written by `python tests/interop/upstream/matrix.py` -->\n"
END = "<!-- matrix: end -->\n"
BROKERS = {
    "artemis": "Artemis 2.44",
    "activemq": "ActiveMQ 5.18",
    "rabbitmq4": "RabbitMQ 4.0",
    "rabbitmq310": "RabbitMQ 3.10",
    "qpid-broker-j": "Broker-J 9.2",
}


def check(capability: str, broker: str, outcome: str) -> None:
    """Compare one outcome with the record, or take it over."""
    record = read()
    assert capability in record, f"{RECORD.name} has no row {capability!r}"
    row = record[capability]
    if os.environ.get("INTEROP_MATRIX") == "write":
        if row.get(broker) != outcome:
            row[broker] = outcome
            RECORD.write_text(_yaml(record))
        return
    known = row.get(broker)
    assert outcome == known, (
        f"{capability}, {broker}: {outcome!r}, and {RECORD.name} says {known!r}"
    )


def read() -> dict[str, dict[str, str]]:
    """Rows by capability: ``about``, and the outcome by broker."""
    return dict(yaml.safe_load(RECORD.read_text()))


def table() -> str:
    """The record as Markdown."""
    lines = [f"| | {' | '.join(BROKERS.values())} |", "|---" * (len(BROKERS) + 1) + "|"]
    for row in read().values():
        cells = " | ".join(row.get(broker, "") for broker in BROKERS)
        lines.append(f"| {row['about']} | {cells} |")
    return "\n".join(lines) + "\n"


def shown(text: str) -> str:
    """The page with the table as it is now."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{table()}{END}{after}"


def _yaml(record: dict[str, Any]) -> str:
    return yaml.safe_dump(record, sort_keys=False, allow_unicode=True, width=100)


def main(arguments: list[str]) -> int:
    """Write or check the page's section; the exit code."""
    text = PAGE.read_text()
    wanted = shown(text)
    if wanted == text:
        return 0
    if arguments == ["--check"]:
        print("docs/upstreams.md does not show the matrix: run tests/interop/upstream/matrix.py")
        return 1
    PAGE.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
