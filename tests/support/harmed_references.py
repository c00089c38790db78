"""More of `harmed_records`: several records that are missing, and records that name another copy.

What they name is the message, the place or the queue of another, which may be there or not.
"""

from __future__ import annotations

from support.harmed_records import LOST, ORPHAN, Harmed, story, three
from support.whole_log import WholeLog


@story
def all_of_a_message_missing(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    log.take(queue, first + 1, first + 2)
    missing = tuple(
        (kind, {"message": first + 1}, None) for kind in ("RECEIVED", "ENTERED", "SENT", "SETTLED")
    )
    return Harmed(((LOST, first + 1),), missing)


@story
def all_of_a_message_missing_that_stays(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    missing = tuple((kind, {"message": first + 1}, None) for kind in ("RECEIVED", "ENTERED"))
    return Harmed(((LOST, first + 1),), missing)


@story
def received_and_entered_missing(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    log.take(queue, first + 1, first + 2)
    missing = tuple((kind, {"message": first + 1}, None) for kind in ("RECEIVED", "ENTERED"))
    return Harmed(((ORPHAN, first + 1),), missing)


@story
def entered_of_another_message(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    log.take(queue, first + 1, first + 2)
    other = ("ENTERED", {"message": first + 1}, {"message": first + 900})
    return Harmed(((ORPHAN, first + 1),), (other,))


@story
def entered_of_one_that_is_there(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    log.take(queue, first + 1, first + 2)
    log.take(queue, first + 2, first + 2)
    other = ("ENTERED", {"message": first + 1}, {"message": first + 2})
    return Harmed(((ORPHAN, first + 1),), (other,))


@story
def entered_of_another_message_that_stays(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    other = ("ENTERED", {"message": first + 1}, {"message": first + 900})
    return Harmed(((ORPHAN, first + 1),), (other,))


@story
def entered_elsewhere(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    log.take(queue, first + 1, first + 2)
    other = ("ENTERED", {"message": first + 1}, {"position": first + 900})
    return Harmed(((ORPHAN, first + 1),), (other,))


@story
def entered_elsewhere_and_stays(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    other = ("ENTERED", {"message": first + 1}, {"position": first + 900})
    return Harmed(((LOST, None),), (other,))


@story
def entered_in_another_queue(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    log.declare(f"{queue}, too")
    log.take(queue, first + 1, first + 2)
    other = ("ENTERED", {"message": first + 1}, {"node": f"{queue}, too"})
    return Harmed(((ORPHAN, first + 1),), (other,))


@story
def entered_in_another_queue_and_stays(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    log.declare(f"{queue}, too")
    other = ("ENTERED", {"message": first + 1}, {"node": f"{queue}, too"})
    return Harmed(((ORPHAN, first + 1),), (other,))


@story
def sent_of_another_that_stays(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    log.take(queue, first + 1, first + 2)
    other = ("SENT", {"message": first + 1}, {"message": first + 2, "position": first + 2})
    return Harmed(((ORPHAN, first + 1),), (other,))


@story
def sent_of_another_that_is_sent(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    log.take(queue, first, first + 2)
    log.take(queue, first + 1, first + 2)
    log.take(queue, first + 2, first + 2)
    other = ("SENT", {"message": first + 1}, {"message": first + 2, "position": first + 2})
    return Harmed(((ORPHAN, first + 1),), (other,))


@story
def sent_of_another_that_had_left(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    log.take(queue, first, first + 2)
    log.take(queue, first + 1, first + 2)
    log.take(queue, first + 2, first + 2)
    other = ("SENT", {"message": first + 1}, {"message": first, "position": first})
    return Harmed(((ORPHAN, first + 1),), (other,))


@story
def sent_from_another_place(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    log.take(queue, first + 1, first + 2)
    other = ("SENT", {"message": first + 1}, {"position": first + 900})
    return Harmed(((ORPHAN, first + 1),), (other,))


@story
def sent_of_no_message(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    log.take(queue, first + 1, first + 2)
    other = ("SENT", {"message": first + 1}, {"message": first + 900})
    return Harmed(((ORPHAN, first + 1),), (other,))


@story
def sent_from_another_queue(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    log.declare(f"{queue}, too")
    log.take(queue, first + 1, first + 2)
    other = ("SENT", {"message": first + 1}, {"node": f"{queue}, too"})
    return Harmed(((ORPHAN, first + 1),), (other,))


@story
def settled_of_another_that_stays(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    log.take(queue, first + 1, first + 2)
    other = ("SETTLED", {"message": first + 1}, {"message": first + 2, "position": first + 2})
    return Harmed(((LOST, first + 1),), (other,))


@story
def settled_of_another_that_had_left(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    log.take(queue, first, first + 2)
    log.take(queue, first + 1, first + 2)
    other = ("SETTLED", {"message": first + 1}, {"message": first, "position": first})
    return Harmed(((LOST, first + 1),), (other,))


@story
def settled_of_another_that_is_out(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    for message in range(first, first + 3):
        log.send(queue, message, first + 2)
    for message in range(first, first + 3):
        log.settle(queue, message)
    other = ("SETTLED", {"message": first + 1}, {"message": first + 2, "position": first + 2})
    return Harmed(((LOST, first + 1),), (other,))


@story
def settled_at_another_place(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    log.take(queue, first + 1, first + 2)
    other = ("SETTLED", {"message": first + 1}, {"position": first + 900})
    return Harmed(((ORPHAN, first + 1),), (other,))


@story
def settled_of_no_message(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    log.take(queue, first + 1, first + 2)
    other = ("SETTLED", {"message": first + 1}, {"message": first + 900})
    return Harmed(((LOST, first + 1),), (other,))


@story
def settled_in_another_queue(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    log.declare(f"{queue}, too")
    log.take(queue, first + 1, first + 2)
    other = ("SETTLED", {"message": first + 1}, {"node": f"{queue}, too"})
    return Harmed(((ORPHAN, first + 1),), (other,))


@story
def released_of_another(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    log.send(queue, first + 1, first + 2)
    log.settle(queue, first + 1, "RELEASED")
    log.take(queue, first + 1, first + 3)
    released = {"message": first + 1, "outcome": "RELEASED"}
    other = ("SETTLED", released, {"message": first + 2, "position": first + 2})
    return Harmed(((ORPHAN, first + 1),), (other,))


@story
def recovered_in_another_queue(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first, flags="DURABLE")
    log.declare(f"{queue}, too")
    other = ("RECOVERED", {"message": first + 1}, {"node": f"{queue}, too"})
    return Harmed(((ORPHAN, first + 1),), (other,))


@story
def given_back_and_removed(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    log.take(queue, first + 1, first + 2)
    other = ("SETTLED", {"message": first + 1}, {"outcome": "MODIFIED"})
    return Harmed(((LOST, first + 1),), (other,))


@story
def accepted_and_not_removed(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    log.take(queue, first + 1, first + 2)
    other = ("SETTLED", {"message": first + 1}, {"flags": ""})
    return Harmed(((ORPHAN, first + 1),), (other,))


@story
def no_checkpoint_names_it(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    log.take(queue, first + 1, first + 2)
    vanished = ("QUEUE_CHECKPOINT", {"node": queue}, None)
    return Harmed(((LOST, first), (LOST, first + 2)), (vanished,))


@story
def told_before_it_came(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    log.publish(first + 5, queue, link=first)
    log.tell(first)
    log.publish(first + 7, queue, link=first)
    log.tell(first)
    changes = tuple(
        ("CONFIRMED", {"first": one}, {"first": other, "last": other})
        for one, other in ((first + 5, first + 7), (first + 7, first + 5))
    )
    return Harmed(((LOST, None),), changes)


@story
def two_of_one_route(log: WholeLog, queue: str, first: int) -> Harmed:
    """In two minutes."""
    three(log, queue, first)
    log.say()
    for message in range(first + 3, first + 6):
        log.publish(message, queue, link=first)
    log.tell(first)
    missing = tuple(("ENTERED", {"message": each}, None) for each in (first + 1, first + 4))
    return Harmed(((LOST, first + 1), (LOST, first + 4)), missing)


def _in_two_minutes(log: WholeLog, queue: str, first: int) -> None:
    three(log, queue, first)
    log.take(queue, first + 1, first + 2)
    log.say()
    for message in range(first + 3, first + 6):
        log.publish(message, queue, link=first)
    log.tell(first)
    log.take(queue, first + 4, first + 2)


@story
def entered_and_then_received_missing(log: WholeLog, queue: str, first: int) -> Harmed:
    _in_two_minutes(log, queue, first)
    missing = ("ENTERED", {"message": first + 1}, None), ("RECEIVED", {"message": first + 4}, None)
    return Harmed(((ORPHAN, first + 1), (LOST, first + 4)), missing)


@story
def received_and_then_entered_missing(log: WholeLog, queue: str, first: int) -> Harmed:
    _in_two_minutes(log, queue, first)
    missing = ("RECEIVED", {"message": first + 1}, None), ("ENTERED", {"message": first + 4}, None)
    return Harmed(((LOST, first + 1), (ORPHAN, first + 4)), missing)


@story
def all_of_one_and_entered_of_another_missing(log: WholeLog, queue: str, first: int) -> Harmed:
    _in_two_minutes(log, queue, first)
    missing = tuple(
        (kind, {"message": first + 1}, None) for kind in ("RECEIVED", "ENTERED", "SENT", "SETTLED")
    )
    missing += (("ENTERED", {"message": first + 4}, None),)
    return Harmed(((LOST, first + 1), (ORPHAN, first + 4)), missing)


@story
def received_missing_in_two_minutes(log: WholeLog, queue: str, first: int) -> Harmed:
    _in_two_minutes(log, queue, first)
    missing = tuple(("RECEIVED", {"message": each}, None) for each in (first + 1, first + 4))
    return Harmed(((LOST, first + 1), (LOST, first + 4)), missing)


@story
def counted_on_its_route_beside_another(log: WholeLog, queue: str, first: int) -> Harmed:
    """Of one message no record is left but those that an outlet makes; of another none at all."""
    log.declare(queue)
    log.declare(f"{queue}, too")
    for message in range(first, first + 3):
        log.publish(message, queue, link=first, hears=False)
    log.take(queue, first + 1, first + 2)
    log.publish(first + 5, f"{queue}, too", link=first, hears=False)
    log.take(f"{queue}, too", first + 5, first + 3)
    missing = tuple(
        (kind, {"message": message}, None)
        for message in (first + 1, first + 5)
        for kind in ("RECEIVED", "ENTERED", "SENT", "SETTLED")
    )
    return Harmed(((LOST, None), (LOST, None)), missing)
