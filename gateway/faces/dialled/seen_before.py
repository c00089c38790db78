"""Messages of an upstream that we had, and that it may not know to be settled.

When a link is lost, what was unsettled on it comes again, and so does what was settled where the
upstream did not hear of it: a disposition is not answered. Some containers say of neither that it
was delivered before. What the gateway knows by its digest is marked when it comes again, by
whichever link; nothing else tells a client, or the audit log, that it may have had the message.
Where a container forgets with a link which of its deliveries failed, what a client gave back so is
known by its digest and its node.
"""

from __future__ import annotations

from typing import Final, final

SEEN_MAX: Final = 100_000  # messages; the oldest is forgotten, and would come unmarked


@final
class SeenBefore:
    """Of one upstream, for all its links."""

    __slots__ = ("_times",)

    def __init__(self) -> None:
        self._times: dict[int, int] = {}  # by digest: messages without an id may be alike

    def __len__(self) -> int:
        return len(self._times)

    def add(self, digest: int) -> None:
        """The upstream may send this one again."""
        times = self._times
        # What was added last is forgotten last.
        times[digest] = times.pop(digest, 0) + 1
        if len(times) > SEEN_MAX:
            del times[next(iter(times))]

    def take(self, digest: int) -> bool:
        """Whether this one, which has come, may have come before."""
        times = self._times.pop(digest, 0)
        if times > 1:
            self._times[digest] = times - 1
        return times > 0
