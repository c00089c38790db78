"""What each target says: which queues it can make, and how they are written down."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, final

from gateway.bridge.queues.discipline import Policy
from gateway.migration.planned_nodes import PlannedNodes, PlannedQueue

FLOW: Final = "qpid.flow_"
POLICY: Final = "qpid.policy_type"


@final
@dataclass(slots=True)
class Taken:
    """A queue that the target makes.

    Attributes:
        made: what is to be made, in the target's own terms.
        told: what of it is otherwise there.
    """

    planned: PlannedQueue
    made: dict[str, Any] = field(default_factory=dict)  # Any: what JSON holds
    told: list[str] = field(default_factory=list)


class Target(ABC):
    """One kind of broker.

    Attributes:
        profile: the gateway's, for upstreams of it.
        host: where it is, if nobody says.
        file: in which its definitions are written.
        how: what is done with that file.
    """

    profile: ClassVar[str]
    host: ClassVar[str]
    file: ClassVar[str]
    how: ClassVar[str]

    @abstractmethod
    def problem(self, planned: PlannedQueue) -> str:
        """What of a queue it cannot do; "" if it can make it."""

    @abstractmethod
    def take(self, planned: PlannedQueue, nodes: PlannedNodes) -> Taken:
        """What it makes of a queue that is no problem to it."""

    @abstractmethod
    def written(self, taken: Sequence[Taken], nodes: PlannedNodes) -> str:
        """The file."""


def unlike_any(planned: PlannedQueue) -> str:
    """What none of them does; "" if there is nothing of that."""
    settings = planned.fates.settings
    if "*" in planned.name or not planned.name.isprintable():
        return "such a name"  # which a rule would take for a pattern, or a file could not have
    if settings.no_local:
        return "no-local as a queue's argument"
    if settings.discipline.number_header:
        return "numbers of messages (qpid.queue_msg_sequence)"
    if settings.discipline.fair:
        return "fairshare among priorities"
    if settings.discipline.policy in (Policy.RING_STRICT, Policy.SELF_DESTRUCT):
        return f"policy {planned.fates.done[POLICY]}"
    if settings.discipline.group_key:
        return "groups by a header of its own"
    return ""


def notes(planned: PlannedQueue) -> list[str]:
    """What of a queue brokers have by other means."""
    told = [] if planned.queue.durable else ["it is durable there"]
    alerts = planned.fates.settings.discipline.alerts
    if alerts.count or alerts.size:
        told.append("its alerts are to be set where the broker is watched")
    if any(name.startswith(FLOW) for name in planned.fates.done):
        told.append("its publishers wait when the broker gives no credit, not by qpid.flow_*")
    return told
