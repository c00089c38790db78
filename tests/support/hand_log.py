"""Audit logs packed by hand: by the format's own words, and whatever they then say.

Nothing of the gateway's packing is used, and nothing is checked: a log is what a test says, in one
segment for each run, or more where it is `cut`. Records are given by the names of their kinds and
fields, other meanings of fields included.
"""

from __future__ import annotations

import json
import struct
from hashlib import sha256
from pathlib import Path
from zlib import crc32

from gateway.audit.schema import ALIASES, Flag, Kind, Outcome, Reason

RECORD = struct.Struct("<8q6i3h2b2i")
FIELDS = (
    *("sequence", "time_ms", "message", "position", "link", "id_digest", "body_digest", "size"),
    *("node", "exchange", "peer", "connection", "transaction", "copies"),
    *("reason", "flags", "delivery_count", "kind", "outcome", "actor", "address"),
)
TEXTS = ("node", "exchange", "peer", "actor", "address")
MEANINGS = {"reason": Reason, "outcome": Outcome}
NAMES, RECORDS = 1, 2
LOW = 0x7FFF_FFFF


def mix(message: int, position: int) -> int:
    """A copy's share of its queue's checksum, by the words of the contract."""
    first = (message & LOW) * 0x5851_F42D
    mixed = first ^ ((((message >> 31) ^ position) & LOW) * 0x4C95_7F2D)
    mixed ^= mixed >> 31
    return ((mixed & LOW) * 0x6A09_E667) ^ (mixed >> 16)


class HandLog:
    """A log, run by run."""

    def __init__(self, directory: Path, name: str = "ba4d") -> None:
        """`name`: its id."""
        self.directory = directory
        self.name = name
        directory.mkdir()
        self.run = 0
        self.number = 0
        self.sequence = 0
        self.now_ms = 1_790_000_000_000
        self.before = "0" * 64
        self.names: list[str] = []
        self.rows: list[bytes] = []

    def start(self) -> None:
        """A run begins."""
        self.run += 1
        self.names, self.rows = [], []
        self.add("INCARNATION_STARTED", incarnation=self.run, previous=self.run - 1 or -1)

    def add(self, kind: str, **said: object) -> int:
        """One record; its sequence number."""
        self.sequence += 1
        number = Kind[kind]
        aliases = {alias: field for field, alias in ALIASES.get(number, {}).items()}
        values = dict.fromkeys(FIELDS, 0) | {"sequence": self.sequence, "kind": int(number)}
        self.now_ms += 1
        values["time_ms"] = self.now_ms
        for name, value in said.items():
            field = aliases.get(name, name)
            assert field in FIELDS, name
            values[field] = self._value(field, value)
        self.rows.append(RECORD.pack(*(values[field] for field in FIELDS)))
        return self.sequence

    def _value(self, field: str, value: object) -> int:
        if field == "flags":
            return sum(int(Flag[name]) for name in str(value).split())
        if field in MEANINGS and isinstance(value, str):
            return int(MEANINGS[field][value])
        if field in TEXTS:
            if value not in self.names:
                self.names.append(str(value))
            return self.names.index(str(value)) + 1
        assert isinstance(value, int)
        return value

    def checkpoint(self, queues: dict[str, dict], routes: dict[str, dict], **outlets: dict) -> None:
        """All at once; what is not said is 0. Of a queue `copies` are those that it holds."""
        for node, said in queues.items():
            checksum = 0
            for message, position in said.get("copies", ()):
                checksum ^= mix(message, position)
            self.add(
                "QUEUE_CHECKPOINT",
                node=node,
                depth=len(said.get("copies", ())),
                checksum=checksum,
                entered=said.get("entered", 0),
                unsettled=said.get("unsettled", 0),
            )
        for link, said in outlets.items():
            self.add("OUTLET_CHECKPOINT", link=int(link[1:]), **said)
        for exchange, said in routes.items():
            self.add("ROUTE_CHECKPOINT", exchange=exchange, **said)
        self.add("CLOCK")

    def end(self, *, stopped: bool = True) -> Path:
        """The run is over, in order or not; the directory."""
        if stopped:
            self.add("INCARNATION_STOPPED", incarnation=self.run)
        return self.cut()

    def cut(self) -> Path:
        """What follows is in the next segment; the directory."""
        self.number += 1
        header = {"schema": 4, "incarnation": self.run, "number": self.number, "log": self.name}
        text = json.dumps(header | {"previous_sha256": self.before}).encode()
        octets = struct.pack("<8sII", b"AMQPAUDT", crc32(text), len(text)) + text
        named = [name.encode() for name in self.names]
        entries = [struct.pack("<iH", at, len(name)) + name for at, name in enumerate(named, 1)]
        octets += block(NAMES, b"".join(entries), starts=True) + block(RECORDS, b"".join(self.rows))
        self.rows = []
        self.before = sha256(octets).hexdigest()
        (self.directory / f"{self.number:010d}-{self.run:06d}.audit").write_bytes(octets)
        return self.directory


def block(kind: int, content: bytes, *, starts: bool = False) -> bytes:
    """One block with its header."""
    rest = struct.pack("<IBBH", len(content), kind, int(starts), 4)
    return struct.pack("<I", crc32(content, crc32(rest))) + rest + content
