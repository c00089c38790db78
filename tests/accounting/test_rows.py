"""Rows of several results, which one job brings."""

from __future__ import annotations

from support.spark_work import Work

from gateway.accounting.rows import rows_of

TEXT = 'a "queue"\nof\x1b \U0001f40c'


def test_all_rows_come_in_their_order_and_as_they_are_by_one_job(spark, frames):
    numbers = frames.table("n bigint, of string", (3, None), (1 << 62, TEXT), (-1, "")).coalesce(1)
    facts = frames.table("yes boolean, share double, n bigint", (True, 0.1, None), (False, 3.0, 4))
    nothing = numbers.where("n = 0")
    work = Work(spark)
    told = rows_of({"numbers": numbers, "nothing": nothing, "facts": facts.coalesce(1)})
    assert work.counted()[0] == 1
    assert told["numbers"] == [row.asDict() for row in numbers.collect()]
    assert told["facts"] == [row.asDict() for row in facts.collect()]
    assert told["nothing"] == []
