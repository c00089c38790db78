"""Sequence numbers, names, blocks, and where segments end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.audit import schema
from gateway.audit.reader import Segment, names_in, sequence_at
from gateway.audit.records.log import AuditLog
from gateway.audit.schema import RECORD_OCTETS, BlockFlag, BlockKind
from gateway.audit.segment import _header


def segment_of(*blocks: bytes) -> Segment:
    return Segment("s", _header(1, 1, "0" * 64) + b"".join(blocks))


def test_a_turn_without_records_gives_no_block():
    assert AuditLog(1).take_block(1) == b""


def test_sequence_numbers_go_on_over_turns_without_a_gap():
    log = AuditLog(1, 41)
    sequences = []
    for turn in range(3):
        for _ in range(turn + 1):
            log.clock(turn, 0)
        segment = segment_of(log.take_block(turn))
        for block in segment.blocks():
            places = range(block.start, block.end, RECORD_OCTETS)
            sequences += [sequence_at(segment.octets, at) for at in places]
    assert sequences == list(range(41, 47))
    assert log.next_sequence == 47


def test_a_record_that_was_begun_and_is_not_whole_is_in_no_block():
    log = AuditLog(1)
    log.clock(1, 0)
    log._out.append(1)
    with pytest.raises(RuntimeError):
        log.take_block(1)


def test_a_name_has_one_number_and_is_told_once_a_segment():
    log = AuditLog(1, segment_octets=1)
    number = log.name("orders")
    assert log.name("orders") == number != log.name("invoices")
    log.topology(1, reason=schema.Reason.QUEUE_DECLARED, node=number)
    log.topology(1, reason=schema.Reason.QUEUE_DELETED, node=number)
    first = segment_of(log.take_block(1))
    log.topology(2, reason=schema.Reason.QUEUE_DELETED, node=number)
    second = segment_of(log.take_block(2))
    for segment in (first, second):
        names = [block for block in segment.blocks() if block.kind == BlockKind.NAMES]
        assert [list(names_in(segment.octets, block)) for block in names] == [[(number, "orders")]]


def test_each_segment_has_the_names_that_its_messages_use():
    log = AuditLog(1, segment_octets=RECORD_OCTETS * 4)
    exchange, orders, invoices = (log.name(text) for text in ("amq.direct", "orders", "invoices"))
    told: list[set[str]] = []
    for turn in range(6):
        for node in (orders, invoices) if turn % 2 else (orders, orders):
            log.entered(turn, 1, 1, node=node, exchange=exchange, body_digest=0, size=0, flags=0)
        log.settled(turn, 1, 1, node=orders, link=1, outcome=1, flags=0)
        segment = segment_of(log.take_block(turn))
        names, _records = segment.blocks()
        if names.flags & BlockFlag.SEGMENT_STARTS:
            told.append(set())
        told[-1] |= {text for _, text in names_in(segment.octets, names)}
    assert told == [{"amq.direct", "orders", "invoices"}] * 3


@pytest.mark.parametrize(
    "too_much",
    [
        *[{name: 2**31} for name in ("connection", "transaction", "copies", "peer", "actor")],
        *[{name: 2**15} for name in ("reason", "flags", "delivery_count")],
        *[{name: -1} for name in ("connection", "copies", "flags", "outcome", "address")],
        {"outcome": 2**7},
    ],
)
def test_a_number_that_is_too_wide_for_its_field_is_in_no_record(too_much: dict[str, int]):
    log = AuditLog(1)
    with pytest.raises((OverflowError, IndexError)):  # of a name, there is none with that number
        log._record(1, 1, **too_much)
    log.clock(1, 0)
    assert log.pending() == RECORD_OCTETS
    assert log.next_sequence == 2


def test_a_name_that_is_not_used_is_not_written():
    log = AuditLog(1)
    log.name("orders")
    log.clock(1, 0)
    assert [block.kind for block in segment_of(log.take_block(1)).blocks()] == [BlockKind.RECORDS]


def test_a_forgotten_name_is_told_with_its_last_record_and_gets_a_new_number():
    log = AuditLog(1)
    number = log.name("temporary")
    log.topology(1, reason=schema.Reason.QUEUE_DELETED, node=number)
    log.forget(number)
    segment = segment_of(log.take_block(1))
    block = next(iter(segment.blocks()))
    assert list(names_in(segment.octets, block)) == [(number, "temporary")]
    assert log.name("temporary") != number
    log.forget(number)  # a second time: nothing to forget


def test_a_segment_ends_by_size_and_by_age():
    by_size = AuditLog(1, segment_octets=RECORD_OCTETS * 2)
    by_age = AuditLog(1, segment_age_ms=10)
    flags = []
    for now_ms in (1, 2, 20, 21):
        for log in (by_size, by_age):
            log.clock(now_ms, 0)
            (block,) = segment_of(log.take_block(now_ms)).blocks()
            flags.append(bool(block.flags & BlockFlag.SEGMENT_STARTS))
    assert flags[0::2] == [True, False, True, False]
    assert flags[1::2] == [True, False, False, True]


def test_records_of_a_turn_that_the_store_has_are_marked():
    log = AuditLog(1, segment_octets=RECORD_OCTETS)
    told = []
    for stored in (True, False, True):
        log.topology(1, node=log.name("q"), reason=1)
        octets = log.take_block(1, stored)
        told.append([(block.kind, block.flags) for block in segment_of(octets).blocks()])
    starts, marked = BlockFlag.SEGMENT_STARTS, BlockFlag.STORED
    assert told[0] == told[2] == [(BlockKind.NAMES, starts), (BlockKind.RECORDS, marked)]
    assert told[1] == [(BlockKind.NAMES, starts), (BlockKind.RECORDS, 0)]


def test_pending_counts_the_octets_of_the_turn():
    log = AuditLog(1)
    log.clock(1, 0)
    log.clock(1, 0)
    assert log.pending() == 2 * RECORD_OCTETS
    log.take_block(1)
    assert log.pending() == 0


def test_more_than_a_block_holds_is_split_at_a_record():
    log = AuditLog(1)
    for _ in range(schema.MAX_BLOCK_OCTETS // RECORD_OCTETS + 1):
        log.clock(1, 0)
    sizes = [block.end - block.start for block in segment_of(log.take_block(1)).blocks()]
    assert sizes == [schema.MAX_BLOCK_OCTETS, RECORD_OCTETS]


@given(st.text(max_size=300))
def test_any_text_is_a_name(text: str):
    log = AuditLog(1)
    log.topology(1, reason=1, node=log.name(text))
    segment = segment_of(log.take_block(1))
    blocks = list(segment.blocks())
    assert segment.damage is None
    ((_number, told),) = names_in(segment.octets, blocks[0])
    assert told == text.encode("utf-8", "replace")[:1024].decode("utf-8", "replace")


def test_a_text_in_passing_is_told_with_its_turn_and_takes_nobodys_name():
    log = AuditLog(1, segment_octets=1)
    queue = log.name("orders")
    assert log.passing("orders") == queue
    log.topology(1, reason=1, node=queue, actor=log.passing("somebody"))
    first = segment_of(log.take_block(1))
    assert [text for _, text in names_in(first.octets, next(first.blocks()))] == [
        "orders",
        "somebody",
    ]
    log.topology(1, reason=1, node=queue)
    second = segment_of(log.take_block(1))
    assert list(names_in(second.octets, next(second.blocks()))) == [(queue, "orders")]


def test_the_number_of_a_text_in_passing_is_used_again_by_a_later_segment_only():
    log = AuditLog(1, segment_octets=RECORD_OCTETS * 3)
    numbers, told = [], []
    for turn in range(12):
        numbers.append(log.passing(f"10.0.0.1:{turn}"))
        assert log.passing(f"10.0.0.1:{turn}") == numbers[-1]
        log.connection_opened(turn, 1, protocol=0, peer=0, address=numbers[-1])
        octets = log.take_block(turn)
        segment = segment_of(octets)
        first, _ = segment.blocks()
        told.append((bool(first.flags & BlockFlag.SEGMENT_STARTS), numbers[-1]))
        assert list(names_in(segment.octets, first)) == [(numbers[-1], f"10.0.0.1:{turn}")]
    segments: list[list[int]] = []
    for starts, number in told:
        if starts:
            segments.append([])
        segments[-1].append(number)
    assert len(segments) > 3
    assert all(len(set(each)) == len(each) for each in segments)
    assert max(numbers) == len(segments[0])


def test_who_names_a_text_that_is_passing_has_it_for_good():
    log = AuditLog(1, segment_octets=1)
    passing = log.passing("orders")
    queue = log.name("orders")
    assert queue != passing
    for turn in range(3):
        log.topology(turn, reason=1, node=queue)
        segment = segment_of(log.take_block(turn))
        assert list(names_in(segment.octets, next(segment.blocks()))) == [(queue, "orders")]
