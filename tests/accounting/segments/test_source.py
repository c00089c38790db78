"""The data source, through Spark."""

from support.audit_logs import balanced_log

from gateway.accounting.segments.source import FORMAT


def test_every_segment_is_a_partition_and_every_record_a_row(spark, tmp_path):
    log = balanced_log(tmp_path / "log", 20, segment_octets=3000)
    frame = spark.read.format(FORMAT).load(str(log))
    assert frame.rdd.getNumPartitions() == len(list(log.iterdir()))
    sequences = [row["sequence"] for row in frame.select("sequence").collect()]
    assert sorted(sequences) == list(range(1, len(sequences) + 1))


def test_kinds_keeps_only_those_kinds(spark, tmp_path):
    log = balanced_log(tmp_path / "log")
    frame = spark.read.format(FORMAT).option("kinds", "10,31").load(str(log))
    assert {row["kind"] for row in frame.select("kind").distinct().collect()} == {10, 31}


def test_the_view_of_segments_has_one_row_each(spark, tmp_path):
    log = balanced_log(tmp_path / "log", 20, segment_octets=3000)
    frame = spark.read.format(FORMAT).option("view", "segments").load(str(log))
    rows = frame.orderBy("ordinal").collect()
    assert [row["segment"] for row in rows] == sorted(path.name for path in log.iterdir())
