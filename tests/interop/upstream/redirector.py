"""A 1.0 container of Proton's that redirects every link: a program, and who starts and stops it.

`python -P redirector.py PORT TARGET [HOSTNAME]` listens on loopback and sends what attaches to
TARGET, another port there; the address stays, but for a prefix `moved.` that is left out.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from proton import Condition, symbol, ushort
from proton.handlers import MessagingHandler
from proton.reactor import Container

LOOPBACK: Final = "127.0.0.1"
READY: Final = "listening"
PREFIX: Final = "moved."


class Redirector:
    """The process, which may come and go; a context manager."""

    def __init__(self, port: int, target: int, hostname: str = "") -> None:
        self._arguments = [str(port), str(target), *([hostname] if hostname else [])]
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
        program = [sys.executable, "-P", str(Path(__file__).resolve())]
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


class Redirecting(MessagingHandler):  # type: ignore[misc]  # proton has no type information
    """Refuses each link with a redirect."""

    def __init__(self, port: str, target: str, hostname: str = "") -> None:
        super().__init__(prefetch=0, auto_accept=False)
        self._port = port
        self._target = int(target)
        self._hostname = hostname

    def on_start(self, event: Any) -> None:
        """Called by Proton at first."""
        event.container.listen(f"{LOOPBACK}:{self._port}")
        print(READY, flush=True)

    def on_link_local_open(self, event: Any) -> None:
        """Called by Proton when it has answered an attach: without an address, then detached."""
        link = event.link
        terminus = link.remote_source if link.is_sender else link.remote_target
        info = {
            symbol("network-host"): LOOPBACK,
            symbol("port"): ushort(self._target),
            symbol("address"): (terminus.address or "").removeprefix(PREFIX),
        }
        if self._hostname:
            info[symbol("hostname")] = self._hostname
        link.condition = Condition("amqp:link:redirect", "the node is elsewhere", info)
        link.close()


if __name__ == "__main__":
    Container(Redirecting(*sys.argv[1:])).run()
