"""Copies that may be why a checkpoint fails, on frames: which of them are, by its checksum."""

import pytest
from support.hand_log import mix

from gateway.accounting.steps import copies, supposed
from gateway.accounting.steps.identities import FAILS
from gateway.audit.schema import Flag, Kind

QUEUES = (
    "incarnation bigint, node string, sequence bigint, since bigint, computed bigint,"
    " computed_checksum bigint, stated bigint, checksum bigint, excess bigint, unseen bigint"
)
SUPPOSED = (
    "incarnation bigint, node string, message bigint, position bigint, at bigint, mix bigint,"
    " depth int, most bigint"
)
OPEN = (
    "incarnation bigint, node string, message bigint, position bigint, mix bigint,"
    " entered_sequence bigint"
)
SHORT = "incarnation bigint, message bigint, earliest bigint, latest bigint, less bigint"
ANY = 1 << 30
ONE, TWO, THREE = (mix(message, message) for message in (1, 2, 3))


def queue(by_log: tuple[int, ...], really: tuple[int, ...], node: str = "q") -> tuple:
    """A queue's checkpoint between records 10 and 20: the shares by the log, and what it holds."""
    sums = [0, 0]
    for place, shares in enumerate((by_log, really)):
        for share in shares:
            sums[place] ^= share
    excess = len(by_log) - len(really)
    return (1, node, 20, 10, len(by_log), sums[0], len(really), sums[1], excess, 0)


def lacks(message: int, at: int = 15) -> tuple:
    """It may be in its queue although the log does not have it there."""
    return (1, "q", message, message, at, mix(message, message), -1, ANY)


def beyond(message: int, position: int = 0, node: str = "q") -> tuple:
    """It may be one too many of its message in the log."""
    position = position or message
    return (1, node, message, position, 15, mix(message, position), 1, 1)


def is_open(message: int, node: str = "q") -> tuple:
    return (1, node, message, message, mix(message, message), 12)


def short_of(message: int, copies: int = 1, at: int = 15, run: int = 1) -> tuple:
    """A message of which so many copies have not arrived."""
    return (run, message, at, at, copies)


def left(frames, failed: list[tuple], there: list[tuple], *open_copies: tuple) -> list[tuple]:
    """By how much checkpoints fail for no reason that is supposed, and in which checksum."""
    queues = frames.table(QUEUES, *failed)
    known = supposed.accepted(
        queues, frames.table(SUPPOSED, *there), frames.table(OPEN, *open_copies)
    )
    rows = supposed.without(queues, known).where(FAILS).orderBy("node").collect()
    return [(row["excess"], row["computed_checksum"] ^ row["checksum"]) for row in rows]


def test_what_was_not_recovered_and_is_there_explains_the_checkpoint(frames):
    assert left(frames, [queue((TWO,), (ONE, TWO))], [lacks(1), lacks(3)]) == []
    assert left(frames, [queue((TWO,), (ONE, TWO, THREE))], [lacks(1), lacks(3)]) == []


def test_what_is_not_there_by_the_checksum_explains_nothing(frames):
    assert left(frames, [queue((), (TWO,))], [lacks(1)]) == [(-1, TWO)]
    assert left(frames, [queue((), (ONE,))], [lacks(1, at=9), lacks(1, at=21)]) == [(-1, ONE)]
    assert left(frames, [queue((TWO,), ())], [lacks(1)], is_open(2)) == [(1, TWO)]


def test_what_is_lost_beside_it_is_left_if_it_is_a_copy_of_that_queue(frames):
    failed = [queue((TWO,), (ONE,))]
    assert left(frames, failed, [lacks(1)], is_open(2)) == [(1, TWO)]
    assert left(frames, failed, [lacks(1)], is_open(3)) == [(0, ONE ^ TWO)]
    assert left(frames, failed, [lacks(1)], is_open(2, "other")) == [(0, ONE ^ TWO)]


def test_one_that_entered_beyond_its_route_explains_that_it_is_not_there(frames):
    assert left(frames, [queue((ONE, TWO), (TWO,))], [beyond(1)], is_open(1), is_open(2)) == []
    both = [queue((ONE, TWO), ())]
    assert left(frames, both, [beyond(1)], is_open(1), is_open(2)) == [(1, TWO)]


def test_no_more_of_a_message_are_explained_than_there_are_too_many(frames):
    second = mix(1, 2)
    there, copy = [beyond(1), beyond(1, 2)], is_open(1)
    assert left(frames, [queue((ONE, second), ())], there, copy) == [(1, ONE)]
    in_two = [queue((ONE,), ()), queue((second,), (), "r")]
    there = [beyond(1), beyond(1, 2, "r")]
    assert left(frames, in_two, there, copy) == [(1, second)]


