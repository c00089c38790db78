"""Gaps and clocks, on frames of a few segments."""

import pytest

from gateway.accounting.segments import chain
from gateway.audit.schema import NO_LIFE, Kind

FINDING = (
    "struct<block bigint, offset bigint, problem string, expected bigint, found bigint, "
    "time_back_ms bigint>"
)
SCHEMA = (
    "segment string, ordinal bigint, number bigint, incarnation bigint, previous_sha256 string, "
    "sha256 string, first_sequence bigint, last_sequence bigint, first_time_ms bigint, "
    f"last_time_ms bigint, damaged boolean, unfinished array<{FINDING}>, "
    f"findings array<{FINDING}>, unnamed_from bigint, unnamed_to bigint, log string, "
    "previous_incarnation bigint, unlike_seal boolean"
)
NAMES = (
    *("segment", "ordinal", "number", "incarnation", "previous_sha256", "sha256"),
    *("first_sequence", "last_sequence", "first_time_ms", "last_time_ms", "damaged"),
    *("unfinished", "findings", "unnamed_from", "unnamed_to"),
    *("log", "previous_incarnation", "unlike_seal"),
)
WHOLE = {
    "incarnation": 1,
    "first_time_ms": 1,
    "last_time_ms": 1,
    "damaged": False,
    "unfinished": [],
    "findings": [],
    "unnamed_from": None,
    "unnamed_to": None,
    "log": "ab",
    "previous_incarnation": None,
    "unlike_seal": False,
}
FIRST = WHOLE | {
    "segment": "one",
    "ordinal": 0,
    "number": 1,
    "previous_sha256": "0",
    "sha256": "a",
    "first_sequence": 1,
    "last_sequence": 10,
}
SECOND = WHOLE | {
    "segment": "two",
    "ordinal": 1,
    "number": 2,
    "previous_sha256": "a",
    "sha256": "b",
    "first_sequence": 11,
    "last_sequence": 20,
}
THIRD = SECOND | {
    "segment": "three",
    "ordinal": 2,
    "number": 3,
    "previous_sha256": "b",
    "sha256": "c",
    "first_sequence": 21,
    "last_sequence": 30,
}
BEHIND = (3, 777, "block checksum differs", 5, None, None)  # and no record comes behind it
BEFORE = (1, 99, "block checksum differs", None, 14, None)  # the first record behind it is 14
HALF = (4, 888, "incomplete block", None, None, None)


@pytest.fixture
def paired(frames):
    def segments(*rows: dict):
        table = frames.table(SCHEMA, *(tuple(row[name] for name in NAMES) for row in rows))
        return chain.with_previous(table)

    return segments


def details(breaks) -> list[tuple]:
    return [(row["segment"], row["detail"]) for row in breaks.collect()]


def ranges(frame) -> list[tuple]:
    (row,) = chain.doubt(frame).collect()
    return sorted((each["first"], each["last"]) for each in row["doubt"])


def test_a_whole_chain_has_no_gaps(paired):
    frame = paired(FIRST, SECOND)
    assert details(chain.gaps_between(frame)) == []
    assert details(chain.gaps_inside(frame)) == []
    assert details(chain.clock_going_back(frame)) == []


def test_a_log_that_does_not_begin_at_the_beginning_is_a_gap(paired):
    ((segment, detail),) = details(chain.gaps_between(paired(SECOND)))
    assert (segment, detail[:36]) == ("two", "segment number 2 where 1 belongs: a ")
    assert detail.endswith("was moved (records 1 to 10 are missing)")


def test_a_log_whose_first_record_is_not_the_first_is_a_gap(paired):
    later = FIRST | {"first_sequence": 7}
    assert details(chain.gaps_between(paired(later))) == [
        ("one", "the log begins with sequence 7: what was before it is missing")
    ]


def test_what_a_start_found_changed_is_a_gap_for_ever(frames):
    records = frames.records(
        {"kind": Kind.LOG_DIFFERS, "node": "two", "peer": "it was cut", "position": 31},
        {"kind": Kind.CLOCK, "position": 5},
    )
    (row,) = chain.told_differences(records).collect()
    assert (row["class"], row["segment"], row["sequence"]) == ("LOG_GAP", "two", 1)
    assert row["detail"].endswith("not what it had left: it was cut (record 31)")


