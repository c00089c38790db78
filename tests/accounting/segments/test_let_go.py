"""Segments that were let go are no gap for the reconciliation; all else that is missing is."""

from hashlib import sha256

import pytest
from support.audit_logs import ScriptedGateway
from support.closed_books import book_of_log, close_log
from support.keys import Key

from gateway.accounting.reconcile import STATED_KINDS, log_facts, reconcile
from gateway.accounting.segments import let_go, sealed
from gateway.accounting.segments.chain import gaps_between, with_previous
from gateway.accounting.segments.view import read
from gateway.accounting.steps.ledger import kind_is
from gateway.audit.elsewhere import take_books
from gateway.audit.ends import last_sequence_of
from gateway.audit.let_go import departed_by
from gateway.audit.provenance import Provenance
from gateway.audit.reader import segment_paths


@pytest.fixture
def gateway(tmp_path):
    """Of a log of many segments, in which nothing stays."""
    gateway = ScriptedGateway(tmp_path / "log", segment_octets=1000, sign=Key().sign)
    for _ in range(24):
        gateway.consume("orders", gateway.publish("orders"))
        gateway.turn()
    return gateway


def tell(gateway, last, **said):
    path = segment_paths(gateway.directory)[last - 1]
    log = gateway.log
    told = {
        "last_sequence": last_sequence_of([path]),
        "sha256": sha256(path.read_bytes()).hexdigest(),
        **said,
    }
    digest = log.passing(told["sha256"])
    log.let_go(
        gateway.now_ms,
        first_segment=1,
        last_segment=last,
        first_sequence=1,
        last_sequence=told["last_sequence"],
        sha256=digest,
        book=2,
        archive=0,
    )
    gateway.turn()


def remove(gateway, *numbers):
    for path in [segment_paths(gateway.directory)[number - 1] for number in numbers]:
        path.unlink()


def gaps(spark, gateway, provenance=None):
    """What is told as missing, in the words of the log."""
    provenance = provenance or Provenance()
    log = gateway.directory
    paired = with_previous(read(spark, log, view="segments", offsets="{}").coalesce(1))
    sealed.note(provenance, log_facts(paired).collect()[0]["sealed"])
    stated = read(spark, log).where(kind_is(*STATED_KINDS))
    excused = let_go.excused(let_go.let_go_by(stated, provenance), provenance)
    return [row["detail"] for row in gaps_between(paired, excused).collect()]


def test_what_its_own_record_says_is_gone_is_no_gap(spark, gateway):
    tell(gateway, 3)
    gateway.stop()
    remove(gateway, 1, 2, 3)
    provenance = Provenance()
    assert gaps(spark, gateway, provenance) == []
    assert provenance.lines()[0].endswith(" and book 2")


def test_what_is_gone_beyond_that_or_without_a_word_is_one(spark, gateway):
    gateway.stop()
    remove(gateway, 1)
    (gap,) = gaps(spark, gateway)
    assert gap.startswith("segment number 2 where 1 belongs")


def test_what_does_not_follow_what_was_let_go_is_told(spark, gateway):
    tell(gateway, 3, sha256="0" * 64)
    gateway.stop()
    remove(gateway, 1, 2, 3)
    assert gaps(spark, gateway) == [
        "segment number 3 was let go, and is not the one that came before this one"
    ]


def test_with_trusted_keys_a_record_that_is_not_sealed_says_nothing(spark, tmp_path):
    key = Key()
    gateway = ScriptedGateway(tmp_path / "log", segment_octets=1000, sign=key.sign)
    for _ in range(24):
        gateway.consume("orders", gateway.publish("orders"))
        gateway.turn()
    gateway.writer.seal()
    tell(gateway, 3)
    gateway.writer.sync()
    remove(gateway, 1, 2, 3)
    assert gaps(spark, gateway) == []
    assert len(gaps(spark, gateway, Provenance(key.trusted()))) == 1


def test_a_closed_book_that_is_given_says_so_too(spark, gateway):
    gateway.stop()
    provenance = Provenance()
    provenance.by_books = departed_by([book_of_log(gateway.directory, 1, 5)._replace(number=1)])
    remove(gateway, 1, 2, 3)
    assert gaps(spark, gateway, provenance) == []


def test_the_whole_job_counts_no_gap_of_it(spark, gateway, tmp_path):
    gateway.checkpoint()
    gateway.stop()
    close_log(tmp_path / "books", gateway.directory, 1, 3)
    remove(gateway, 1, 2, 3)
    provenance = Provenance()
    assert take_books(provenance, tmp_path / "books", gateway.writer.log) == []
    result = reconcile(spark, gateway.directory, tmp_path / "out", provenance)
    assert "LOG_GAP" not in result.classes
    assert "segments to number 3" in result.provenance.lines()[0]
