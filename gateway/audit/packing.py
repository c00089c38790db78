"""Numbers, packs and frames audit records: what the methods of `records` are made of.

Owns the sequence numbers, the names and the end of a segment. One call of `_record`, or of `_write`
which it calls, is one record of `schema.FIELDS`, in that order, written straight into the turn's
buffer: eight octets at a time, since each piece costs as much. Compiled.
"""

from __future__ import annotations

from typing import Final
from zlib import crc32

from librt.strings import BytesWriter, write_i64_le
from mypy_extensions import i64 as int64

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
_SPARE: Final = 1024 * 1024  # octets of room that are kept from one turn to the next
_SEGMENT_STARTS: Final = int(BlockFlag.SEGMENT_STARTS)
_STORED: Final = int(BlockFlag.STORED)


class RecordPacker:
    """Numbers and packs the records of one incarnation; `records.log.AuditLog` has the methods.

    `first_sequence` is one more than the last record of the log, the store's uncopied blocks
    included. Segments end by size or age, and always between two calls of `take_block`.
    """

    __slots__ = (
        "_announced",
        "_exchange",
        "_first_sequence",
        "_forgotten",
        "_generation",
        "_names",
        "_new_names",
        "_node",
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
        # The last names that records have as theirs: the segment has them. 0: it may have none.
        self._node: int64 = 0
        self._exchange: int64 = 0
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
        if size > _SPARE:
            self._out = BytesWriter()
        else:
            self._out.truncate(0)  # with its room, which need not be found anew
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
        self._node = 0
        self._exchange = 0
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

    def _use(self, number: int64) -> None:
        """See to it that the current segment has the name."""
        if self._announced[number] != self._generation:
            self._announced[number] = self._generation
            self._new_names.append(number)

    def _record(
        self,
        kind: int64,
        now_ms: int64,
        message: int64 = 0,
        position: int64 = 0,
        link: int64 = 0,
        id_digest: int64 = 0,
        body_digest: int64 = 0,
        size: int64 = 0,
        node: int64 = 0,
        exchange: int64 = 0,
        peer: int64 = 0,
        connection: int64 = 0,
        transaction: int64 = 0,
        copies: int64 = 0,
        reason: int64 = 0,
        flags: int64 = 0,
        delivery_count: int64 = 0,
        outcome: int64 = 0,
        actor: int64 = 0,
        address: int64 = 0,
    ) -> None:
        """One record of any kind, with what it has."""
        if node:
            self._use(node)
        if exchange:
            self._use(exchange)
        if peer:
            self._use(peer)
        if actor:
            self._use(actor)
        if address:
            self._use(address)
        self._write(
            kind,
            now_ms,
            message,
            position,
            link,
            id_digest,
            body_digest,
            size,
            node,
            exchange,
            peer,
            connection,
            transaction,
            copies,
            reason,
            flags,
            delivery_count,
            outcome,
            actor,
            address,
        )

    def _write(
        self,
        kind: int64,
        now_ms: int64,
        message: int64,
        position: int64,
        link: int64,
        id_digest: int64,
        body_digest: int64,
        size: int64,
        node: int64,
        exchange: int64,
        peer: int64,
        connection: int64,
        transaction: int64,
        copies: int64,
        reason: int64,
        flags: int64,
        delivery_count: int64,
        outcome: int64,
        actor: int64,
        address: int64,
    ) -> None:
        """One record, with all that it has or has not; here is the fields' order.

        What each message has calls this itself: what may be left out has to be looked for each
        time. Of names it needs no more than node and exchange, mostly those of the record before.
        """
        if (node | exchange | peer | connection | transaction | copies | actor | address) >> 31:
            raise OverflowError("a number does not fit into 32 bits")
        if (reason | flags | delivery_count) >> 15 or (kind | outcome) >> 7:
            raise OverflowError("a number does not fit into its field")
        if node != self._node and node:
            self._use(node)
            self._node = node
        if exchange != self._exchange and exchange:
            self._use(exchange)
            self._exchange = exchange
        out = self._out
        sequence = self.next_sequence
        self.next_sequence = sequence + 1
        write_i64_le(out, sequence)
        write_i64_le(out, now_ms)
        write_i64_le(out, message)
        write_i64_le(out, position)
        write_i64_le(out, link)
        write_i64_le(out, id_digest)
        write_i64_le(out, body_digest)
        write_i64_le(out, size)
        write_i64_le(out, node | exchange << 32)
        write_i64_le(out, peer | connection << 32)
        write_i64_le(out, transaction | copies << 32)
        write_i64_le(out, reason | flags << 16 | delivery_count << 32 | kind << 48 | outcome << 56)
        write_i64_le(out, actor | address << 32)
