"""A 1.0 container of Proton's that redirects every link to another port of loopback.

`python -P redirecting_peer.py PORT TARGET PREFIX [HOSTNAME]` listens on PORT and sends what
attaches to TARGET; the address stays, but for PREFIX, which is left out.
"""

from __future__ import annotations

import sys
from typing import Any, Final

from proton import Condition, symbol, ushort
from proton.handlers import MessagingHandler
from proton.reactor import Container

LOOPBACK: Final = "127.0.0.1"


class Redirecting(MessagingHandler):  # type: ignore[misc]  # proton has no type information
    """Refuses each link with a redirect."""

    def __init__(self, port: str, target: str, prefix: str, hostname: str = "") -> None:
        super().__init__(prefetch=0, auto_accept=False)
        self._port = port
        self._target = int(target)
        self._prefix = prefix
        self._hostname = hostname

    def on_start(self, event: Any) -> None:
        """Called by Proton at first."""
        event.container.listen(f"{LOOPBACK}:{self._port}")
        print("listening", flush=True)

    def on_link_local_open(self, event: Any) -> None:
        """Called by Proton when it has answered an attach: without an address, then detached."""
        link = event.link
        terminus = link.remote_source if link.is_sender else link.remote_target
        info = {
            symbol("network-host"): LOOPBACK,
            symbol("port"): ushort(self._target),
            symbol("address"): (terminus.address or "").removeprefix(self._prefix),
        }
        if self._hostname:
            info[symbol("hostname")] = self._hostname
        link.condition = Condition("amqp:link:redirect", "the node is elsewhere", info)
        link.close()


if __name__ == "__main__":
    Container(Redirecting(*sys.argv[1:])).run()
