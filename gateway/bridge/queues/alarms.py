"""Queues that tell when much is in them, of those that are declared so.

As a qpidd has it: once when so much is in a queue, and once when it is as little as to alert again;
so that a queue that is about its limit does not tell each message. Each time counts; of one queue
people are told once in a while. Whoever tells them takes the lines (`Alarms.lines`).
"""

from __future__ import annotations

from collections import deque
from typing import Final, final

from gateway.bridge.queues.discipline import AlertLimits
from gateway.message import NEVER

LINES_MAX: Final = 256  # that nobody has taken; older ones are forgotten
COUNT: Final = "count"
SIZE: Final = "size"


@final
class Alarm:
    """That of one queue.

    Attributes:
        host, queue: its names.
        raised: the limits that were reached, and are not far off again: whether people know.
        quiet_until_ms: until then people are told of no other.
    """

    __slots__ = ("host", "limits", "queue", "quiet_until_ms", "raised")

    def __init__(self, host: str, queue: str, limits: AlertLimits) -> None:
        self.host = host
        self.queue = queue
        self.limits = limits
        self.raised: dict[str, bool] = {}
        self.quiet_until_ms = NEVER


@final
class Crossing:
    """A line for people: a limit that was reached (`up`), or that is far off again."""

    __slots__ = ("host", "limit", "queue", "up", "value", "what")

    def __init__(self, alarm: Alarm, what: str, value: int, limit: int, *, up: bool) -> None:
        self.host = alarm.host
        self.queue = alarm.queue
        self.what = what
        self.value = value
        self.limit = limit
        self.up = up


@final
class Alarms:
    """What all queues alert of.

    Attributes:
        crossed: how often each kind of limit was reached.
        lines: what people are to be told.
    """

    __slots__ = ("crossed", "lines")

    def __init__(self) -> None:
        self.crossed: dict[str, int] = {COUNT: 0, SIZE: 0}
        self.lines: deque[Crossing] = deque(maxlen=LINES_MAX)

    def look(self, alarm: Alarm, count: int, octets: int, now_ms: int) -> None:
        """A copy has come into a queue, or left it; so much is there now."""
        limits = alarm.limits
        self._compare(alarm, COUNT, count, limits.count, limits.count_down, now_ms)
        self._compare(alarm, SIZE, octets, limits.size, limits.size_down, now_ms)

    def _compare(
        self, alarm: Alarm, what: str, value: int, up: int, down: int, now_ms: int
    ) -> None:
        raised = alarm.raised
        if what not in raised:
            if value >= up > 0:
                self.crossed[what] += 1
                tells = now_ms >= alarm.quiet_until_ms
                raised[what] = tells
                if tells:
                    alarm.quiet_until_ms = now_ms + alarm.limits.gap_ms
                    self.lines.append(Crossing(alarm, what, value, up, up=True))
        elif value <= down and raised.pop(what):
            self.lines.append(Crossing(alarm, what, value, down, up=False))
