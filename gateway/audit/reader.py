"""Reads segments: for `audit cat`, for the writer at start, and inside Spark tasks.

A segment is read up to its first damaged octet; what came before it is good, and `Damage` says
where it is and what is wrong. `salvage` goes on behind it, `verify` looks at a whole log. Standard
library only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeGuard
from zlib import crc32

from gateway.audit.schema import (
    ALIASES,
    BLOCK_HEADER,
    FIELD_NAMES,
    HEADER_OCTETS,
    LAYOUTS,
    MAX_LENGTH,
    NAME_ENTRY,
    NAME_FIELDS,
    SCHEMA_VERSION,
    SEGMENT_MAGIC,
    SEGMENT_PREAMBLE,
    SEGMENT_SUFFIX,
    SHA256,
    UNSAID,
    BlockKind,
    Flag,
    Kind,
    Layout,
    Outcome,
    Reason,
    segment_numbers,
    unsigned,
)
from gateway.files.json_text import json_value
from gateway.files.whole import is_no_file, read_head, read_segment

FIRST: Final = "0" * 64  # the hash "before" the first segment of a log
ALL: Final = f"*{SEGMENT_SUFFIX}"

_MAX: Final = 1 << 62
_BLOCK_KINDS: Final = frozenset(BlockKind)


class Header(NamedTuple):
    """A segment's header; `log`: the id of the log that it is of, "" before schema version 3."""

    schema: int
    incarnation: int
    number: int
    previous_sha256: str
    log: str = ""


class Block(NamedTuple):
    """One good block: its place in the file (counted from 0), and where its content is.

    `record_octets` is the length of each record of its schema version.
    """

    ordinal: int
    offset: int
    kind: int
    flags: int
    start: int
    end: int
    record_octets: int

    def places(self) -> range:
        """Where its records begin."""
        return range(self.start, self.end, self.record_octets)


class Damage(NamedTuple):
    """Where the log is not what was written: file, block, offset; sequence numbers if known."""

    segment: str
    block: int
    offset: int
    problem: str
    expected: int = 0
    found: int = 0

    def __str__(self) -> str:
        """One line for people."""
        where = f"{self.segment} block {self.block} offset {self.offset}"
        return f"{where}: {self.problem}{numbers_in_words(self.expected, self.found)}"


class Segment:
    """One segment's octets; after `blocks` is exhausted, `good` is the length of the good part.

    Attributes:
        name: the file's name.
        octets: the whole file.
        header: `None` when it cannot be read; then there are no blocks.
        damage: what ended the reading early; `None` while there is none.
        torn: the damage is an incomplete last block, as a crash leaves it.
        good: octets from the beginning that are known to be good.
        unreadable: why there are none, where what has its name is no file; else "".
    """

    def __init__(self, name: str, octets: bytes, unreadable: str = "") -> None:
        self.name = name
        self.octets = octets
        self.header: Header | None = None
        self.damage: Damage | None = None
        self.torn = False
        self.good = 0
        self.unreadable = unreadable
        if unreadable:
            self._stop(0, 0, unreadable)
        else:
            self._read_header()

    def _read_header(self) -> None:
        octets, at = self.octets, SEGMENT_PREAMBLE.size
        if len(octets) < at:
            self._stop(0, 0, "incomplete header", torn=True)
            return
        magic, checksum, length = SEGMENT_PREAMBLE.unpack_from(octets)
        if magic != SEGMENT_MAGIC:
            self._stop(0, 0, "not an audit segment", torn=not any(octets))
            return
        if at + length > HEADER_OCTETS:
            self._stop(0, 0, "header is longer than any")
            return
        text = octets[at : at + length]
        if len(text) < length:
            self._stop(0, 0, "incomplete header", torn=True)
            return
        if crc32(text) != checksum:
            self._stop(0, 0, "header checksum differs")
            return
        try:
            self.header = _header_in(text)
        except ValueError as error:
            self._stop(0, 0, str(error))
            return
        self.good = at + length

    @property
    def layout(self) -> Layout:
        """What its records look like; only of a segment with a header."""
        assert self.header is not None, "a segment without header has no records"
        return LAYOUTS[self.header.schema]

    def rows(self, block: Block) -> Iterator[tuple[int, ...]]:
        """The records of a block, in the order of the fields that its version has."""
        return self.layout.record.iter_unpack(memoryview(self.octets)[block.start : block.end])

    def _stop(self, block: int, offset: int, problem: str, *, torn: bool = False) -> None:
        self.damage = Damage(self.name, block, offset, problem)
        self.torn = torn

    def blocks(self) -> Iterator[Block]:
        """The good blocks in order, up to the first damage."""
        for block in self.blocks_from(self.good, 0):
            self.good = block.end
            yield block

    def blocks_from(self, offset: int, index: int) -> Iterator[Block]:
        """The good blocks in order, from the one of this number that begins at `offset`."""
        octets, end = self.octets, len(self.octets)
        if self.header is None:
            return
        version = self.header.schema
        record_octets = self.layout.octets
        while offset < end:
            start = offset + BLOCK_HEADER.size
            if start > end:
                self._stop(index, offset, "incomplete block", torn=True)
                return
            checksum, length, kind, flags, schema = BLOCK_HEADER.unpack_from(octets, offset)
            same = (schema or 1) == version
            problem = _implausible(length, kind, record_octets if same else 0)
            if problem:
                zeros = not any(octets[offset:])  # a crash may leave a tail that was never filled
                self._stop(index, offset, problem, torn=zeros)
                return
            stop = start + length
            if stop > end:
                self._stop(index, offset, "incomplete block", torn=True)
                return
            if crc32(octets[start:stop], crc32(octets[offset + 4 : start])) != checksum:
                self._stop(index, offset, "block checksum differs")
                return
            yield Block(index, offset, kind, flags, start, stop, record_octets)
            offset, index = stop, index + 1


