"""What a switch leaves behind: the messages that queues have at their old upstream."""

from __future__ import annotations

from typing import Final, final

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall

from gateway.bridge.bridge import Bridge
from gateway.faces.dialled.dialled import DialledUpstream
from gateway.net.alarm import Later
from gateway.net.upstreams.upstreams import Upstreams

PATIENCE_S: Final = 2.0
ASKED_MAX: Final = 20  # queues; of a pattern with more than that the others are counted


@final
class Count:
    """How much one queue has there. Implements `DepthWaiter`; -1: nobody has said."""

    def __init__(self, behind: Behind, queue: str) -> None:
        self.queue = queue
        self.messages = -1
        self._behind = behind

    def on_depth(self, messages: int) -> None:
        """See `DepthWaiter`."""
        self.messages = messages
        self._behind.heard()


@final
class Behind:
    """Asks, and tells in words, for one rule.

    Args:
        rule: its place among the rules in force, before the switch.
    """

    def __init__(self, later: Later, bridge: Bridge, upstreams: Upstreams, rule: int) -> None:
        placements = upstreams.placements
        placement = placements.of(placements.rules.rules[rule])
        self._later = later
        self._upstream: DialledUpstream | None = None
        self._queues: list[tuple[str, str]] = []
        self._counts: list[Count] = []
        self._left = 0
        self._timer: IDelayedCall | None = None
        self._done: Deferred[str] = Deferred()
        if placement is not None:
            self._upstream = upstreams.upstreams[placement.remote.name]
            self._queues = [
                (host.name, queue.name)
                for host in bridge.hosts.values()
                for queue in host.topology.queues.values()
                if queue.placement is placement
            ]

    def told(self, answer: str) -> Deferred[str]:
        """`answer`, and what stays behind, as far as it is said soon."""
        upstream = self._upstream
        if upstream is not None:
            for host, name in self._queues[:ASKED_MAX]:
                count = Count(self, name)
                self._counts.append(count)
                if upstream.health.connected and upstream.ask_depth(host, name, count):
                    self._left += 1
        self._done.addCallback(lambda _none: answer + self._in_words())
        if self._left:
            self._timer = self._later.callLater(PATIENCE_S, self._end)
        else:
            self._done.callback("")
        return self._done

    def heard(self) -> None:
        """One more has been answered."""
        self._left -= 1
        if self._left == 0:
            self._end()

    def _end(self) -> None:
        timer, self._timer = self._timer, None
        if timer is None:
            return
        if timer.active():
            timer.cancel()
        self._done.callback("")

    def _in_words(self) -> str:
        if self._upstream is None:
            return ""
        name = self._upstream.name
        told = ""
        for count in self._counts:
            if count.messages > 0:
                told += f"; {count.messages} messages of {count.queue!r} stay at {name}"
        unknown = [count.queue for count in self._counts if count.messages < 0]
        more = len(self._queues) - len(self._counts)
        if unknown or more:
            which = ", ".join(repr(queue) for queue in unknown)
            if more:
                which += f" and {more} more" if which else f"{more} queues"
            told += f"; what {name} holds of {which} stays there, and it does not say how much"
        return f"{told} (`migrate move` takes it along)" if told else ""
