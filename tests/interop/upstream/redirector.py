"""Starts and stops the container that redirects every link: `peers/redirecting_peer.py`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Final, Self

PROGRAM: Final = Path(__file__).parents[1] / "peers" / "redirecting_peer.py"
READY: Final = "listening"
PREFIX: Final = "moved."  # of an address: the redirect leaves it out


class Redirector:
    """The process, which may come and go; a context manager."""

    def __init__(self, port: int, target: int, hostname: str = "") -> None:
        self._arguments = [str(port), str(target), PREFIX, *([hostname] if hostname else [])]
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Return when it listens."""
        program = [sys.executable, "-P", str(PROGRAM)]
        self._process = subprocess.Popen(
            [*program, *self._arguments], stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline().strip() == READY

    def stop(self) -> None:
        """It is gone, and its connections with it."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()
