"""Records that name another copy than the one that took the step, on frames."""

import pytest
from support.audit_frames import doubtful_of

from gateway.accounting.steps import copies, mistaken
from gateway.audit.schema import Flag, Kind, Outcome

ENTERED = {"kind": Kind.ENTERED, "node": "q", "flags": Flag.DURABLE}
RECOVERED = {"kind": Kind.RECOVERED, "node": "q", "flags": Flag.DURABLE, "incarnation": 2}
FAILED = (
    "incarnation bigint, node string, sequence bigint, since bigint, excess bigint,"
    " computed_checksum bigint, checksum bigint"
)
OPEN = (
    "incarnation bigint, node string, message bigint, position bigint, mix bigint,"
    " entered_sequence bigint"
)


def copy(message: int, position: int = 1) -> dict:
    return {"message": message, "position": position, "mix": 100 * message + position}


def steps(frames, *lines: dict):
    return copies.with_previous(copies.copy_steps(frames.records(*lines)))


def taken(frames, *lines: dict):
    steps_of = steps(frames, *lines)
    return mistaken.taken(steps_of, doubtful_of(frames.records(*lines), steps_of))


EVICTED = {"kind": Kind.EVICTED, "node": "q"}
SENT = {"kind": Kind.SENT, "node": "q", "link": 3}


def misnamed(frames, failed: tuple, *lines: dict) -> list[tuple]:
    """Message 5 is there by the log; by the checkpoint of record 20 the depth differs by one."""
    excess, missing = failed
    queues = frames.table(FAILED, (1, "q", 20, 2, excess, missing, 0))
    there = frames.table(OPEN, (1, "q", 5, 1, copy(5)["mix"], 1))
    rest = [{"kind": Kind.CLOCK}] * 3
    found = mistaken.misnamed(queues, there, taken(frames, *rest, *lines)).collect()
    return [(row["message"], row["said_message"], row["at"], row["shown"]) for row in found]


@pytest.mark.parametrize(
    ("failed", "is_there"),
    [((0, 501 ^ 601), True), ((1, 501), True), ((1, 502), False), ((0, 501), False)],
)
def test_what_is_gone_by_the_checksum_left_by_the_record_of_one_that_leaves_again(
    frames, failed, is_there
):
    lines = (ENTERED | copy(6), EVICTED | copy(6), SENT | copy(6))
    assert misnamed(frames, failed, *lines) == ([(5, 6, 5, 20)] if is_there else [])


def test_what_left_for_good_is_not_said_to_be_another(frames):
    assert misnamed(frames, (0, 501 ^ 601), ENTERED | copy(6), EVICTED | copy(6)) == []


def test_of_what_left_twice_the_second_time_is_that_of_another(frames):
    sent = SENT | copy(6) | {"flags": Flag.SETTLED}
    assert misnamed(frames, (1, 501), ENTERED | copy(6), sent, sent) == [(5, 6, 6, 20)]


SETTLED = {"kind": Kind.SETTLED, "node": "q", "link": 3, "outcome": Outcome.ACCEPTED}
SETTLED |= {"flags": Flag.REMOVED}
RELEASED = {"kind": Kind.SETTLED, "node": "q", "link": 3, "outcome": Outcome.RELEASED}
REQUEUED = {"kind": Kind.REQUEUED, "node": "q", "link": 3, "outcome": Outcome.RELEASED}
RECEIVED = {"kind": Kind.RECEIVED, "exchange": "x", "copies": 1}
FIVE, SIX, SEVEN = copy(5, 1), copy(6, 2), copy(7, 3)
THERE = (ENTERED | FIVE, ENTERED | SIX)


@pytest.mark.parametrize(
    ("lines", "right"),
    [
        ((*THERE, SENT | SIX, SETTLED | FIVE, SENT | SIX, SETTLED | SIX), (3, 5)),
        ((*THERE, SENT | SEVEN, SETTLED | FIVE), (3, 5)),
        ((*THERE, SENT | FIVE | {"node": "r"}, SETTLED | FIVE), (3, 5)),
        ((*THERE, SENT | FIVE, SETTLED | copy(5, 9)), (4, 5)),
        ((*THERE, SENT | FIVE, RELEASED | SIX, SENT | FIVE, SETTLED | FIVE), (4, 5)),
        ((ENTERED | copy(7, 1) | {"exchange": "x"}, SENT | FIVE, SETTLED | FIVE), (1, 5)),
        ((ENTERED | copy(5, 9), SENT | FIVE, SETTLED | FIVE), (1, 5)),
        ((*THERE, SENT | FIVE, REQUEUED | copy(8, 1)), (4, 5)),
        ((*THERE, SENT | FIVE, REQUEUED | copy(8, 1), RECOVERED | FIVE), (4, 5)),
    ],
    ids=[
        *("sent of another", "sent of none", "sent elsewhere", "settled elsewhere"),
        *("released of another", "entered of another", "entered elsewhere"),
        *("requeued of another", "requeued of another, and back"),
    ],
)
def test_a_step_that_one_copy_lacks_and_another_cannot_take_is_that_ones(frames, lines, right):
    found = mistaken.misplaced(taken(frames, RECEIVED | {"message": 5}, *lines)).collect()
    assert [(row["at"] - 1, row["message"]) for row in found] == [right]


@pytest.mark.parametrize(
    "lines",
    [
        (*THERE, SENT | FIVE, SETTLED | FIVE, SENT | SIX, SETTLED | SIX),
        (*THERE, SENT | FIVE, SETTLED | FIVE, SETTLED | FIVE),
        (*THERE, SENT | FIVE, SETTLED | SIX | {"link": 4}),
        (*THERE, SENT | SIX, SENT | SIX, SETTLED | FIVE | {"link": 4}, SETTLED | SIX),
        (ENTERED | SIX, SENT | FIVE, SETTLED | FIVE),
        (ENTERED | FIVE | {"node": "r"}, SENT | FIVE, SETTLED | FIVE),
    ],
    ids=["in order", "twice", "open", "by another", "of one that came", "of two copies"],
)
def test_what_nothing_else_lacks_is_not(frames, lines):
    came = (RECEIVED | {"message": 5, "copies": 2}, RECEIVED | {"message": 6})
    assert mistaken.misplaced(taken(frames, *came, *lines)).collect() == []


MISTAKE = (
    "incarnation bigint, node string, message bigint, position bigint, mix bigint,"
    " said_node string, said_mix bigint, took string, depth int, held int, at bigint,"
    " transaction int"
)


def test_put_right_each_step_is_that_of_its_copy_and_the_sums_are_off_by_both(frames):
    records = frames.records(ENTERED | copy(5), ENTERED | copy(6), EVICTED | copy(6))
    mistakes = frames.table(MISTAKE, (1, "q", 5, 1, 501, "q", 601, "", -1, 0, 3, None))
    rows = mistaken.put_right(records, mistakes).orderBy("sequence").collect()
    assert [(row["message"], row["mix"]) for row in rows] == [(5, 501), (6, 601), (5, 501)]
    (effect,) = mistaken.effects(mistakes).collect()
    assert (effect["begun"], effect["sequence"], effect["depth"]) == (3, 3, 0)
    assert effect["mix"] == 501 ^ 601


def test_in_another_queue_both_are_off(frames):
    mistakes = frames.table(MISTAKE, (1, "q", 5, 1, 501, "r", 501, "in", 1, 0, 3, None))
    rows = mistaken.effects(mistakes).collect()
    off = {(row["node"], row["depth"], row["mix"], row["came"]) for row in rows}
    assert off == {("q", -1, 501, 1), ("r", 1, 501, 0)}
