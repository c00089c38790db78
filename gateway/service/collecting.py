"""Python's cycle collector: it looks at what is new, and at everything only now and then.

By itself it walks all that the gateway holds whenever that has grown by a quarter: half a second
with some hundred thousand messages, during which nothing else is done. What has outlived such a
walk is put aside here (`gc.freeze`), so that the next one looks at what has come since. It goes all
the same when nobody holds it any more. What is held by cycles of its own would wait for the next
walk over everything: so what clients come and go with - connections, sessions, links - lets go of
itself when it is over, and the walk is for what nobody thought of.

As everything is looked at once, walks are no dearer for being many: they come three times as often
as by themselves, or one behind a flood of new sessions would take 40 ms that nobody has counted.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Final, final

from gateway.net.alarm import Later

EVERYTHING_S: Final = 600  # between two walks over everything
OLDEST: Final = 2  # the generation whose collection is such a walk
YOUNGER: Final = 3  # collections of the one before it, after which there is one: 10 by itself


@final
class Collecting:
    """When the collector looks at what, from now on.

    Args:
        gone: how many connections, sessions and links have ended so far; as long as none does,
            there is no need to look at everything.
    """

    def __init__(self, later: Later, gone: Callable[[], int]) -> None:
        self._later = later
        self._gone = gone
        self._known = gone()
        self._thresholds = gc.get_threshold()
        gc.set_threshold(*self._thresholds[:OLDEST], YOUNGER)
        gc.callbacks.append(self._on_collection)
        gc.freeze()  # what recovery made stays
        self._call = later.callLater(EVERYTHING_S, self._look_again)

    def end(self) -> None:
        """The collector does as it likes again."""
        gc.callbacks.remove(self._on_collection)
        gc.unfreeze()
        gc.set_threshold(*self._thresholds)
        self._call.cancel()

    def _on_collection(self, phase: str, info: dict[str, int]) -> None:
        if phase == "stop" and info["generation"] == OLDEST:
            gc.freeze()

    def _look_again(self) -> None:
        """What was put aside is among what the next walk looks at, unless nothing has ended."""
        gone = self._gone()
        if gone != self._known:
            self._known = gone
            gc.unfreeze()
        self._call = self._later.callLater(EVERYTHING_S, self._look_again)
