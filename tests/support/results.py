"""What a reconciliation found, without Spark having looked for it."""

from __future__ import annotations

from typing import Any

from gateway.accounting.reconcile import Result
from gateway.accounting.state.opening import Beginning
from gateway.accounting.steps.balance import LAPSED
from gateway.accounting.steps.identities import IDENTITIES, OUTLET, QUEUE, Identity
from gateway.accounting.telling.figures import COLUMNS
from gateway.accounting.telling.stories import Told
from gateway.audit.provenance import Provenance

FIRST_MS = 1_790_000_000_000
LAST_MS = FIRST_MS + 60_000
TOLD = ("received", "accepted", "otherwise", "in_transactions", "never", "beyond")


def row_of(identity: Identity, key: object, **said: object) -> dict[str, Any]:
    """One line of an identity's table."""
    names = [*identity.term_names, identity.rest, *LAPSED[identity.name]]
    row = dict.fromkeys(names, 0) | {"incarnation": 1, "of_node": None, "leads_to": None}
    return row | {identity.key: key, "balanced": True, "checkpoints": 1} | said


def figure(which: str, **said: object) -> dict[str, Any]:
    """One row of `figures`."""
    return dict.fromkeys(COLUMNS) | {"figure": which} | said


def broken(break_class: str = "LOST", **said: object) -> dict[str, Any]:
    """One row of breaks."""
    nothing = ("node", "message", "link", "segment", "block", "offset", "since")
    row = dict.fromkeys(nothing) | {"class": break_class, "sequence": 9, "proven": True}
    return row | {"count": 1, "detail": "gone"} | said


def found(**changed: object) -> Result:
    """A balanced log of one queue, unless something else is said."""
    queue = row_of(QUEUE, "orders", entered=5, accepted=5)
    sums = {of.name: dict.fromkeys(of.term_names, 0) | {"rows": 1} for of in IDENTITIES}
    values: dict[str, Any] = {
        "log": "/log",
        "beginning": Beginning(),
        "breaks": [],
        "classes": {},
        "unproven": {},
        "queues": [queue],
        "outlets": [row_of(OUTLET, 7, sent=5, accepted=5, of_node="orders")],
        "routes": [],
        "sums": sums,
        "losses": [],
        "checked": {"whole": 0, "differ": 0, "too_large": 0},
        "told": dict.fromkeys(TOLD, 0),
        "published_again": {"ids": 0, "messages": 0, "first": None, "again": None},
        "log_facts": {
            "segments": 1,
            "runs": 1,
            "first_run": 1,
            "last_run": 1,
            "records": 20,
            "octets": 4000,
            "first_sequence": 1,
            "last_sequence": 20,
            "newest": "s",
            "first_time_ms": FIRST_MS,
            "last_time_ms": LAST_MS,
            "unfinished": [],
        },
        "incarnations": [{"incarnation": 1, "stopped": True}],
        "provenance": Provenance(),
        "figures": [],
        "losses_by_client": [],
        "over_runs": [],
    }
    values |= changed
    values.setdefault("stories", [Told([], "") for _ in values["breaks"]])
    values.setdefault("break_rows", len(values["breaks"]))
    return Result(**values)
