"""Why a job could not go on."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from gateway.accounting.telling.failing import Place, reason

WORKERS = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "source.py", line 136, in read
    octets = location.read(path)
OSError: [Errno 5] Failed to connect to 127.0.0.1:1 (NETWORK): 's3a://logs/audit/1-1.audit'
"""
PLANNED = f"[PYTHON_DATA_SOURCE_ERROR] Failed to generate partitions: {WORKERS} SQLSTATE: 38000\n"


@pytest.mark.parametrize("said", [WORKERS, PLANNED])
def test_of_a_file_that_a_worker_could_not_read_that_is_told(said):
    assert reason(RuntimeError(said)) == (
        "cannot read s3a://logs/audit/1-1.audit: Failed to connect to 127.0.0.1:1 (NETWORK)"
    )


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (RuntimeError("the session is gone\n  at Java"), "RuntimeError: the session is gone"),
        (RuntimeError(), "RuntimeError: no more is known"),
        (
            RuntimeError(
                "An error occurred while calling o37.parquet.\n: org.SparkException: it failed\n"
                "\tat Java\nCaused by: java.io.IOException: a checksum is wrong\n\tat Java"
            ),
            "RuntimeError: java.io.IOException: a checksum is wrong",
        ),
        (OSError(13, "Permission denied", "/out"), "/out: Permission denied"),
        (OSError("a socket is closed"), "OSError: a socket is closed"),
    ],
)
def test_of_others_the_first_line_is_told(error, told):
    assert reason(error) == told


class OfSparkError(Exception):
    """As PySpark has it: what Java says of the cause is behind what it says itself."""

    def __init__(self, said: str, java: str) -> None:
        super().__init__(said)
        self._stackTrace = java


FULL = OfSparkError(
    "[TASK_WRITE_FAILED] Task failed while writing rows to file:/reports/queues.",
    "org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed\n\tat Spark.write\n"
    "Caused by: org.apache.hadoop.fs.FSError: java.io.IOException: No space left on device\n",
)
PLACES = [
    Place("--out", Path("/reports")),
    Place("--state", Path("/reports/state")),
    Place("temporary files", Path("/tmp"), ", or set TMPDIR to another place"),
]


@pytest.mark.parametrize(
    ("least", "told"),
    [
        ("/reports", "/reports (--out): No space left on device; make room there"),
        (
            "/tmp",
            "/tmp (temporary files): No space left on device; make room there, or set TMPDIR to "
            "another place",
        ),
    ],
)
def test_where_no_place_is_told_that_is_full_it_is_the_one_with_the_least_room(
    least, told, monkeypatch
):
    monkeypatch.setattr(Path, "exists", lambda path: True)
    monkeypatch.setattr("os.access", lambda path, how: True)
    monkeypatch.setattr(
        shutil, "disk_usage", lambda path: SimpleNamespace(free=10 if str(path) == least else 20)
    )
    assert reason(FULL, PLACES) == f"no room in {told}"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            OSError(28, "No space left on device", "/reports/state/state.json.new"),
            "no room in /reports/state (--state): No space left on device; make room there",
        ),
        (
            OSError(122, "Disk quota exceeded", "/other/file"),
            "no room in /other/file (a file of the job's): Disk quota exceeded; make room there",
        ),
        (
            OfSparkError(
                "Job aborted",
                "java.io.FileNotFoundException: /tmp/a/block-1 (No space left on device)\n",
            ),
            "no room in /tmp (temporary files): No space left on device; make room there, or set "
            "TMPDIR to another place",
        ),
        (
            OSError(30, "Read-only file system", "/reports/state/lock"),
            "cannot write in /reports/state (--state): Read-only file system",
        ),
    ],
)
def test_a_place_that_is_full_or_read_only_is_told_by_the_option_that_names_it(error, told):
    assert reason(error, PLACES) == told


@pytest.mark.parametrize(
    "java",
    [
        "org.apache.hadoop.fs.ChecksumException: Checksum error: file:/{} at 512 exp: 1 got: -2",
        "org.apache.spark.SparkException: [FAILED_READ_FILE.NO_HINT] Encountered error while "
        "reading file file:///{}. SQLSTATE: KD001",
        "pyspark.PythonException: Traceback (most recent call last):\n  in read\n"
        "OSError: [Errno 5] is damaged: '/{}'\n",
    ],
)
def test_a_table_that_is_damaged_is_told_with_what_can_be_done_about_it(java):
    table = "reports/state/00000001/part-1.parquet"
    error = OfSparkError("An error occurred while calling o1.collect.", java.format(table))
    told = f"cannot read /{table}, which is damaged"
    state = Place("--state", Path("/reports/state"), anew="begin anew")
    assert reason(error, [Place("--out", Path("/reports")), state]) == f"{told}: begin anew"
    assert reason(error) == told


def test_without_any_place_what_is_wrong_is_told_all_the_same():
    assert reason(FULL) == "no room: No space left on device"
    assert reason(OSError("Read-only file system")) == "Read-only file system"


def test_a_table_that_was_removed_under_a_run_is_not_called_damaged():
    error = RuntimeError(
        "[FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error while reading file "
        "file:///reports/state/00000001/part-0.snappy.parquet. File does not exist."
    )
    path = "/reports/state/00000001/part-0.snappy.parquet"
    assert reason(error, PLACES) == f"cannot read {path}, which was removed meanwhile"
