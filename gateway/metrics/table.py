"""All metrics, in the sections that their page has."""

from __future__ import annotations

from typing import Final

from gateway.metrics.audit import AUDIT
from gateway.metrics.clients import CLIENTS
from gateway.metrics.entrance import ENTRANCE
from gateway.metrics.messages import MESSAGES
from gateway.metrics.objects import OBJECTS
from gateway.metrics.process import PROCESS
from gateway.metrics.queues import QUEUES
from gateway.metrics.rows import MetricRow
from gateway.metrics.store import STORE
from gateway.metrics.tracing import TRACING
from gateway.metrics.translation import TRANSLATION
from gateway.metrics.upstreams import UPSTREAMS

SECTIONS: Final[dict[str, tuple[MetricRow, ...]]] = {
    "The process": PROCESS,
    "Connections and logins": ENTRANCE,
    "Clients": CLIENTS,
    "Messages": MESSAGES,
    "Queues": QUEUES,
    "Translation": TRANSLATION,
    "Upstreams": UPSTREAMS,
    "Store and disk": STORE,
    "Audit log": AUDIT,
    "Tracing": TRACING,
}
METRICS: Final = tuple(row for rows in SECTIONS.values() for row in rows)
OBJECT_METRICS: Final = OBJECTS
