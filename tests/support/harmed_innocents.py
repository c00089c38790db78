"""More of `harmed_records`: records that name another copy, which is innocent.

It is there, or its own record names this one; what is there after a restart says which it is.
"""

from __future__ import annotations

from support.harmed_records import LOST, ORPHAN, Harmed, Story, story, three
from support.whole_log import BEHIND, WholeLog


def _bodies(log: WholeLog, first: int) -> None:
    """Each message has another one."""
    log.bodies |= {message: message for message in range(first, first + 30)}


def _left(kind: str) -> tuple[Story, ...]:
    """What leaves, by such a record: in the place of the next, as that, or each as the other."""

    def two_left(log: WholeLog, queue: str, first: int) -> None:
        three(log, queue, first)
        log.leave(kind, queue, first, "QUEUE_FULL")
        log.leave(kind, queue, first + 1, "QUEUE_FULL")

    def in_its_place(log: WholeLog, queue: str, first: int) -> Harmed:
        two_left(log, queue, first)
        return Harmed(((ORPHAN, first),), ((kind, {"message": first}, {"position": first + 1}),))

    def as_the_next(log: WholeLog, queue: str, first: int) -> Harmed:
        two_left(log, queue, first)
        return Harmed(((ORPHAN, first),), ((kind, {"message": first}, {"message": first + 1}),))

    def as_each_other(log: WholeLog, queue: str, first: int) -> Harmed:
        two_left(log, queue, first)
        return Harmed(((ORPHAN, first), (ORPHAN, first + 1)), _exchanged(kind, first))

    def in_front_of_entered(log: WholeLog, queue: str, first: int) -> Harmed:
        two_left(log, queue, first)
        moved = ("ENTERED", {"message": first}, {BEHIND: (kind, {"message": first})})
        return Harmed(((ORPHAN, first),), (moved,))

    stories = (in_its_place, as_the_next, as_each_other, in_front_of_entered)
    for each in stories:
        each.__name__ = f"{kind.lower()} {each.__name__.replace('_', ' ')}"
    return stories


def _exchanged(kind: str, first: int) -> tuple[tuple[str, dict, dict], ...]:
    """Two records, each of which says the message of the other."""
    pairs = ((first, first + 1), (first + 1, first))
    return tuple((kind, {"message": one}, {"message": other}) for one, other in pairs)


for _kind in ("EVICTED", "EXPIRED"):
    for _how in _left(_kind):
        story(_how)


@story
def moved_of_another_message(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first + 10)
    log.prepare(queue, first, first, [(first, queue), (first + 1, queue)])
    log.commit(queue)
    other = ("MOVED", {"message": first}, {"message": first + 10})
    return Harmed(((ORPHAN, first),), (other,))


@story
def entered_elsewhere_and_comes_back(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first, flags="DURABLE")
    other = ("ENTERED", {"message": first + 1}, {"position": first + 900})
    return Harmed(((ORPHAN, first + 1),), (other,))


@story
def entered_in_another_queue_and_comes_back(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first, flags="DURABLE")
    log.declare(f"{queue}, too")
    other = ("ENTERED", {"message": first + 1}, {"node": f"{queue}, too"})
    return Harmed(((ORPHAN, first + 1),), (other,))


@story
def entered_as_another_message_and_comes_back(log: WholeLog, queue: str, first: int) -> Harmed:
    """That is in another queue."""
    _bodies(log, first)
    three(log, queue, first, flags="DURABLE")
    log.declare(f"{queue}, too")
    log.publish(first + 20, f"{queue}, too", link=first, flags="DURABLE", hears=False)
    other = ("ENTERED", {"message": first + 1}, {"message": first + 20})
    return Harmed(((ORPHAN, first + 1),), (other,))


@story
def entered_as_each_other_and_come_back(log: WholeLog, queue: str, first: int) -> Harmed:
    _bodies(log, first)
    three(log, queue, first, flags="DURABLE")
    return Harmed(((ORPHAN, first), (ORPHAN, first + 1)), _exchanged("ENTERED", first))


@story
def entered_as_each_other_and_taken(log: WholeLog, queue: str, first: int) -> Harmed:
    _bodies(log, first)
    three(log, queue, first)
    log.take(queue, first, first + 2)
    log.take(queue, first + 1, first + 2)
    return Harmed(((ORPHAN, first), (ORPHAN, first + 1)), _exchanged("ENTERED", first))


@story
def received_as_the_next(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    other = ("RECEIVED", {"message": first}, {"message": first + 1})
    return Harmed(((ORPHAN, first),), (other,))


@story
def recovered_in_the_queue_of_another_copy(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first, f"{queue}, too", flags="DURABLE")
    other = ("RECOVERED", {"message": first + 1, "node": queue}, {"node": f"{queue}, too"})
    return Harmed(((ORPHAN, first + 1),), (other,))


@story
def not_recovered_and_there_later(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first, flags="DURABLE")
    return Harmed(((LOST, first + 1),), (("RECOVERED", {"message": first + 1}, None),))
