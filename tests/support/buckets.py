"""A bucket that is a directory: what is asked of pyarrow's file system is asked of a real one."""

from __future__ import annotations

from pathlib import Path

from gateway.accounting.locations.remote import Remote, Store
from gateway.accounting.locations.settings import NONE, Settings


def bucket(directory: Path, *, scheme: str = "s3a", settings: Settings = NONE) -> Remote:
    """All of it; `directory` is made."""
    from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

    root = directory / "bucket" if scheme == "s3a" else directory
    root.mkdir(parents=True, exist_ok=True)
    files = SubTreeFileSystem(str(directory), LocalFileSystem())
    return Remote(Store(scheme, "bucket", settings, files), "")
