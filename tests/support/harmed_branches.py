"""More of `harmed_records`: records of prepared branches of distributed transactions."""

from __future__ import annotations

from support.harmed_records import DUPLICATE, LOST, ORPHAN, STUCK, Harmed, Story, story, three
from support.whole_log import BRANCH, WholeLog


def _publishing(log: WholeLog, queue: str, first: int) -> dict[str, object]:
    """A branch that publishes two messages, and is prepared; its number."""
    log.declare(queue)
    log.prepare(queue, first, first, [(first, queue), (first + 1, queue)])
    return {"transaction": first}


def _accepting(log: WholeLog, queue: str, first: int) -> dict[str, object]:
    """One that has accepted a message, too."""
    three(log, queue, first + 10)
    log.send(queue, first + 11, first + 2)
    log.prepare(queue, first, first, [(first, queue)], [(queue, first + 11)])
    return {"transaction": first}


@story
def commit_of_what_publishes_missing(log: WholeLog, queue: str, first: int) -> Harmed:
    of = _publishing(log, queue, first)
    log.commit(queue)
    return Harmed(((STUCK, first),), (("TRANSACTION", of | {"outcome": "COMMITTED"}, None),))


@story
def rollback_of_what_publishes_missing(log: WholeLog, queue: str, first: int) -> Harmed:
    of = _publishing(log, queue, first)
    log.roll_back(queue)
    return Harmed(((STUCK, first),), (("TRANSACTION", of | {"outcome": "ROLLED_BACK"}, None),))


@story
def commit_of_what_accepts_missing(log: WholeLog, queue: str, first: int) -> Harmed:
    of = _accepting(log, queue, first)
    log.commit(queue)
    return Harmed(((STUCK, first + 11),), (("TRANSACTION", of | {"outcome": "COMMITTED"}, None),))


@story
def prepared_missing(log: WholeLog, queue: str, first: int) -> Harmed:
    of = _accepting(log, queue, first)
    log.commit(queue)
    return Harmed(((ORPHAN, None),), (("TRANSACTION", of | {"outcome": "PREPARED"}, None),))


@story
def prepared_missing_of_one_that_comes_back(log: WholeLog, queue: str, first: int) -> Harmed:
    of = _publishing(log, queue, first)
    missing = (("TRANSACTION", of | {"outcome": "PREPARED"}, None),)
    return Harmed(((ORPHAN, None),), missing, lambda: log.commit(queue))


@story
def prepared_twice(log: WholeLog, queue: str, first: int) -> Harmed:
    _publishing(log, queue, first)
    log.branch("PREPARED", queue)
    log.commit(queue)
    return Harmed(((DUPLICATE, None),), ())


@story
def back_missing(log: WholeLog, queue: str, first: int) -> Harmed:
    _publishing(log, queue, first)
    missing = (("TRANSACTION", {"node": BRANCH + queue, "outcome": "RECOVERED"}, None),)
    return Harmed(((LOST, None),), missing, lambda: log.commit(queue))


@story
def back_missing_and_left(log: WholeLog, queue: str, first: int) -> Harmed:
    _publishing(log, queue, first)
    missing = (("TRANSACTION", {"node": BRANCH + queue, "outcome": "RECOVERED"}, None),)
    return Harmed(((LOST, None),), missing)


@story
def back_twice(log: WholeLog, queue: str, first: int) -> Harmed:
    _publishing(log, queue, first)

    def again() -> None:
        log.branch("RECOVERED", queue)
        log.commit(queue)

    return Harmed(((DUPLICATE, None),), (), again)


@story
def entered_of_a_branch_missing(log: WholeLog, queue: str, first: int) -> Harmed:
    _publishing(log, queue, first)
    log.commit(queue)
    missing = ("ENTERED", {"message": first + 1, "node": BRANCH + queue}, None)
    return Harmed(((ORPHAN, first + 1),), (missing,))


def _in_order(how: str) -> Story:
    def told(log: WholeLog, queue: str, first: int) -> Harmed:
        _accepting(log, queue, first)
        if how == "committed":
            log.commit(queue)
        elif how == "rolled back":
            log.roll_back(queue)
            log.settle(queue, first + 11, "RELEASED")
        later = {"left, committed": log.commit, "left, rolled back": log.roll_back}.get(how)
        return Harmed((), (), None if later is None else lambda: later(queue))

    told.__name__ = f"branch {how}"
    return told


for _how in ("committed", "rolled back"):
    story(_in_order(_how))
