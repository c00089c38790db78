"""Tells other programs what a reconciliation found: as JSON, to Prometheus, to who is to be called.

What cannot be told is said on standard error, and changes no verdict: whoever watches sees that
`gateway_reconcile_timestamp_seconds` grows old.
"""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from http.client import HTTPException
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gateway.audit.provenance import Provenance

if TYPE_CHECKING:  # it needs Spark, which says nothing of how a result is told
    from gateway.accounting.reconcile import Result
    from gateway.accounting.telling.ran import Ran

PUSH_PATH: Final = "/metrics/job/amqp-gateway-reconcile"
PATIENCE_S: Final = 10
SCHEMES: Final = ("http://", "https://")

_ESCAPED: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
TABLES: Final = (
    *("breaks", "queues", "outlets", "routes", "over_runs", "losses", "losses_by_client"),
    *("figures", "incarnations"),
)
HELP: Final = {
    "gateway_reconcile_timestamp_seconds": "When the last reconciliation ended, since 1970.",
    "gateway_reconcile_duration_seconds": "How long it took.",
    "gateway_reconcile_balanced": "1: every message is accounted for, and the log is whole.",
    "gateway_reconcile_final": "1: and nothing of that can change any more.",
    "gateway_reconcile_breaks": "Breaks that are proven, of each class.",
    "gateway_reconcile_unproven": "Breaks that may be there for want of records, of each class.",
    "gateway_reconcile_records": "Records of the audit log that it read.",
    "gateway_reconcile_log_bytes": "Octets of the audit log that it read.",
    "gateway_reconcile_last_sequence": "Number of the last record that it read.",
}


class Told(NamedTuple):
    """A verdict and when it was found: seconds since 1970, and how long that took; by whom."""

    result: Result
    ended_s: float
    duration_s: float
    ran: Ran | None = None


def as_json(told: Told, verdict: str) -> dict[str, Any]:
    """All that the page says. Any: what JSON holds."""
    result = told.result
    facts = dict(result.log_facts)
    for nested in ("unfinished", "sealed"):
        facts.pop(nested, None)
    return {
        "verdict": verdict,
        "balanced": result.balanced,
        "final": result.final,
        "ended_s": round(told.ended_s, 3),
        "duration_s": round(told.duration_s, 3),
        "ran": None if told.ran is None else asdict(told.ran),
        "log": {"path": result.log, **facts, "half_block": result.half},
        "beginning": {
            "book": None if result.beginning.book is None else result.beginning.book.number,
            "record": result.beginning.record or None,
            "why": result.beginning.why,
        },
        "seals": _seals(result.provenance),
        "classes": result.classes,
        "unproven": result.unproven,
        "breaks": [
            row | {"steps": story.lines, "trace": story.command}
            for row, story in zip(result.breaks, result.stories, strict=True)
        ],
        "sums": result.sums,
        "queues": result.queues,
        "outlets": result.outlets,
        "routes": result.routes,
        "over_runs": result.over_runs,
        "losses": result.losses,
        "losses_by_client": result.losses_by_client,
        "figures": [
            {name: value for name, value in row.items() if value is not None}
            for row in sorted(result.figures, key=str)
        ],
        "checked": result.checked,
        "told": result.told,
        "published_again": result.published_again,
        "incarnations": result.incarnations,
    }


def _seals(provenance: Provenance) -> dict[str, Any]:  # Any: what JSON holds
    """How far the log is sealed, and by whom."""
    head = provenance.head
    return {
        "head": None if head is None else head._asdict(),
        "keys": provenance.keys,
        "trusted": provenance.trust is not None,
        "anchors": len(provenance.anchors),
        "unsealed": [each._asdict() for each in provenance.unsealed()],
        "told": provenance.lines(),
    }


def samples(told: Told, classes: Sequence[str]) -> Iterator[tuple[str, dict[str, str], float]]:
    """Name, labels, value; `classes`: all that it looks for, found or not."""
    result, facts = told.result, told.result.log_facts
    yield "gateway_reconcile_timestamp_seconds", {}, round(told.ended_s, 3)
    yield "gateway_reconcile_duration_seconds", {}, round(told.duration_s, 3)
    yield "gateway_reconcile_balanced", {}, int(result.balanced)
    yield "gateway_reconcile_final", {}, int(result.final)
    for name, counts in (("breaks", result.classes), ("unproven", result.unproven)):
        for each in classes:
            yield f"gateway_reconcile_{name}", {"class": each}, counts.get(each, 0)
    yield "gateway_reconcile_records", {}, facts["records"] or 0
    yield "gateway_reconcile_log_bytes", {}, facts["octets"] or 0
    yield "gateway_reconcile_last_sequence", {}, facts["last_sequence"] or 0


def exposition(each: Sequence[Told], classes: Sequence[str]) -> str:
    """The same of one log or of several, as Prometheus reads it; which log it is, of several."""
    found: dict[str, list[str]] = {}
    for told in each:
        log = {"log": told.result.log} if len(each) > 1 else {}
        for name, labels, value in samples(told, classes):
            found.setdefault(name, []).append(f"{name}{_in_braces(labels | log)} {value}")
    lines: list[str] = []
    for name, those in found.items():
        lines += [f"# HELP {name} {HELP[name]}", f"# TYPE {name} gauge", *those]
    return "\n".join(lines) + "\n"


def _in_braces(labels: dict[str, str]) -> str:
    if not labels:
        return ""
    quoted = [f'{name}="{value.translate(_ESCAPED)}"' for name, value in labels.items()]
    return f"{{{','.join(quoted)}}}"


def is_url(text: str) -> bool:
    """Whether something can be sent there."""
    return text.startswith(SCHEMES) and text.isprintable() and " " not in text


def push(gateway: str, text: str) -> None:
    """Put an exposition into a Pushgateway, in the place of the one before. Raises OSError."""
    url = gateway.rstrip("/") + PUSH_PATH
    _send(urllib.request.Request(url, text.encode(), {"Content-Type": "text/plain"}, method="PUT"))


def call(url: str, told: dict[str, Any]) -> None:  # Any: as in `as_json`
    """Post a verdict without its tables. Raises OSError."""
    short = {name: value for name, value in told.items() if name not in TABLES}
    octets = json.dumps(short).encode()
    _send(urllib.request.Request(url, octets, {"Content-Type": "application/json"}))


def _send(request: urllib.request.Request) -> None:
    """Wait for the answer, and no longer than `PATIENCE_S`, however it comes. Raises OSError."""
    where = f"{request.type}://{request.host}"  # what follows may have a secret in it
    refused: list[OSError] = []
    asking = threading.Thread(target=_ask, args=(request, where, refused), daemon=True)
    asking.start()
    asking.join(PATIENCE_S)
    if asking.is_alive():  # who sends an octet now and then is never late for the next one
        raise OSError(f"{where}: no answer in {PATIENCE_S} s")
    if refused:
        raise refused[0]


def _ask(request: urllib.request.Request, where: str, refused: list[OSError]) -> None:
    try:
        _answer(request, where)
    except OSError as error:
        refused.append(error)


def _answer(request: urllib.request.Request, where: str) -> None:
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_S):
            pass
    except urllib.error.HTTPError as error:
        error.close()
        raise OSError(f"{where}: HTTP {error.code} {error.reason}") from None
    except urllib.error.URLError as error:
        raise OSError(f"{where}: {error.reason}") from None
    except (OSError, ValueError, HTTPException) as error:  # no answer in time, or of another kind
        raise OSError(f"{where}: {error}") from None
