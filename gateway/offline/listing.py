"""What a data directory holds, as an operator wants to see it: nodes first, then messages."""

from __future__ import annotations

from collections.abc import Generator, Iterator

from gateway.errors import GatewayError
from gateway.offline.forms import Told, binding_facts, moment, queue_facts, summary
from gateway.offline.living import Held, Living
from gateway.offline.topology import GONE, Queue, Topology


def nodes(topology: Topology, living: Living) -> Iterator[Told]:
    """A line for each virtual host, exchange, queue and binding, in this order."""
    held = living.held()
    for host in topology.hosts():
        yield {"type": "host", "name": host}
    for exchange in topology.exchanges:
        yield {
            "type": "exchange",
            "host": exchange.host,
            "name": exchange.name,
            "exchange_type": exchange.type,
            "alternate_exchange": exchange.alternate_exchange,
        }
    for number, queue in sorted(topology.queues.items(), key=_name):
        yield {"type": "queue", **queue_facts(queue.row), **_held(held, number, queue.state)}
    for number in held:
        if number not in topology.queues:
            told: Told = {"type": "queue", "host": "", "name": "", "queue_number": number}
            yield {**told, **_held(held, number, GONE)}
    for binding in topology.bindings:
        yield {"type": "binding", **binding_facts(binding)}


def messages(living: Living, numbers: list[int]) -> Generator[Told]:
    """A line for each message of these queues, in their order."""
    for number in numbers:
        for copy in living.copies(number):
            yield {"type": "message", "queue_number": number, **summary(copy)}


def numbers_of(topology: Topology, living: Living, names: list[str], host: str) -> list[int]:
    """Queues of these names in a virtual host, in any if it is ""; of no names all there are.

    Raises:
        GatewayError: there is none of a name.
    """
    if not names:
        found = [number for number, each in topology.queues.items() if host in ("", each.row.host)]
        return found + ([] if host else [each for each in living.held() if each not in found])
    numbers: list[int] = []
    for name in names:
        of_name = [
            number
            for number, each in topology.queues.items()
            if each.row.name == name and host in ("", each.row.host)
        ]
        if not of_name:
            raise GatewayError(f"there is no queue {name!r}" + (f" in {host!r}" if host else ""))
        numbers += of_name
    return numbers


def _name(item: tuple[int, Queue]) -> tuple[str, str, int, int]:
    number, queue = item
    return queue.row.host, queue.row.name, queue.kind, number


def _held(held: dict[int, Held], number: int, state: str) -> Told:
    each = held.get(number)
    return {
        "state": state,
        "messages": 0 if each is None else each.messages,
        "octets": 0 if each is None else each.octets,
        "oldest": None if each is None else moment(each.oldest_ms),
        "newest": None if each is None else moment(each.newest_ms),
    }
