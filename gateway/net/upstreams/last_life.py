"""What the gateway had from upstreams when it died, from its audit log.

After a kill the upstreams send again what clients had not settled, and what they had where the
upstream did not hear of it; some say of neither that it was delivered before. The audit log knows
what came and how it ended, so that it can be marked when it comes again.
"""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Final, final

from gateway.audit.reader import Segment, names_in, octets_at, segment_at, segment_paths
from gateway.audit.schema import FIELD_NAMES, BlockKind, Flag, Kind

TAIL_OCTETS: Final = 32 * 1024 * 1024  # of segments are read, from the last one back
PREFIX: Final = "upstream "

MESSAGE: Final = FIELD_NAMES.index("message")
EXCHANGE: Final = FIELD_NAMES.index("exchange")
ID_DIGEST: Final = FIELD_NAMES.index("id_digest")
BODY_DIGEST: Final = FIELD_NAMES.index("body_digest")
KIND: Final = FIELD_NAMES.index("kind")
FLAGS: Final = FIELD_NAMES.index("flags")


@final
class LastLife:
    """The messages of one incarnation that came from upstreams.

    Args:
        recent: how many of those that were settled last may come again, of each upstream.
    """

    def __init__(self, recent: int) -> None:
        self._recent = recent
        self._held: dict[int, tuple[str, int]] = {}  # by message: its upstream and its digest
        self._settled: dict[str, deque[int]] = {}

    def read(self, directory: Path) -> dict[str, list[int]]:
        """The digests of what may come again, by upstream; of the log's last incarnation."""
        octets = 0
        tail: list[Path] = []
        for path in reversed(segment_paths(directory)):
            octets += octets_at(path)
            if tail and octets > TAIL_OCTETS:
                break
            tail.insert(0, path)
        for path in tail:
            self._read_segment(segment_at(path))
        found = {name: list(digests) for name, digests in self._settled.items()}
        for name, digest in self._held.values():
            found.setdefault(name, []).append(digest)
        return found

    def _read_segment(self, segment: Segment) -> None:
        upstreams: dict[int, str] = {}
        for block in segment.blocks():
            if block.kind == BlockKind.NAMES:
                for number, text in names_in(segment.octets, block):
                    # Outside of the default virtual host its name stands before.
                    if text.startswith(PREFIX) or f"/{PREFIX}" in text:
                        upstreams[number] = text.rpartition(PREFIX)[2]
                    else:
                        upstreams.pop(number, None)
            elif block.kind == BlockKind.RECORDS:
                for record in segment.rows(block):
                    self._take(record, upstreams)

    def _take(self, record: tuple[int, ...], upstreams: dict[int, str]) -> None:
        kind = record[KIND]
        if kind == Kind.RECEIVED:
            name = upstreams.get(record[EXCHANGE])
            if name is not None:
                self._held[record[MESSAGE]] = (name, record[ID_DIGEST] ^ record[BODY_DIGEST])
        elif kind == Kind.RETURNED or (kind == Kind.SETTLED and record[FLAGS] & Flag.REMOVED):
            held = self._held.pop(record[MESSAGE], None)
            if held is not None:
                name, digest = held
                self._settled.setdefault(name, deque(maxlen=self._recent)).append(digest)
        elif kind == Kind.INCARNATION_STARTED:
            self._held.clear()
            self._settled.clear()
