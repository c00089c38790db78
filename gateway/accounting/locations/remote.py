"""A directory or file on another machine: in a bucket (s3a), or in Hadoop's file system (hdfs).

Whatever is wrong is an OSError with a `strerror` and the location's name, as it is of files here,
and never with a secret.
"""

from __future__ import annotations

import errno
import mimetypes
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, final

from gateway.accounting.locations import s3a
from gateway.accounting.locations.settings import Settings
from gateway.audit.schema import segment_numbers
from gateway.files.whole import PIECE

SAID_MAX: Final = 300
FOLDER: Final = -1  # as its octets

_AMAZON: Final = re.compile(r"AWS Error (.+?) during \w+ operation: (.*)", re.DOTALL)
_REQUEST: Final = re.compile(r" \(Request ID: [^)]*\)")
_DETAILS: Final = re.compile(r".*; Details: (?=.)", re.DOTALL)


class Entry(NamedTuple):
    """What is in a directory; `octets`: of a directory `FOLDER`. `modified_s`: since 1970, or 0."""

    name: str
    octets: int
    modified_s: float


@final
class Store:
    """One bucket, or one Hadoop file system; what it is reached by is made when it is needed."""

    def __init__(
        self, scheme: str, authority: str, settings: Settings, filesystem: Any = None
    ) -> None:
        """Any: as `filesystem`, if it is there already."""
        self.scheme, self.authority, self.settings = scheme, authority, settings
        self._filesystem = filesystem

    def __getstate__(self) -> dict[str, Any]:  # Any: what pickle takes
        return self.__dict__ | {"_filesystem": None}

    @property
    def is_objects(self) -> bool:
        """An object is put as a whole, and directories are there as soon as something is in."""
        return self.scheme == "s3a"

    def filesystem(self) -> Any:
        """Any: pyarrow has no types. Raises OSError."""
        if self._filesystem is None:
            try:
                self._filesystem = self._made()
            except (OSError, ValueError, ImportError) as error:  # of a pyarrow that has no S3
                told = self.settings.without_secrets(in_short(str(error)))
                where = f"{self.scheme}://{self.authority}"
                raise OSError(errno.EINVAL, told, where) from None
        return self._filesystem

    def _made(self) -> Any:
        if self.is_objects:
            return s3a.filesystem(self.authority, self.settings)
        from pyarrow.fs import HadoopFileSystem

        return HadoopFileSystem.from_uri(f"hdfs://{self.authority or 'default'}")


