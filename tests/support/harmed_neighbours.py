"""More of `harmed_records`: records that have changed places, stand there twice, or name another.

What they name is the message of another copy, or another transaction; place and queue are right.
"""

from __future__ import annotations

from support.harmed_records import (
    DUPLICATE,
    LOST,
    MUTATED,
    ORPHAN,
    STUCK,
    Harmed,
    Story,
    story,
    three,
)
from support.whole_log import BEHIND, FRONT, TWICE, WholeLog


@story
def recovered_of_another_message(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first, flags="DURABLE")
    other = ("RECOVERED", {"message": first + 1}, {"message": first + 2})
    return Harmed(((ORPHAN, first + 1),), (other,), lambda: log.take(queue, first + 1, first + 2))


@story
def recovered_of_no_message(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first, flags="DURABLE")
    other = ("RECOVERED", {"message": first + 1}, {"message": first + 900})
    return Harmed(((ORPHAN, first + 1),), (other,))


@story
def recovered_of_one_that_had_left(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first, flags="DURABLE")
    log.take(queue, first, first + 2)
    other = ("RECOVERED", {"message": first + 1}, {"message": first})
    return Harmed(((ORPHAN, first + 1),), (other,))


@story
def requeued_of_another_message(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    log.send(queue, first + 1, first + 2)
    log.give_back(queue, first + 1)
    other = ("REQUEUED", {"message": first + 1}, {"message": first + 2})
    return Harmed(((ORPHAN, first + 1),), (other,))


@story
def requeued_of_no_message_in_front_of_a_restart(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first, flags="DURABLE")
    log.send(queue, first + 1, first + 2)
    log.give_back(queue, first + 1)
    other = ("REQUEUED", {"message": first + 1}, {"message": first + 900})
    return Harmed(((ORPHAN, first + 1),), (other,), lambda: log.take(queue, first + 1, first + 2))


@story
def requeued_in_another_queue(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first, flags="DURABLE")
    log.declare(f"{queue}, too")
    log.send(queue, first + 1, first + 2)
    log.give_back(queue, first + 1)
    other = ("REQUEUED", {"message": first + 1}, {"node": f"{queue}, too"})
    return Harmed(((ORPHAN, first + 1),), (other,))


@story
def rolled_back_of_another_message(log: WholeLog, queue: str, first: int) -> Harmed:
    log.declare(queue)
    log.publish_in_vain(first, queue, first, first)
    log.publish(first + 1, queue, link=first, transaction=first + 1, hears=False)
    log.add("TRANSACTION", outcome="COMMITTED", transaction=first + 1)
    other = ("ROLLED_BACK", {"message": first}, {"message": first + 1})
    return Harmed(((ORPHAN, first),), (other,))


@story
def sent_in_front_of_entered(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    log.take(queue, first + 1, first + 2)
    moved = ("ENTERED", {"message": first + 1}, {BEHIND: ("SENT", {"message": first + 1})})
    return Harmed(((ORPHAN, first + 1),), (moved,))


@story
def sent_settled_in_front_of_entered(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    log.send_settled(queue, first + 1, first + 2)
    moved = ("ENTERED", {"message": first + 1}, {BEHIND: ("SENT", {"message": first + 1})})
    return Harmed(((ORPHAN, first + 1),), (moved,))


@story
def sent_long_before_it_entered(log: WholeLog, queue: str, first: int) -> Harmed:
    """And so in front of another one, which is innocent."""
    sent = {"message": first + 1, "position": first + 1, "node": queue, "link": first + 2}
    three(log, queue, first)
    log.say()
    log.take(queue, first, first + 2)
    log.take(queue, first + 1, first + 2)
    changes = (
        ("ENTERED", {"message": first + 1}, {FRONT: ("SENT", sent)}),
        ("SENT", {"message": first + 1}, None),
    )
    return Harmed(((ORPHAN, first + 1),), changes)


@story
def sent_in_front_of_recovered(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first, flags="DURABLE")
    sent = {"message": first + 1, "position": first + 1, "node": queue, "link": first + 2}
    changes = (
        ("RECOVERED", {"message": first + 1}, {FRONT: ("SENT", sent)}),
        ("SENT", {"message": first + 1}, None),
    )
    return Harmed(((ORPHAN, first + 1),), changes, lambda: log.take(queue, first + 1, first + 2))


@story
def settled_in_front_of_sent(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    log.take(queue, first + 1, first + 2)
    moved = ("SENT", {"message": first + 1}, {BEHIND: ("SETTLED", {"message": first + 1})})
    return Harmed(((ORPHAN, first + 1),), (moved,))


@story
def requeued_in_front_of_sent(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    log.send(queue, first + 1, first + 2)
    log.give_back(queue, first + 1)
    log.take(queue, first + 1, first + 3)
    sent = {"message": first + 1, "link": first + 2}
    moved = ("SENT", sent, {BEHIND: ("REQUEUED", {"message": first + 1})})
    return Harmed(((ORPHAN, first + 1),), (moved,))


@story
def entered_in_front_of_received(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    moved = ("RECEIVED", {"message": first + 1}, {BEHIND: ("ENTERED", {"message": first + 1})})
    return Harmed(((ORPHAN, first + 1),), (moved,))


@story
def received_behind_what_its_publisher_was_told(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    moved = ("RECEIVED", {"message": first + 1}, {BEHIND: ("CONFIRMED", {"link": first})})
    return Harmed(((ORPHAN, first + 1),), (moved,))


def _two_transactions(log: WholeLog, queue: str, first: int) -> None:
    log.declare(queue)
    for transaction in (first, first + 1):
        for message in (first, first + 2):
            of = {"link": first, "transaction": transaction, "hears": False}
            log.publish(message + transaction - first, queue, **of)
        log.add("TRANSACTION", outcome="COMMITTED", transaction=transaction)


@story
def entered_behind_its_transaction(log: WholeLog, queue: str, first: int) -> Harmed:
    _two_transactions(log, queue, first)
    moved = ("ENTERED", {"message": first + 2}, {BEHIND: ("TRANSACTION", {"transaction": first})})
    return Harmed(((ORPHAN, first + 2),), (moved,))


@story
def entered_in_another_transaction(log: WholeLog, queue: str, first: int) -> Harmed:
    _two_transactions(log, queue, first)
    other = ("ENTERED", {"message": first + 2}, {"transaction": first + 1})
    return Harmed(((ORPHAN, first + 2),), (other,))


@story
def entered_in_no_transaction_that_is_there(log: WholeLog, queue: str, first: int) -> Harmed:
    _two_transactions(log, queue, first)
    other = ("ENTERED", {"message": first + 2}, {"transaction": first + 900})
    return Harmed(((ORPHAN, first + 2),), (other,))


@story
def received_outside_of_its_transaction(log: WholeLog, queue: str, first: int) -> Harmed:
    _two_transactions(log, queue, first)
    other = ("RECEIVED", {"message": first + 2}, {"transaction": 0})
    return Harmed(((ORPHAN, first + 2),), (other,))


@story
def received_as_not_durable(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first, flags="DURABLE")
    other = ("RECEIVED", {"message": first + 1}, {"flags": ""})
    return Harmed(((MUTATED, first + 1),), (other,))


@story
def received_twice(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    return Harmed(((DUPLICATE, first + 1),), (("RECEIVED", {"message": first + 1}, {TWICE: 1}),))


@story
def sent_twice(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    log.take(queue, first + 1, first + 2)
    log.say()
    log.detach(first + 2)
    return Harmed(((DUPLICATE, first + 1),), (("SENT", {"message": first + 1}, {TWICE: 1}),))


@story
def settled_as_nobody_can(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    log.take(queue, first + 1, first + 2)
    log.say()
    log.detach(first + 2)
    return Harmed(((ORPHAN, first + 1),), (("SETTLED", {"message": first + 1}, {"outcome": 77}),))


@story
def removed_and_there(log: WholeLog, queue: str, first: int) -> Harmed:
    """It is given back, and says that it is removed; then it is sent again."""
    three(log, queue, first)
    log.send(queue, first + 1, first + 2)
    log.settle(queue, first + 1, "MODIFIED")
    log.say()
    log.take(queue, first + 1, first + 2)
    modified = {"message": first + 1, "outcome": "MODIFIED"}
    return Harmed(((LOST, first + 1),), (("SETTLED", modified, {"flags": "REMOVED"}),))


@story
def all_of_a_copy_missing(log: WholeLog, queue: str, first: int) -> Harmed:
    """Its message has another one; and an outlet has it when a checkpoint is written."""
    three(log, queue, first, f"{queue}, too")
    log.send(f"{queue}, too", first, first + 2)
    log.send(f"{queue}, too", first + 1, first + 2)
    log.say()
    log.settle(f"{queue}, too", first + 1)
    of_it = {"message": first + 1, "node": f"{queue}, too"}
    missing = tuple((kind, of_it, None) for kind in ("ENTERED", "SENT", "SETTLED"))
    return Harmed(((LOST, first + 1),), missing)


@story
def sent_and_settled_missing(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    log.send(queue, first, first + 2)
    log.send(queue, first + 1, first + 2)
    log.say()
    log.settle(queue, first + 1)
    missing = tuple((kind, {"message": first + 1}, None) for kind in ("SENT", "SETTLED"))
    return Harmed(((LOST, first + 1),), missing)


@story
def sent_that_never_was(log: WholeLog, queue: str, first: int) -> Harmed:
    """By an outlet that nobody has heard of."""
    three(log, queue, first)
    sent = {"message": first + 1, "position": first + 1, "node": queue, "link": first + 9}
    made_up = ("CONFIRMED", {"link": first}, {FRONT: ("SENT", sent)})
    return Harmed(((STUCK, first + 1),), (made_up,))


@story
def sent_that_never_was_and_later_was(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first, flags="DURABLE")
    sent = {"message": first + 1, "position": first + 1, "node": queue, "link": first + 9}
    made_up = ("CONFIRMED", {"link": first}, {FRONT: ("SENT", sent)})
    return Harmed(((STUCK, first + 1),), (made_up,), lambda: log.take(queue, first + 1, first + 2))


def _with_bodies(kind: str) -> Story:
    """The record of a kind has a digest of 0."""

    def told(log: WholeLog, queue: str, first: int) -> Harmed:
        log.bodies |= {message: message for message in range(first, first + 3)}
        three(log, queue, first, flags="DURABLE")
        log.take(queue, first + 1, first + 2)
        copy = first if kind == "RECOVERED" else first + 1
        return Harmed(((MUTATED, copy),), ((kind, {"message": copy}, {"body_digest": 0}),))

    told.__name__ = f"no digest of what is {kind.lower()}"
    return told


for _kind in ("RECEIVED", "ENTERED", "SENT", "RECOVERED"):
    story(_with_bodies(_kind))
