"""Writes the segments of an audit log: appends finished blocks, rotates, chains, repairs.

Used by the commit thread. A block says itself where a new segment starts, so that appending the
same blocks again after a crash (the store keeps a turn's block until it is copied) makes the same
files; blocks that the log holds already are skipped by their sequence numbers. A torn tail is cut
when the log is opened; `cut_octets` says how much that was.
"""

from __future__ import annotations

import json
import os
from hashlib import sha256
from pathlib import Path
from typing import Final, final
from zlib import crc32

from gateway.audit.reader import FIRST, Block, Segment, last_sequence, segment_paths
from gateway.audit.schema import (
    BLOCK_HEADER,
    FIELDS,
    LAYOUTS,
    SCHEMA_VERSION,
    SEGMENT_MAGIC,
    SEGMENT_PREAMBLE,
    BlockFlag,
    BlockKind,
    Kind,
    segment_name,
)


@final
class SegmentWriter:
    """The open end of a log.

    Attributes:
        last_sequence: of the last record that the log holds; 0 when it holds none.
        segments: started since the writer was opened.
        cut_octets: torn tail that was cut at opening.
        damaged: what else was found at opening, left as it is; the writer goes on in a new segment.
    """

    __slots__ = (
        "_digest",
        "_directory",
        "_empty",
        "_file",
        "_incarnation",
        "_number",
        "_schema",
        "_size",
        "cut_octets",
        "damaged",
        "last_sequence",
        "segments",
    )

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._file = -1
        self._number = 0
        self._incarnation = 0
        self._schema = SCHEMA_VERSION
        self._size = 0
        self._empty = True
        self._digest = sha256()
        self.last_sequence = 0
        self.segments = 0
        self.cut_octets = 0
        self.damaged = ""
        directory.mkdir(parents=True, exist_ok=True)
        self._reopen()

    def append(self, blocks: bytes) -> None:
        """Write complete blocks, as `AuditLog.take_block` gave them.

        `OSError` leaves nothing half written, and the call may be repeated: records that the log
        holds already are skipped.
        """
        start = at = 0
        while at < len(blocks):
            block = _block_at(blocks, at)
            at = block.end
            if block.kind == BlockKind.RECORDS:  # names go with the records that follow them
                last = last_sequence(blocks, block)
                if last > self.last_sequence:
                    self._append_turn(blocks[start:at], last)
                start = at

    def sync(self) -> None:
        """Everything appended is on disk when this returns; `OSError` if it is not."""
        if self._file >= 0:
            os.fdatasync(self._file)

    def close(self) -> None:
        """Sync and close."""
        self.sync()
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _append_turn(self, blocks: bytes, last_sequence: int) -> None:
        """Names, if any, and one block of records."""
        first = _block_at(blocks, 0)
        schema = _schema_of(blocks, 0)  # an older gateway may have left them in the store
        begins = bool(first.flags & BlockFlag.SEGMENT_STARTS) and not self._empty
        if self._file < 0 or begins or schema != self._schema:
            self._start_segment(_incarnation_in(blocks, self._incarnation), schema)
        self._write(blocks)
        self._empty = False
        self.last_sequence = last_sequence

    def _start_segment(self, incarnation: int, schema: int) -> None:
        number = self._number + 1
        previous = self._digest.hexdigest() if self._number else FIRST
        header = _header(incarnation, number, previous, schema)
        self.close()
        path = self._directory / segment_name(incarnation, number)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_TRUNC, 0o600)
        try:
            _write_all(file, header)
            _sync_directory(self._directory)
        except OSError:
            os.close(file)
            raise
        self._file = file
        self._number = number
        self._incarnation = incarnation
        self._schema = schema
        self._size = len(header)
        self._empty = True
        self._digest = sha256(header)
        self.segments += 1

    def _write(self, octets: bytes) -> None:
        """All or nothing: what a full disk took of it is taken back."""
        try:
            _write_all(self._file, octets)
        except OSError:
            os.ftruncate(self._file, self._size)
            raise
        self._size += len(octets)
        self._digest.update(octets)

    def _reopen(self) -> None:
        """Go on at the end of the last segment, or behind it if it is damaged."""
        for path in reversed(segment_paths(self._directory)):
            segment = Segment(path.name, path.read_bytes())
            self._look_at(segment)
            if segment.damage is not None and not segment.torn:
                self._leave(segment)
                return
            if not self._empty:
                self._go_on(path, segment)
                return
            self.cut_octets += len(segment.octets)  # begun, but nothing was recorded in it yet
            path.unlink()
            self._number = self._incarnation = 0

    def _look_at(self, segment: Segment) -> None:
        for block in segment.blocks():
            if block.kind == BlockKind.RECORDS:
                self.last_sequence = last_sequence(segment.octets, block)
                self._empty = False
        if segment.header is not None:
            self._number = segment.header.number
            self._incarnation = segment.header.incarnation
            self._schema = segment.header.schema

    def _leave(self, segment: Segment) -> None:
        """Damage that no crash makes is evidence: not a bit of it is changed."""
        self.damaged = str(segment.damage)
        self.last_sequence = max(self.last_sequence, _last_sequence_behind(segment))
        self._number = self._number or int(segment.name.partition("-")[0])
        self._digest.update(segment.octets)

    def _go_on(self, path: Path, segment: Segment) -> None:
        self.cut_octets += len(segment.octets) - segment.good
        self._size = segment.good
        self._digest.update(segment.octets[: segment.good])
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND)
        os.ftruncate(self._file, segment.good)