@final
class Remote:
    """What has a URI; `octets`: those it had when it was listed, if it was.

    Attributes:
        name: the last part of its path.
    """

    def __init__(self, store: Store, key: str, octets: int | None = None) -> None:
        self._store, self._key, self._octets = store, key, octets
        self.name = key.rpartition("/")[2]

    def __truediv__(self, name: str) -> Remote:
        return Remote(self._store, f"{self._key}/{name}" if self._key else name)

    def __str__(self) -> str:
        """As Spark, too, is given it."""
        return f"{self._store.scheme}://{self._store.authority}/{self._key}".rstrip("/")

    __repr__ = __str__

    @property
    def scheme(self) -> str:
        """Of its URI."""
        return self._store.scheme

    @property
    def parent(self) -> Remote:
        """The directory that it is in."""
        return Remote(self._store, self._key.rpartition("/")[0])

    @property
    def _path(self) -> str:
        root = self._store.authority if self._store.is_objects else ""
        return f"{root}/{self._key}".rstrip("/")

    def listed(self) -> list[Entry]:
        """What is in this directory, by name; of one that is not there nothing. Raises OSError."""
        from pyarrow.fs import FileSelector

        found: list[Entry] = []
        try:
            with self._telling():
                for info in self._store.filesystem().get_file_info(FileSelector(self._path)):
                    octets = info.size if info.is_file else FOLDER
                    found.append(Entry(info.base_name, octets, (info.mtime_ns or 0) / 1e9))
        except FileNotFoundError:
            return []
        return sorted(found)

    def segments(self) -> list[Remote]:
        """Those of a log, in order. Raises OSError."""
        return [
            Remote(self._store, f"{self._key}/{each.name}".lstrip("/"), each.octets)
            for each in self.listed()
            if segment_numbers(each.name)[0]
        ]

    def size(self) -> int:
        """Octets of a file. Raises OSError."""
        octets = self._octets
        if octets is None:
            info = self._info()
            octets = info.size if info.is_file else FOLDER
            if not info.is_file and not self._is_folder(info):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self))
        if octets == FOLDER:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(self))
        return octets

    def is_folder(self) -> bool:
        """Whether there is such a directory. Raises OSError."""
        return self._is_folder(self._info())

    def _info(self) -> Any:  # Any: pyarrow's
        with self._telling():
            return self._store.filesystem().get_file_info(self._path)

    @staticmethod
    def _is_folder(info: Any) -> bool:
        return bool(info.type.name == "Directory")

    def opened(self) -> Any:
        """For pyarrow, which may read anywhere in it. Raises OSError."""
        if self._octets == FOLDER:
            self.size()
        with self._telling():
            return self._store.filesystem().open_input_file(self._path)

    def read(self, octets_max: int) -> bytes:
        """What is in a file. Raises OSError, too, if it is larger."""
        with self.opened() as file, self._telling():
            octets: bytes = file.read(octets_max + 1) if file.size() <= octets_max else b""
            if file.size() > octets_max or len(octets) > octets_max:
                raise OSError(errno.EFBIG, f"is larger than {octets_max} octets", str(self))
        return octets

    def head(self, octets: int) -> bytes:
        """The first octets of a file, so many at most. Raises OSError."""
        with self.opened() as file, self._telling():
            found: bytes = file.read(octets)
        return found

    def pieces(self) -> Iterator[bytes]:
        """What is in a file, a piece at a time. Raises OSError."""
        with self.opened() as file, self._telling():
            while piece := file.read(PIECE):
                yield piece

    def make(self) -> None:
        """See that things can be put in this directory, as far as that can be seen. OSError."""
        from pyarrow.fs import FileSelector

        with self._telling():
            filesystem = self._store.filesystem()
            if not self._store.is_objects:
                filesystem.create_dir(self._path, recursive=True)
                return
            try:  # in a bucket that is not there, there is no error of a missing path
                filesystem.get_file_info(FileSelector(self._path))
            except FileNotFoundError:
                return

    def write(self, text: str) -> None:
        """Put this in a file that somebody may be reading: the old or the new. Raises OSError."""
        with self._telling():
            if self._store.is_objects:
                self._put(self._path, text)
                return
            filesystem, beside = self._store.filesystem(), f"{self._path}.new"
            self._put(beside, text)
            if self._store.scheme == "hdfs" and self._info().is_file:
                filesystem.delete_file(self._path)  # it moves nothing onto what is there
            filesystem.move(beside, self._path)

    def fill(self, pieces: Iterable[bytes]) -> None:
        """Put these in a file that is not there yet. Raises OSError."""
        with self._telling(), self._store.filesystem().open_output_stream(self._path) as file:
            for piece in pieces:
                file.write(piece)

    def _put(self, path: str, text: str) -> None:
        kind = mimetypes.guess_type(self.name)[0] or "application/octet-stream"
        about = {"Content-Type": f"{kind}; charset=utf-8" if kind == "text/html" else kind}
        with self._store.filesystem().open_output_stream(path, metadata=about) as file:
            file.write(text.encode())

    def remove(self) -> None:
        """This file, or this directory with all that is in it; not there: nothing. OSError."""
        with self._telling():
            info = self._info()
            if info.is_file:
                self._store.filesystem().delete_file(self._path)
            elif self._is_folder(info):
                self._store.filesystem().delete_dir(self._path)

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Of what goes wrong within, an OSError as the others are."""
        from pyarrow import ArrowException

        try:
            yield
        except FileNotFoundError:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self)) from None
        except (OSError, ArrowException) as error:
            if isinstance(error, OSError) and error.filename:  # it is one
                raise
            told = self._store.settings.without_secrets(in_short(str(error)))
            raise OSError(errno.EIO, told, str(self)) from None


def in_short(said: str) -> str:
    """What pyarrow says, in one line."""
    found = _AMAZON.search(said)
    if found:
        code, why = found.groups()
        said = f"{_DETAILS.sub('', _REQUEST.sub('', why)).strip()} ({code})"
    lines = said.strip().splitlines()
    return lines[0][:SAID_MAX] if lines else "no more is known"
