"""`audit trace`: where one message went, told from the records of an audit log.

The log has a digest of the message-id that an application gave, as a value of 1.0: what each of its
types would make of the given text is looked for. So a message can be followed from gateway to
gateway, each by its own log. A message that left for an upstream and was fetched again is two
messages of the gateway with one message-id. The numbers that the gateway gives its messages go on
over its restarts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from gateway.amqp_1_0 import types
from gateway.amqp_1_0.primitives.encoding import to_bytes
from gateway.audit.digests import digest
from gateway.audit.printable import printable
from gateway.wire.tagged import Tagged

Record = dict[str, Any]  # Any: what JSON holds
ULONG_MAX: Final = (1 << 64) - 1
ULONG_DIGITS: Final = 20  # Python reads no more than 4300
UNKNOWN: Final = "a connection that the log does not show"
FOR_EVER: Final = 1 << 63
# Of a record, after what it is about.
FACTS: Final = ("outcome", "reason", "delivery_count", "flags")


def digests_of(message_id: str) -> set[str]:
    """The digests that a message-id may have in the log, as the reader spells them."""
    values = [Tagged(types.STRING, message_id)]
    octets = []
    bare = message_id.removeprefix("ID:")
    if bare != message_id:
        values.append(Tagged(types.STRING, bare))
    if bare.isdecimal() and len(bare) <= ULONG_DIGITS and int(bare) <= ULONG_MAX:
        values.append(Tagged(types.ULONG, int(bare)))
    try:
        uuid = UUID(bare)
    except ValueError:
        pass
    else:
        values.append(Tagged(types.UUID, uuid.bytes))
        octets.append(uuid.bytes)  # 0-10, before schema version 4
    octets += [to_bytes(value) for value in values]
    return {f"{digest(each) % (1 << 64):016x}" for each in octets}


def messages_at(
    records: Iterable[Record], node: str, since_ms: int | None = None, until_ms: int | None = None
) -> set[int]:
    """The numbers of the messages that had to do with a node, from one moment to another."""
    first = 0 if since_ms is None else since_ms
    last = FOR_EVER if until_ms is None else until_ms
    return {
        record["message"]
        for record in records
        if record.get("node") == node and "message" in record and first <= record["time_ms"] <= last
    }


class Trace:
    """Goes through records in their order, and tells those of the messages that are looked for.

    Args:
        digests: of message-ids, as `digests_of` gives them.
        messages: numbers of the gateway.
    """

    def __init__(
        self, digests: AbstractSet[str] = frozenset(), messages: AbstractSet[int] = frozenset()
    ) -> None:
        self._wanted = digests
        self._messages = set(messages)
        self._connections: dict[int, str] = {}
        self._links: dict[int, str] = {}
        self._unstored: dict[tuple[int, str], str] = {}  # copies in memory alone: their last step

    def lines(self, records: Iterable[Record]) -> Iterator[str]:
        """One line for each step."""
        for record in records:
            if record["kind"] == "incarnation-started":
                yield from self._gone(record)
            self._note(record)
            message = record.get("message")
            if record.get("id_digest") in self._wanted and message is not None:
                self._messages.add(message)
            if message in self._messages:
                self._follow(record)
                yield self._line(record)

    def _follow(self, record: Record) -> None:
        copy = (record["message"], record.get("node", ""))
        kind = record["kind"]
        entered = kind == "entered" and "durable" not in record.get("flags", [])
        if entered or (kind == "sent" and copy in self._unstored):
            self._unstored[copy] = kind
        elif kind != "received":
            self._unstored.pop(copy, None)

    def _gone(self, started: Record) -> Iterator[str]:
        """What the run before had not stored, and of which it did not say how it ended."""
        for (message, node), last in self._unstored.items():
            reason = "not in the gateway's store when it ended"
            if last == "sent":
                reason += ", the peer may have it"
            yield self._line(started | {"kind": "gone", "message": message, "node": node}, reason)
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
        at = datetime.fromtimestamp(record["time_ms"] / 1000, UTC)
        time = at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03}Z"
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
        return f"{time}  {record['message']}  {record['kind']:<13} {told}"

    def _whose(self, record: Record) -> str:
        link = record.get("link", 0)
        if link in self._links:
            return self._links[link]
        if "connection" in record:
            return self._connections.get(record["connection"], UNKNOWN)
        return f"link {link}"
