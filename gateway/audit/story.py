"""The story of messages, step by step, from records as `reader` shows them: for people.

Records that are missing where the story goes on are told in their place: what is told last need
then not be the end. Standard library only, as in `reader`: Spark's driver tells stories, too.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, final

from gateway.audit.printable import printable
from gateway.audit.reader import spoken
from gateway.audit.schema import REMOVALS

Record = dict[str, Any]  # Any: what JSON holds
UNKNOWN: Final = "a connection that the log does not show"
# Of a record, after what it is about.
FACTS: Final = ("outcome", "reason", "delivery_count", "flags")
BEGINS: Final = frozenset({"received", "recovered"})
LEAVES: Final = frozenset(spoken(kind.name) for kind in REMOVALS)


class Line(NamedTuple):
    """One step, or what is missing there; `time_ms`: of a gap, when the log goes on."""

    time_ms: int
    text: str


@final
class Story:
    """Goes through records in their order, and tells those of the messages that are looked for.

    Args:
        digests: of message-ids, as the reader spells them.
        messages: numbers of the gateway.

    Attributes:
        gaps: how many are told, since they may have steps of the story.
        holes: all gaps of the log, as first and last number.
    """

    def __init__(
        self, digests: AbstractSet[str] = frozenset(), messages: AbstractSet[int] = frozenset()
    ) -> None:
        self.gaps = 0
        self.holes: list[tuple[int, int]] = []
        self._wanted = digests
        self._messages = set(messages)
        self._connections: dict[int, str] = {}
        self._links: dict[int, str] = {}
        self._unstored: dict[tuple[int, str], str] = {}  # copies in memory alone: their last step
        self._begun: set[int] = set()
        self._open: set[tuple[int, str, int]] = set()  # copies that are somewhere
        self._last = 0
        self._first = 0
        self._untold: list[Line] = []  # gaps since the last step

    def lines(self, records: Iterable[Record]) -> Iterator[Line]:
        """One line for each step."""
        for record in records:
            self._look_for_gap(record)
            if record["kind"] == "incarnation-started":
                yield from self._gone(record)
            self._note(record)
            message = record.get("message")
            if record.get("id_digest") in self._wanted and message is not None:
                self._messages.add(message)
            if message in self._messages:
                yield from self._missing_before(record)
                self._follow(record)
                yield Line(record["time_ms"], self._line(record))
        if self._open or not self._begun:
            yield from self._tell_gaps()

    @property
    def begins(self) -> str:
        """Of a log that does not begin with its first record, that; as far as it was read."""
        if self._first <= 1:
            return ""
        return f"the log begins with record {self._first}: what was before is not in it"

    def _look_for_gap(self, record: Record) -> None:
        sequence = record.get("sequence", 0)
        self._first = self._first or sequence
        first, last = self._last + 1, sequence - 1
        if self._last and last >= first:
            self.holes.append((first, last))
            if self._begun:
                self._untold.append(_gap(record["time_ms"], first, last))
        self._last = max(self._last, sequence)

    def _missing_before(self, record: Record) -> Iterator[Line]:
        """A story that does not begin with its beginning has that in a gap, if there is one."""
        message = record["message"]
        if message not in self._begun and record["kind"] not in BEGINS:
            if self.holes and not self._begun:
                self._untold += [_gap(record["time_ms"], *hole) for hole in self.holes]
            elif self.begins and not self.holes:
                yield Line(record["time_ms"], f"{_time(record['time_ms'])}  {self.begins}")
        self._begun.add(message)
        yield from self._tell_gaps()

    def _tell_gaps(self) -> Iterator[Line]:
        self.gaps += len(self._untold)
        yield from self._untold
        self._untold = []

    def _follow(self, record: Record) -> None:
        copy = (record["message"], record.get("node", ""))
        kind = record["kind"]
        flags = record.get("flags", [])
        entered = kind == "entered" and "durable" not in flags
        if entered or (kind == "sent" and copy in self._unstored):
            self._unstored[copy] = kind
        elif kind != "received":
            self._unstored.pop(copy, None)
        place = (*copy, record.get("position", 0))
        if kind in ("entered", "recovered", "sent"):
            self._open.add(place)
        ended = kind == "sent" and "settled" in flags
        ended |= kind == "settled" and ("removed" in flags or record.get("outcome") == "accepted")
        if (ended or kind in LEAVES) and "copy" not in flags:
            self._open.discard(place)

    def _gone(self, started: Record) -> Iterator[Line]:
        """What the run before had not stored, and of which it did not say how it ended."""
        for (message, node), last in self._unstored.items():
            reason = "not in the gateway's store when it ended"
            if last == "sent":
                reason += ", the peer may have it"
            gone = started | {"kind": "gone", "message": message, "node": node}
            yield Line(started["time_ms"], self._line(gone, reason))
            self._open = {each for each in self._open if each[:2] != (message, node)}
        self._unstored.clear()

    def _note(self, record: Record) -> None:
        """Numbers of links and connections begin anew in each run of the gateway."""
        kind = record["kind"]
        if kind == "incarnation-started":
            self._connections.clear()
            self._links.clear()
        elif kind == "connection-opened":
            user = record.get("actor") or record.get("peer", "somebody")
            who = f"{user} ({record.get('protocol', '?')})"
            self._connections[record["connection"]] = who
        elif kind == "link-attached":
            peer = self._connections.get(record.get("connection", 0), UNKNOWN)
            where = record.get("peer", "").partition(": ")[2]
            self._links[record.get("link", 0)] = where or peer

    def _line(self, record: Record, comment: str = "") -> str:
        about = [record["node"]] if "node" in record else []
        if record["kind"] == "received":
            about = [f"for {record.get('exchange', '?')}", f"from {self._whose(record)}"]
        elif "link" in record:
            way = "to" if record["kind"] == "sent" else "by"
            about.append(f"{way} {self._whose(record)}")
        elif "peer" in record:  # it did not get to the peer
            about.append(f"for {record['peer']}")
        for name in FACTS:
            value = record.get(name)
            if value:
                told = ", ".join(value) if isinstance(value, list) else str(value)
                about.append(told if name != "delivery_count" else f"failed {told} times")
        if comment:
            about.append(comment)
        told = printable(", ".join(about))
        return f"{_time(record['time_ms'])}  {record['message']}  {record['kind']:<13} {told}"

    def _whose(self, record: Record) -> str:
        link = record.get("link", 0)
        if link in self._links:
            return self._links[link]
        if "connection" in record:
            return self._connections.get(record["connection"], UNKNOWN)
        return f"link {link}"


def missing_in_words(first: int, last: int) -> str:
    """Records that should be there."""
    if first == last:
        return f"record {first} is not there"
    return f"records {first} to {last} are not there"


def command(log: str, **options: object) -> str:
    """What somebody types to get a story: `audit trace` with these options, in their order.

    A list stands for one option several times; what is empty is left out.
    """
    words = ["amqp-gateway", "audit", "trace"]
    for name, value in options.items():
        for each in value if isinstance(value, list) else [value]:
            if each not in (None, ""):
                words += [f"--{name}", _word(str(each))]
    return " ".join([*words, _word(log)])


def _word(text: str) -> str:
    """As a shell reads it, and as a terminal shows it."""
    if text.isprintable():
        return shlex.quote(text)
    escaped = printable(text.replace("\\", "\\\\").replace("'", "\\'"))
    return f"$'{escaped}'"


def _gap(time_ms: int, first: int, last: int) -> Line:
    told = f"-- {missing_in_words(first, last)}: steps may be among them --"
    return Line(time_ms, f"{_time(time_ms)}  {told}")


def _time(time_ms: int) -> str:
    at = datetime.fromtimestamp(time_ms / 1000, UTC)
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03}Z"
