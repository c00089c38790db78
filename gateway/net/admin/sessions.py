"""Sessions without a connection and suspended links, as operators see and end them.

`ctl sessions` and `ctl end`. What they are, `faces.leaving` says.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from gateway.audit.schema import Reason
from gateway.errors import ConfigurationError
from gateway.faces.leaving import NOT_YET, Absent, KeptSessions
from gateway.wire.work import TOLD, WORK

Told = dict[str, Any]  # Any: what JSON holds


def sessions(kept: KeptSessions, now_ms: Callable[[], int]) -> Iterator[str]:
    """What `GET /ctl/sessions` answers, as JSON, in pieces; the oldest comes first."""
    yield '{"sessions": ['
    between = ""
    for number in list(kept.absent):
        absent = kept.absent.get(number)
        if absent is not None:  # it has not gone meanwhile
            WORK.units += TOLD
            yield between + json.dumps(_session(number, absent, now_ms()), ensure_ascii=False)
            between = ", "
    yield "]}"


def _session(number: int, absent: Absent, now_ms: int) -> Told:
    status = absent.status()
    deadline_ms = absent.deadline_ms
    left_s = None if deadline_ms == NOT_YET else max(0, deadline_ms - now_ms) / 1000
    return {
        "number": number,
        "kind": status.kind,
        "name": status.name,
        "virtual_host": status.host,
        "user": status.user,
        "container": status.container,
        "connection": status.connection,
        "address": status.address,
        "node": status.node,
        "away_s": max(0, now_ms - status.since_ms) / 1000,
        "left_s": left_s,
        "unsettled": status.unsettled,
        "octets": absent.octets,
    }


def end(kept: KeptSessions, number: int) -> str:
    """End one. Raises ConfigurationError."""
    absent = kept.absent.get(number)
    if absent is None:
        raise ConfigurationError([("session", f"there is none without a connection as {number}")])
    status = absent.status()
    absent.end(Reason.OPERATOR)
    whose = f"user {status.user}" if status.user else "a client without a login"
    what = "session" if status.kind == "session" else f"link, a {status.kind},"
    return f"the {what} {status.name!r} of {whose} from {status.address} is over"
