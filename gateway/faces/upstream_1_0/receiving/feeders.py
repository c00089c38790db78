"""The feeders of one upstream: which bindings are fed, and from where."""

from __future__ import annotations

from typing import final

from gateway.bridge.remote.remote import Feed
from gateway.faces.upstream_1_0.context import UpstreamContext
from gateway.faces.upstream_1_0.managing.management import Management
from gateway.faces.upstream_1_0.managing.tidying import Tidier
from gateway.faces.upstream_1_0.receiving.feeder import Feeder


@final
class Feeders:
    """Implements `feeder.FeederList`, `tidying.Fed`.

    Attributes:
        tidier: removes what was made for bindings at the upstream.
    """

    __slots__ = ("_feeders", "_management", "_upstream", "tidier")

    def __init__(self, upstream: UpstreamContext, management: Management) -> None:
        self._upstream = upstream
        self._management = management
        self._feeders: dict[Feeder, None] = {}
        self.tidier = Tidier(upstream, management, self)

    def open(self, feed: Feed) -> Feeder:
        """A link for one binding."""
        feeder = Feeder(self._upstream, self._management, self.tidier, self, feed)
        self._feeders[feeder] = None
        self._upstream.takers.add(feeder)
        return feeder

    def forget(self, feeder: Feeder) -> None:
        """Its link is over."""
        self._feeders.pop(feeder, None)

    def fed_from(self, queue: str) -> list[Feed]:
        """The bindings that are fed from a queue of the gateway's making at the upstream."""
        return [
            feeder.feed
            for feeder in self._feeders
            if feeder.managed is not None and feeder.managed.queue == queue
        ]

    def of_exchange(self, host: str, exchange: str) -> list[Feeder]:
        """Those of one exchange's bindings."""
        return [
            feeder
            for feeder in self._feeders
            if feeder.feed.exchange == exchange and feeder.feed.host == host
        ]
