"""What the good blocks of a segment say of it as a whole. Standard library only, as in `reader`."""

from __future__ import annotations

from typing import Final, final

from gateway.audit.provenance import Sealed
from gateway.audit.reader import Block, Header, Segment
from gateway.audit.schema import FIELD_NAMES, FIELDS, Kind
from gateway.audit.seals import Seals

_KIND_AT: Final = FIELDS[FIELD_NAMES.index("kind")].offset  # in a record of any version
_KIND: Final = FIELD_NAMES.index("kind")
_TIME: Final = FIELD_NAMES.index("time_ms")
_PREVIOUS: Final = FIELD_NAMES.index("position")  # as it is in `incarnation-started`


@final
class Seen:
    """One segment, as its blocks come by.

    Attributes:
        seals: its seals.
        first_sequence: of its first record; 0: there is none yet.
        gapped: records are missing between others; seals behind that cannot be judged.
        previous: the run before the one that begins with it; 0: none does, or does not say.
    """

    def __init__(self, segment: Segment) -> None:
        header = segment.header
        self.seals = Seals(
            segment.octets, header.log if header else "", header.number if header else 0
        )
        self.first_sequence = self.previous = 0
        self.gapped = False
        self._segment = segment
        self._first: tuple[int, ...] = ()
        self._last: tuple[int, ...] = ()

    def seal(self, block: Block, *, intact: bool) -> None:
        """A seal; `intact`: nothing in front of it is damaged."""
        if intact and not self.gapped:
            content = self._segment.octets[block.start : block.end]
            last = self._last[0] if self._last else 0
            self.seals.look(block.ordinal, block.offset, content, last)

    def records(self, block: Block) -> None:
        """A block of records."""
        octets, record = self._segment.octets, self._segment.layout.record
        self._last = record.unpack_from(octets, block.end - block.record_octets)
        first = record.unpack_from(octets, block.start)
        if not self._first:
            self._first = first
            self.first_sequence = first[0]
            if octets[block.start + _KIND_AT] == Kind.INCARNATION_STARTED:
                self.previous = first[_PREVIOUS]
        self.seals.note_records(first[0])

    @property
    def stopped(self) -> bool:
        """The last record says that the gateway stops."""
        return bool(self._last) and self._last[_KIND] == Kind.INCARNATION_STOPPED

    def sealed(
        self, header: Header, sha256: str, hashes: dict[int, str], *, damaged: bool
    ) -> Sealed:
        """For `provenance`."""
        first, last = self._first, self._last
        return Sealed(
            self._segment.name,
            header.number,
            header.incarnation,
            header.schema,
            header.log,
            header.previous_sha256,
            sha256,
            self.first_sequence,
            last[0] if last else 0,
            first[_TIME] if first else 0,
            last[_TIME] if last else 0,
            self.stopped,
            damaged or self.gapped or self.seals.flaw is not None,
            self.seals.last,
            hashes,
        )
