"""What is folded over several segments and runs, and what is carried on."""

import pyarrow as pa
from pyarrow import parquet
from support.buckets import bucket
from support.hand_log import HandLog

from gateway.accounting.segments.columns import RECORDS_SCHEMA
from gateway.accounting.segments.parts import EVERYTHING, PARTS_SCHEMA, part_batches
from gateway.accounting.state.carried import carried_batches, folded_again
from gateway.accounting.steps.strays import ALL
from gateway.audit.reader import segment_paths


def records_of(log: HandLog) -> pa.Table:
    """Those that are not folded, as they are left for the next run."""
    batches = [
        batch
        for ordinal, path in enumerate(segment_paths(log.directory))
        for batch in part_batches(path.name, ordinal, path.read_bytes(), EVERYTHING)
    ]
    names = [*RECORDS_SCHEMA.names, "ordinal", "part"]
    table = pa.Table.from_batches(batches).select(names)
    records = table.filter(pa.compute.is_valid(table.column("sequence")))
    plain = pa.array([False] * len(records))  # as if other sends stood around these
    return records.set_column(names.index("bends"), "bends", plain)


def carried(log: HandLog) -> tuple[set[int], list[dict]]:
    """The messages that records are carried on of, and what else is said."""
    records = records_of(log)
    rows = [row for each in folded_again(records, -4, 0) for row in each.to_pylist()]
    assert all(batch.schema == PARTS_SCHEMA for batch in folded_again(records, -4, 0))
    kept = {row["message"] for row in rows if row["sequence"] and row["node"] == "q"}
    return kept, [row for row in rows if row["sequence"] is None]


def enter(log: HandLog, message: int) -> None:
    log.add("RECEIVED", message=message, exchange="topic", copies=1)
    log.add("ENTERED", message=message, position=message, node="q", exchange="topic")


def leave(log: HandLog, message: int) -> None:
    log.add("SENT", message=message, position=message, node="q", link=7)
    said = {"outcome": "ACCEPTED", "flags": "REMOVED", "node": "q", "link": 7}
    log.add("SETTLED", message=message, position=message, **said)


def test_what_is_complete_over_two_segments_is_folded_and_what_is_open_is_carried(tmp_path):
    log = HandLog(tmp_path / "log")
    log.start()
    for message in (5, 6, 70):
        enter(log, message)
    log.cut()
    leave(log, 5)
    leave(log, 70)
    log.end()
    kept, (row,) = carried(log)
    assert kept == {6}
    assert (row["ordinal"], row["part"]) == (ALL, -4)
    assert row["folded"] == [{"word": 0, "bits": 1 << 5}, {"word": 1, "bits": 1 << 6}]
    assert sum(each["number"] for each in row["waits"]) == 2


def test_what_a_restart_brought_back_is_folded_and_what_came_back_without_one_is_not(tmp_path):
    log = HandLog(tmp_path / "log")
    log.start()
    for message in (5, 6, 7):
        enter(log, message)
    log.end()
    log.start()
    for message in (5, 6):
        log.add("RECOVERED", message=message, position=message, node="q", flags="DURABLE")
    log.add("RECOVERED", message=6, position=6, node="q", flags="DURABLE")
    for message in (5, 6, 7):  # of which 7 was not brought back
        leave(log, message)
    log.end()
    assert carried(log)[0] == {6, 7}


def test_a_delivery_that_a_restart_cut_off_is_folded_unless_it_should_have_ended_before(tmp_path):
    log = HandLog(tmp_path / "log")
    log.start()
    for message in (5, 6, 7):
        enter(log, message)
    log.add("SENT", message=5, position=5, node="q", link=5)
    log.add("SENT", message=6, position=6, node="q", link=6)
    log.add("LINK_DETACHED", link=6)
    log.end(stopped=False)
    for stopped in (True, False):
        log.start()
        for message in (5, 6, 7):
            log.add("RECOVERED", message=message, position=message, node="q")
        if stopped:  # and not killed
            log.add("SENT", message=7, position=7, node="q", link=5)
        log.end(stopped=stopped)
    log.start()
    for message in (5, 6, 7):
        log.add("RECOVERED", message=message, position=message, node="q")
        leave(log, message)
    log.end()
    assert carried(log)[0] == {6, 7}


def test_what_a_restart_did_not_bring_back_and_the_next_one_did_is_not_folded(tmp_path):
    log = HandLog(tmp_path / "log")
    log.start()
    for message in (5, 6):
        enter(log, message)
    log.end()
    for opened, back in ((False, ()), (True, (5,)), (True, (5, 6))):
        log.start()
        for message in back:
            log.add("RECOVERED", message=message, position=message, node="q", flags="DURABLE")
        if opened:  # of one that has not, nothing is missing
            log.add("CLOCK")
        log.end(stopped=False)
    log.start()
    for message in (5, 6):
        log.add("RECOVERED", message=message, position=message, node="q", flags="DURABLE")
        leave(log, message)
    log.end()
    assert carried(log)[0] == {6}


def test_what_was_left_elsewhere_is_read_as_what_was_left_here(tmp_path):
    log = HandLog(tmp_path / "log")
    log.start()
    enter(log, 5)
    log.end()
    folder = tmp_path / "bucket" / "00000004"
    folder.mkdir(parents=True)
    parquet.write_table(records_of(log), folder / "part.parquet")
    there = bucket(tmp_path) / "00000004" / "part.parquet"
    here = list(carried_batches(folder / "part.parquet", 0))
    assert list(carried_batches(there, 0)) == here
    assert {row["part"] for row in here[-1].to_pylist()} == {-4}
