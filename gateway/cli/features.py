"""`audit features`: who uses what the gateway does not offer, from an audit log's records.

Clients are told apart by user, process, product and host; what is random in a name, such as the
container-id of many 1.0 clients, is left out, so that one application is one client.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from gateway.audit.printable import printable

Record = dict[str, Any]  # Any: what JSON holds
RANDOM: Final = re.compile(
    r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE
)
NOBODY: Final = "(not logged in)"


@dataclass(slots=True)
class Use:
    """One client and one thing that it uses.

    Attributes:
        connections: how many of its connections did.
    """

    user: str
    client: str
    feature: str
    uses: int
    connections: int
    first_ms: int
    last_ms: int

    def as_json(self) -> dict[str, Any]:  # Any: what JSON holds
        """All of it, times in words."""
        told = {name: getattr(self, name) for name in ("user", "client", "feature", "uses")}
        return told | {
            "connections": self.connections,
            "first_seen": _time(self.first_ms),
            "last_seen": _time(self.last_ms),
        }


def uses_in(records: Iterable[Record]) -> list[Use]:
    """One for each client and feature; clients by name, and what is used most first."""
    found: dict[tuple[str, str, str], Use] = {}
    connections: dict[tuple[str, str, str], set[tuple[int, int]]] = {}
    incarnation = 0
    for record in records:
        if record["kind"] == "incarnation-started":
            incarnation = record["incarnation"]
        if record["kind"] != "feature-used":
            continue
        user, client = record.get("peer") or NOBODY, RANDOM.sub("*", record["client"])
        key = (user, client, record["feature"])
        connections.setdefault(key, set()).add((incarnation, record.get("connection", 0)))
        first_ms, last_ms = record["first_ms"], record["last_ms"]
        use = found.setdefault(key, Use(*key, 0, 0, first_ms, last_ms))
        use.uses += record["uses"]
        use.connections = len(connections[key])
        use.first_ms = min(use.first_ms, first_ms)
        use.last_ms = max(use.last_ms, last_ms)
    return sorted(found.values(), key=lambda use: (use.user, use.client, -use.uses))


def table(uses: list[Use]) -> Iterator[str]:
    """For eyes: client by client."""
    before = ("", "")
    for use in uses:
        if (use.user, use.client) != before:
            before = (use.user, use.client)
            yield printable(f"{use.user}: {use.client}")
        yield (
            f"  {use.uses:>8}  {_time(use.first_ms)}  {_time(use.last_ms)}"
            f"  {use.connections:>6}  {printable(use.feature)}"
        )


HEAD: Final = f"  {'USES':>8}  {'FIRST SEEN':<20}  {'LAST SEEN':<20}  {'CONNS':>6}  WHAT"


def _time(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
