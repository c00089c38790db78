"""Generates `docs/mapping.md`: every mapping row, for whoever asks what becomes of a field."""

from __future__ import annotations

from typing import Final

import yaml

from gateway.translate import mapping_rows

HEAD: Final = """\
# What becomes of a message on the other side

Written by `python -m gateway.codegen` from `mappings/*.yaml`: change a row there, not here.

A message keeps the octets that it arrived with, and passes between clients of one protocol
unchanged. Only where it leaves by the other protocol is it translated, by the rows below. Each row
is a field, type or outcome of 0-10 and its peer of 1.0, with what becomes of a value on its way
from one to the other.

**Direction.** Most rows apply in both directions, "both". "to 1.0" and "to 0-10" rows have no way
back, because the other side has no such thing.

**Policy.** What becomes of a value that the other side has no place for, or no equal place:

| policy | what becomes of it |
|---|---|
| exact | there is nothing to lose |
| escrow | the original goes along in *escrow* and is restored when the message comes back |
| narrow | the nearest value that the other side has |
| drop | left out |
| refuse | the message is not sent to this client |

**Escrow** is one string beside the message: towards 1.0 the message annotation `x-opt-amqp-0-10`,
towards 0-10 the header `x-amqp-1.0`. A value is restored from it only where the visible one is
still what the gateway made of it: who edits a field on the way wins. Of "escrow, else narrow" the
second word counts where escrow cannot be had: `translation.escrow` is off, `limits.escrow` is
reached, or the upstream's profile takes none.

**Loss.** Every value that is narrowed or dropped is a *loss*: it is counted in
`gateway_translation_losses_total` by the row's name, and stands in the audit log by its number.
What was put into escrow and what was restored is counted, too. Names and numbers of rows are never
used again for something else.

In the tables `dp` is delivery-properties of 0-10, `mp` message-properties, and `app` a key of the
application headers. "-" is: no place at all.
"""
TITLES: Final = {
    "messages": "Header, properties and annotations",
    "values": "Values of headers, properties and bodies",
    "bodies": "Bodies",
    "outcomes": "Outcomes of deliveries",
    "addresses": "Addresses",
    "errors": "Errors",
}
DIRECTIONS: Final = {"to_1_0": "to 1.0", "to_0_10": "to 0-10"}


def direction(row: mapping_rows.Row) -> str:
    """Where the row applies, as readers see it."""
    if len(row.directions) == len(DIRECTIONS):
        return "both"
    return ", ".join(DIRECTIONS[each] for each in row.directions)


def policy(row: mapping_rows.Row) -> str:
    """What becomes of what does not fit, as readers see it."""
    return row.policy if row.otherwise == row.policy else f"{row.policy}, else {row.otherwise}"


def cell(text: str) -> str:
    """Text as it can stand in a table."""
    return text.replace("|", "\\|")


def table(found: list[mapping_rows.Row]) -> str:
    """Rows as a table."""
    lines = [
        "| No. | Row | 0-10 | 1.0 | Direction | Policy | Meaning |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in found:
        cells = (
            str(row.number),
            f"`{row.id}`",
            cell(row.amqp_0_10),
            cell(row.amqp_1_0),
            direction(row),
            policy(row),
            cell(row.help),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def page() -> str:
    """All rows, file by file, each in the order of its numbers."""
    parts = [HEAD]
    for name in mapping_rows.FILES:
        entries = yaml.safe_load((mapping_rows.FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
        of_file = {entry["id"] for entry in entries}
        parts.append(f"## {TITLES[name]}\n")
        parts.append(table([row for row in mapping_rows.ALL if row.id in of_file]))
    return "\n".join(parts)


def files() -> dict[str, str]:
    """The generated files: path relative to ``gateway/`` -> text."""
    return {"../docs/mapping.md": page()}
