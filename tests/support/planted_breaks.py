"""One break of each class and variant, each in a queue of its own in a log packed by hand.

A plant returns what is to be found: nothing of the gateway's packing is used, so that the table
that is made of it (`planted_table`) is no echo of it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from support.hand_log import HandLog

DAY_MS: Final = 24 * 60 * 60 * 1000
LATE_MS: Final = 60_000
BODY, OTHER_BODY = 5, 6


class Life(HandLog):
    """Steps of messages; each has its number as its position, and its queue as its exchange."""

    def enter(
        self, queue: str, message: int, flags: str = "", copies: int = 1, **said: int
    ) -> None:
        self.receive(queue, message, copies, flags, **said)
        self.copy(queue, message, flags, **said)

    def receive(
        self, route: str, message: int, copies: int = 1, flags: str = "", **said: int
    ) -> None:
        of_it = {"copies": copies, "link": 1, "flags": flags, "body_digest": BODY}
        self.add("RECEIVED", message=message, exchange=route, **of_it, **said)

    def copy(self, queue: str, message: int, flags: str = "", **said: int) -> None:
        where = {"node": queue, "exchange": queue, "flags": flags, "body_digest": BODY}
        self.add("ENTERED", message=message, position=message, **where, **said)

    def step(self, kind: str, queue: str, message: int, **said: object) -> None:
        self.add(kind, message=message, position=message, node=queue, **said)

    def send(self, queue: str, message: int, link: int, body: int = BODY, flags: str = "") -> None:
        self.step("SENT", queue, message, link=link, body_digest=body, flags=flags)

    def settle(self, queue: str, message: int, link: int, outcome: str = "ACCEPTED") -> None:
        flags = "REMOVED" if outcome == "ACCEPTED" else ""
        self.step("SETTLED", queue, message, link=link, outcome=outcome, flags=flags)

    def take(self, queue: str, message: int, link: int) -> None:
        self.send(queue, message, link)
        self.settle(queue, message, link)

    def end(self, *, stopped: bool = True) -> Path:
        """What checkpoints say of single things is not what the one of the stop says."""
        self.add("CONNECTION_CLOSED")
        return super().end(stopped=stopped)

    def holds(self, queue: str, *messages: int, **said: object) -> None:
        """A checkpoint of this queue alone."""
        copies = [(message, message) for message in messages]
        self.checkpoint({queue: {"copies": copies, "entered": 0, **said}}, {})


class Found(NamedTuple):
    """What is to be found: how many breaks of the class, and the message of the first, if any."""

    message: int | None = None
    count: int = 1


class Plant(NamedTuple):
    """One variant; `queue`: where it is, and nothing else."""

    break_class: str
    variant: str
    queue: str
    plant: Callable[[Life, str, int], Found]


PLANTS: Final[list[Plant]] = []


def plant(break_class: str, variant: str) -> Callable[[Callable[..., Found]], Callable[..., Found]]:
    """The decorated one is planted in a queue of its name."""

    def planted(how: Callable[[Life, str, int], Found]) -> Callable[[Life, str, int], Found]:
        PLANTS.append(Plant(break_class, variant, how.__name__, how))
        return how

    return planted


@plant("LOST", "in the queue by the log, not by its checkpoint")
def forgotten(log: Life, queue: str, first: int) -> Found:
    for message in range(first, first + 3):
        log.enter(queue, message)
    log.holds(queue, first, first + 2)
    return Found(first + 1)


@plant("LOST", "twice in one queue, between other checkpoints")
def forgotten_twice(log: Life, queue: str, first: int) -> Found:
    for message in range(first, first + 4):
        log.enter(queue, message)
    log.holds(queue, first + 1, first + 2, first + 3)
    log.holds(queue, first + 1, first + 3)
    return Found(first, 2)


@plant("LOST", "not in its queue by one checkpoint, and there by the next")
def forgotten_once(log: Life, queue: str, first: int) -> Found:
    log.enter(queue, first)
    log.enter(queue, first + 1)
    log.holds(queue, first + 1)
    log.holds(queue, first, first + 1)
    return Found(first)


@plant("LOST", "another copy is there in its place")
def exchanged(log: Life, queue: str, first: int) -> Found:
    log.enter(queue, first)
    log.holds(queue, first + 1)
    return Found()


@plant("LOST", "deleted with its queue, which says nothing of it")
def deleted(log: Life, queue: str, first: int) -> Found:
    log.add("TOPOLOGY", node=queue, reason="QUEUE_DECLARED")
    log.enter(queue, first)
    log.enter(queue, first + 1)
    log.take(queue, first + 1, first)
    log.add("TOPOLOGY", node=queue, reason="QUEUE_DELETED")
    return Found(first)


@plant("LOST", "durable, and not there after the restart")
def not_recovered(log: Life, queue: str, first: int) -> Found:
    log.enter(queue, first, "DURABLE")
    return Found(first)


@plant("LOST", "routed to two queues, entered one")
def one_copy_short(log: Life, queue: str, first: int) -> Found:
    log.enter(queue, first, copies=2)
    return Found(first)


@plant("LOST", "there by its checkpoint, but no record says that it entered")
def entered_unsaid(log: Life, queue: str, first: int) -> Found:
    log.add("TOPOLOGY", node=queue, reason="QUEUE_DECLARED")
    log.receive(queue, first)
    log.enter(queue, first + 1)
    log.holds(queue, first, first + 1, entered=2)
    return Found(first)


@plant("LOST", "there by its checkpoint, but no record says that it was recovered")
def recovered_unsaid(log: Life, queue: str, first: int) -> Found:
    log.enter(queue, first, "DURABLE")
    return Found(first)


@plant("LOST", "dead-lettered, and no record says where to")
def dead_letter(log: Life, queue: str, first: int) -> Found:
    log.enter(queue, first)
    log.step("DEAD_LETTERED", queue, first, reason="QUEUE_DELETED")
    return Found(first)


@plant("LOST", "moved, and no record says where to")
def moved(log: Life, queue: str, first: int) -> Found:
    log.enter(queue, first)
    log.step("MOVED", queue, first, reason="OPERATOR")
    return Found(first)


@plant("LOST", "counted by its queue, and never recorded")
def unrecorded(log: Life, queue: str, first: int) -> Found:
    log.add("TOPOLOGY", node=queue, reason="QUEUE_DECLARED")
    log.enter(queue, first)
    log.take(queue, first, first)
    log.holds(queue, entered=2)
    return Found()


@plant("LOST", "counted by its exchange, and never recorded")
def unrouted(log: Life, queue: str, first: int) -> Found:
    log.enter(queue, first)
    log.checkpoint({queue: {"copies": [(first, first)]}}, {queue: {"routed": 2}})
    return Found()


@plant("LOST", "counted by its outlet, and never recorded")
def unsent(log: Life, queue: str, first: int) -> Found:
    log.enter(queue, first)
    log.take(queue, first, first)
    log.checkpoint({}, {}, **{f"l{first}": {"node": queue, "sent": 2}})
    return Found()


@plant("LOST", "rolled back, although its transaction was committed")
def half_committed(log: Life, queue: str, first: int) -> Found:
    for message in (first, first + 1):
        log.receive(queue, message, transaction=first)
    log.copy(queue, first + 1, transaction=first)
    log.add("ROLLED_BACK", message=first, node=queue, exchange=queue, transaction=first)
    log.add("TRANSACTION", outcome="COMMITTED", transaction=first)
    return Found(first)


@plant("DUPLICATE", "accepted twice")
def accepted_twice(log: Life, queue: str, first: int) -> Found:
    log.enter(queue, first)
    log.take(queue, first, first)
    log.settle(queue, first, first)
    return Found(first)


@plant("DUPLICATE", "sent to two while one has it")
def sent_twice(log: Life, queue: str, first: int) -> Found:
    log.enter(queue, first)
    log.send(queue, first, first)
    log.send(queue, first, first + 1)
    return Found(first)


@plant("DUPLICATE", "entered twice")
def entered_twice(log: Life, queue: str, first: int) -> Found:
    log.enter(queue, first)
    log.copy(queue, first)
    return Found(first)


@plant("DUPLICATE", "more copies than its route made")
def routed_twice(log: Life, queue: str, first: int) -> Found:
    log.enter(queue, first)
    log.add(
        "ENTERED", position=first + 1, node=queue, exchange=queue, message=first, body_digest=BODY
    )
    return Found(first)


@plant("DUPLICATE", "more copies than its route made, and its checkpoint is off by that")
def entered_elsewhere(log: Life, queue: str, first: int) -> Found:
    log.enter(queue, first)
    log.add(
        "ENTERED", position=first + 1, node=queue, exchange=queue, message=first, body_digest=BODY
    )
    log.take(queue, first, first)
    log.holds(queue)
    return Found(first)


@plant("DUPLICATE", "more durable copies than its route made, and a restart is off by that")
def stored_elsewhere(log: Life, queue: str, first: int) -> Found:
    log.enter(queue, first, "DURABLE")
    twice = {"message": first, "position": first + 1, "flags": "DURABLE", "body_digest": BODY}
    log.add("ENTERED", node=queue, exchange=queue, **twice)
    log.take(queue, first, first)
    log.holds(queue)
    return Found(first)


@plant("DUPLICATE", "entered again after it had left, and its checkpoint is off by that")
def entered_after_all(log: Life, queue: str, first: int) -> Found:
    log.enter(queue, first)
    log.take(queue, first, first)
    log.copy(queue, first)
    log.holds(queue)
    return Found(first)


@plant("DUPLICATE", "there again after a restart, although it had left")
def risen(log: Life, queue: str, first: int) -> Found:
    log.enter(queue, first, "DURABLE")
    log.take(queue, first, first)
    return Found(first)


@plant("DUPLICATE", "in the queue by its checkpoint, not by the log")
def unknown_copy(log: Life, queue: str, first: int) -> Found:
    log.enter(queue, first)
    log.holds(queue, first, first + 1)
    return Found()


@plant("DUPLICATE", "entered, although its transaction was rolled back")
def half_rolled_back(log: Life, queue: str, first: int) -> Found:
    log.enter(queue, first, transaction=first)
    log.add("TRANSACTION", outcome="ROLLED_BACK", transaction=first)
    return Found(first)


@plant("DUPLICATE", "settled twice, and its checkpoint is off by that")
def settled_again(log: Life, queue: str, first: int) -> Found:
    log.add("TOPOLOGY", node=queue, reason="QUEUE_DECLARED")
    log.enter(queue, first)
    log.take(queue, first, first)
    log.settle(queue, first, first)
    log.holds(queue)
    return Found(first)


@plant("DUPLICATE", "entered twice, and its checkpoint is off by that")
def entered_again(log: Life, queue: str, first: int) -> Found:
    log.enter(queue, first)
    log.copy(queue, first)
    log.holds(queue, first)
    return Found(first)


@plant("MUTATED", "sent with another body, without translation")
def other_body(log: Life, queue: str, first: int) -> Found:
    log.enter(queue, first)
    log.send(queue, first, first, OTHER_BODY)
    log.settle(queue, first, first)
    log.enter(queue, first + 1)
    log.send(queue, first + 1, first, OTHER_BODY, "TRANSLATED")
    log.settle(queue, first + 1, first)
    return Found(first)


@plant("ORPHAN_SETTLEMENT", "settled, and never entered")
def never_entered(log: Life, queue: str, first: int) -> Found:
    log.settle(queue, first, first)
    return Found(first)


@plant("ORPHAN_SETTLEMENT", "in its queue, sent and settled, and never entered")
def left_unentered(log: Life, queue: str, first: int) -> Found:
    log.add("TOPOLOGY", node=queue, reason="QUEUE_DECLARED")
    log.receive(queue, first)
    log.holds(queue, first, entered=1)
    log.take(queue, first, first)
    log.holds(queue, entered=1)
    return Found(first)


@plant("ORPHAN_SETTLEMENT", "recovered, and never entered, but there by its checkpoint")
def from_its_route(log: Life, queue: str, first: int) -> Found:
    log.receive(queue, first)
    log.holds(queue, first)
    return Found(first)


@plant("ORPHAN_SETTLEMENT", "recovered, and never entered")
def from_nowhere(log: Life, queue: str, first: int) -> Found:
    return Found(first)


@plant("ORPHAN_SETTLEMENT", "given back, although nobody had it")
def not_out(log: Life, queue: str, first: int) -> Found:
    log.enter(queue, first)
    log.step("REQUEUED", queue, first, link=first)
    return Found(first)


@plant("ORPHAN_SETTLEMENT", "settled by an outlet that it was not sent to")
def by_another(log: Life, queue: str, first: int) -> Found:
    log.enter(queue, first)
    log.send(queue, first, first)
    log.settle(queue, first, first + 1)
    return Found(first)


@plant("ORPHAN_SETTLEMENT", "an outlet has more unsettled than the log has sent")
def ended_unsaid(log: Life, queue: str, first: int) -> Found:
    log.enter(queue, first)
    log.take(queue, first, first)
    log.checkpoint({}, {}, **{f"l{first}": {"node": queue, "sent": 1, "unsettled": 1}})
    return Found()


@plant("STUCK", "its outlet is gone, and it never ended")
def outlet_gone(log: Life, queue: str, first: int) -> Found:
    log.enter(queue, first)
    log.send(queue, first, first)
    log.add("LINK_DETACHED", link=first)
    return Found(first)


@plant("STUCK", "its outlet has nothing unsettled, and it never ended")
def never_ended(log: Life, queue: str, first: int) -> Found:
    log.enter(queue, first)
    log.send(queue, first, first)
    log.checkpoint({}, {}, **{f"l{first}": {"node": queue, "sent": 1}})
    return Found()


@plant("STUCK", "sent again, and no record says that it was given back")
def back_unsaid(log: Life, queue: str, first: int) -> Found:
    log.enter(queue, first)
    log.send(queue, first, first)
    log.take(queue, first, first + 1)
    log.checkpoint({}, {}, **{f"l{first}": {"node": queue, "sent": 1}})
    return Found(first)


@plant("STUCK", "sent again when its outlet was gone, and no record says that it was given back")
def gone_unsaid(log: Life, queue: str, first: int) -> Found:
    log.enter(queue, first)
    log.send(queue, first, first)
    log.add("LINK_DETACHED", link=first)
    log.take(queue, first, first + 1)
    return Found(first)


@plant("STUCK", "given back, and by its queue still with somebody")
def given_back(log: Life, queue: str, first: int) -> Found:
    log.add("TOPOLOGY", node=queue, reason="QUEUE_DECLARED")
    log.enter(queue, first)
    log.send(queue, first, first)
    log.settle(queue, first, first, "RELEASED")
    log.holds(queue, first, unsettled=1)
    return Found()


@plant("STUCK", "in its queue for 31 days")
def old(log: Life, queue: str, first: int) -> Found:
    log.enter(queue, first, "DURABLE")
    return Found(first)


@plant("OUT_OF_ORDER", "sent behind one that came after it")
def overtaken(log: Life, queue: str, first: int) -> Found:
    for message in range(first, first + 3):
        log.enter(queue, message)
    for message in (first, first + 2, first + 1):
        log.take(queue, message, first)
    return Found(first + 1)


@plant("LATE", "settled after a minute and more")
def late(log: Life, queue: str, first: int) -> Found:
    log.enter(queue, first)
    log.send(queue, first, first)
    log.now_ms += LATE_MS + 1
    log.settle(queue, first, first)
    return Found(first)


@plant("STUCK", "a transaction that was done, and never ended")
def unended(log: Life, queue: str, first: int) -> Found:
    for message in (first, first + 1):
        log.receive(queue, message, transaction=first)
        log.copy(queue, message, transaction=first)
    return Found(first, 2)


@plant("UNDECLARED_LOSS", "two values did not cross, and no loss says so")
def not_crossed(log: Life, queue: str, first: int) -> Found:
    log.enter(queue, first)
    log.send(queue, first, first, OTHER_BODY, "TRANSLATED")
    for row in ("header.priority", "body.unread", "body.unread"):
        log.add("TRANSLATION_CHECKED", message=first, row=row, link=first)
    log.settle(queue, first, first)
    log.enter(queue, first + 1)
    log.send(queue, first + 1, first, OTHER_BODY, "TRANSLATED")
    log.add("TRANSLATION_CHECKED", message=first + 1, link=first)
    log.settle(queue, first + 1, first)
    return Found(first, 2)


@plant("ORPHAN_SETTLEMENT", "settled after a restart, and not recovered by it")
def left_unrecovered(log: Life, queue: str, first: int) -> Found:
    log.enter(queue, first, "DURABLE")
    return Found(first)


def ordinary(log: Life, queue: str, first: int) -> None:
    """What is in order: nothing of it is to be found."""
    for message in range(first, first + 50):
        log.enter(queue, message, "DURABLE" if message % 2 else "")
        log.take(queue, message, 1)


EARLY: Final = ("old", "unrouted")  # what others would hide, or be hidden by, in one run
NUMBERS: Final = 10  # of each plant: its messages, and its outlets
FIRST: Final = {each.queue: 1000 + NUMBERS * place for place, each in enumerate(PLANTS)}


def planted_log(log: Life) -> dict[str, Found]:
    """All of them in three runs, the first one 31 days before; by queue what is to be found."""
    found: dict[str, Found] = {}
    for early in (True, False):
        log.start()
        if not early:
            _back(log, "old")
        for place, each in enumerate(PLANTS):
            if (each.queue in EARLY) == early:
                ordinary(log, "in order", 100_000 + 100 * place)
                found[each.queue] = each.plant(log, each.queue, FIRST[each.queue])
        log.end()
        log.now_ms += 31 * DAY_MS if early else 0
    log.start()
    _back(log, "risen", "from_nowhere", "from_its_route", "old")
    for queue in ("recovered_unsaid", "left_unrecovered"):
        log.holds(queue, FIRST[queue])
    log.take("left_unrecovered", FIRST["left_unrecovered"], FIRST["left_unrecovered"])
    log.holds("left_unrecovered")
    log.end()
    return found


def _back(log: Life, *queues: str) -> None:
    """What a run recovers."""
    for queue in queues:
        log.step("RECOVERED", queue, FIRST[queue], flags="DURABLE", body_digest=BODY)
    log.add("CLOCK")
