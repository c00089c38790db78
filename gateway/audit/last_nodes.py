"""Which node copies were in, by the log alone: for whoever knows them by their numbers only.

Standard library only, as in `reader`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from gateway.audit.reader import Segment, names_in, segment_at, segment_paths
from gateway.audit.schema import FIELD_NAMES, BlockKind, Kind

Copy = tuple[int, int]  # numbers of the message, and of its place in the queue

_KIND: Final = FIELD_NAMES.index("kind")
_MESSAGE: Final = FIELD_NAMES.index("message")
_POSITION: Final = FIELD_NAMES.index("position")
_NODE: Final = FIELD_NAMES.index("node")
_IN: Final = frozenset((int(Kind.ENTERED), int(Kind.RECOVERED)))


def last_nodes(directory: Path, copies: dict[Copy, int]) -> dict[int, str]:
    """The name of the node, by what `copies` say of each; the newest records count.

    The whole log is read, unless all is found before.
    """
    found: dict[int, str] = {}
    wanted = set(copies.values())
    for path in reversed(segment_paths(directory)):
        if not wanted:
            break
        named = _in_segment(segment_at(path), copies)
        for queue in wanted & named.keys():
            found[queue] = named[queue]
        wanted -= named.keys()
    return found


def _in_segment(segment: Segment, copies: dict[Copy, int]) -> dict[int, str]:
    texts: dict[int, str] = {}
    found: dict[int, str] = {}
    for block in segment.blocks():
        if block.kind == BlockKind.NAMES:
            texts.update(names_in(segment.octets, block))
        if block.kind != BlockKind.RECORDS:
            continue
        for record in segment.rows(block):
            if record[_KIND] in _IN:
                queue = copies.get((record[_MESSAGE], record[_POSITION]))
                name = texts.get(record[_NODE])
                if queue is not None and name:
                    found[queue] = name
    return found
