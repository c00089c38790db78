"""The rows that the store has of what is staged: one of each content, and its parts.

A part is written with the turn in which it came. What is published is a message by the same turn
that removes these rows.
"""

from __future__ import annotations

from typing import Final, final

from gateway.bridge.durable.row_fields import read_text, write_text
from gateway.bridge.durable.topology_rows import VERSION, row_key, row_span
from gateway.errors import DecodeError
from gateway.wire.buffers import Reader, Writer

NUMBER: Final = "08x"
WITH_BRANCH: Final = 2  # the version of rows that say by which branch a content is published


@final
class StagedRow:
    """One content.

    Attributes:
        user, identifier: whose it is, and by what name.
        size: octets that it is to have.
        at_ms: when it was opened last.
        header: of its properties, as they came; empty before they have.
        branch: prepared, that publishes it if it is committed; "": none does.
    """

    __slots__ = ("at_ms", "branch", "header", "host", "identifier", "size", "user")

    def __init__(
        self,
        host: str,
        user: str,
        identifier: str,
        size: int,
        at_ms: int,
        header: bytes,
        branch: str = "",
    ) -> None:
        self.host = host
        self.user = user
        self.identifier = identifier
        self.size = size
        self.at_ms = at_ms
        self.header = header
        self.branch = branch

    def key(self) -> str:
        """Its row's key."""
        return row_key(self.host, self.user, self.identifier)

    def encoded(self) -> bytes:
        """Its row's value."""
        out = _begin(WITH_BRANCH, self.host, self.user, self.identifier, self.branch)
        out.u64(self.size)
        out.i64(self.at_ms)
        out.raw(self.header)
        return out.getvalue()


@final
class PartRow:
    """A part of one; numbers ascend.

    Attributes:
        begin: where it begins in the content.
    """

    __slots__ = ("at_ms", "begin", "host", "identifier", "number", "octets", "user")

    def __init__(
        self,
        host: str,
        user: str,
        identifier: str,
        number: int,
        begin: int,
        at_ms: int,
        octets: bytes,
    ) -> None:
        self.host = host
        self.user = user
        self.identifier = identifier
        self.number = number
        self.begin = begin
        self.at_ms = at_ms
        self.octets = octets

    def key(self) -> str:
        """Its row's key."""
        return row_key(self.host, self.user, self.identifier, format(self.number, NUMBER))

    def encoded(self) -> bytes:
        """Its row's value."""
        out = _begin(VERSION, self.host, self.user, self.identifier)
        out.u32(self.number)
        out.u64(self.begin)
        out.i64(self.at_ms)
        out.raw(self.octets)
        return out.getvalue()


def staged_row(value: bytes) -> StagedRow:
    """Decode; `DecodeError`."""
    data = Reader(value)
    version = data.u8()
    if version not in (VERSION, WITH_BRANCH):
        raise DecodeError(f"version {version}")
    host, user, identifier = read_text(data), read_text(data), read_text(data)
    branch = read_text(data) if version == WITH_BRANCH else ""
    size, at_ms = data.u64(), data.i64()
    return StagedRow(host, user, identifier, size, at_ms, data.take(data.remaining()), branch)


def part_row(value: bytes) -> PartRow:
    """Decode; `DecodeError`."""
    data = Reader(value)
    version = data.u8()
    if version != VERSION:
        raise DecodeError(f"version {version}")
    host, user, identifier = read_text(data), read_text(data), read_text(data)
    number, begin, at_ms = data.u32(), data.u64(), data.i64()
    octets = data.take(data.remaining())
    return PartRow(host, user, identifier, number, begin, at_ms, octets)


def parts_of(host: str, user: str, identifier: str) -> tuple[str, str]:
    """The keys of the parts of one: the least, and what is above all of them."""
    return row_span(host, user, identifier)


def _begin(version: int, *texts: str) -> Writer:
    out = Writer()
    out.u8(version)
    for text in texts:
        write_text(out, text)
    return out
