"""Whether a log goes on behind what its store knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.audit.ahead import KNOWS_NOTHING, Known, ahead, last_sequence_in
from gateway.audit.ends import LogEnd, LogEnds
from gateway.audit.records.log import AuditLog
from gateway.audit.schema import Outcome
from gateway.audit.segment import SegmentWriter
from gateway.audit.verify import WHOLE, verify

TURNS = [True, False, True, False, False]  # stored, two records each


def written(directory: Path, *, segment_octets: int = 1 << 20) -> list[bytes]:
    """A log of these turns, of incarnation 3."""
    records = AuditLog(3, 1, segment_octets=segment_octets)
    writer = SegmentWriter(directory)
    blocks: list[bytes] = []
    for turn, stored in enumerate(TURNS):
        if turn:
            records.transaction(1, turn, connection=1, outcome=Outcome.ACCEPTED)
        else:
            records.incarnation_started(1, "test")
        records.clock(1, turn)
        blocks.append(records.take_block(1, stored))
        writer.append(blocks[-1])
    writer.close()
    return blocks


def known(sequence: int | None = 0, *, remembered: int = 0, incarnation: int = 3) -> Known:
    last = LogEnd(remembered, 1, 1, "") if remembered else None
    return Known(LogEnds(None, last), sequence, incarnation, clean=False)


@pytest.mark.parametrize("segment_octets", [1, 1 << 20])
def test_only_stored_turns_behind_all_that_is_known_count(
    tmp_path: Path, segment_octets: int
) -> None:
    written(tmp_path, segment_octets=segment_octets)
    assert verify(tmp_path) == WHOLE
    for each in (known(6), known(10), known(remembered=6), known(2, remembered=6)):
        assert ahead(tmp_path, each, as_remembered=True) == []
    for each in (known(), known(2), known(5), known(2, remembered=4)):
        (found,) = ahead(tmp_path, each, as_remembered=True)
        assert "the store is older" in found.problem
        assert "to record 6" in found.problem
        assert found.segment.endswith("-000003.audit")
        assert found.expected == max(each.sequence or 0, 4 if each.ends.last else 0) + 1


def test_where_that_cannot_be_known_nothing_is_said(tmp_path: Path) -> None:
    written(tmp_path)
    assert ahead(tmp_path, known(None), as_remembered=True) == []
    assert ahead(tmp_path, known(), as_remembered=False) == []
    assert ahead(tmp_path, KNOWS_NOTHING, as_remembered=True) == []
    assert ahead(tmp_path / "none", known(), as_remembered=True) == []


def test_a_start_that_the_store_does_not_know_is_enough(tmp_path: Path) -> None:
    written(tmp_path)
    for each in (known(10, incarnation=2), known(None, incarnation=2)):
        (found,) = ahead(tmp_path, each, as_remembered=False)
        assert "opened 2 times, and the log tells of start 3" in found.problem
    assert ahead(tmp_path, known(10, incarnation=4), as_remembered=True) == []


def test_the_last_record_of_blocks(tmp_path: Path) -> None:
    blocks = written(tmp_path)
    assert [last_sequence_in(each) for each in blocks] == [2, 4, 6, 8, 10]
    assert last_sequence_in(b"".join(blocks)) == 10
    assert last_sequence_in(b"") == 0