def test_segments_in_another_order_are_gaps(paired):
    swapped = (SECOND | {"ordinal": 0}, FIRST | {"ordinal": 1})
    assert len(details(chain.gaps_between(paired(*swapped)))) == 2


def test_records_missing_at_the_end_of_a_segment_are_a_gap(paired):
    short = FIRST | {"last_sequence": 8, "sha256": "c"}
    assert details(chain.gaps_between(paired(short, SECOND))) == [
        ("two", "one ends with sequence 8, this one begins with 11")
    ]


def test_a_segment_that_was_changed_and_sealed_again_is_a_gap(paired):
    changed = FIRST | {"sha256": "c"}
    assert details(chain.gaps_between(paired(changed, SECOND))) == [
        ("two", "one is not what it was when it was closed")
    ]


def test_a_segment_that_is_not_as_it_was_sealed_is_told_by_that_alone(paired):
    flaw = (3, 777, "records 1 to 10 are not what they were", None, None, None)
    changed = FIRST | {"sha256": "c", "unlike_seal": True, "findings": [flaw]}
    frame = paired(changed, SECOND)
    assert details(chain.gaps_between(frame)) == []
    assert details(chain.gaps_inside(frame)) == [("one", flaw[2])]


def test_a_segment_of_another_log_is_a_gap(paired):
    assert details(chain.gaps_between(paired(FIRST, SECOND | {"log": "cd"}))) == [
        ("two", "it is of another log, with id cd")
    ]
    assert details(chain.gaps_between(paired(FIRST | {"log": ""}, SECOND))) == []


def test_a_run_that_did_not_come_behind_the_one_before_it_is_a_gap(paired):
    begins = FIRST | {"previous_incarnation": NO_LIFE}
    third = SECOND | {"incarnation": 3}
    known = paired(begins, third | {"previous_incarnation": 1})
    assert details(chain.gaps_between(known)) == []
    assert details(chain.gaps_between(paired(begins, third | {"previous_incarnation": 2}))) == [
        ("two", "run 2 of the gateway is missing: this one came behind it")
    ]
    behind = third | {"previous_incarnation": NO_LIFE}
    assert details(chain.gaps_between(paired(begins, behind))) == [
        ("two", "run 1 of the gateway is not the one that this one came behind")
    ]
    assert details(chain.gaps_between(paired(FIRST | {"previous_incarnation": 4}))) == [
        ("one", "run 4 of the gateway is missing: this one came behind it")
    ]


def test_damage_is_told_once_and_where_it_is(paired):
    finding = (3, 777, "block checksum differs", None, None, None)
    damaged = FIRST | {
        "last_sequence": 4,
        "sha256": "c",
        "damaged": True,
        "findings": [finding],
    }
    frame = paired(damaged, SECOND)
    assert details(chain.gaps_between(frame)) == []
    (row,) = chain.gaps_inside(frame).collect()
    assert (row["segment"], row["block"], row["offset"]) == ("one", 3, 777)
    assert row["detail"] == "block checksum differs"


def test_what_is_missing_at_the_end_of_a_segment_is_told_with_its_damage_alone(paired):
    damaged = FIRST | {"last_sequence": 4, "sha256": "c", "damaged": True, "findings": [BEHIND]}
    frame = paired(damaged, SECOND, THIRD)
    assert details(chain.gaps_between(frame)) == []
    told = "block checksum differs (records 5 to 10 are missing)"
    assert details(chain.gaps_inside(frame)) == [("one", told)]
    assert ranges(frame) == [(5, 10)]


def test_what_is_missing_at_the_beginning_of_a_segment_is_told_with_its_damage_alone(paired):
    damaged = SECOND | {"first_sequence": 14, "damaged": True, "findings": [BEFORE]}
    told = "block checksum differs (records 11 to 13 are missing)"
    frame = paired(FIRST, damaged)
    assert details(chain.gaps_between(frame)) == []
    assert details(chain.gaps_inside(frame)) == [("two", told)]
    alone = paired(damaged | {"number": 1})
    assert details(chain.gaps_between(alone)) == []
    assert ranges(alone) == [(1, 13)]


def test_damage_at_the_end_of_the_log_says_that_nothing_is_behind_it(paired):
    damaged = FIRST | {"last_sequence": 4, "damaged": True, "findings": [BEHIND]}
    told = "block checksum differs (record 5 and all behind it are missing)"
    assert details(chain.gaps_inside(paired(damaged))) == [("one", told)]


