"""What stands for each upstream in the ledger, where its messages come in."""

from __future__ import annotations

from typing import final

from gateway.bridge.exchanges.exchange import DIRECT, Exchange
from gateway.bridge.remote.remote import Remote
from gateway.bridge.topology import Topology


@final
class Sources:
    """One exchange an upstream, which nobody can name, for one virtual host.

    Attributes:
        by_upstream: those that were needed so far, by the upstream's name.
    """

    __slots__ = ("_topology", "by_upstream")

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self.by_upstream: dict[str, Exchange] = {}

    def of(self, remote: Remote) -> Exchange:
        """That of an upstream."""
        source = self.by_upstream.get(remote.name)
        if source is None:
            source = self._topology.predeclare(f"upstream {remote.name}", DIRECT)
            self.by_upstream[remote.name] = source
        return source