def _header_in(text: bytes) -> Header:
    """What a header says. ValueError with what is wrong with it."""
    try:
        values = json_value(text)
    except ValueError:
        values = None  # an empty text has checksum 0, as zeros have
    if not isinstance(values, dict) or not _is_number(values.get("schema")):
        raise ValueError("header is not a header")
    schema = values["schema"]
    if schema not in LAYOUTS:
        known = " or ".join(str(version) for version in LAYOUTS)
        raise ValueError(f"schema version {schema} is not {known}")
    incarnation, number = values.get("incarnation"), values.get("number")
    if not _is_number(incarnation) or not _is_number(number):
        raise ValueError("header has no number that could be")
    previous, log = values.get("previous_sha256"), values.get("log", "")
    if not isinstance(previous, str) or not SHA256.fullmatch(previous):
        raise ValueError("header has no hash of the segment before")
    if not isinstance(log, str) or not log.isprintable():
        raise ValueError("header has no id of a log that could be")
    layout = LAYOUTS[schema]
    fields = [list(field) for field in layout.fields]
    same = values.get("fields", fields) == fields
    if not same or values.get("record_octets", layout.octets) != layout.octets:
        raise ValueError(f"header has not the records of schema version {schema}")
    return Header(schema, incarnation, number, previous, log)


def _is_number(value: object) -> TypeGuard[int]:
    return type(value) is int and 0 <= value < _MAX


def _implausible(length: int, kind: int, record_octets: int) -> str:
    """Why a block's header can only be damage, or an empty text.

    `record_octets` is 0 where the block is not of its segment's version.
    """
    if length > MAX_LENGTH or kind not in _BLOCK_KINDS:
        return "block header is damaged"
    if record_octets == 0:
        return "block is of another schema version"
    if kind == BlockKind.RECORDS and (length == 0 or length % record_octets):
        return "block length is not a whole number of records"
    return ""


def numbers_in_words(expected: int, found: int) -> str:
    """What a damage says of sequence numbers, in brackets; empty if that is nothing.

    `found` 0: nothing came behind it.
    """
    if not expected or found == expected:
        return ""
    if not found:
        return f" (record {expected} and all behind it are missing)"
    if found == expected + 1:
        return f" (record {expected} is missing)"
    if found > expected:
        return f" (records {expected} to {found - 1} are missing)"
    return f" (expected record {expected}, found {found})"


def names_in(octets: bytes, block: Block) -> Iterator[tuple[int, str]]:
    """The entries of a names block."""
    at = block.start
    while at < block.end:
        number, length = NAME_ENTRY.unpack_from(octets, at)
        at += NAME_ENTRY.size
        yield number, octets[at : at + length].decode("utf-8", "replace")
        at += length


def schema_of(octets: bytes, at: int) -> int:
    """The schema version of a block that is known to be whole."""
    return int(BLOCK_HEADER.unpack_from(octets, at)[4]) or 1


def block_at(octets: bytes, at: int) -> Block:
    """The block that begins at `at`, known to be whole; of damage it is any."""
    _checksum, length, kind, flags, _schema = BLOCK_HEADER.unpack_from(octets, at)
    start = at + BLOCK_HEADER.size
    layout = LAYOUTS.get(schema_of(octets, at), LAYOUTS[SCHEMA_VERSION])
    return Block(0, at, kind, flags, start, start + length, layout.octets)


