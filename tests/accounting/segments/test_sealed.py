"""Seals, keys and anchors as the reconciliation sees them: what the workers hash, judged here."""

from functools import reduce
from pathlib import Path

import pytest
from support.keys import Key
from support.planted import KEY, PLANTED, sealed_log

from gateway.accounting.judging import log_breaks
from gateway.accounting.reconcile import log_facts, reconcile
from gateway.accounting.segments import sealed
from gateway.accounting.segments.chain import clock_breaks, with_previous
from gateway.accounting.segments.view import read
from gateway.accounting.telling.report import html_page, summary
from gateway.audit.provenance import Anchor, Provenance
from gateway.audit.verify import verify


@pytest.fixture
def judged(spark, frames):
    """What is wrong with a log, in words, and what is known of its seals."""

    def found(log: Path, provenance: Provenance) -> list[str]:
        offsets = sealed.asked(provenance)
        segments = read(spark, log, view="segments", offsets=offsets).coalesce(1)
        paired = with_previous(segments).cache()
        (facts,) = log_facts(paired).collect()
        sealed.note(provenance, facts["sealed"])
        stated = frames.records()
        steps = [*log_breaks(paired, stated), clock_breaks(paired, stated)]
        steps += sealed.breaks(spark, provenance)
        rows = reduce(type(segments).unionByName, steps).collect()
        assert {row["class"] for row in rows} <= {"LOG_GAP"}
        return [row["detail"] for row in rows]

    return found


def anchored(log: Path) -> list[Anchor]:
    whole = Provenance()
    verify(log, whole)
    assert whole.head is not None
    return [Anchor(whole.head, "kept")]


def test_it_knows_of_seals_what_verify_knows(judged, tmp_path):
    log = sealed_log(tmp_path, KEY.sign)
    provenance, other = (Provenance(KEY.trusted(), anchored(log)) for _ in range(2))
    assert judged(log, provenance) == []
    verify(log, other)
    assert provenance._segments == other._segments
    assert provenance.lines() == other.lines()


@pytest.mark.parametrize("name", PLANTED)
def test_what_is_planted_is_found(judged, tmp_path, name: str):
    log = sealed_log(tmp_path / "log", KEY.sign)
    anchors, planted = anchored(log), PLANTED[name]
    planted.harm(log)
    provenance = Provenance(KEY.trusted(), anchors)
    told = " ".join(judged(log, provenance))
    for wanted in (planted.alone, planted.trusted, planted.anchored):
        assert wanted in told


def test_the_report_says_who_has_signed_and_what_is_not_sealed(spark, judged, tmp_path):
    log = sealed_log(tmp_path / "log", KEY.sign)
    result = reconcile(spark, log, tmp_path / "out", Provenance(KEY.trusted()))
    assert result.balanced
    page, told = html_page(result), summary(result, "r")
    assert KEY.sign.key in page
    assert "held against the trusted keys" in told
    assert "not signed" not in page
    assert judged(log, Provenance(Key().trusted()))
