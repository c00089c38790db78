"""A reload when the files that it would read are others than those that count.

They are looked at again and again: what Kubernetes mounts changes by a link that is swapped, of
which nobody is told. Two looks have to find the same, since a file may be half written, and others
come after it. What was refused is tried again when it changes.
"""

from __future__ import annotations

import hashlib
import pathlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final, Protocol, final

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from gateway.config import Settings
from gateway.files.whole import CERTIFICATES_MAX, CONFIGURATION_MAX, USERS_MAX, read_regular
from gateway.net.counts import NetCounts
from gateway.net.upstreams.reload import Operator
from gateway.translate.profiles.loading import is_path

WATCHED: Final = Operator("changed files")
Prints = dict[pathlib.Path, str]  # of what is in each, or why that is not known


class Reload(Protocol):
    """Has the files, as they are now, count."""

    def __call__(self, by: Operator, /) -> Deferred[bool | None]:
        """Whether they do; `None`: something else is under way."""


def prints(files: Iterable[tuple[pathlib.Path, int]]) -> Prints:
    """Of each file, of so many octets at most; in a thread."""
    return {path: _print(path, octets_max) for path, octets_max in files}


def _print(path: pathlib.Path, octets_max: int) -> str:
    if not path.is_file():  # whoever writes to a pipe would take this for its reading
        return "no file"
    try:
        return hashlib.sha256(read_regular(path, octets_max)).hexdigest()
    except OSError as error:
        return f"error {error.errno}"


def reloaded(settings: Settings) -> Iterator[tuple[pathlib.Path, int]]:
    """What a reload reads, beside what is read each second without one."""
    if settings.file is not None:
        yield settings.file, CONFIGURATION_MAX
    access, audit, tls = settings.access, settings.audit, settings.tls
    profiles = [each.profile for each in settings.upstreams.values() if is_path(each.profile)]
    named = [
        *(settings.users_file, access.file, access.qpidd_file),
        *(audit.signing_key_file, audit.book_keys_file),
        *map(pathlib.Path, profiles),
    ]
    if tls is not None:
        named += [tls.certificate, tls.key, tls.client_ca, tls.client_crl]
    for path in named:
        if path is not None:
            yield path, max(USERS_MAX, CERTIFICATES_MAX)


@final
class Watching:
    """What the files were when they were read, and what they are.

    Args:
        settings: those in force.
        in_thread: runs what reads files.

    Attributes:
        looking: they are being looked at, or read.
    """

    log = Logger()

    def __init__(
        self,
        settings: Callable[[], Settings],
        *,
        in_thread: Callable[[Callable[[], Prints]], Deferred[Prints]],
        reload: Reload,
        counts: NetCounts,
    ) -> None:
        self._settings = settings
        self._in_thread = in_thread
        self._reload = reload
        self._counts = counts
        self._in_force = prints(reloaded(settings()))
        self._refused: Prints | None = None
        self._last: Prints | None = None
        self.looking = False
        self._read: tuple[Settings, Prints] | None = None

    def reading(self, read_again: Callable[[], Settings]) -> Settings:
        """Read the configuration, and note what it was read from; in a thread."""
        before = prints(reloaded(self._settings()))
        settings = read_again()
        self._read = settings, before
        return settings

    def before(self, settings: Settings) -> Prints:
        """The files of settings whose files are about to be read; in a thread."""
        found = prints(reloaded(settings))
        was = self._in_force
        if self._read is not None and self._read[0] is settings:
            was = self._read[1]
        if settings.file in was:
            found[settings.file] = was[settings.file]
        return found

    def adopt(self, found: Prints) -> None:
        """They count."""
        self._in_force = found

    def look(self) -> None:
        """Have the files looked at, and a reload made of what is another, and settled."""
        if self.looking:
            return
        self.looking = True
        files = list(reloaded(self._settings()))
        self._in_thread(partial(prints, files)).addBoth(self._looked)

    def _looked(self, found: Prints | Failure) -> None:
        self.looking = False
        if isinstance(found, Failure):
            self.log.failure("files of the configuration could not be looked at", found)
            return
        settled, self._last = found == self._last, found
        if found == self._in_force:
            self._tell(None)
        elif settled and found != self._refused:
            self.looking = True
            self._reload(WATCHED).addBoth(partial(self._reloaded, found))

    def _reloaded(self, found: Prints, done: bool | Failure | None) -> None:
        self.looking = False
        if done is True:
            self._tell(None)
        elif done is not None:
            self._tell(found)

    def _tell(self, refused: Prints | None) -> None:
        self._refused = refused
        self._counts.refused_files = int(refused is not None)
