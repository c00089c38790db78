"""What may lie in an audit log's directory that no gateway has put there, or not so.

Written by the format's own words (`gateway.audit.schema`'s docstring), not by the gateway's code.
"""

from __future__ import annotations

import json
import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple
from zlib import crc32

from support.audit_logs import balanced_log

PREAMBLE: Final = struct.Struct("<8sII")
BEHIND: Final = "0000000099-000001.audit"  # a segment's name, behind all others


def whole_log(directory: Path) -> Path:
    """A balanced one of several segments, which ended in order."""
    return balanced_log(directory, 40, segment_octets=4000)


def paths(log: Path) -> list[Path]:
    return sorted(log.glob("*.audit"))


def cut(log: Path) -> None:
    path = paths(log)[1]
    path.write_bytes(path.read_bytes()[:-150])


def flipped(log: Path) -> None:
    path = paths(log)[1]
    octets = bytearray(path.read_bytes())
    octets[len(octets) // 2] ^= 1
    path.write_bytes(octets)


def swapped(log: Path) -> None:
    one, two = paths(log)[1:3]
    octets = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(octets)


def twice(log: Path) -> None:
    shutil.copy(paths(log)[1], log / BEHIND)


def foreign(log: Path) -> None:
    (log / BEHIND).write_bytes(b"PK\x03\x04 not of this gateway\n" * 200)


def empty(log: Path) -> None:
    paths(log)[1].write_bytes(b"")


def header_of(octets: bytes) -> tuple[dict, bytes]:
    """A segment's header, and what is behind it."""
    _magic, _checksum, length = PREAMBLE.unpack_from(octets)
    end = PREAMBLE.size + length
    return json.loads(octets[PREAMBLE.size : end]), octets[end:]


def with_header(header: dict, behind: bytes) -> bytes:
    return begun(json.dumps(header).encode()) + behind


def begun(text: bytes) -> bytes:
    """A segment that has that for a header, and nothing else."""
    return PREAMBLE.pack(b"AMQPAUDT", crc32(text), len(text)) + text


def newer(log: Path) -> None:
    path = paths(log)[-1]
    header, behind = header_of(path.read_bytes())
    path.write_bytes(with_header(header | {"schema": 99}, behind))


def deep(log: Path, levels: int = 3000) -> None:
    """A header with more levels than a reader goes down; its checksum is right."""
    (log / BEHIND).write_bytes(begun(b"[" * levels))


def deep_and_long(log: Path) -> None:
    deep(log, 100_000)


def other_fields(log: Path) -> None:
    """A header that says of its records what they are not."""
    path = paths(log)[-1]
    header, behind = header_of(path.read_bytes())
    path.write_bytes(with_header(header | {"fields": header["fields"][::-1]}, behind))


def other_run(log: Path) -> None:
    """A header of a run that there cannot be."""
    path = paths(log)[-1]
    header, behind = header_of(path.read_bytes())
    path.write_bytes(with_header(header | {"incarnation": 10**30}, behind))


def many_empty(log: Path, number: int = 300) -> None:
    for each in range(100, 100 + number):
        (log / f"{each:010d}-000001.audit").touch()


def directory(log: Path) -> None:
    (log / BEHIND).mkdir()


def loop(log: Path) -> None:
    os.symlink(BEHIND, log / BEHIND)


def dangling(log: Path) -> None:
    os.symlink("nowhere", log / BEHIND)


def pipe(log: Path) -> None:
    os.mkfifo(log / BEHIND)


def sparse(log: Path) -> None:
    """Larger than any segment."""
    (log / BEHIND).touch()
    os.truncate(log / BEHIND, 1 << 40)


class Bad(NamedTuple):
    """What is done to a log, and whether it can then be read in spite of it.

    Attributes:
        readable: each record that is left can be read, so that what only reads says nothing.
        judged: `reconcile` has a verdict; else it could not be run.
    """

    harm: Callable[[Path], None]
    readable: bool = False
    judged: bool = True


BAD: Final = {
    each.harm.__name__: each
    for each in (
        Bad(cut),
        Bad(flipped),
        Bad(swapped, readable=True),
        Bad(twice, readable=True),
        Bad(foreign),
        Bad(empty),
        Bad(newer),
        Bad(deep),
        Bad(deep_and_long),
        Bad(other_fields),
        Bad(other_run),
        Bad(many_empty),
        Bad(directory, judged=False),
        Bad(loop, judged=False),
        Bad(dangling, judged=False),
        Bad(pipe, judged=False),
        Bad(sparse, judged=False),
    )
}
