"""Numbers, packs and frames audit records: what the methods of `records` are made of.

Owns the sequence numbers, the names and the end of a segment. One call of `_record` is one record
of `schema.FIELDS`, in that order, written straight into the turn's buffer. Compiled.
"""

from __future__ import annotations

from typing import Final
from zlib import crc32

from librt.strings import BytesWriter, write_i16_le, write_i32_le, write_i64_le
from mypy_extensions import i16 as int16
from mypy_extensions import i32 as int32
from mypy_extensions import i64 as int64
from mypy_extensions import u8 as octet

from gateway.audit.schema import (
    BLOCK_HEADER,
    MAX_BLOCK_OCTETS,
    NAME_ENTRY,
    RECORD_OCTETS,
    SCHEMA_VERSION,
    BlockFlag,
    BlockKind,
    crc_input,
)

DEFAULT_SEGMENT_OCTETS: Final = 64 * 1024 * 1024
DEFAULT_SEGMENT_AGE_MS: Final = 60 * 60 * 1000
_SEGMENT_STARTS: Final = int(BlockFlag.SEGMENT_STARTS)
_STORED: Final = int(BlockFlag.STORED)


class RecordPacker:
    """Numbers and packs the records of one incarnation; `records.log.AuditLog` has the methods.

    `first_sequence` is one more than the last record of the log, the store's uncopied blocks
    included. Segments end by size or age, and always between two calls of `take_block`.
    """

    __slots__ = (
        "_announced",
        "_first_sequence",
        "_forgotten",
        "_generation",
        "_names",
        "_new_names",
        "_out",
        "_passing",
        "_past",
        "_rotate",
        "_segment_age_ms",
        "_segment_octets",
        "_segment_since_ms",
        "_segment_size",
        "_spare",
        "_texts",
        "incarnation",
        "next_sequence",
    )

    def __init__(
        self,
        incarnation: int64,
        first_sequence: int64 = 1,
        *,
        segment_octets: int64 = DEFAULT_SEGMENT_OCTETS,
        segment_age_ms: int64 = DEFAULT_SEGMENT_AGE_MS,
    ) -> None:
        self.incarnation: int64 = incarnation
        self.next_sequence: int64 = first_sequence
        self._first_sequence: int64 = first_sequence  # of what the next block is made of
        self._segment_octets: int64 = segment_octets
        self._segment_age_ms: int64 = segment_age_ms
        self._segment_size: int64 = 0
        self._segment_since_ms: int64 = 0
        self._rotate = True
        self._generation: int64 = 1
        self._out = BytesWriter()
        self._names: dict[str, int] = {}
        self._texts: list[str] = [""]
        self._announced: list[int] = [1]
        self._new_names: list[int] = []
        self._forgotten: list[int] = []
        self._passing: dict[str, int] = {}  # of this turn
        self._past: list[int] = []  # numbers that have passed in this segment
        self._spare: list[int] = []  # and those of segments before

    def name(self, text: str) -> int:
        """The number of a text, for `schema.NAME_FIELDS`; cut at 1,024 octets."""
        number = self._names.get(text)
        if number is None:
            number = len(self._texts)
            self._names[text] = number
            self._texts.append(text)
            self._announced.append(0)
        return number

    def passing(self, text: str) -> int:
        """The number of a text that only records of this turn use: nobody has to forget it.

        For what peers choose, such as their address and product: whoever has named the same text
        keeps it. A later segment may use the number again.
        """
        number = self._names.get(text)
        if number is None:
            number = self._passing.get(text)
        if number is None:
            if self._spare:
                number = self._spare.pop()
                self._texts[number] = text
                self._announced[number] = 0
            else:
                number = len(self._texts)
                self._texts.append(text)
                self._announced.append(0)
            self._passing[text] = number
        return number

    def forget(self, number: int) -> None:
        """The owner of a name is gone: free its text once the next block is taken; never reused."""
        if self._names.pop(self._texts[number], 0):
            self._forgotten.append(number)

    def pending(self) -> int64:
        """Octets of records since the last `take_block`; during recovery take one per MiB or so."""
        return len(self._out)

    def take_block(self, now_ms: int64, stored: bool = False) -> bytes:
        """Everything since the last call as complete blocks; empty if there was nothing.

        `stored`: the turn wrote something durable, so that the store has the blocks, too.

        Raises:
            RuntimeError: a record was begun and is not whole, or has no number.
        """
        content = self._out.getvalue()
        if not content:
            return b""
        size: int64 = len(content)
        if size != (self.next_sequence - self._first_sequence) * RECORD_OCTETS:
            raise RuntimeError(f"a record is not whole: {size} octets")
        if self._rotate:
            self._segment_since_ms = now_ms
        parts: list[bytes] = []
        if self._new_names:
            self._frame(parts, BlockKind.NAMES, self._name_entries(), 0)
        flags: int = _STORED if stored else 0
        if size <= MAX_BLOCK_OCTETS:
            self._frame(parts, BlockKind.RECORDS, content, flags)
        else:
            for at in range(0, size, MAX_BLOCK_OCTETS):
                self._frame(parts, BlockKind.RECORDS, content[at : at + MAX_BLOCK_OCTETS], flags)
        self._out = BytesWriter()
        self._first_sequence = self.next_sequence
        self._drop_forgotten()
        block = b"".join(parts)
        self._segment_size += len(block)
        if (
            self._segment_size >= self._segment_octets
            or now_ms - self._segment_since_ms >= self._segment_age_ms
        ):
            self._end_segment()
        return block

    def _drop_forgotten(self) -> None:
        for number in self._forgotten:
            self._texts[number] = ""
        self._forgotten.clear()
        for number in self._passing.values():
            self._texts[number] = ""
            self._past.append(number)
        self._passing.clear()

    def _end_segment(self) -> None:
        """The next block starts a new segment, which repeats the names that it uses."""
        self._rotate = True
        self._segment_size = 0
        self._generation += 1
        self._spare.extend(self._past)
        self._past.clear()

    def _frame(self, parts: list[bytes], kind: int, content: bytes, flags: int) -> None:
        if self._rotate:
            flags |= _SEGMENT_STARTS
            self._rotate = False
        length = len(content)
        checksum = crc32(content, crc32(crc_input(length, kind, flags)))
        parts.append(BLOCK_HEADER.pack(checksum, length, kind, flags, SCHEMA_VERSION))
        parts.append(content)

    def _name_entries(self) -> bytes:
        entries: list[bytes] = []
        for number in self._new_names:
            text = self._texts[number].encode("utf-8", "replace")[:1024]
            entries.append(NAME_ENTRY.pack(number, len(text)))
            entries.append(text)
        self._new_names.clear()
        return b"".join(entries)

    def _use(self, number: int32) -> None:
        """See to it that the current segment has the name."""
        if self._announced[number] != self._generation:
            self._announced[number] = self._generation
            self._new_names.append(number)

    def _record(
        self,
        kind: octet,
        now_ms: int64,
        message: int64 = 0,
        position: int64 = 0,
        link: int64 = 0,
        id_digest: int64 = 0,
        body_digest: int64 = 0,
        size: int64 = 0,
        node: int32 = 0,
        exchange: int32 = 0,
        peer: int32 = 0,
        connection: int32 = 0,
        transaction: int32 = 0,
        copies: int32 = 0,
        reason: int16 = 0,
        flags: int16 = 0,
        delivery_count: int16 = 0,
        outcome: octet = 0,
        actor: int32 = 0,
        address: int32 = 0,
    ) -> None:
        if node:
            self._use(node)
        if exchange:
            self._use(exchange)
        if peer:
            self._use(peer)
        out = self._out
        write_i64_le(out, self.next_sequence)
        self.next_sequence += 1
        write_i64_le(out, now_ms)
        write_i64_le(out, message)
        write_i64_le(out, position)
        write_i64_le(out, link)
        write_i64_le(out, id_digest)
        write_i64_le(out, body_digest)
        write_i64_le(out, size)
        write_i32_le(out, node)
        write_i32_le(out, exchange)
        write_i32_le(out, peer)
        write_i32_le(out, connection)
        write_i32_le(out, transaction)
        write_i32_le(out, copies)
        write_i16_le(out, reason)
        write_i16_le(out, flags)
        write_i16_le(out, delivery_count)
        out.append(kind)
        out.append(outcome)
        if actor or address:
            if actor:
                self._use(actor)
            if address:
                self._use(address)
            write_i32_le(out, actor)
            write_i32_le(out, address)
        else:  # of messages, no record has them
            write_i64_le(out, 0)
