"""Order: where the places of what an outlet is sent stop to ascend, and what overtook another."""

import numpy as np
from support.audit_frames import found, spans

from gateway.accounting.steps.order import bends, out_of_order
from gateway.audit.schema import Flag, Kind

SENT = {"kind": Kind.SENT, "node": "q", "link": 7, "bends": True}
NAMES = {"kind": "i1", "flags": "i2", "link": "i8", "position": "i8", "copies": "i4"}
TYPE = np.dtype(list(NAMES.items()))


def marked(*rows: tuple[int, ...], flags: int = 0, kind: Kind = Kind.SENT) -> list[bool]:
    """Of each outlet and position, and of each lane where that is said."""
    lines = [(int(kind), int(flags), *(*row, 0)[:3]) for row in rows]
    return list(bends(np.array(lines, dtype=TYPE)))


def sent(message: int, **said: object) -> dict:
    """To the one outlet, of the place with the message's number."""
    return SENT | {"message": message, "position": message} | said


def test_of_what_ascends_the_first_and_the_last_are_marked():
    assert marked((7, 1), (7, 2), (7, 5)) == [True, False, True]


def test_where_it_descends_both_are_marked():
    assert marked((7, 1), (7, 2), (7, 6), (7, 4), (7, 5), (7, 6)) == [
        *(True, False, True),
        *(True, False, True),
    ]


def test_each_outlet_has_an_order_of_its_own():
    assert marked((7, 1), (8, 9), (7, 2), (8, 10), (7, 3), (8, 11)) == [
        *(True, True),
        *(False, False),
        *(True, True),
    ]


def test_each_lane_of_an_outlet_has_an_order_of_its_own(frames):
    assert marked((7, 9, 5), (7, 1, 4), (7, 12, 5), (7, 2, 4), (7, 13, 5), (7, 3, 4)) == [
        *(True, True),
        *(False, False),
        *(True, True),
    ]
    assert found(out_of_order(frames.records(sent(3, copies=5), sent(2, copies=4)))) == []
    breaks = out_of_order(frames.records(sent(3, copies=5), sent(2, copies=5)))
    assert found(breaks) == [("OUT_OF_ORDER", 2, "q", 1)]


def test_only_what_is_sent_for_the_first_time_is_marked():
    for flags in (Flag.COPY, Flag.REDELIVERED, Flag.UNQUEUED):
        assert marked((7, 1), flags=flags) == [False]
    assert marked((7, 1), kind=Kind.SETTLED) == [False]
    assert marked() == []


def test_what_another_overtook_is_named_with_both_records(frames):
    breaks = out_of_order(frames.records(sent(1), sent(3), sent(2), sent(4)))
    assert found(breaks) == [("OUT_OF_ORDER", 2, "q", 1)]
    assert spans(breaks) == [(2, 3)]


def test_outlets_queues_and_runs_are_each_for_themselves(frames):
    for other in ({"link": 8}, {"node": "r"}, {"incarnation": 2}):
        assert found(out_of_order(frames.records(sent(3), sent(2, **other)))) == []


def test_what_either_of_both_had_been_before_is_no_order(frames):
    elsewhere = {"link": 8, "bends": False}
    for again in (2, 3):
        records = frames.records(sent(again, **elsewhere), sent(3), sent(2))
        assert found(out_of_order(records)) == []


def test_what_was_sent_before_it_entered_has_overtaken_nothing(frames):
    entered = {"kind": Kind.ENTERED, "bends": False}
    assert found(out_of_order(frames.records(sent(3), sent(3, **entered), sent(2)))) == []


def test_what_others_have_browsed_keeps_its_order(frames):
    browsed = {"flags": Flag.COPY, "bends": False}
    records = frames.records(sent(2, link=8, **browsed), sent(3), sent(2))
    assert found(out_of_order(records)) == [("OUT_OF_ORDER", 2, "q", 1)]
    assert found(out_of_order(frames.records(sent(2, **browsed), sent(3), sent(2)))) == []
