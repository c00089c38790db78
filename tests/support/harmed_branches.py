"""More of `harmed_records`: records of prepared branches of distributed transactions."""

from __future__ import annotations

from support.harmed_records import DUPLICATE, LOST, ORPHAN, STUCK, Harmed, Story, story, three
from support.whole_log import BEHIND, BRANCH, WholeLog


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


@story
def what_it_had_accepted_is_given_back_unsaid(log: WholeLog, queue: str, first: int) -> Harmed:
    """Its outlet has no record of its own: it is gone by the checkpoint of the stop."""
    three(log, queue, first, flags="DURABLE")
    log.send(queue, first + 1, first + 2)
    log.hand_over(queue, first + 1, first + 3)
    log.prepare(queue, first, first, [], [(queue, first + 1)])
    log.roll_back(queue)
    log.take_back(queue, first + 1)
    missing = ("REQUEUED", {"message": first + 1, "reason": "ROLLBACK"}, None)
    return Harmed(((STUCK, first + 1),), (missing,), lambda: log.take(queue, first + 1, first + 4))


def _of_two(log: WholeLog, queue: str, first: int) -> str:
    """A branch of each of two queues; the name of the other one."""
    other = f"{queue}, too"
    _publishing(log, queue, first)
    _publishing(log, other, first + 20)
    return other


@story
def prepared_as_another(log: WholeLog, queue: str, first: int) -> Harmed:
    other = _of_two(log, queue, first)
    log.commit(queue)
    log.commit(other)
    as_other = ("TRANSACTION", {"transaction": first, "outcome": "PREPARED"}, _named(other))
    return Harmed(((ORPHAN, None),), (as_other,))


@story
def prepared_as_none_that_there_is(log: WholeLog, queue: str, first: int) -> Harmed:
    _publishing(log, queue, first)
    log.roll_back(queue)
    other = _named(f"{queue}, none")
    as_none = ("TRANSACTION", {"transaction": first, "outcome": "PREPARED"}, other)
    return Harmed(((ORPHAN, None),), (as_none,))


@story
def committed_as_another_which_is_left(log: WholeLog, queue: str, first: int) -> Harmed:
    other = _of_two(log, queue, first)
    log.commit(queue)
    as_other = ("TRANSACTION", {"transaction": first, "outcome": "COMMITTED"}, _named(other))
    return Harmed(((ORPHAN, None),), (as_other,), lambda: log.commit(other))


@story
def back_as_none_that_there_is(log: WholeLog, queue: str, first: int) -> Harmed:
    _publishing(log, queue, first)
    said = {"node": BRANCH + queue, "outcome": "RECOVERED"}
    as_none = ("TRANSACTION", said, _named(f"{queue}, none"))
    return Harmed(((ORPHAN, None),), (as_none,), lambda: log.commit(queue))


def _named(branch: str) -> dict[str, object]:
    return {"node": BRANCH + branch}


@story
def prepared_behind_its_end(log: WholeLog, queue: str, first: int) -> Harmed:
    of = _publishing(log, queue, first)
    log.roll_back(queue)
    behind = {BEHIND: ("TRANSACTION", of | {"outcome": "ROLLED_BACK"})}
    return Harmed(((ORPHAN, None),), (("TRANSACTION", of | {"outcome": "PREPARED"}, behind),))


@story
def it_had_accepted_and_comes_back(log: WholeLog, queue: str, first: int) -> Harmed:
    """Nobody is sent what it has again, so that there is no digest of what was sent."""
    log.bodies |= {message: message for message in range(first, first + 3)}
    three(log, queue, first, flags="DURABLE")
    log.send(queue, first + 1, first + 2)
    log.hand_over(queue, first + 1, first + 3)
    log.prepare(queue, first, first, [], [(queue, first + 1)])
    return Harmed((), (), lambda: log.commit(queue))


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
