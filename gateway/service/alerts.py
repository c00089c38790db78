"""Tells in the log of queues that alert: there is as much in them as they were declared to tell."""

from __future__ import annotations

from typing import Final, final

from twisted.logger import Logger

from gateway.bridge.queues.alarms import COUNT, Alarms

MESSAGES: Final = "messages"
OCTETS: Final = "octets"


@final
class AlertLines:
    """A line for each time, as far as the queue is not to be quiet about it."""

    log = Logger()

    def __init__(self, alarms: Alarms) -> None:
        self._alarms = alarms

    def look(self) -> None:
        """Each second or so."""
        lines = self._alarms.lines
        while lines:
            line = lines.popleft()
            said = {
                "queue": repr(line.queue),
                "host": repr(line.host),
                "value": line.value,
                "units": MESSAGES if line.what == COUNT else OCTETS,
                "limit": line.limit,
            }
            if line.up:
                self.log.warn(
                    "queue {queue} of virtual host {host} holds {value} {units}: it alerts at"
                    " {limit}",
                    **said,
                )
            else:
                self.log.info(
                    "queue {queue} of virtual host {host} holds {value} {units}, and alerts no"
                    " longer",
                    **said,
                )
