"""Whether a verb must wait until an upstream has said that it can be done.

An answer is given at once where the gateway knows it: for local and unknown names, and where the
upstream cannot be asked.
"""

from __future__ import annotations

from typing import final

from gateway.bridge.remote.feeds import Feeds
from gateway.bridge.remote.remote import LookUpWaiter
from gateway.bridge.topology import Topology


@final
class Reaching:
    """Asks the upstreams of one host's remote nodes."""

    __slots__ = ("_feeds", "_host", "_topology")

    def __init__(self, host: str, topology: Topology, feeds: Feeds) -> None:
        self._host = host
        self._topology = topology
        self._feeds = feeds

    def look_up(self, name: str, waiter: LookUpWaiter, token: int) -> bool:
        """Whether to wait for `waiter.on_looked_up(token, refusal)`: an upstream was asked.

        `False` for local and unknown names: what the gateway knows is the answer.
        """
        queue = self._topology.find_queue(name)
        if queue is None or queue.placement is None:
            return False
        return queue.placement.remote.look_up(self._host, name, waiter, token)

    def reach(self, name: str, waiter: LookUpWaiter, token: int) -> bool:
        """Whether to wait for `waiter.on_looked_up(token, refusal)` before publishing to a queue.

        `False` for local and unknown names, where the gateway keeps messages, and where the
        upstream is known to have the node, or cannot be asked: then they wait for it. An upstream
        that does not say so soon is taken to have it.
        """
        queue = self._topology.find_queue(name)
        placement = None if queue is None else queue.placement
        if queue is None or placement is None or placement.spool or placement.rests:
            return False
        return placement.remote.reach(queue, waiter, token)

    def reach_binding(
        self, queue: str, exchange: str, key: str, waiter: LookUpWaiter, token: int
    ) -> bool:
        """Whether to wait for `waiter.on_looked_up(token, None)` until a binding takes effect.

        `False` for local exchanges, and where the upstream feeds it already, does not want to, or
        cannot be asked: then it takes effect later. The waiter is told, too, when the upstream does
        not want to, or does not say so soon.
        """
        feed = self._feeds.by_binding.get((exchange, queue, key))
        return feed is not None and feed.reach(waiter, token)
