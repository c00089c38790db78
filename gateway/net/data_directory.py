"""What lies in the data directory beside the store's own files, and opening it all in order.

All of it is for its owner only, whatever the umask. A directory that was there already is left as
it is: it may be a volume's root, which is not ours.

store.sqlite, lock   the store's
store-compact        what a `store compact` that was killed has left
reserve              room that is set aside
unlogged             which audit records were in memory only when the last life ended
audit/               the audit log's segments
paged/               what queues hold beyond memory; emptied at each start
audit-head           the last seal of the audit log, one line, for whoever keeps it elsewhere
gateway-id           a UUID that stays with the directory
login-secret         what the SCRAM keys of names that nobody has are made of
unfinished-backup    it is no data directory, but a backup that was not finished (`unfinished`)
"""

from __future__ import annotations

import os
import pathlib
import secrets
import sqlite3
import uuid
from typing import Final

from gateway.errors import BrokenStoreError, StartupError, StoreError, UnknownStoreError
from gateway.files.own import write_whole
from gateway.files.whole import SECRET_MAX, read_regular
from gateway.store.interface import Recovered
from gateway.store.sqlite import SqliteStore

AUDIT_FOLDER: Final = "audit"
IDENTITY_FILE: Final = "gateway-id"
SECRET_FILE: Final = "login-secret"
UNFINISHED_FILE: Final = "unfinished-backup"
SECRET_OCTETS: Final = 32


def open_store(store: SqliteStore, directory: pathlib.Path) -> Recovered:
    """Lock the directory and read everything. Raises StartupError."""
    if os.path.lexists(directory / UNFINISHED_FILE):
        raise UnknownStoreError(
            f"{directory} is a backup that was not finished: messages may be missing in it. The"
            " gateway that made it was ended, or still makes it; take another backup"
        )
    audit = directory / AUDIT_FOLDER
    if os.path.lexists(audit) and not audit.is_dir():
        raise StartupError(f"cannot use {audit}: it is no directory: put the audit log back there")
    try:
        make_private(directory)
        recovered = store.open()
        close_to_others(directory)
        return recovered
    except BrokenStoreError as error:
        raise UnknownStoreError(
            f"{error}. No crash does that; a store.sqlite does that lies beside the"
            " store.sqlite-wal of another time. Put back both as they were together, or a backup,"
            " and keep these. Without either nothing of it can be read: move both away and start"
            " with amqp-gateway serve --accept-new-store, without a single message"
        ) from error
    except (OSError, StoreError, sqlite3.Error) as error:
        raise StartupError(f"cannot open the data directory: {_words(error)}") from error


def _words(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def make_private(directory: pathlib.Path) -> None:
    """Make the directory, unless it is there. Raises StartupError."""
    try:
        if not directory.exists():
            directory.parent.mkdir(parents=True, exist_ok=True)
            directory.mkdir(mode=0o700)
            directory.chmod(0o700)  # where the umask took what we need
    except OSError as error:
        raise StartupError(f"cannot use data directory {directory}: {error}") from None


def close_to_others(directory: pathlib.Path) -> None:
    """What earlier versions, or a library, made readable for others is so no more."""
    for path in (*directory.iterdir(), *(directory / AUDIT_FOLDER).glob("*")):
        ours = path.name == AUDIT_FOLDER or path.parent.name == AUDIT_FOLDER or path.is_file()
        try:
            mode = path.stat().st_mode & 0o777
            if ours and mode & 0o077:
                path.chmod(mode & 0o700)
        except OSError:
            continue  # another user's: not made by us


def identity(directory: pathlib.Path) -> str:
    """A UUID that stays with a data directory: the first start makes it."""
    path = directory / IDENTITY_FILE
    try:
        if path.exists():
            return _uuid(read_regular(path, SECRET_MAX).decode(errors="replace").strip())
        made = str(uuid.uuid4())
        write_whole(path, made)
        return made
    except (OSError, ValueError) as error:
        told = error.strerror if isinstance(error, OSError) else error
        raise StartupError(f"cannot use {path}: {told}") from None


def _uuid(text: str) -> str:
    try:
        return str(uuid.UUID(text))
    except ValueError:
        found = "is empty" if not text else "has no UUID in it"
        raise ValueError(f"it {found}: put it back, or remove it to have a new one made") from None


def secret(directory: pathlib.Path) -> bytes:
    """Octets that nobody else knows, and that stay with a data directory."""
    path = directory / SECRET_FILE
    try:
        if path.exists():
            kept = bytes.fromhex(read_regular(path, SECRET_MAX).decode())
            if len(kept) < SECRET_OCTETS:
                raise ValueError("it is too short")
            return kept
        made = secrets.token_bytes(SECRET_OCTETS)
        write_whole(path, made.hex())
        return made
    except (OSError, ValueError) as error:
        told = error.strerror if isinstance(error, OSError) else error
        raise StartupError(f"cannot use {path}: {told}") from None
