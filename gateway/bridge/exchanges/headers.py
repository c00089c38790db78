"""The headers exchange: bindings by what a message's headers are.

Arguments of a binding are compared by kind and value in the translated view, octets that are text
as that text; a void value only asks for presence; ``x-match`` says whether all or any must match.
``x-match``, ``x-scope``, a selector and names that begin with ``qpid.`` are not part of the match.
A binding is filed under one of its arguments ("all") or under each of them ("any"), so that a
message's own headers lead to the few bindings that can match. A message that would have too many of
them looked at is refused.
"""

from __future__ import annotations

from typing import Final, final

from gateway.bridge.exchanges.filters import SELECTOR_ARGUMENTS
from gateway.bridge.queues.queue import Queue
from gateway.message import Kind, Message, plain
from gateway.wire.tagged import Tagged
from gateway.wire.work import MATCH, VERB, WORK

LOOKS_MAX: Final = VERB // MATCH  # at headers and arguments, for one message
MATCH_ARGUMENT: Final = "x-match"
ALL: Final = "all"
ANY: Final = "any"
NO_FEATURES: Final = frozenset((MATCH_ARGUMENT, "x-scope", *SELECTOR_ARGUMENTS))

# A header as an index key: name, kind, value; presence alone is kind `NULL`.
Feature = tuple[str, int, object]


def match_of(arguments: dict[str, Tagged]) -> str:
    """``all`` (also when absent) or ``any``; "" when ``x-match`` is neither."""
    given = arguments.get(MATCH_ARGUMENT)
    if given is None:
        return ALL
    wanted = plain(given).value
    if wanted == ALL:
        return ALL
    return ANY if wanted == ANY else ""


def plain_values(values: dict[str, Tagged]) -> dict[str, Tagged]:
    """All of them, octets that are text as that text; the same dictionary where there are none."""
    for value in values.values():
        if value.code == Kind.BINARY:
            return {name: plain(each) for name, each in values.items()}
    return values


def features_of(arguments: dict[str, Tagged]) -> list[Feature]:
    """What a binding asks for; values of no neutral kind never match, and are not in the list."""
    return [
        (name, value.code, None if value.code == Kind.NULL else value.value)
        for name, value in plain_values(arguments).items()
        if name not in NO_FEATURES and not name.startswith("qpid.")
    ]


@final
class HeadersBinding:
    """One binding: all of `features`, or any of them."""

    __slots__ = ("every", "features", "filed", "number", "queue")

    def __init__(self, number: int, queue: Queue, every: bool, features: list[Feature]) -> None:
        self.number = number
        self.queue = queue
        self.every = every
        self.features = features
        self.filed: list[Feature] = []

    def matches(self, headers: dict[str, Tagged]) -> bool:
        """Whether an "all" binding is satisfied."""
        for name, kind, value in self.features:
            header = headers.get(name)
            if header is None:
                return False
            if kind != Kind.NULL and (
                header.code != kind or kind == Kind.OTHER or header.value != value
            ):
                return False
        return True

    def entries(self) -> list[Feature]:
        """The features that lead to it: one of them ("all"), each of them ("any")."""
        if not self.every:
            return [feature for feature in self.features if feature[1] != Kind.OTHER]
        for feature in self.features:
            if feature[1] == Kind.OTHER:
                return []
        valued = [feature for feature in self.features if feature[1] != Kind.NULL]
        return valued or self.features


NONE_FILED: Final[dict[int, HeadersBinding]] = {}


@final
class HeadersRouter:
    """A `Router` by headers."""

    __slots__ = ("_always", "_bindings", "_index", "_last")

    def __init__(self) -> None:
        self._bindings: dict[tuple[int, str], HeadersBinding] = {}
        # By their numbers, so that one is found however many are filed together.
        self._index: dict[Feature, dict[int, HeadersBinding]] = {}
        self._always: dict[int, HeadersBinding] = {}  # "all" of nothing
        self._last = 0

    def bind(self, queue: Queue, key: str, arguments: dict[str, Tagged]) -> None:
        """File a binding under the headers that it asks for."""
        self._last += 1
        every = match_of(arguments) != ANY
        binding = HeadersBinding(self._last, queue, every, features_of(arguments))
        self._bindings[(queue.number, key)] = binding
        if binding.every and not binding.features:
            self._always[binding.number] = binding
        binding.filed = self._places(binding)
        for feature in binding.filed:
            self._index.setdefault(feature, {})[binding.number] = binding

    def _places(self, binding: HeadersBinding) -> list[Feature]:
        """Where to file a binding: an "all" one where there are fewest others."""
        entries = binding.entries()
        if not binding.every or not entries:
            return entries
        best = entries[0]
        for feature in entries:
            if len(self._index.get(feature, ())) < len(self._index.get(best, ())):
                best = feature
        return [best]

    def unbind(self, queue: Queue, key: str) -> None:
        """Remove it from where it was filed."""
        binding = self._bindings.pop((queue.number, key))
        if binding.every and not binding.features:
            del self._always[binding.number]
        for feature in binding.filed:
            filed = self._index[feature]
            del filed[binding.number]
            if not filed:
                del self._index[feature]

    def route(self, message: Message) -> list[Queue] | None:
        """The queues whose bindings the message's headers match, each once."""
        found: dict[int, Queue] = {}
        for binding in self._always.values():
            found[binding.queue.number] = binding.queue
        reader = message.reader
        if reader is not None and self._index:
            headers = plain_values(reader.headers(message))
            left = LOOKS_MAX - 2 * len(headers)
            for name, value in headers.items():
                left = self._collect(found, headers, (name, int(Kind.NULL), None), left)
                if value.code != Kind.OTHER and value.code != Kind.NULL:
                    feature = (name, int(value.code), value.value)
                    left = self._collect(found, headers, feature, left)
                if left < 0:
                    break
            WORK.units += (LOOKS_MAX - left) * MATCH
            if left < 0:
                return None
        return list(found.values())

    def _collect(
        self, found: dict[int, Queue], headers: dict[str, Tagged], feature: Feature, left: int
    ) -> int:
        """Add the queues of bindings that are filed there; how many looks are left then."""
        for binding in self._index.get(feature, NONE_FILED).values():
            left -= 1 + len(binding.features) if binding.every else 1
            if left < 0:
                break
            if not binding.every or binding.matches(headers):
                found[binding.queue.number] = binding.queue
        return left