def test_a_segment_of_which_nothing_can_be_read_is_one_gap(paired):
    nothing = SECOND | dict.fromkeys(("first_sequence", "last_sequence", "previous_sha256"))
    finding = (0, 0, "not an audit segment", None, None, None)
    frame = paired(FIRST, nothing | {"damaged": True, "findings": [finding]}, THIRD)
    assert details(chain.gaps_between(frame)) == []
    told = "not an audit segment (records 11 to 20 are missing)"
    assert details(chain.gaps_inside(frame)) == [("two", told)]
    assert ranges(frame) == [(11, 20)]


def test_half_a_block_at_the_end_of_the_log_is_no_gap_and_elsewhere_it_is(paired):
    half = {"unfinished": [HALF]}
    assert details(chain.gaps_inside(paired(FIRST, SECOND | half))) == []
    frame = paired(FIRST | half | {"last_sequence": 8, "sha256": "c"}, SECOND)
    told = "incomplete block (records 9 to 10 are missing)"
    assert details(chain.gaps_inside(frame)) == [("one", told)]
    assert details(chain.gaps_between(frame)) == []
    assert ranges(frame) == [(9, 10)]


def test_half_a_block_and_nothing_else_is_a_gap(paired):
    nothing = FIRST | dict.fromkeys(("first_sequence", "last_sequence", "previous_sha256"))
    frame = paired(nothing | {"unfinished": [HALF]})
    told = "incomplete block (record 1 and all behind it are missing)"
    assert details(chain.gaps_inside(frame)) == [("one", told)]


def test_a_cut_behind_damage_in_the_middle_of_a_segment_is_told(paired):
    finding = (3, 777, "block checksum differs", 5, 7, None)
    damaged = FIRST | {"last_sequence": 8, "damaged": True, "findings": [finding]}
    assert details(chain.gaps_between(paired(damaged, SECOND))) == [
        ("two", "one ends with sequence 8, this one begins with 11")
    ]


def test_in_doubt_is_what_is_missing_what_is_there_twice_and_what_has_no_name(paired):
    gap = (0, 100, "sequence gap", 3, 5, None)
    again = SECOND | {"first_sequence": 8}
    unnamed = THIRD | {"unnamed_from": 23, "unnamed_to": 27}
    frame = paired(FIRST | {"findings": [gap]}, again, unnamed)
    assert ranges(frame) == [(3, 4), (8, 10), (23, 27)]
    assert ranges(paired(FIRST, SECOND, THIRD)) == []


def test_a_sequence_gap_says_what_was_expected(paired):
    gap = FIRST | {"findings": [(0, 100, "sequence gap", 3, 5, None)]}
    assert details(chain.gaps_inside(paired(gap))) == [
        ("one", "sequence gap (records 3 to 4 are missing)")
    ]


def test_a_clock_that_goes_back_is_found_inside_and_between(paired):
    inside = FIRST | {"findings": [(2, 5, "", None, None, 40)], "last_time_ms": 9}
    frame = paired(inside, SECOND | {"first_time_ms": 4})
    assert sorted(details(chain.clock_going_back(frame))) == [
        ("one", "the clock goes back by 40 ms"),
        ("two", "the clock goes back by 5 ms"),
    ]
    assert details(chain.gaps_inside(frame)) == []


def test_the_clock_of_a_segment_that_was_moved_is_not_told(paired):
    moved = FIRST | {"ordinal": 1, "first_time_ms": 1}
    assert details(chain.clock_going_back(paired(SECOND | {"last_time_ms": 9}, moved))) == []


def test_drift_is_told_by_its_worst_beyond_the_limit(frames):
    clock = {"kind": Kind.CLOCK}
    records = frames.records(
        clock | {"position": 500}, clock | {"position": -4000}, clock | {"position": 2000}
    )
    (row,) = chain.clock_drifting(records).collect()
    assert (row["class"], row["sequence"], row["count"]) == ("CLOCK_SKEW", 2, 2)
    assert row["detail"] == "the clock is -4000 ms away from the wall clock"


def test_what_is_excused_is_no_gap_and_what_is_wrong_all_the_same_is_told(paired):
    frame = paired(SECOND)
    assert details(chain.gaps_between(frame, {"two": ""})) == []
    assert len(details(chain.gaps_between(frame, {"three": ""}))) == 1
    assert details(chain.gaps_between(frame, {"two": "another one"})) == [("two", "another one")]
