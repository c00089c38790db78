"""Writes the segments of an audit log: appends finished blocks, rotates, chains, repairs.

Used by the commit thread. A block says itself where a new segment starts, so that appending the
same blocks again after a crash (the store keeps a turn's block until it is copied) makes the same
files; blocks that the log holds already are skipped by their sequence numbers. A torn tail is cut
when the log is opened; `cut_octets` says how much that was.

Every `OSError` may be followed by the same call again. After a failed sync the segment ends where
it was last synced, and what came behind is written again into a new one (`segment_file` says why).
That repeats the names that the cut one has, since a segment can be read alone.

Seals are put in on demand (`seal`), and where a segment is closed. They are of this life's own
segments only: what an earlier one left behind its last seal stays unsealed, and so does what is
written again for it from the store. One that may not be on disk is not written again: it speaks of
a segment that was cut.
"""

from __future__ import annotations

import json
import secrets
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, final
from zlib import crc32

from gateway.audit.ends import (
    LogEnd,
    incarnation_in,
    last_sequence_behind,
    last_sequence_of,
    log_id_in,
)
from gateway.audit.reader import (
    FIRST,
    Segment,
    block_at,
    last_sequence,
    schema_of,
    segment_at,
    segment_paths,
)
from gateway.audit.schema import (
    LAYOUTS,
    SCHEMA_VERSION,
    SEALED_SINCE,
    SEGMENT_MAGIC,
    SEGMENT_PREAMBLE,
    BlockFlag,
    BlockKind,
    segment_name,
    segment_numbers,
)
from gateway.audit.sealing import Sealer
from gateway.audit.seals import seal_block
from gateway.audit.segment_file import SegmentFile, create, go_on, sync_directory
from gateway.files.whole import read_segment

LOG_ID_OCTETS: Final = 16


