"""Frames that are worked out once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.spark_work import Work

from gateway.accounting.steps.kept import kept


@pytest.fixture
def safe(spark, tmp_path: Path) -> Iterator[Path]:
    """A directory for checkpoints, which is of the context for as long as that lives."""
    context = spark.sparkContext
    context.setCheckpointDir(str(tmp_path / "checkpoints"))
    yield tmp_path / "checkpoints"
    context._jsc.sc().setCheckpointDir(None)


def test_it_is_not_planned_again(frames):
    rows = frames.table("message bigint", (1,), (2,)).where("message > 1")
    assert "Filter" in rows._jdf.queryExecution().toString()
    assert "Filter" not in kept(rows)._jdf.queryExecution().toString()
    assert kept(rows).collect() == rows.collect()


def test_where_there_is_a_directory_for_it_what_is_kept_is_there(frames, safe):
    rows = kept(frames.table("message bigint", (1,), (2,)))
    assert rows.count() == 2
    assert list(safe.rglob("part-*"))


def test_it_is_worked_out_before_any_two_jobs_can_need_it(frames):
    rows = kept(frames.table("message bigint", (1,), (2,)))
    assert rows._jdf.queryExecution().analyzed().rdd().isCheckpointed()


def test_what_the_next_job_works_out_is_kept_by_that(spark, frames):
    work = Work(spark)
    rows = kept(frames.table("message bigint", (1,), (2,)).where("message > 1"), by_next=True)
    assert work.counted() == (0, 0)
    assert rows.count() == 1
    assert rows._jdf.queryExecution().analyzed().rdd().isCheckpointed()
    assert "Filter" not in rows._jdf.queryExecution().toString()


def test_what_is_made_of_nothing_is_neither_planned_nor_done(spark, frames):
    nothing = kept(frames.table("message bigint", (1,)).where("message > 1"), rare=True)
    others = frames.table("message bigint", (1,))
    work = Work(spark)
    assert others.join(nothing, "message").groupBy("message").count().collect() == []
    assert work.counted() == (0, 0)


def test_whether_there_are_rows_is_asked_without_a_class_for_each_expression(spark, frames):
    metrics = spark.sparkContext._jvm.org.apache.spark.metrics.source.CodegenMetrics
    made = metrics.METRIC_COMPILATION_TIME().getCount()
    rows = frames.table("message bigint", (1,), (2,)).where("message * 7 + 4 > 12")
    assert kept(rows, rare=True).count() == 1
    assert metrics.METRIC_COMPILATION_TIME().getCount() == made
