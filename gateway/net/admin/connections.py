"""Connections of clients, as operators see them and end them: `ctl connections`, `ctl close`.

A connection's number is the one that the log and the audit log have for it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

from gateway.audit.schema import Reason
from gateway.errors import ConfigurationError
from gateway.faces.face import Ending, endpoint
from gateway.net.listening.listen import Door
from gateway.net.pump import Pump
from gateway.wire.work import TOLD, WORK

TEXT_MAX: Final = 200  # octets: a reply-text of 0-10 has 255
CLOSED: Final = "closed by an operator"
Told = dict[str, Any]  # Any: what JSON holds


def connections(door: Door) -> Iterator[str]:
    """What `GET /ctl/connections` answers, as JSON, in pieces; the oldest comes first."""
    pumps = [*door.pumps]
    yield '{"connections": ['
    between = ""
    for number in pumps:
        pump = door.pumps.get(number)
        if pump is not None:  # it has not gone meanwhile
            WORK.units += TOLD
            yield between + json.dumps(_connection(pump, door.now_ms()), ensure_ascii=False)
            between = ", "
    yield "]}"


def _connection(pump: Pump, now_ms: int) -> Told:
    status = pump.face.status()
    told: Told = {
        "number": pump.connection_id,
        "address": endpoint(pump.address, pump.port),
        "tls": pump.secure,
        "since": datetime.fromtimestamp(pump.since_ms / 1000, UTC).isoformat(timespec="seconds"),
        "since_s": round((now_ms - pump.since_ms) / 1000, 1),
        "octets_in": pump.octets_received,
        "octets_out": pump.octets_sent,
        "open": status is not None,
    }
    for key in ("protocol", "user", "mechanism", "product", "virtual_host", "sessions", "links"):
        told[key] = None if status is None else getattr(status, key)
    return told


def close(door: Door, number: int, text: str) -> str:
    """End a connection, and tell its client why. Raises ConfigurationError."""
    pump = door.pumps.get(number)
    if pump is None:
        raise ConfigurationError([("connection", f"there is no connection {number}")])
    if len(text.encode("utf-8", "replace")) > TEXT_MAX:
        raise ConfigurationError([("reason", f"has more than {TEXT_MAX} octets")])
    status = pump.face.status()
    who = "a client that is not in yet" if status is None else status.user or "no user"
    door.end(pump, Ending(text or CLOSED, Reason.OPERATOR))
    return f"connection {number} of {who} from {endpoint(pump.address, pump.port)} is closed"
