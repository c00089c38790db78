"""The feeds of one virtual host: one for each binding to a remote exchange, while there is one."""

from __future__ import annotations

from typing import final

from gateway.bridge.exchanges.exchange import Binding, Exchange
from gateway.bridge.limits import BridgeLimits
from gateway.bridge.numbers import Numbers
from gateway.bridge.publishing import Publishing
from gateway.bridge.queues.dispatch import Dispatcher
from gateway.bridge.remote.feed import BindingFeed
from gateway.bridge.remote.sources import Sources


@final
class Feeds:
    """Implements `bindings.Feeding`.

    Attributes:
        by_binding: by exchange, queue and key of the binding.
        started: everything is recovered; before that, none is made.
    """

    __slots__ = (
        "_dispatcher",
        "_limits",
        "_numbers",
        "_publishing",
        "_sources",
        "_starved",
        "by_binding",
        "started",
    )

    def __init__(
        self,
        sources: Sources,
        publishing: Publishing,
        dispatcher: Dispatcher,
        numbers: Numbers,
        limits: BridgeLimits,
    ) -> None:
        self._sources = sources
        self._publishing = publishing
        self._dispatcher = dispatcher
        self._numbers = numbers
        self._limits = limits
        self._starved: list[BindingFeed] = []  # those that had no room
        self.by_binding: dict[tuple[str, str, str], BindingFeed] = {}
        self.started = False

    def on_bound(self, exchange: Exchange, binding: Binding) -> None:
        """A queue is bound to a remote exchange: a link from its node, if there is none yet."""
        placement = exchange.placement
        key = (exchange.name, binding.queue.name, binding.key)
        if placement is None or not self.started or key in self.by_binding:
            return
        feed = BindingFeed(
            exchange,
            binding,
            self._sources.of(placement.remote),
            self._publishing,
            self._dispatcher,
            link=self._numbers.next_link(),
            prefetch=self._limits.remote_prefetch,
            starved=self._starved,
        )
        self.by_binding[key] = feed
        feed.connect(placement.remote.feed(feed))

    def on_unbound(self, exchange: Exchange, binding: Binding) -> None:
        """It no longer is: nothing more is wanted for it."""
        feed = self._pop(exchange, binding)
        if feed is not None:
            feed.close()

    def move(self, exchange: Exchange, binding: Binding) -> None:
        """The exchange lives elsewhere from now on; another feed is made from its new node."""
        feed = self._pop(exchange, binding)
        if feed is not None:
            feed.move()

    def stop(self) -> None:
        """Nothing more is wanted from upstreams."""
        for feed in self.by_binding.values():
            feed.stop()

    def tend(self) -> None:
        """Those for which there was no room: is there now?"""
        if self._starved:
            hungry = self._starved.copy()
            self._starved.clear()
            for feed in hungry:
                feed.feed_again()

    def _pop(self, exchange: Exchange, binding: Binding) -> BindingFeed | None:
        return self.by_binding.pop((exchange.name, binding.queue.name, binding.key), None)
