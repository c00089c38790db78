"""ActiveMQ Artemis: an anycast queue for each, and address-settings for its limits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Final, final
from xml.sax.saxutils import escape, quoteattr

from gateway.bridge.exchanges.exchange import FANOUT
from gateway.bridge.queues.discipline import Policy
from gateway.migration.planned_nodes import PlannedNodes, PlannedQueue
from gateway.migration.targets.target import Taken, Target, notes, unlike_any

FULL: Final = {Policy.REJECT: "FAIL", Policy.FLOW_TO_DISK: "PAGE"}
# What means something else in the name of an address there: routing types, wildcards, queues of it.
SPECIAL: Final = ("::", "#", ">")


@final
class Artemis(Target):
    """See `Target`."""

    profile: ClassVar[str] = "artemis"
    host: ClassVar[str] = "amqp://new-broker:5672"
    file: ClassVar[str] = "artemis-broker.xml"
    how: ClassVar[str] = (
        "put what artemis-broker.xml has into the same sections of etc/broker.xml, which Artemis"
        " reads anew"
    )

    def problem(self, planned: PlannedQueue) -> str:
        """See `Target`."""
        settings = planned.fates.settings
        if any(each in planned.name for each in SPECIAL):
            return f"a name with one of {', '.join(SPECIAL)}"
        if settings.discipline.policy == Policy.RING and settings.max_size:
            return "a ring by octets"
        return unlike_any(planned)

    def take(self, planned: PlannedQueue, nodes: PlannedNodes) -> Taken:
        """See `Target`."""
        settings = planned.fates.settings
        discipline = settings.discipline
        attributes: dict[str, str] = {}
        if discipline.policy == Policy.RING and settings.max_count:
            attributes["ring-size"] = str(settings.max_count)
        if discipline.last_value_key:
            attributes["last-value-key"] = discipline.last_value_key
        if discipline.browse_only:
            attributes["non-destructive"] = "true"
        made: dict[str, Any] = {  # Any: as `Taken` has it
            "attributes": attributes,
            "filter": discipline.filter,
            "settings": _limits(planned),
        }
        taken = Taken(planned, made, notes(planned))
        alternate = planned.queue.alternate_exchange
        if alternate:
            dead = self._only_queue(alternate, nodes)
            if dead:
                made["settings"]["dead-letter-address"] = dead
            else:
                taken.told.append(f"what it rejects does not reach its alternate {alternate}")
        return taken

    def _only_queue(self, exchange: str, nodes: PlannedNodes) -> str:
        """The queue that has all that an exchange gets, if there is one, and it is there."""
        types = {each.name: each.type for each in nodes.exchanges}
        bound = {each.queue for each in nodes.bindings if each.exchange == exchange}
        if types.get(exchange) != FANOUT or len(bound) != 1:
            return ""
        name = bound.pop()
        planned = next(each for each in nodes.queues if each.name == name)
        return "" if self.problem(planned) else name

    def written(self, taken: Sequence[Taken], nodes: PlannedNodes) -> str:
        """See `Target`."""
        return "\n".join(_lines(taken)) + "\n"


def _limits(planned: PlannedQueue) -> dict[str, str]:
    """Settings of the address of one queue."""
    settings = planned.fates.settings
    found: dict[str, str] = {}
    if settings.discipline.policy in FULL and (settings.max_count or settings.max_size):
        found["address-full-policy"] = FULL[settings.discipline.policy]
        if settings.max_size:
            found["max-size-bytes"] = str(settings.max_size)
        if settings.max_count:
            found["max-size-messages"] = str(settings.max_count)
    return found


def _lines(taken: Sequence[Taken]) -> Iterable[str]:
    yield "<addresses>"
    for each in taken:
        name = quoteattr(each.planned.name)
        yield f"  <address name={name}>"
        yield "    <anycast>"
        given = "".join(f" {key}={quoteattr(value)}" for key, value in _attributes(each).items())
        yield f"      <queue name={name}{given}>"
        if each.made["filter"]:
            yield f"        <filter string={quoteattr(each.made['filter'])}/>"
        yield "        <durable>true</durable>"
        yield "      </queue>"
        yield "    </anycast>"
        yield "  </address>"
    yield "</addresses>"
    yield "<address-settings>"
    for each in taken:
        if each.made["settings"]:
            yield f"  <address-setting match={quoteattr(each.planned.name)}>"
            for key, value in each.made["settings"].items():
                yield f"    <{key}>{escape(value)}</{key}>"
            yield "  </address-setting>"
    yield "</address-settings>"


def _attributes(taken: Taken) -> dict[str, str]:
    found: dict[str, str] = taken.made["attributes"]
    return found
