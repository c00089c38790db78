"""Seals: what a log was up to a place when its gateway said so, as blocks and as heads.

A seal stands in the segment that it is of, and says what all octets in front of it are, the header
included, which says the same of the segment before. A *head* is a seal with its place: what the
gateway publishes, so that somebody else can keep it, and hold the log against it later.

Unsigned, it proves something to who has kept it elsewhere, and nothing to others: whoever can write
the log can write seals. Signed (`signing`), it proves that who has the key said so. A record is
sealed if a good seal stands behind it in its own segment, or in a later one of the same life to
which the chain leads. The next life seals nothing that was left unsealed; it fixes it as it found
it, since its own seals cover the hash of the segment before.

Standard library only, as in `reader`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Final, NamedTuple, final
from zlib import crc32

from gateway.audit.schema import BLOCK_HEADER, SCHEMA_VERSION, SHA256, BlockKind, crc_input
from gateway.files.json_text import json_value

MAX_OCTETS: Final = 1024  # of a seal, or a head
_SIGNATURE: Final = re.compile("[0-9a-f]{128}")
_LOG: Final = re.compile("[0-9a-f]{1,64}")
_MAX: Final = 1 << 63


class Head(NamedTuple):
    """What a log was up to a place.

    Attributes:
        log: the log's id.
        segment, offset: how many octets of which segment.
        sequence: of the last record in them.
        time_ms: when that was said, by the gateway's clock.
        sha256: of these octets, in hex digits.
        key: the public key that it is signed by (Ed25519), in hex digits; "": it is not signed.
        signature: of `statement`, in hex digits, or "".
    """

    log: str
    segment: int
    offset: int
    sequence: int
    time_ms: int
    sha256: str
    key: str = ""
    signature: str = ""

    def line(self) -> str:
        """One JSON object on one line, as it is published."""
        return json.dumps(self._asdict())

    def statement(self) -> bytes:
        """What is signed: all of it but key and signature, by no more than one text."""
        said = (self.log, self.segment, self.offset, self.sequence, self.time_ms, self.sha256)
        return "\n".join(("amqp-gateway audit head 1", *map(str, said), "")).encode()


_IN_SEAL: Final = ("sequence", "time_ms", "sha256", "key", "signature")


def key_id(key: str) -> str:
    """A public key in short, for people: the first digits of its SHA-256."""
    return sha256(bytes.fromhex(key)).hexdigest()[:16]


def seal_block(head: Head) -> bytes:
    """The block that stands at `head.offset`."""
    said = head._asdict()
    content = json.dumps({name: said[name] for name in _IN_SEAL}).encode()
    checksum = crc32(content, crc32(crc_input(len(content), BlockKind.SEAL, 0)))
    header = BLOCK_HEADER.pack(checksum, len(content), BlockKind.SEAL, 0, SCHEMA_VERSION)
    return header + content


def seal_in(content: bytes, log: str, segment: int, offset: int) -> Head | None:
    """What a seal at that place says; `None` if it is none, whatever it is."""
    return _head({**_values(content), "log": log, "segment": segment, "offset": offset})


def head_in(line: bytes) -> Head | None:
    """A head as it was published; `None` if it is none."""
    found = _head(_values(line))
    return found if found is not None and _LOG.fullmatch(found.log) else None


def _values(text: bytes) -> dict[str, object]:
    if len(text) > MAX_OCTETS:
        return {}
    try:
        values = json_value(text)
    except ValueError:
        return {}
    return values if isinstance(values, dict) else {}


def _head(values: dict[str, object]) -> Head | None:
    log, sha, key, signature = (values.get(name) for name in ("log", "sha256", "key", "signature"))
    numbers = [values.get(name) for name in ("segment", "offset", "sequence", "time_ms")]
    whole = [each for each in numbers if type(each) is int and 0 <= each < _MAX]
    if len(whole) < len(numbers) or not isinstance(log, str) or not isinstance(sha, str):
        return None
    if not isinstance(key, str) or not isinstance(signature, str) or not SHA256.fullmatch(sha):
        return None
    signed = SHA256.fullmatch(key) and _SIGNATURE.fullmatch(signature)
    if not signed and (key or signature):
        return None
    segment, offset, sequence, time_ms = whole
    return Head(log, segment, offset, sequence, time_ms, sha, key, signature)


@final
class Seals:
    """The seals of one segment, told of its good blocks in order: is it as they say?

    Attributes:
        last: the last one that is right.
        flaw: what is wrong with the first one that is not: its block's number, its offset, and in
            words. Of those behind damage nobody can tell.
    """

    def __init__(self, octets: bytes, log: str, segment: int) -> None:
        self.last: Head | None = None
        self.flaw: tuple[int, int, str] | None = None
        self._segment = (log, segment)
        self._hashes = Hashes(octets)
        self._octets = octets
        self._first = 0

    def note_records(self, first: int) -> None:
        """A block of records, which begins with that one, is not sealed yet."""
        self._first = self._first or first

    def look(self, ordinal: int, offset: int, content: bytes, last: int) -> None:
        """A seal, with nothing damaged in front of it; `last`: the last record there, 0 if none."""
        head = seal_in(content, *self._segment, offset)
        if head is None:
            problem = "the seal cannot be read"
        elif head.sha256 == self._hashes.up_to(offset) and head.sequence == (last or head.sequence):
            self.last, self._first = head, 0
            return
        elif self._first and self._first <= last:
            problem = _not_as_sealed(self._first, last)
        else:
            problem = "what is in front of the seal is not what was sealed"
        self.flaw = self.flaw or (ordinal, offset, problem)

    def whole(self) -> str:
        """The SHA-256 of the whole segment."""
        return self._hashes.up_to(len(self._octets))


def _not_as_sealed(first: int, last: int) -> str:
    if first == last:
        return f"record {last} is not what it was when it was sealed"
    return f"records {first} to {last} are not what they were when they were sealed"


@final
class Hashes:
    """SHA-256 of the beginning of some octets, of more and more of them."""

    def __init__(self, octets: bytes) -> None:
        self._octets = memoryview(octets)
        self._digest = sha256()
        self._hashed = 0

    def up_to(self, offset: int) -> str:
        """In hex digits; never of fewer than before."""
        self._digest.update(self._octets[self._hashed : offset])
        self._hashed = offset
        return self._digest.hexdigest()


def hashes_at(octets: bytes, offsets: Iterable[int]) -> Iterator[tuple[int, str]]:
    """Of each offset that there is, the SHA-256 of all octets in front of it."""
    hashes = Hashes(octets)
    for offset in sorted(set(offsets)):
        if offset <= len(octets):
            yield offset, hashes.up_to(offset)
