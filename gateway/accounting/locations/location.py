"""A location of a job, here by a path or elsewhere by a URI: asked alike what it is asked.

Of paths everything is as it is where there are only paths: `files.whole` opens them.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from gateway.accounting.locations.remote import FOLDER, Remote, Store
from gateway.accounting.locations.settings import Settings
from gateway.audit import ends
from gateway.audit.books import book_number
from gateway.audit.reader import Segment, segment_paths
from gateway.audit.schema import HEADER_OCTETS
from gateway.files import whole

Location = Path | Remote

SCHEMES: Final = {"s3a": "s3a", "s3": "s3a", "hdfs": "hdfs"}
KINDS: Final = "a path, file:, s3a:// or hdfs://"

_URI: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/]*)(.*)", re.DOTALL)
_TABLE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def at(text: str, settings: Settings) -> Location:
    """What an address means.

    Raises:
        ValueError: nothing.
    """
    if text.startswith("file:"):
        return _path(text)
    found = _URI.fullmatch(text)
    if not found:
        return Path(text)
    scheme, authority, path = found.groups()
    if scheme.lower() not in SCHEMES:
        raise ValueError(f"{scheme}:// is not known: {KINDS}")
    if "@" in authority:
        raise ValueError(
            "an address has no name or key in it: these are settings, spark.hadoop.fs.s3a.*"
        )
    parts = [each for each in path.split("/") if each]
    if "." in parts or ".." in parts:
        raise ValueError('an address has no "." or ".." in it')
    scheme = SCHEMES[scheme.lower()]
    if scheme == "s3a" and not authority:
        raise ValueError("an address of s3a:// begins with a bucket")
    return Remote(Store(scheme, authority, settings), "/".join(parts))


def _path(text: str) -> Path:
    found = urlsplit(text)
    if found.netloc not in ("", "localhost"):
        raise ValueError(f"a file of {found.netloc} is not on this machine")
    if found.query or found.fragment or not found.path.startswith("/"):
        raise ValueError("a file's address is file:///PATH")
    return Path(unquote(found.path))


def absolute(where: Location) -> Location:
    """The same from wherever one looks at it."""
    return where.resolve() if isinstance(where, Path) else where


def make(directory: Location) -> None:
    """A directory to write in. Raises OSError."""
    if isinstance(directory, Path):
        directory.mkdir(parents=True, exist_ok=True)
    else:
        directory.make()


def segments(log: Location) -> Sequence[Location]:
    """The segments of a log, in order. Raises OSError."""
    return segment_paths(log) if isinstance(log, Path) else log.segments()


def size(segment: Location) -> int:
    """Its octets. Raises OSError where it could not be read."""
    return whole.segment_size(segment) if isinstance(segment, Path) else segment.size()


def read(segment: Location) -> bytes:
    """A segment. Raises OSError."""
    if isinstance(segment, Path):
        return whole.read_segment(segment)
    return segment.read(whole.SEGMENT_MAX)


def write(path: Location, text: str) -> None:
    """Put it in a file that somebody may be reading: either the old text or all of the new one."""
    if isinstance(path, Path):
        beside = path.with_name(path.name + ".new")
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, path)
    else:
        path.write(text)


def head(segment: Location, octets: int) -> bytes:
    """The first octets of a segment, so many at most. Raises OSError."""
    return whole.read_head(segment, octets) if isinstance(segment, Path) else segment.head(octets)


def anchors(path: Location) -> tuple[str, bytes]:
    """A file of heads: where it is, and what is in it. Raises OSError."""
    if isinstance(path, Path):
        return str(path), whole.read_whole(path, whole.ANCHORS_MAX)
    return str(path), path.read(whole.ANCHORS_MAX)


def tables(directory: Location) -> Sequence[Location]:
    """The files of Parquet that Spark has written there. Raises OSError."""
    if isinstance(directory, Path):
        return sorted(directory.glob("*.parquet"))
    names = [each.name for each in directory.listed() if each.octets != FOLDER]
    return [directory / name for name in names if name.endswith(".parquet")]


def opened(table: Location) -> Any:
    """What pyarrow reads one from. Any: it has no types. Raises OSError."""
    return table if isinstance(table, Path) else table.opened()


def log_id(log: Location) -> str:
    """As `ends.log_id_in`."""
    if isinstance(log, Path):
        return ends.log_id_in(log)
    for segment in reversed(log.segments()):
        header = Segment(segment.name, segment.head(HEADER_OCTETS)).header
        if header is not None and header.log:
            return header.log
    return ""


def copy(source: Path, path: Location) -> None:
    """A file of this machine to where none is yet. Raises OSError."""
    if isinstance(path, Path):
        shutil.copyfile(source, path)
    else:
        with source.open("rb") as file:
            path.fill(iter(lambda: file.read(whole.PIECE), b""))


def remove(directory: Location) -> None:
    """With all that is in it; not there: nothing. Raises OSError."""
    if isinstance(directory, Path):
        with suppress(FileNotFoundError):
            shutil.rmtree(directory)
    else:
        directory.remove()


@contextmanager
def books_here(books: Location, number: int = 0) -> Iterator[Path]:
    """Closed books as directories of this machine: copies, of those that are elsewhere. OSError.

    `number`: of the one that is needed; 0: all are.
    """
    if isinstance(books, Path):
        yield books
        return
    with TemporaryDirectory(prefix="books-") as scratch:
        for each in books.listed():
            which = book_number(each.name) if each.octets == FOLDER else 0
            if which and number in (0, which):
                _fetch(books / each.name, Path(scratch, each.name))
        yield Path(scratch)


def _fetch(book: Remote, copy: Path) -> None:
    copy.mkdir()
    for each in book.listed():
        if each.octets != FOLDER and _TABLE.fullmatch(each.name):
            with (copy / each.name).open("wb") as file:
                file.writelines((book / each.name).pieces())
