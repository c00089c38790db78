"""An audit log in a bucket, on a server of S3 that is not ours (moto)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from interop import installed
from interop.needed import needed
from support.audit_logs import balanced_log
from support.moto import S3, serving
from support.reconciling import lacking

from gateway.accounting import __main__ as program
from gateway.accounting.locations import location

pytestmark = pytest.mark.process
LOG = "s3a://logs/gateway/audit"


@pytest.fixture(autouse=True)
def same_java() -> Iterator[None]:
    """A job in this process says where its Java is, which is gone with the job."""
    with pytest.MonkeyPatch.context() as restored:
        restored.setenv("JAVA_HOME", os.environ.get("JAVA_HOME", ""))
        yield


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    needed("moto")
    without = lacking(tmp_path_factory.mktemp("java"))
    if without is not None:
        pytest.skip(without)
    with serving(installed.MOTO) as server:
        yield server


@pytest.fixture(scope="module")
def log(s3: S3, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log here, of which there is a copy at `LOG`."""
    directory = balanced_log(tmp_path_factory.mktemp("s3") / "audit", segment_octets=3000)
    s3.put(directory, "logs/gateway/audit")
    return directory


def test_a_bucket_has_what_was_put_into_it(s3: S3, log: Path) -> None:
    there = location.at(LOG, s3.settings())
    segments = location.segments(there)
    assert [each.name for each in segments] == sorted(each.name for each in log.iterdir())
    for segment in segments:
        octets = (log / segment.name).read_bytes()
        assert location.size(segment) == len(octets)
        assert (location.read(segment), location.head(segment, 9)) == (octets, octets[:9])
    assert location.log_id(there) == location.log_id(log)
    assert location.segments(location.at("s3a://logs/other", s3.settings())) == []


def test_what_is_written_to_a_bucket_is_there_and_what_is_removed_is_not(s3: S3, log: Path) -> None:
    there = location.at("s3a://logs/out", s3.settings())
    location.make(there)
    for text in ("old", "new"):
        location.write(there / "report.html", text)
        assert location.anchors(there / "report.html")[1] == text.encode()
    about = s3.filesystem().open_input_file("logs/out/report.html").metadata()
    assert about["Content-Type"] == b"text/html; charset=utf-8"
    assert there.is_folder()
    there.remove()
    assert not there.is_folder()


@pytest.mark.parametrize(
    ("address", "other", "told"),
    [
        ("s3a://no-such-bucket/audit", {}, "The specified bucket does not exist"),
        (LOG, {"secret_key": "an/other+secret"}, "SIGNATURE_DOES_NOT_MATCH"),
        (LOG, {"access_key": "somebody else"}, "INVALID_ACCESS_KEY_ID"),
        (LOG, {"endpoint": "http://127.0.0.1:9"}, "Failed to connect to 127.0.0.1"),
        (LOG, {"aws_credentials_provider": "com.example.Vault"}, "Vault is not known here"),
        ("s3a://logs/none", {}, "no audit segments in s3a://logs/none"),
    ],
)
def test_what_cannot_be_read_is_told_in_a_line_without_a_secret(
    s3: S3, log: Path, tmp_path: Path, address: str, other: dict, told: str, capsys
) -> None:
    settings = s3.properties(tmp_path / "spark.conf", **other)
    arguments = ["reconcile", address, "--out", str(tmp_path), "--properties-file", str(settings)]
    assert program.main(arguments) == 3
    said = capsys.readouterr()
    assert said.out == ""
    assert (said.err.count("\n"), told in said.err, "s3a://" in said.err) == (1, True, True)
    assert not {s3.secret_key, s3.access_key, *other.values()} & set(said.err.split())
    assert s3.secret_key not in said.err and "an/other+secret" not in said.err


def test_a_report_that_cannot_be_written_is_told_before_spark_is_started(
    s3: S3, log: Path, tmp_path: Path, capsys
) -> None:
    settings = s3.properties(tmp_path / "spark.conf")
    out = ["--out", "s3a://no-such-bucket/out", "--properties-file", str(settings)]
    assert program.main(["reconcile", str(log), *out]) == 3
    assert "The specified bucket does not exist" in capsys.readouterr().err


@pytest.mark.timeout(1200)
def test_a_log_in_a_bucket_is_read_as_one_here_and_reconciled_and_no_plan_has_a_secret(
    s3: S3, log: Path, tmp_path: Path, spark
) -> None:
    from support.spark_work import several_partitions

    from gateway.accounting.reconcile import reconcile
    from gateway.accounting.segments.view import reach, read
    from gateway.accounting.telling import report

    reach(spark, s3.settings())
    there = location.at(LOG, s3.settings())
    here = read(spark, log, view="parts")
    with several_partitions(spark):  # then workers read it, of whom Spark knows what they were told
        elsewhere = read(spark, there, view="parts")
        # All that the job takes of a log.
        assert sorted(map(str, here.collect())) == sorted(map(str, elsewhere.collect()))
    result = reconcile(spark, there, tmp_path / "out")
    assert (report.verdict(result), result.classes, result.unproven) == ("balanced", {}, {})
    assert program.exit_code(result, require_final=True) == 0
    assert result.log_facts["octets"] == sum(each.stat().st_size for each in log.iterdir())
    plan = elsewhere._jdf.queryExecution().toString() + report.html_page(result)
    assert LOG in plan
    assert s3.secret_key not in plan and s3.access_key not in plan


def test_what_a_book_in_a_bucket_lacks_is_told_before_spark_is_started(
    s3: S3, log: Path, tmp_path: Path, capsys
) -> None:
    books = tmp_path / "books"
    books.mkdir()
    (books / "book.csv").write_text("id\n1\n")
    s3.put(books, "logs/books")
    arguments = ["compare", LOG, "--ours=received", "--out", str(tmp_path), "--properties-file"]
    arguments += [str(s3.properties(tmp_path / "spark.conf"))]
    for name, told in {
        "book.csv": "has no column 'message_id': it has id",
        "none.csv": "cannot be read: No such file or directory",
    }.items():
        assert program.main([*arguments, f"--ledger=s3a://logs/books/{name}"]) == 3
        assert capsys.readouterr().err == f"compare: s3a://logs/books/{name} {told}\n"


@pytest.mark.timeout(1200)
def test_a_log_in_a_bucket_is_a_side_of_a_comparison_as_one_here(s3: S3, log: Path, spark) -> None:
    from gateway.accounting.comparing.arguments import Of
    from gateway.accounting.comparing.logs import logs
    from gateway.accounting.segments.view import reach

    reach(spark, s3.settings())
    there = location.at(LOG, s3.settings())
    sides = [logs(spark, [where], Of("received")) for where in (log, there)]
    items = [sorted(map(str, side.items.collect())) for side in sides]
    assert items[0] == items[1] != []
    assert sides[0].facts[0]._replace(path=LOG) == sides[1].facts[0]
