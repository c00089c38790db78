"""The ledger of a part, against that of its single records."""

from support.audit_frames import ledger_of
from support.audit_logs import balanced_log

from gateway.accounting.segments.view import read
from gateway.accounting.steps.ledger import ledger


def rows(frame) -> list:
    return sorted((row.asDict() for row in frame.collect()), key=str)


def test_the_sums_of_all_parts_are_those_of_all_records(spark, tmp_path):
    log = balanced_log(tmp_path / "log", 40, segment_octets=3000)
    summed = rows(ledger(read(spark, log, view="parts")))
    assert summed == rows(ledger_of(read(spark, log)).select(*summed[0]))
