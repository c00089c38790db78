"""Whether a log goes on behind all that the store beside it knows: then the store is older.

A turn that makes something durable is committed in the store, its blocks included, before these are
written to the log; there they are marked as STORED. A row of the store goes only after the store
has remembered an end of the log behind the row's blocks. So no crash leaves a STORED block in the
log that is behind the store's last row and behind the end that it remembers: only an older copy of
the store does, or one without its WAL. Turns with nothing durable in them are no sign: they are in
the log alone.

A start of the gateway is in the store, too, before it is in the log, whatever it went on to do.

Standard library only, as in `reader`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from gateway.audit.ends import NOTHING_KNOWN, Difference, LogEnd, LogEnds, last_incarnation
from gateway.audit.reader import block_at, last_sequence, segment_at, segment_paths
from gateway.audit.schema import BlockFlag, BlockKind


class Known(NamedTuple):
    """What a store knows of the log beside it.

    Attributes:
        ends: what it remembers of both ends.
        sequence: of the last record in its rows, 0 if these have none; `None` if the last row
            cannot be read.
        incarnation: how often it was opened; 0: never.
        clean: it was closed in order.
    """

    ends: LogEnds
    sequence: int | None
    incarnation: int
    clean: bool

    def surely_on_disk(self) -> LogEnd | None:
        """How much of the log was, when the last life was cut off; `None`: it was not."""
        if self.clean or not self.incarnation:
            return None
        return self.ends.last or LogEnd(0, 0, 0, "")


KNOWS_NOTHING: Final = Known(NOTHING_KNOWN, 0, 0, clean=False)


def ahead(directory: Path, known: Known, *, as_remembered: bool) -> list[Difference]:
    """What stands in a log that its store must know, and does not; empty if there is nothing.

    `as_remembered`: nothing was found to be different from the ends that the store remembers. Else
    it may have kept to these, without a word of what it wrote since.
    """
    if not known.incarnation:
        return []
    last = known.ends.last
    reached = max(known.sequence or 0, 0 if last is None else last.sequence)
    lives = last_incarnation(directory)
    if lives > known.incarnation:
        text = (
            f"the store is older than the log: it was opened {known.incarnation} times, and the"
            f" log tells of start {lives}"
        )
        return [Difference("", text, reached + 1)]
    if known.sequence is None or not as_remembered:
        return []
    found = _stored_behind(directory, reached)
    if found is None:
        return []
    text = (
        f"the store is older than the log: it knows records to {reached}, and the log has what it"
        f" had committed to record {found[1]}"
    )
    return [Difference(found[0], text, reached + 1)]


def last_sequence_in(blocks: bytes) -> int:
    """The sequence number of the last record of complete blocks; 0 if they have none."""
    found = at = 0
    while at < len(blocks):
        block = block_at(blocks, at)
        at = block.end
        if block.kind == BlockKind.RECORDS:
            found = last_sequence(blocks, block)
    return found


def _stored_behind(directory: Path, reached: int) -> tuple[str, int] | None:
    """The last STORED block that has a record behind that one: its segment, its last record."""
    for path in reversed(segment_paths(directory)):
        segment = segment_at(path)
        records = [block for block in segment.blocks() if block.kind == BlockKind.RECORDS]
        for block in reversed(records):
            if last_sequence(segment.octets, block) <= reached:
                return None
            if block.flags & BlockFlag.STORED:
                return segment.name, last_sequence(segment.octets, block)
    return None