@final
class SegmentWriter:
    """The open end of a log.

    Attributes:
        last_sequence: of the last record that the log holds; 0 when it holds none. Blocks of a
            segment that could not be synced count, which are in memory until they are written.
        synced: the end that is surely on disk; it never goes back while the writer is open. A
            segment that was begun is there, with its header.
        log: the log's id, which each segment has in its header.
        incarnation: of the newest segment; 0: there is none.
        sealer: makes the seals, once it is known which life this is.
        segments: started since the writer was opened.
        cut_octets: torn tail that was cut at opening, or what else a power cut made of it.
        cut: what was the matter with it, if it was not just torn.
        damaged: what else was found at opening, left as it is; the writer goes on in a new segment.
    """

    __slots__ = (
        "_directory",
        "_empty",
        "_number",
        "_owed",
        "_previous_sha256",
        "_schema",
        "_segment",
        "_surely_on_disk",
        "_unsealed",
        "cut",
        "cut_octets",
        "damaged",
        "incarnation",
        "last_sequence",
        "log",
        "sealer",
        "segments",
        "synced",
    )

    def __init__(
        self, directory: Path, surely_on_disk: LogEnd | None = None, *, log: str = ""
    ) -> None:
        """`surely_on_disk`: of a life that was cut off; what it left behind that may be anything.

        The store has that, too, and it is written again. `log`: the log's id, where it is known.
        """
        self._directory = directory
        self._surely_on_disk = surely_on_disk
        self._segment: SegmentFile | None = None
        self._number = 0
        self.incarnation = 0
        self._schema = SCHEMA_VERSION
        self._empty = True
        self._unsealed = False
        self._previous_sha256 = FIRST
        # What a segment that is not trusted has lost: the next one is to have it first of all.
        self._owed = b""
        self.last_sequence = 0
        self.segments = 0
        self.cut_octets = 0
        self.cut = ""
        self.damaged = ""
        self.sealer: Sealer | None = None
        directory.mkdir(parents=True, exist_ok=True)
        self.log = log or log_id_in(directory) or secrets.token_hex(LOG_ID_OCTETS)
        self._reopen()
        self.synced = self._end()

    @property
    def unsynced_octets(self) -> int:
        """What is kept in memory until it is surely on disk."""
        segment = self._segment
        return len(self._owed) + (0 if segment is None else segment.unsynced_octets)

    def append(self, blocks: bytes) -> None:
        """Write complete blocks, as `AuditLog.take_block` gave them.

        `OSError` leaves nothing half written, and the call may be repeated: records that the log
        holds already are skipped.
        """
        start = at = 0
        while at < len(blocks):
            block = block_at(blocks, at)
            at = block.end
            if block.kind == BlockKind.RECORDS:  # names go with the records that follow them
                last = last_sequence(blocks, block)
                if last > self.last_sequence:
                    self._append_turn(blocks[start:at], last)
                start = at
            elif block.kind == BlockKind.SEAL:
                start = at

    def go_on_behind(self, number: int, incarnation: int = 0) -> None:
        """Before anything is appended: the next segment has a higher number than this one.

        What that life has left, and nobody copied to the log, is of this `incarnation`.
        For a log whose newest segments are gone: what follows is no continuation of what is left,
        and no name of a segment is given twice.
        """
        if number <= self._number:
            return
        self.close()
        self._number = number
        self.incarnation = max(self.incarnation, incarnation)
        self.synced = self._end()

    def sync(self) -> None:
        """Everything appended is on disk when this returns; `OSError` if it is not."""
        self._mend()
        if self._segment is not None:
            self._segment.sync()
            self.synced = self._end()

    def seal(self) -> None:
        """Everything that this life has appended is sealed, and that on disk; `OSError`: it is not.

        `sealer.head` is the seal then, and was before if nothing is behind that.
        """
        self.sync()
        segment, sealer = self._segment, self.sealer
        if segment is None or sealer is None or not self._unsealed:
            return
        if self.incarnation != sealer.life:
            return
        head = sealer.made(
            self.log, self._number, segment.size, self.last_sequence, segment.digest.hexdigest()
        )
        segment.append(seal_block(head))
        segment.sync()
        self.synced = self._end()
        self._unsealed = False
        sealer.head = head

    def look(self) -> None:
        """`OSError` if the segment under way was removed, moved or cut: it is lost, or may be."""
        if self._segment is not None:
            self._segment.look()

    def close(self) -> None:
        """Sync and close."""
        self.sync()
        if self._segment is not None:
            self._previous_sha256 = self._segment.digest.hexdigest()
            self._segment.close()
            self._segment = None

    def _end(self) -> LogEnd:
        segment = self._segment
        if segment is None:
            return LogEnd(self.last_sequence, self._number, 0, self._previous_sha256)
        sha = segment.synced_digest.hexdigest()
        return LogEnd(self.last_sequence, self._number, segment.synced_size, sha)

    def _append_turn(self, blocks: bytes, last_sequence: int) -> None:
        """Names, if any, and one block of records."""
        self._mend()
        first = block_at(blocks, 0)
        schema = schema_of(blocks, 0)  # an older gateway may have left them in the store
        segment = self._segment
        begins = bool(first.flags & BlockFlag.SEGMENT_STARTS)
        if begins and self._empty:  # what was begun is for these, unless it is an earlier life's
            begins = incarnation_in(blocks, self.incarnation) != self.incarnation
        if segment is None or begins or schema != self._schema:
            self.seal()
            segment = self._start_segment(incarnation_in(blocks, self.incarnation), schema)
        segment.append(blocks)
        self._empty = False
        self._unsealed = True
        self.last_sequence = last_sequence

    def _start_segment(self, incarnation: int, schema: int) -> SegmentFile:
        """Behind the one that is open, whose octets are all on disk, and where they belong."""
        before = self._segment
        if before is not None:
            before.look()  # with another directory in place of its own this would begin there
            self._previous_sha256 = before.synced_digest.hexdigest()
        number = self._number + 1
        header = _header(incarnation, number, self._previous_sha256, schema, self.log)
        started = create(self._directory / segment_name(incarnation, number), header)
        if before is not None:
            before.close()
        self._segment = started
        self._number = number
        self.incarnation = incarnation
        self._schema = schema
        self._empty = True
        self.segments += 1
        self.synced = LogEnd(self.synced.sequence, number, len(header), started.digest.hexdigest())
        return started

    def _mend(self) -> None:
        """After a failed sync: what the segment may have lost goes into a new one."""
        segment = self._segment
        if segment is not None and not segment.trusted:
            segment.cut()
            names = _names_in(read_segment(segment.path))
            owed = names + _without_seals(b"".join(segment.unsynced))
            self._start_segment(self.incarnation, self._schema)
            self._owed = owed
        if self._owed:
            assert self._segment is not None
            self._segment.append(self._owed)
            self._empty = False
            self._owed = b""

    def _reopen(self) -> None:
        """Go on at the end of the last segment, or behind it if it is damaged.

        One that was begun, and has no record yet, stays: it may be remembered already.
        """
        paths = segment_paths(self._directory)
        while paths:
            path = paths.pop()
            segment = segment_at(path)
            self._look_at(segment)
            if segment.damage is not None and not segment.torn:
                if not self._may_be_of_a_power_cut(segment):
                    self._leave(segment, paths)
                    return
                self.cut = str(segment.damage)
            self.cut_octets += len(segment.octets) - segment.good
            if segment.header is not None:
                self._segment = go_on(path, segment.octets[: segment.good])
                if self._empty:
                    self.last_sequence = last_sequence_of(paths)
                return
            path.unlink()
            sync_directory(self._directory)

    def _look_at(self, segment: Segment) -> None:
        for block in segment.blocks():
            if block.kind == BlockKind.RECORDS:
                self.last_sequence = last_sequence(segment.octets, block)
                self._empty = False
        if segment.header is not None:
            self._number = segment.header.number
            self.incarnation = segment.header.incarnation
            self._schema = segment.header.schema

    def _may_be_of_a_power_cut(self, segment: Segment) -> bool:
        """Whether it begins behind all that was surely on disk: some of that may have come there.

        Systems write parts of a file in any order, so that what is there may have holes in it.
        """
        end, header = self._surely_on_disk, segment.header
        if end is None or header is None:
            return False
        if header.number == end.segment:
            return 0 < end.offset <= segment.good
        return header.number > end.segment

    def _leave(self, segment: Segment, before: list[Path]) -> None:
        """Damage that no crash makes is evidence: not a bit of it is changed."""
        self.damaged = str(segment.damage)
        reached = self.last_sequence or last_sequence_of(before)  # it may have lost all of its own
        self.last_sequence = max(reached, last_sequence_behind(segment, reached))
        number, incarnation = segment_numbers(segment.name)  # where its header cannot say
        self._number = self._number or number
        self.incarnation = self.incarnation or incarnation
        self._previous_sha256 = sha256(segment.octets).hexdigest()


