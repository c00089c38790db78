"""One queue's messages on their way from an upstream to another one, or here, as operators see it.

The carrying is the bridge's (`bridge.remote.carrying`). What is here looks after it ten times a
second: how fast it may go, whether the old place is empty, why it waits, and when it is over. It
knows nothing that a restart would have to know: what is left is at the old place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, final

from gateway.bridge.remote.carrying import NO_LIMIT, REFUSED_MAX, Carrier, Carriers
from gateway.faces.dialled.dialled import DialledUpstream
from gateway.message import Condition

AGAIN_MS: Final = 2_000  # from a refusal that may pass to the next link
DEPTH_MS: Final = 1_000  # how often the old place is asked how much is left
BURST_S: Final = 0.2  # so much of the rate may be used at once
# Why the old place will not give the queue to us, however often it is asked.
FINAL: Final = (
    Condition.NOT_FOUND,
    Condition.RESOURCE_DELETED,
    Condition.UNAUTHORIZED_ACCESS,
    Condition.NOT_IMPLEMENTED,
)


class End(NamedTuple):
    """A queue at one place.

    Attributes:
        upstream: where; "": here.
        queue: as the gateway calls it.
    """

    upstream: str
    queue: str

    def __str__(self) -> str:
        return f"{self.upstream or 'here'}:{self.queue}"


class Wanted(NamedTuple):
    """What is to be moved.

    Attributes:
        host: the virtual host.
        source, target: from where to where.
        rate: messages a second; 0: as fast as it goes.
        follow: also what comes later, until it is stopped.
    """

    host: str
    source: End
    target: End
    rate: int = 0
    follow: bool = False


@final
class Move:
    """One of them. Implements `DepthWaiter`.

    Attributes:
        number: by which operators call it.
        wanted: what was asked for.
        stays: somebody else ends it: that it is empty is not the end.
        state: "running", "waiting", "stopping"; over: "done", "stopped", "failed".
        problem: why it waits, or failed.
        begun_ms, ended_ms: when; 0: it has not ended.
    """

    def __init__(
        self,
        number: int,
        wanted: Wanted,
        source: DialledUpstream,
        target: DialledUpstream | None,
        carriers: Carriers,
        now_ms: int,
        *,
        stays: bool = False,
    ) -> None:
        self.number = number
        self.wanted = wanted
        self.source = source
        self.target = target
        self.stays = stays
        self.state = "running"
        self.problem = ""
        self.begun_ms = now_ms
        self.ended_ms = 0
        self.on_end: Callable[[], None] = lambda: None
        self._ends_as = ""
        self._looked_ms = now_ms
        self._fraction = 0.0  # of a message
        self._retry_ms = 0
        self._depth_ms = 0
        self._asking = 0  # questions that have no answer yet
        self._free = -1  # so many the old place had to give when it was asked last; it may not say
        self._asked_last = False
        self.carrier: Carrier = carriers.begin(
            source, wanted.source.queue, target, wanted.target.queue
        )
        self.carrier.allowance = 0 if wanted.rate else NO_LIMIT

    @property
    def over(self) -> bool:
        """It has ended."""
        return self.ended_ms > 0

    @property
    def empty(self) -> bool:
        """The old place had nothing more, and has no more, where it can say how much it has."""
        return self.carrier.empty and self._free <= self.carrier.refused

    @property
    def left(self) -> int:
        """So many messages are at the old place, of which it has given some; -1: it does not say.

        What is under way, and what the new place did not take, is there until the end, and what has
        gone back is among what it has to give.
        """
        if self._free < 0 or self.over:
            return self._free
        return self._free + self.carrier.open + self.carrier.refused

    def look(self, now_ms: int, upstreams: dict[str, DialledUpstream]) -> None:
        """Every now and then, as the turns do."""
        if self._ends_as:
            self._end_if_over(now_ms)
            return
        carrier = self.carrier
        self._pace(now_ms)
        carrier.look()
        failed = self._failure(upstreams)
        if failed:
            self._leave("failed", failed)
        elif self.empty and not self.stays and not self.wanted.follow:
            self._leave("done", "")
        else:
            self.problem = self._why_it_waits()
            self.state = "waiting" if self.problem else "running"
            self._try_again(now_ms)
            self._ask_depth(now_ms)

    def stop(self) -> None:
        """An operator wants no more of it."""
        self._leave("stopped", "")

    def finish(self) -> None:
        """It may end now, if the old place is empty."""
        self.stays = False

    def look_again(self) -> None:
        """What it found empty may be so no more."""
        self.carrier.look_again()

    def on_depth(self, messages: int) -> None:
        """See `DepthWaiter`."""
        self._asking -= 1
        self._free = messages

    def _leave(self, ends_as: str, problem: str) -> None:
        if self._ends_as:
            return
        self._ends_as = ends_as
        self.state = "stopping"
        self.problem = problem
        self.carrier.leave()

    def _end_if_over(self, now_ms: int) -> None:
        if not self.over and self.carrier.ended() and not self._is_asking_last(now_ms):
            self.state = self._ends_as
            self.ended_ms = now_ms
            self.on_end()

    def _is_asking_last(self, now_ms: int) -> bool:
        """Whether it is not known yet what the old place has, with what has gone back."""
        if not self._asked_last and self.source.health.connected:
            self._asked_last, self._depth_ms = True, now_ms + AGAIN_MS
            self._ask()
        return self._asking > 0 and self.source.health.connected and now_ms < self._depth_ms

    def _pace(self, now_ms: int) -> None:
        """How many more may come, by the rate."""
        rate = self.wanted.rate
        if rate == 0:
            return
        gained = self._fraction + rate * max(now_ms - self._looked_ms, 0) / 1000
        self._looked_ms = now_ms
        self._fraction = gained % 1
        most = max(int(rate * BURST_S), 1)
        self.carrier.allowance = min(self.carrier.allowance + int(gained), most)

    def _failure(self, upstreams: dict[str, DialledUpstream]) -> str:
        """Why it cannot go on; "": it can."""
        carrier = self.carrier
        for upstream in (self.source, self.target):
            if upstream is not None and upstreams.get(upstream.name) is not upstream:
                return f"upstream {upstream.name} is another by now: begin again"
        if carrier.refusal is not None and carrier.refusal.condition in FINAL:
            return f"{self.wanted.source}: {carrier.refusal.description}"
        if carrier.refused >= REFUSED_MAX:
            return (
                f"{self.wanted.target} did not take {carrier.refused} messages, which stay at"
                f" {self.wanted.source}: {carrier.problem}"
            )
        if carrier.queue.deleted:
            return f"{self.wanted.target} was deleted"
        return ""

    def _why_it_waits(self) -> str:
        for upstream in (self.source, self.target):
            if upstream is not None and not upstream.health.connected:
                return away(upstream)
        refusal = self.carrier.refusal
        if refusal is not None:
            return f"{self.wanted.source}: {refusal.description}"
        if not self.carrier.queue.transit and self.carrier.queue.full_for(0):
            return f"{self.wanted.target} is full"
        if self.carrier.empty and self._free > self.carrier.refused:
            return f"consumers of {self.wanted.source} have what is left there"
        return ""

    def _try_again(self, now_ms: int) -> None:
        """Another link, if the last one was refused; tokens of both would be the same ones."""
        carrier = self.carrier
        if carrier.refusal is None:
            self._retry_ms = now_ms + AGAIN_MS
        elif carrier.open == 0 and now_ms >= self._retry_ms:
            carrier.connect(self.source)

    def _ask_depth(self, now_ms: int) -> None:
        if self._asking or now_ms < self._depth_ms or not self.source.health.connected:
            return
        self._depth_ms = now_ms + DEPTH_MS
        self._ask()

    def _ask(self) -> None:
        source = self.wanted.source
        self._asking += self.source.ask_depth(self.wanted.host, source.queue, self)


def away(upstream: DialledUpstream) -> str:
    """That it is not connected, and why, for operators."""
    why = f": {upstream.health.last_error}" if upstream.health.last_error else ""
    return f"upstream {upstream.name} is not connected{why}"
