"""Segments as they are closed, one behind the other."""

from pathlib import Path

from pyspark.sql.streaming.datasource import ReadAllAvailable
from support.audit_logs import balanced_log

from gateway.accounting.segments.source import AuditDataSource
from gateway.accounting.segments.stream import AuditStreamReader
from gateway.audit.reader import segment_paths

NO_LIMIT = ReadAllAvailable()


def stream(log: Path, **options: str) -> AuditStreamReader:
    source = AuditDataSource({"path": str(log), **options})
    reader = source.streamReader(source.schema())
    assert isinstance(reader, AuditStreamReader)
    return reader


def test_what_is_closed_comes_once_and_the_segment_that_grows_does_not(tmp_path):
    log = balanced_log(tmp_path / "log", 20, segment_octets=1500)
    paths = segment_paths(log)
    newest = paths[-1].rename(tmp_path / paths[-1].name)
    reader = stream(log, view="names")
    begin = reader.initialOffset()
    end = reader.latestOffset(begin, NO_LIMIT)
    assert end == {"segment": paths[-3].name, "count": len(paths) - 2}
    read = [batch for part in reader.partitions(begin, end) for batch in reader.read(part)]
    rows = [row for batch in read for row in batch.to_pylist()]
    assert rows == [{"segment": path.name, "ordinal": at} for at, path in enumerate(paths[:-2])]
    assert reader.latestOffset(end, NO_LIMIT) == end
    assert reader.partitions(end, end) == []
    newest.rename(paths[-1])
    later = reader.latestOffset(end, NO_LIMIT)
    (part,) = reader.partitions(end, later)
    assert (part.path, part.ordinal) == (str(paths[-2]), len(paths) - 2)


def test_it_begins_behind_the_segment_that_it_is_told(tmp_path):
    log = balanced_log(tmp_path / "log", 20, segment_octets=1500)
    paths = segment_paths(log)
    paths[0].unlink()  # let go
    reader = stream(log, after=paths[1].name, first="2")
    begin = reader.initialOffset()
    parts = reader.partitions(begin, reader.latestOffset(begin, NO_LIMIT))
    assert [part.ordinal for part in parts] == list(range(2, len(paths) - 1))
    sequences = [
        sequence
        for batch in reader.read(parts[0])
        for sequence in batch.column("sequence").to_pylist()
    ]
    assert sequences == sorted(sequences)
    assert sequences[0] > 1


def test_of_an_empty_log_nothing_comes(tmp_path):
    reader = stream(tmp_path)
    begin = reader.initialOffset()
    assert reader.latestOffset(begin, NO_LIMIT) == begin == {"segment": "", "count": 0}
