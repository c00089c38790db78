"""Audit logs as somebody rewrites them who can write the directory: checksums and chain are right.

It packs by the format's own words (`gateway.audit.schema`'s docstring), not by the gateway's code.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from zlib import crc32

NAMES, RECORDS, SEAL = 1, 2, 3
RECORD = 104
KIND_AT, POSITION_AT, MESSAGE_AT, SIZE_AT = 94, 24, 16, 56
STARTED = 1
STEPS = frozenset({*range(10, 15), *range(20, 42)})  # kinds of records of one message
Block = tuple[int, int, bytes]  # kind, flags, content


class ForgedSegment:
    """One segment, taken apart."""

    def __init__(self, octets: bytes) -> None:
        magic, _checksum, length = struct.unpack_from("<8sII", octets)
        assert magic == b"AMQPAUDT"
        self.header = json.loads(octets[16 : 16 + length])
        self.blocks: list[Block] = []
        at = 16 + length
        while at < len(octets):
            _checksum, length, kind, flags, version = struct.unpack_from("<IIBBH", octets, at)
            self.blocks.append((kind, flags, octets[at + 12 : at + 12 + length]))
            self.version = version
            at += 12 + length

    def octets(self, *, reseal: bool) -> bytes:
        """Put together again; `reseal`: unsigned seals that say what is there now."""
        text = json.dumps(self.header).encode()
        made = struct.pack("<8sII", b"AMQPAUDT", crc32(text), len(text)) + text
        last = 0
        for kind, flags, content in self.blocks:
            if kind == RECORDS:
                last = struct.unpack_from("<q", content, len(content) - RECORD)[0]
            if kind == SEAL and reseal:
                said = json.loads(content)
                said |= {"sha256": sha256(made).hexdigest(), "sequence": last}
                content = json.dumps(said | {"key": "", "signature": ""}).encode()
            rest = struct.pack("<IBBH", len(content), kind, flags, self.version)
            made += struct.pack("<I", crc32(content, crc32(rest))) + rest + content
        return made

    def records(self) -> int:
        return sum(len(block[2]) // RECORD for block in self.blocks if block[0] == RECORDS)


class Forger:
    """A log, to be rewritten."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        paths = sorted(directory.glob("*.audit"))
        self.segments = [ForgedSegment(path.read_bytes()) for path in paths]

    def write(self, *, chain: bool = True, reseal: bool = False) -> None:
        """Numbers, names, checksums; `chain`: the hashes from segment to segment, too."""
        for path in self.directory.glob("*.audit"):
            path.unlink()
        before = "0" * 64
        for number, segment in enumerate(self.segments, start=1):
            segment.header["number"] = number
            if chain:
                segment.header["previous_sha256"] = before
            octets = segment.octets(reseal=reseal)
            before = sha256(octets).hexdigest()
            name = f"{number:010d}-{segment.header['incarnation']:06d}.audit"
            (self.directory / name).write_bytes(octets)

    def change(self, place: int, at: int = SIZE_AT) -> None:
        """One field of the first record of a segment."""
        segment = self.segments[place]
        index = next(i for i, block in enumerate(segment.blocks) if block[0] == RECORDS)
        kind, flags, content = segment.blocks[index]
        changed = bytearray(content)
        changed[at] ^= 1
        segment.blocks[index] = (kind, flags, bytes(changed))

    def strip(self, wanted: Callable[[int], bool] = lambda _place: True) -> None:
        """Take the seals out of segments."""
        for place, segment in enumerate(self.segments):
            if wanted(place):
                segment.blocks = [block for block in segment.blocks if block[0] != SEAL]

    def drop_life(self, life: int) -> None:
        """Take a run of the gateway out, and number the records behind it anew."""
        self.segments = [each for each in self.segments if each.header["incarnation"] != life]
        self._number_anew()

    def drop_message(self, message: int) -> None:
        """Take every record of the steps of a message out, and number the others anew."""
        for segment in self.segments:
            for index, (kind, flags, content) in enumerate(segment.blocks):
                if kind == RECORDS:
                    rows = [content[at : at + RECORD] for at in range(0, len(content), RECORD)]
                    left = [row for row in rows if not self._is_of(row, message)]
                    segment.blocks[index] = (kind, flags, b"".join(left))
            segment.blocks = [block for block in segment.blocks if block[2]]
        self._number_anew()

    def _is_of(self, row: bytes, message: int) -> bool:
        of = struct.unpack_from("<q", row, MESSAGE_AT)[0]
        return row[KIND_AT] in STEPS and of == message

    def _number_anew(self) -> None:
        sequence = 1
        for segment in self.segments:
            for index, (kind, flags, content) in enumerate(segment.blocks):
                if kind != RECORDS:
                    continue
                changed = bytearray(content)
                for at in range(0, len(content), RECORD):
                    struct.pack_into("<q", changed, at, sequence)
                    sequence += 1
                segment.blocks[index] = (kind, flags, bytes(changed))
