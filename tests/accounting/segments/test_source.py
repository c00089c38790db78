"""The data source, through Spark."""

from support.audit_logs import balanced_log
from support.spark_work import several_partitions

from gateway.accounting.segments.source import FORMAT
from gateway.accounting.segments.view import read, registered


def test_every_segment_is_a_partition_and_every_record_a_row(spark, tmp_path):
    log = balanced_log(tmp_path / "log", 20, segment_octets=3000)
    frame = registered(spark).read.format(FORMAT).load(str(log))
    assert frame.rdd.getNumPartitions() == len(list(log.iterdir()))
    sequences = [row["sequence"] for row in frame.select("sequence").collect()]
    assert sorted(sequences) == list(range(1, len(sequences) + 1))


def test_kinds_keeps_only_those_kinds(spark, tmp_path):
    log = balanced_log(tmp_path / "log")
    frame = registered(spark).read.format(FORMAT).option("kinds", "10,31").load(str(log))
    assert {row["kind"] for row in frame.select("kind").distinct().collect()} == {10, 31}


def test_the_view_of_segments_has_one_row_each(spark, tmp_path):
    log = balanced_log(tmp_path / "log", 20, segment_octets=3000)
    frame = registered(spark).read.format(FORMAT).option("view", "segments").load(str(log))
    rows = frame.orderBy("ordinal").collect()
    assert [row["segment"] for row in rows] == sorted(path.name for path in log.iterdir())


def test_what_is_read_here_is_what_workers_read_also_behind_a_batch_without_rows(spark, tmp_path):
    log = balanced_log(tmp_path / "log", 20, segment_octets=3000)
    asked = {"view": "comparable", "left": "true"}  # of links that lead nowhere else there is none
    here = read(spark, log, **asked)
    with several_partitions(spark):
        by_workers = read(spark, log, **asked)
        assert by_workers.rdd.getNumPartitions() == len(list(log.iterdir()))
        assert sorted(map(str, here.collect())) == sorted(map(str, by_workers.collect()))
