"""What waits for its turn, fairly: each source is as near to the front as any other.

Owns the order only. A source is two names, an outer one and one within it: sources whose outer name
is the same share one place in the round, and have a round of their own.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Generic, TypeVar, final

T = TypeVar("T")


@final
class FairQueue(Generic[T]):
    """First come, first served within a source; source after source among them."""

    def __init__(self) -> None:
        self._sources: OrderedDict[str, OrderedDict[str, deque[T]]] = OrderedDict()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def put(self, outer: str, inner: str, what: T) -> None:
        """At the end of its source."""
        within = self._sources.setdefault(outer, OrderedDict())
        within.setdefault(inner, deque()).append(what)
        self._size += 1

    def waiting(self, outer: str, inner: str | None = None) -> int:
        """How many of a source; `None`: of all with that outer name."""
        within: dict[str, deque[T]] = self._sources.get(outer) or OrderedDict()
        if inner is not None:
            return len(within.get(inner, ()))
        return sum(map(len, within.values()))

    def drop(self, outer: str, inner: str | None = None) -> T:
        """The first of a source, which gets no turn.

        `None`: of the source with that outer name that has most; of several such, of the one whose
        turn would come first. Raises KeyError when there is none.
        """
        within = self._sources[outer]
        if inner is None:
            inner = max(within, key=lambda name: len(within[name]))
        waiting = within[inner]
        what = waiting.popleft()
        if not waiting:
            del within[inner]
        if not within:
            del self._sources[outer]
        self._size -= 1
        return what

    def take(self) -> T:
        """The first of the source whose turn it is. Raises KeyError when there is none."""
        outer, within = self._sources.popitem(last=False)
        inner, waiting = within.popitem(last=False)
        what = waiting.popleft()
        if waiting:
            within[inner] = waiting
        if within:
            self._sources[outer] = within
        self._size -= 1
        return what
