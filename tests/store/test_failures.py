"""What SQLite raises, in words that send an operator to the right place."""

import sqlite3

import pytest

from gateway.errors import StoreError
from gateway.store.failures import as_store_errors


def raised(code: int, name: str, text: str) -> str:
    error = sqlite3.DatabaseError(text)
    error.sqlite_errorcode, error.sqlite_errorname = code, name
    with pytest.raises(StoreError) as caught, as_store_errors("cannot write to the store"):
        raise error
    return str(caught.value)


def test_a_page_that_cannot_be_read_may_be_the_disks_doing() -> None:
    told = raised(sqlite3.SQLITE_CORRUPT, "SQLITE_CORRUPT", "database disk image is malformed")
    assert told == (
        "cannot write to the store: database disk image is malformed, as it is read now: the disk"
        " may fail to read (see the system's log), or somebody has changed the file"
    )


def test_a_refusal_says_which_call_was_refused() -> None:
    told = raised(sqlite3.SQLITE_IOERR_READ, "SQLITE_IOERR_READ", "disk I/O error")
    assert told == "cannot write to the store: disk I/O error (SQLITE_IOERR_READ)"
    told = raised(sqlite3.SQLITE_BUSY, "SQLITE_BUSY", "database is locked")
    assert told == "cannot write to the store: database is locked"
