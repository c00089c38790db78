"""Generates `docs/arguments.md`: every argument by which queues are declared, and its fate."""

from __future__ import annotations

from typing import Final

from gateway.faces.arguments.fates import FATES

HEAD: Final = """\
# Arguments of queue.declare

Written by `python -m gateway.codegen` from `gateway/faces/arguments/fates.py`: change a row there,
not here.

What brokers of 0-10 know, and what the gateway does of it where the queue lives in its own store;
clients of 1.0 may say the same of dynamic nodes, by their properties. A queue that lives at an
upstream has the limits and `qpid.auto_delete_timeout`; of the others its broker has its own. What
is kept and counted is answered to queries, and `gateway_unsupported_total` and the audit log say
which client asked for it; under `strict` it is refused, 540.

| Argument | What becomes of it | |
|---|---|---|
"""


def page() -> str:
    """The whole page."""
    rows: list[str] = []
    for names, (fate, words) in FATES.items():
        quoted = ", ".join(f"`{name}`" for name in names.split(", "))
        rows.append(f"| {quoted} | {fate.value} | {words} |\n")
    return HEAD + "".join(rows)


def files() -> dict[str, str]:
    """The generated files: path relative to ``gateway/`` -> text."""
    return {"../docs/arguments.md": page()}
