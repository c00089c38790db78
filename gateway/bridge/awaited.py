"""What a stop waits for, in words: for operators."""

from __future__ import annotations

from gateway.bridge.queues.copies import Copies
from gateway.bridge.queues.queue import Queue
from gateway.errors import StoreError


def awaited(queues: list[Queue], copies: Copies, store_error: StoreError | None) -> list[str]:
    """Why the bridge is not idle, clause by clause; empty where only the turn has to end."""
    by_upstream: dict[str, int] = {}
    for queue in queues:
        placement = queue.placement
        if queue.transit and placement is not None:
            name = placement.remote.name
            by_upstream[name] = by_upstream.get(name, 0) + _counted(queue)
    found = [
        f"{_are(count, 'message')} for upstream {name}"
        for name, count in sorted(by_upstream.items())
        if count
    ]
    tickets = copies.tickets
    if tickets.open and not found:
        found.append(f"{_are(tickets.open, 'message')} for an upstream")
    held_back = copies.pressure.waiting
    if held_back:
        found.append(f"{_are(held_back, 'publish', 'publishes')} for {_held_for(store_error)}")
    if copies.turns.spread.has_work or copies.entering.has_work:
        found.append("work is left that is done over several turns")
    if not copies.turns.idle():
        found.append("something waits for the disk")
    return found


def _counted(queue: Queue) -> int:
    """How many copies in it somebody is to be told the end of."""
    count = 0
    entry = queue.places.next_at(0)
    while entry is not None:
        ticket = entry.ticket
        if ticket is not None and ticket.counted:
            count += 1
        entry = queue.places.next_at(entry.position + 1)
    return count


def _held_for(store_error: StoreError | None) -> str:
    if store_error is None:
        return "room in the queues"
    return "room on the disk" if store_error.cause == "full" else "the disk, which refuses"


def _are(count: int, one: str, many: str = "") -> str:
    return f"1 {one} waits" if count == 1 else f"{count} {many or one + 's'} wait"
