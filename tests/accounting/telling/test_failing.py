"""Why a job could not go on."""

import pytest

from gateway.accounting.telling.failing import reason

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
        (OSError(28, "No space", "/out"), "OSError: [Errno 28] No space: '/out'"),
    ],
)
def test_of_others_the_first_line_is_told(error, told):
    assert reason(error) == told