def sequence_at(octets: bytes, offset: int) -> int:
    """The sequence number of the record that begins at `offset`."""
    return int.from_bytes(octets[offset : offset + 8], "little", signed=True)


def last_sequence(octets: bytes, block: Block) -> int:
    """The sequence number of the last record of a records block."""
    return sequence_at(octets, block.end - block.record_octets)


def sequence_break(octets: bytes, block: Block, expected: int) -> tuple[int, int, int] | None:
    """The first record of a records block that is out of sequence: offset, expected, found."""
    last = last_sequence(octets, block)
    first = sequence_at(octets, block.start)
    count = len(block.places())
    expected = expected or first
    if first == expected and last - first == count - 1:
        return None
    for at in block.places():
        found = sequence_at(octets, at)
        if found != expected:
            return at, expected, found
        expected += 1
    return None


def segment_at(path: Path, octets: int | None = None) -> Segment:
    """The segment there, or its first octets; a damaged one where a directory, or so, has its name.

    Raises OSError where there is a file that cannot be read, or nothing at all.
    """
    try:
        found = read_segment(path) if octets is None else read_head(path, octets)
    except OSError as error:
        if not is_no_file(path):
            raise
        return Segment(path.name, b"", f"it cannot be read: {error.strerror}")
    return Segment(path.name, found)


def octets_at(path: Path) -> int:
    """How many octets the segment there has: as `segment_at`."""
    return 0 if is_no_file(path) else path.stat().st_size


def segment_paths(directory: Path) -> list[Path]:
    """The segments of a log, in order."""
    return sorted(path for path in directory.glob(ALL) if segment_numbers(path.name)[0])


def other_files(directory: Path) -> list[Path]:
    """What lies in a log's directory and could be taken for a segment, but has no segment's name.

    Nobody reads, counts, copies or deletes it.
    """
    return sorted(path for path in directory.glob(ALL) if not segment_numbers(path.name)[0])


def records(segment: Segment, blocks: Iterable[Block] | None = None) -> Iterator[dict[str, Any]]:
    """The records of a segment as JSON-ready values, with names, digests in hex, aliases.

    `blocks`: of those only, as they were read; else of all before the first damage. Any: what
    `json.dumps` takes.
    """
    texts: dict[int, str] = {0: ""}
    for block in segment.blocks() if blocks is None else blocks:
        if block.kind == BlockKind.NAMES:
            texts.update(names_in(segment.octets, block))
        elif block.kind == BlockKind.RECORDS:
            for values in segment.rows(block):
                yield shown(values, texts)


def shown(values: tuple[int, ...], texts: dict[int, str]) -> dict[str, Any]:
    """One record, by its names. Any: as in `records`."""
    raw = dict(zip(FIELD_NAMES, values, strict=False))  # the fields of its version
    kind = raw.pop("kind")
    aliases = ALIASES.get(Kind(kind), {}) if kind in _KIND_NAMES else {}
    shown: dict[str, Any] = {
        "sequence": raw.pop("sequence"),
        "time_ms": raw.pop("time_ms"),
        "kind": _KIND_NAMES.get(kind, str(kind)),
    }
    for name, value in raw.items():
        alias = aliases.get(name)
        if value or (alias is not None and alias not in UNSAID and name not in NAME_FIELDS):
            shown[alias or name] = _value(name, value, texts)
    return shown


def _value(name: str, value: int, texts: dict[int, str]) -> Any:
    """One field for people. Any: text, number or list of texts."""
    if name in NAME_FIELDS:
        return texts.get(value, f"#{value}")
    if name in ("id_digest", "body_digest"):
        return f"{unsigned(value):016x}"
    if name == "outcome":
        return _OUTCOME_NAMES.get(value, str(value))
    if name == "reason":
        return _REASON_NAMES.get(value, str(value))
    if name == "flags":
        return [flag.name.lower() for flag in Flag if value & flag and flag.name]
    return value


def spoken(name: str) -> str:
    """An enumeration member's name as the log's readers show it."""
    return name.lower().replace("_", "-")


_KIND_NAMES: Final = {int(kind): spoken(kind.name) for kind in Kind}
_OUTCOME_NAMES: Final = {int(outcome): spoken(outcome.name) for outcome in Outcome}
_REASON_NAMES: Final = {int(reason): spoken(reason.name) for reason in Reason}