def _schema_of(octets: bytes, at: int) -> int:
    return int(BLOCK_HEADER.unpack_from(octets, at)[4]) or 1


def _block_at(octets: bytes, at: int) -> Block:
    _checksum, length, kind, flags, _schema = BLOCK_HEADER.unpack_from(octets, at)
    start = at + BLOCK_HEADER.size
    layout = LAYOUTS.get(_schema_of(octets, at), LAYOUTS[SCHEMA_VERSION])  # of damage: any
    return Block(0, at, kind, flags, start, start + length, layout.octets)


def _incarnation_in(blocks: bytes, current: int) -> int:
    """The incarnation that begins with these blocks, else the current one."""
    block = _block_at(blocks, 0)
    if block.kind != BlockKind.RECORDS:
        block = _block_at(blocks, block.end)
    record = LAYOUTS[_schema_of(blocks, 0)].record.unpack_from(blocks, block.start)
    if record[_KIND] == Kind.INCARNATION_STARTED:
        return int(record[_MESSAGE])
    return current


def _last_sequence_behind(segment: Segment) -> int:
    """The last sequence number behind damage, as far as the blocks' lengths still lead there."""
    last, at, octets = 0, segment.good, segment.octets
    while segment.good and at + BLOCK_HEADER.size <= len(octets):
        block = _block_at(octets, at)
        if block.end > len(octets):
            break
        if block.kind == BlockKind.RECORDS and block.end - block.start >= block.record_octets:
            last = last_sequence(octets, block)
        at = block.end
    return last


def _header(
    incarnation: int, number: int, previous_sha256: str, schema: int = SCHEMA_VERSION
) -> bytes:
    layout = LAYOUTS[schema]
    text = json.dumps(
        {
            "schema": schema,
            "incarnation": incarnation,
            "number": number,
            "previous_sha256": previous_sha256,
            "record_octets": layout.octets,
            "fields": layout.fields,
        }
    ).encode()
    return SEGMENT_PREAMBLE.pack(SEGMENT_MAGIC, crc32(text), len(text)) + text


def _write_all(file: int, octets: bytes) -> None:
    while octets:
        octets = octets[os.write(file, octets) :]


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


_KIND: Final = [field.name for field in FIELDS].index("kind")
_MESSAGE: Final = [field.name for field in FIELDS].index("message")
