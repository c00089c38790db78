"""Directories and files elsewhere."""

import pickle

import pytest
from support.buckets import bucket

from gateway.accounting.locations.remote import FOLDER, Remote, Store, in_short
from gateway.accounting.locations.settings import NONE, Settings

KEYS = {
    "spark.hadoop.fs.s3a.access.key": "someone",
    "spark.hadoop.fs.s3a.secret.key": "very hidden",
}


@pytest.fixture
def root(tmp_path) -> Remote:
    return bucket(tmp_path)


def test_it_is_called_as_spark_calls_it(root):
    assert str(root) == "s3a://bucket"
    file = root / "a" / "b.txt"
    assert (str(file), file.name, str(file.parent)) == (
        "s3a://bucket/a/b.txt",
        "b.txt",
        f"{root}/a",
    )
    assert str(Remote(Store("hdfs", "", NONE), "logs")) == "hdfs:///logs"


def test_what_is_in_a_directory_is_listed_and_in_none_is_nothing(root, tmp_path):
    (tmp_path / "bucket" / "a" / "folder").mkdir(parents=True)
    (tmp_path / "bucket" / "a" / "file").write_bytes(b"four")
    listed = [(each.name, each.octets) for each in (root / "a").listed()]
    assert listed == [("file", 4), ("folder", FOLDER)]
    assert (root / "none").listed() == []


def test_a_log_is_its_segments_in_order_with_their_octets(root, tmp_path):
    log = tmp_path / "bucket" / "log"
    log.mkdir()
    for name in ("0000000002-000001.audit", "0000000001-000001.audit", "x.audit", "notes"):
        (log / name).write_bytes(b"12345")
    (log / "0000000003-000001.audit").mkdir()
    one, two, folder = (root / "log").segments()
    assert (one.name, two.name) == ("0000000001-000001.audit", "0000000002-000001.audit")
    assert (one.size(), one.read(5), one.head(2)) == (5, b"12345", b"12")
    for ask in (folder.size, folder.opened):
        with pytest.raises(IsADirectoryError) as raised:
            ask()
        assert raised.value.filename == "s3a://bucket/log/0000000003-000001.audit"


def test_a_file_above_its_size_is_not_read(root, tmp_path):
    (tmp_path / "bucket" / "file").write_bytes(b"12345")
    assert (root / "file").read(5) == b"12345"
    with pytest.raises(OSError, match="is larger than 4 octets") as raised:
        (root / "file").read(4)
    assert raised.value.filename == "s3a://bucket/file"


def test_a_file_that_is_not_there_is_told_as_one_here_is(root):
    for ask in ((root / "none").size, (root / "none").opened):
        with pytest.raises(FileNotFoundError) as raised:
            ask()
        assert raised.value.strerror == "No such file or directory"
        assert raised.value.filename == "s3a://bucket/none"


@pytest.mark.parametrize("scheme", ["s3a", "hdfs"])
def test_a_file_is_replaced_as_a_whole_and_nothing_stays_beside_it(tmp_path, scheme):
    file = bucket(tmp_path, scheme=scheme) / "report.json"
    for text in ("old", "new, and ü"):
        file.write(text)
        assert file.read(100).decode() == text
    assert [each.name for each in file.parent.listed()] == ["report.json"]


def test_what_is_removed_is_gone_with_all_that_is_in_it(root, tmp_path):
    (tmp_path / "bucket" / "a" / "b").mkdir(parents=True)
    (tmp_path / "bucket" / "a" / "b" / "file").touch()
    assert (root / "a").is_folder()
    (root / "a").remove()
    (root / "a").remove()
    assert not (root / "a").is_folder()
    file = root / "file"
    file.write("x")
    file.remove()
    assert root.listed() == []


def test_a_bucket_cannot_be_reached_by_settings_that_are_not_known():
    settings = Settings(KEYS | {"spark.hadoop.fs.s3a.proxy.host": "very hidden"})
    with pytest.raises(OSError, match=r"proxy\.host is not known here") as raised:
        Remote(Store("s3a", "logs", settings), "audit").listed()
    assert "very hidden" not in str(raised.value)


def test_it_is_given_to_workers_with_its_settings_and_shows_none(tmp_path):
    there = bucket(tmp_path, settings=Settings(KEYS)) / "log"
    again = pickle.loads(pickle.dumps(there))
    assert str(again) == "s3a://bucket/log"
    assert "hidden" not in repr(vars(there)) + repr(there)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "When listing objects under key 'x/' in bucket 'nope': AWS Error NO_SUCH_BUCKET during "
            "ListObjectsV2 operation: The specified bucket does not exist (Request ID: rTJu)",
            "The specified bucket does not exist (NO_SUCH_BUCKET)",
        ),
        (
            "When reading: AWS Error NETWORK_CONNECTION during HeadObject operation: curlCode: 7, "
            "Could not connect to server; Details: Failed to connect to 127.0.0.1:5999",
            "Failed to connect to 127.0.0.1:5999 (NETWORK_CONNECTION)",
        ),
        (
            "When listing: AWS Error UNKNOWN (HTTP status 301) during ListObjectsV2 operation: "
            "Looks like the configured region is 'a' while the bucket is located in 'b'.",
            "Looks like the configured region is 'a' while the bucket is located in 'b'. "
            "(UNKNOWN (HTTP status 301))",
        ),
        ("HDFS connection failed\n  at java", "HDFS connection failed"),
        ("", "no more is known"),
    ],
)
def test_what_pyarrow_says_is_told_in_one_line(said, told):
    assert in_short(said) == told
