"""One record of a log that is missing or says something else, in a queue of its own each time.

A harm returns what is to be found: as a rule one break, whatever else the record puts off.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from support.whole_log import Said, WholeLog

LOST, DUPLICATE, ORPHAN, STUCK = "LOST", "DUPLICATE", "ORPHAN_SETTLEMENT", "STUCK"
MUTATED = "MUTATED"
Wanted = tuple[tuple[str, int | None], ...]  # class and message of each break


class Harmed(NamedTuple):
    """What is done: each `change` to the records of a kind, of a message or a link, and so on.

    Attributes:
        wanted: what is to be found.
        changes: kind, what the record says, and what it says then; `None`: it is missing.
        later: steps behind the restart.
    """

    wanted: Wanted
    changes: tuple[tuple[str, Said, Said | None], ...]
    later: Callable[[], None] | None = None


Story = Callable[[WholeLog, str, int], Harmed]
STORIES: Final[dict[str, Story]] = {}
NUMBERS: Final = 3000  # of each story: its messages, links and outlets
FIRST: Final[dict[str, int]] = {}


def story(how: Story) -> Story:
    """It is told in a queue of its name, and has numbers of its own."""
    FIRST[how.__name__] = 10_000 + NUMBERS * len(STORIES)
    STORIES[how.__name__] = how
    return how


def three(log: WholeLog, queue: str, first: int, *others: str, flags: str = "") -> None:
    """Three messages of which their publisher hears."""
    for name in (queue, *others):
        log.declare(name)
    for message in range(first, first + 3):
        log.publish(message, queue, *others, link=first, flags=flags)
    log.tell(first)


@story
def received_and_confirmed_missing(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    log.publish(first + 5, queue, link=first + 1)
    log.tell(first + 1)
    log.take(queue, first + 5, first + 2)
    missing = ("RECEIVED", {"message": first + 5}, None), ("CONFIRMED", {"link": first + 1}, None)
    return Harmed(((LOST, first + 5),), missing)


@story
def received_missing(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    log.take(queue, first + 1, first + 2)
    return Harmed(((LOST, first + 1),), (("RECEIVED", {"message": first + 1}, None),))


@story
def received_of_two_copies_missing(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first, f"{queue}, too")
    return Harmed(((LOST, first + 1),), (("RECEIVED", {"message": first + 1}, None),))


@story
def received_settled_missing(log: WholeLog, queue: str, first: int) -> Harmed:
    log.declare(queue)
    for message in range(first, first + 3):
        log.publish(message, queue, link=first, hears=False)
    return Harmed(((LOST, first + 1),), (("RECEIVED", {"message": first + 1}, None),))


@story
def received_in_a_transaction_missing(log: WholeLog, queue: str, first: int) -> Harmed:
    log.declare(queue)
    for message in (first, first + 1):
        log.publish(message, queue, link=first, transaction=first, hears=False)
    log.add("TRANSACTION", outcome="COMMITTED", transaction=first)
    return Harmed(((LOST, first + 1),), (("RECEIVED", {"message": first + 1}, None),))


@story
def ranges_exchanged(log: WholeLog, queue: str, first: int) -> Harmed:
    log.declare(queue)
    for message in range(first, first + 6):
        log.publish(message, queue, link=first + message % 2)
    log.tell(first)
    log.tell(first + 1)
    changes = tuple(
        ("CONFIRMED", {"link": link}, {"link": other})
        for link, other in ((first, first + 1), (first + 1, first))
    )
    return Harmed(((LOST, None), (LOST, None)), changes)


@story
def range_moved(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    for message in range(first + 3, first + 6):
        log.publish(message, queue, link=first)
    log.tell(first)
    moved = {"first": first + 1003, "last": first + 1005}
    return Harmed(((LOST, None),), (("CONFIRMED", {"first": first + 3}, moved),))


@story
def range_repeated(log: WholeLog, queue: str, first: int) -> Harmed:
    """The publisher was never told of the last ones, so that there are not too many."""
    three(log, queue, first)
    for message in range(first + 3, first + 6):
        log.publish(message, queue, link=first)
    log.tell(first)
    again = {"first": first, "last": first + 2}
    return Harmed(((LOST, None),), (("CONFIRMED", {"first": first + 3}, again),))


@story
def settled_missing(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    log.take(queue, first + 1, first + 2)
    return Harmed(((LOST, first + 1),), (("SETTLED", {"message": first + 1}, None),))


@story
def settled_missing_and_durable(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first, flags="DURABLE")
    log.take(queue, first + 1, first + 2)
    return Harmed(((LOST, first + 1),), (("SETTLED", {"message": first + 1}, None),))


@story
def settled_missing_and_gone(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    log.take(queue, first + 1, first + 2)
    log.say()
    log.detach(first + 2)
    return Harmed(((LOST, first + 1),), (("SETTLED", {"message": first + 1}, None),))


@story
def released_missing_and_gone(log: WholeLog, queue: str, first: int) -> Harmed:
    """It is in the queue again: its outlet alone has ended something that no record ends."""
    three(log, queue, first)
    log.send(queue, first + 1, first + 2)
    log.settle(queue, first + 1, "RELEASED")
    log.say()
    log.detach(first + 2)
    return Harmed(((STUCK, first + 1),), (("SETTLED", {"message": first + 1}, None),))


@story
def routed_missing(log: WholeLog, queue: str, first: int) -> Harmed:
    dead = f"{queue}, dead"
    three(log, queue, first)
    log.declare(dead)
    log.dead_letter(queue, first + 1, dead)
    log.take(dead, first + 1, first + 2)
    return Harmed(((LOST, first + 1),), (("ROUTED", {"message": first + 1}, None),))


@story
def entered_missing_of_a_dead_letter(log: WholeLog, queue: str, first: int) -> Harmed:
    """It leaves by another route than the one by which it came."""
    dead = f"{queue}, dead"
    three(log, queue, first)
    log.declare(dead)
    log.say()
    log.dead_letter(queue, first + 1, dead)
    missing = ("ENTERED", {"message": first + 1, "node": queue}, None)
    return Harmed(((ORPHAN, first + 1),), (missing,))


@story
def sent_missing_before_a_checkpoint(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    log.send(queue, first + 1, first + 2)
    log.say()
    log.settle(queue, first + 1)
    return Harmed(((ORPHAN, first + 1),), (("SENT", {"message": first + 1}, None),))


@story
def sent_settled_missing(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    log.send_settled(queue, first + 1, first + 2)
    return Harmed(((LOST, first + 1),), (("SENT", {"message": first + 1}, None),))


@story
def fewer_copies_received(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first, f"{queue}, too")
    log.take(queue, first + 1, first + 2)
    fewer = ("RECEIVED", {"message": first + 1}, {"copies": 1})
    return Harmed(((DUPLICATE, first + 1),), (fewer,))


@story
def another_evicted(log: WholeLog, queue: str, first: int) -> Harmed:
    """The other one is taken later, and a checkpoint is in between."""
    three(log, queue, first)
    log.leave("EVICTED", queue, first, "QUEUE_FULL")
    log.say()
    log.take(queue, first + 1, first + 2)
    other = {"message": first + 1, "position": first + 1}
    return Harmed(((LOST, first),), (("EVICTED", {"message": first}, other),))


@story
def another_evicted_that_had_left(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first)
    log.take(queue, first + 1, first + 2)
    log.leave("EVICTED", queue, first, "QUEUE_FULL")
    other = {"message": first + 1, "position": first + 1}
    return Harmed(((LOST, first),), (("EVICTED", {"message": first}, other),))


@story
def another_evicted_that_stays(log: WholeLog, queue: str, first: int) -> Harmed:
    """Nothing that follows says which."""
    three(log, queue, first)
    log.leave("EVICTED", queue, first, "QUEUE_FULL")
    other = {"message": first + 1, "position": first + 1}
    return Harmed(((LOST, None),), (("EVICTED", {"message": first}, other),))


@story
def recovered_elsewhere(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first, flags="DURABLE")
    other = ("RECOVERED", {"message": first + 1}, {"position": first + 9})
    return Harmed(((ORPHAN, first + 1),), (other,))


@story
def recovered_elsewhere_and_taken(log: WholeLog, queue: str, first: int) -> Harmed:
    three(log, queue, first, flags="DURABLE")
    other = ("RECOVERED", {"message": first + 1}, {"position": first + 9})
    return Harmed(((ORPHAN, first + 1),), (other,), lambda: log.take(queue, first + 1, first + 2))


@story
def in_order(log: WholeLog, queue: str, first: int) -> Harmed:
    """Nothing is harmed: feeds of upstreams, messages that nobody is told of, refused ones."""
    three(log, queue, first, f"{queue}, too", flags="DURABLE")
    for message in range(first + 3, first + 9):
        log.publish(message, queue, link=first + message % 3, hears=message % 2 == 0)
    for link in list(log.untold):
        log.tell(link)
    log.add("RECEIVED", message=first + 10, exchange="upstream far", copies=1, link=first + 10)
    log.routed["upstream far"] += 1
    log.enter(first + 10, queue, "upstream far")
    log.publish(first + 11, queue, link=first, transaction=first, hears=False)
    log.add("TRANSACTION", outcome="COMMITTED", transaction=first)
    log.dead_letter(queue, first, f"{queue}, dead", flags="DURABLE")
    log.send(queue, first + 1, first + 2)
    log.settle(queue, first + 1, "RELEASED")
    return Harmed((), ())


class _Unwritten(WholeLog):
    """Of which only the harms are asked."""

    def cut(self) -> Path:
        return self.directory


def harmed_log(directory: Path, *, cut: int = 0) -> tuple[WholeLog, dict[str, Wanted]]:
    """All of them in the first of three runs; `cut`: into segments of so many records.

    What comes back is harmed in the second one.
    """
    directory.mkdir()
    asked = _Unwritten(directory / "unwritten")
    told = {name: how(asked, name, FIRST[name]) for name, how in STORIES.items()}
    changes = [change for each in told.values() for change in each.changes]

    def harm(kind: str, said: Said) -> Said | None:
        if kind == "RECOVERED" and log.run != 2:
            return said
        for of_kind, match, then in changes:
            if kind == of_kind and match.items() <= said.items():
                return None if then is None else said | then
        return said

    log = WholeLog(directory / "log", harm, cut)
    log.begin()
    told = {}
    for name, how in STORIES.items():
        told[name] = how(log, name, FIRST[name])
        log.say()
    log.stop()
    log.begin()
    for each in told.values():
        if each.later is not None:
            each.later()
    log.stop()
    log.begin()
    log.stop()
    return log, {name: each.wanted for name, each in told.items()}