def _without_seals(blocks: bytes) -> bytes:
    kept: list[bytes] = []
    at = 0
    while at < len(blocks):
        block = block_at(blocks, at)
        if block.kind != BlockKind.SEAL:
            kept.append(blocks[at : block.end])
        at = block.end
    return b"".join(kept)


def _names_in(octets: bytes) -> bytes:
    """All names of a segment that has to be left, for the one that goes on with it."""
    segment = Segment("", octets)
    return b"".join(
        [
            octets[block.offset : block.end]
            for block in segment.blocks()
            if block.kind == BlockKind.NAMES
        ]
    )


def _header(
    incarnation: int,
    number: int,
    previous_sha256: str,
    schema: int = SCHEMA_VERSION,
    log: str = "",
) -> bytes:
    layout = LAYOUTS[schema]
    said: dict[str, Any] = {  # Any: as `json.dumps` takes it
        "schema": schema,
        "incarnation": incarnation,
        "number": number,
        "previous_sha256": previous_sha256,
        "record_octets": layout.octets,
        "fields": layout.fields,
    }
    if schema >= SEALED_SINCE:
        said["log"] = log
    text = json.dumps(said).encode()
    return SEGMENT_PREAMBLE.pack(SEGMENT_MAGIC, crc32(text), len(text)) + text
