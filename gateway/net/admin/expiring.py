"""When the certificates that are shown to upstreams expire, for the metrics.

Files are read, so a thread does it. Nobody waits for that: what it finds is told the next time.
"""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Mapping
from typing import final

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from gateway.config.upstreams import UpstreamSection
from gateway.metrics import Sample
from gateway.net.tls.validity import NO_TIME, expires_s

Found = dict[str, float]


@final
class UpstreamCertificates:
    """Those of all upstreams that are configured now."""

    log = Logger()

    def __init__(
        self,
        upstreams: Callable[[], Mapping[str, UpstreamSection]],
        in_thread: Callable[[Callable[[], Found]], Deferred[Found]],
    ) -> None:
        self._upstreams = upstreams
        self._in_thread = in_thread
        self._found: Found = {}
        self._asked = False

    def samples(self) -> list[Sample]:
        """What is known by now; and have it looked at anew."""
        upstreams = self._upstreams()
        files = {
            name: section.tls.certificate
            for name, section in upstreams.items()
            if section.tls is not None and section.tls.certificate is not None
        }
        if files and not self._asked:
            self._asked = True
            self._in_thread(lambda: _read(files)).addBoth(self._answered)
        return [((name,), self._found.get(name, NO_TIME)) for name in upstreams]

    def _answered(self, found: Found | Failure) -> None:
        self._asked = False
        if isinstance(found, Failure):
            self.log.failure("certificates cannot be read", found)
        else:
            self._found = found


def _read(files: dict[str, pathlib.Path]) -> Found:
    """In a thread."""
    return {name: expires_s(path) for name, path in files.items()}