@pytest.mark.parametrize(
    ("message", "position"),
    [(5, 1), (1, 1), (7, 0), (5, (1 << 31) - 1), ((9 << 32) + 5, 3), ((1 << 40) + 1, 1 << 20)],
)
def test_a_share_of_the_checksum_is_of_a_short_message_whatever_its_position(
    frames, message, position
):
    failed = frames.table(QUEUES, queue((), (mix(message, position),)))
    short = frames.table(SHORT, short_of(message + 1), short_of(message), short_of(message, run=2))
    (row,) = supposed.unrecorded(failed, short).collect()
    assert (row["node"], row["depth"], row["share"], row["came"]) == (
        *("q", -1),
        *(mix(message, position), 1),
    )
    assert supposed.without(failed, supposed.unrecorded(failed, short)).where(FAILS).count() == 0


def test_as_many_as_are_missing_of_all_messages_that_are_short_are_theirs(frames):
    shares = tuple(mix(message, 1) for message in (5, 6, 7))
    short = frames.table(SHORT, short_of(5, copies=2), short_of(6), short_of(8, at=9))
    for holds, found in ((shares, [("q", -3, 3)]), (shares[1:], []), ((*shares, 1), [])):
        queues = frames.table(QUEUES, queue((), holds))
        rows = supposed.unrecorded(queues, short).collect()
        assert [(row["node"], row["depth"], row["came"]) for row in rows] == found
    both = frames.table(QUEUES, queue((), shares), queue((), shares, "r"))
    assert supposed.unrecorded(both, short).count() == 0


def test_a_share_that_is_of_no_short_message_or_of_several_copies_is_left(frames):
    failed = [queue((), (mix(5, 1),)), queue((), (mix(5, 1), mix(6, 2)), "r")]
    failed.append(queue((mix(6, 1),), (mix(5, 1),), "s"))
    short = [short_of(message) for message in range(6, 200)]
    short += [short_of(5, at=9), short_of(5, at=21)]
    queues = frames.table(QUEUES, *failed)
    assert supposed.unrecorded(queues, frames.table(SHORT, *short)).count() == 0


COPY = {"message": 5, "node": "q", "position": 1, "mix": 77}
ENTERED = COPY | {"kind": Kind.ENTERED, "flags": Flag.DURABLE}
RUNS = "incarnation bigint, first_sequence bigint, opened_sequence bigint, stopped boolean"


def with_fate(frames, *lines: dict):
    """Copies, and three runs with these records in the first."""
    runs = frames.table(RUNS, *((run, 10 * run, 10 * run + 1, True) for run in (1, 2, 3)))
    states = copies.copy_states(copies.copy_steps(frames.records(*lines)))
    return copies.with_fate(states, runs), runs


def not_recovered(frames, *lines: dict):
    """In which of these runs they are supposed to be."""
    still, runs = with_fate(frames, *lines)
    away = copies.away(copies.with_previous(copies.copy_steps(frames.records(*lines))), runs)
    found = supposed.not_recovered(copies.not_back(still, away), runs)
    rows = found.orderBy("incarnation").collect()
    return [(row["incarnation"], row["at"], row["depth"], row["mix"]) for row in rows]


def test_a_durable_copy_is_supposed_to_be_there_in_each_later_run(frames):
    assert not_recovered(frames, ENTERED) == [(2, 20, -1, 77), (3, 30, -1, 77)]
    back = COPY | {"kind": Kind.RECOVERED, "incarnation": 3}
    assert not_recovered(frames, ENTERED, back) == [(2, 20, -1, 77)]
    assert not_recovered(frames, ENTERED | {"flags": 0}) == []


def test_what_came_back_or_is_beyond_its_route_is_supposed_not_to_be_there(frames):
    again = (ENTERED, COPY | {"kind": Kind.EXPIRED}, ENTERED)
    steps = copies.with_previous(copies.copy_steps(frames.records(*again)))
    still, _runs = with_fate(frames, ENTERED)
    twice = frames.table("message bigint, routed bigint, ended bigint", (5, 1, 2))
    found = supposed.entered_beyond(still, twice, steps)
    rows = found.orderBy("at").collect()
    assert [(row["position"], row["at"], row["depth"]) for row in rows] == [(1, 1, 1), (1, 3, 1)]
    assert [row["at"] for row in supposed.lost_too(found, still).collect()] == [3]


def test_a_message_that_may_have_come_then_is_one_that_is_short(frames):
    failed = frames.table(QUEUES, queue((), (ONE,)))
    for span, known in (((0, 15), 1), ((15, 25), 1), ((0, 10), 0), ((20, 25), 0)):
        short = frames.table(SHORT, (1, 1, *span, 1))
        assert supposed.unrecorded(failed, short).count() == known


def test_a_share_is_that_of_the_contract(frames):
    for message, position in ((1, 1), (77, 1 << 40), ((1 << 45) + 3, 12_345)):
        row = frames.table("message bigint, position bigint", (message, position))
        share = supposed.share_of("message", "position")
        assert row.selectExpr(f"{share} as share").first()["share"] == mix(message, position)
