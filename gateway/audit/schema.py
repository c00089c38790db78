"""The one description of the audit log's format, for writers and readers alike.

A log is a directory of segments, in the order of their names. A segment is a preamble, a header
(JSON text: schema version, fields, the log's id, incarnation, number, hash of the segment before)
and blocks. A block is a header (`BLOCK_HEADER`: CRC-32, length of the content, kind, flags, schema
version) and its content: *records* of `RECORD_OCTETS` each, fixed-width and little-endian, *names*
(number -> text), or a *seal* (`seals`). Each segment repeats the names that it uses, so that it can
be read alone.

All integers are signed; a 64-bit digest is stored as its two's complement. Numbers are never
reused for another meaning: new kinds, reasons and flags get new numbers, and new fields come with
a new `SCHEMA_VERSION`, behind those that there were: a record of an older version is the beginning
of a new one, and the fields that it does not have are 0. `LAYOUTS` has every version, since logs
are kept longer than gateways. A segment is of one version. This module imports the standard
library only: Spark workers load it.
"""

from __future__ import annotations

import re
from enum import IntEnum, IntFlag
from struct import Struct
from typing import Final, NamedTuple

SCHEMA_VERSION: Final = 4
SEALED_SINCE: Final = 3  # version: seals, the log's id, and which life was before

SEGMENT_MAGIC: Final = b"AMQPAUDT"
SEGMENT_PREAMBLE: Final = Struct("<8sII")  # magic, CRC-32 of the header text, its length
SEGMENT_SUFFIX: Final = ".audit"
SEGMENT_NAME: Final = re.compile(rf"([0-9]{{10,20}})-([0-9]{{6,20}}){re.escape(SEGMENT_SUFFIX)}")
# CRC-32 of all that follows it, length, kind, flags, schema version (0 means 1)
BLOCK_HEADER: Final = Struct("<IIBBH")
NAME_ENTRY: Final = Struct("<iH")  # number, octets of the UTF-8 text that follows
MAX_BLOCK_OCTETS: Final = 104 * 120_000  # of records; the writer splits what is longer
SHA256: Final = re.compile("[0-9a-f]{64}")
MAX_LENGTH: Final = 1 << 26  # of any block; a longer length can only be damage
HEADER_OCTETS: Final = 4 * 1024  # preamble and header: more than any has


class BlockKind(IntEnum):
    """What a block's content is."""

    NAMES = 1
    RECORDS = 2
    SEAL = 3  # since `SEALED_SINCE`


class BlockFlag(IntFlag):
    """Bits of a block's flags."""

    SEGMENT_STARTS = 1  # the writer begins a new segment with this block
    STORED = 2  # records of a turn that was committed in the store, before they were written here


class Field(NamedTuple):
    """One field of a record: its name, its type (``i`` and a width in bits) and its offset."""

    name: str
    type: str
    offset: int


FIELDS: Final = (
    Field("sequence", "i64", 0),  # gapless over the whole log, restarts included
    Field("time_ms", "i64", 8),  # gateway clock
    Field("message", "i64", 16),  # gateway message id
    Field("position", "i64", 24),  # place in the queue: with message and node it names a copy
    Field("link", "i64", 32),  # outlet (subscription) number; of RECEIVED: the publisher's
    # xxh3-64 of the application's message-id as its first publisher gave it, encoded as a value of
    # 1.0; 0 if it has none. Before schema version 4, of 0-10: of the 16 octets alone.
    Field("id_digest", "i64", 40),
    Field("body_digest", "i64", 48),  # xxh3-64 of the body's content, in the kinds of `BODIED`
    Field("size", "i64", 56),  # octets of the payload
    Field("node", "i32", 64),  # name number: queue, or remote node; 0 is none
    Field("exchange", "i32", 68),  # name number of the exchange that it was routed by; 0 is none
    # name number of the other side; of what was not sent, or rejected: the upstream it was for;
    # of connections of schema version 1: the user
    Field("peer", "i32", 72),
    Field("connection", "i32", 76),
    Field("transaction", "i32", 80),  # 0 outside of transactions
    Field("copies", "i32", 84),  # how many copies the step made
    Field("reason", "i16", 88),
    Field("flags", "i16", 90),
    Field("delivery_count", "i16", 92),  # failed deliveries before this one
    Field("kind", "i8", 94),
    Field("outcome", "i8", 95),
    # Since schema version 2.
    # name number of the user, or operator, who did it; 0: the gateway itself
    Field("actor", "i32", 96),
    Field("address", "i32", 100),  # name number of where that came from, as HOST:PORT
)
RECORD_OCTETS: Final = 104
STRUCT_CODES: Final = {"i64": "q", "i32": "i", "i16": "h", "i8": "b"}
FIELD_NAMES: Final = tuple(field.name for field in FIELDS)
NAME_FIELDS: Final = ("node", "exchange", "peer", "actor", "address")


class Layout(NamedTuple):
    """The records of one schema version."""

    fields: tuple[Field, ...]
    record: Struct
    octets: int


def _layout(last: str) -> Layout:
    """`FIELDS` up to the one that was the last of its version."""
    fields = FIELDS[: FIELD_NAMES.index(last) + 1]
    record = Struct("<" + "".join(STRUCT_CODES[field.type] for field in fields))
    return Layout(fields, record, record.size)


LAYOUTS: Final = {
    1: _layout("outcome"),
    2: _layout("address"),
    3: _layout("address"),
    4: _layout("address"),
}
RECORD: Final = LAYOUTS[SCHEMA_VERSION].record


class Kind(IntEnum):
    """What a record says happened."""

    INCARNATION_STARTED = 1
    INCARNATION_STOPPED = 2
    CLOCK = 3
    RECEIVED = 10
    ROUTED = 11
    UNROUTABLE = 12
    REFUSED = 13
    ROLLED_BACK = 14
    CONFIRMED = 15
    ENTERED = 20
    RECOVERED = 21
    EXPIRED = 22
    DEAD_LETTERED = 23
    EVICTED = 24
    REPLACED = 25
    PURGED = 26
    MOVED = 27
    RETURNED = 28
    SENT = 30
    SETTLED = 31
    REQUEUED = 32
    TRANSLATED_WITH_LOSS = 40
    TRANSLATION_CHECKED = 41
    CONNECTION_OPENED = 50
    CONNECTION_CLOSED = 51
    SESSION_ATTACHED = 52
    SESSION_DETACHED = 53
    LINK_ATTACHED = 54
    LINK_DETACHED = 55
    TRANSACTION = 56
    TOPOLOGY = 57
    FEATURE_USED = 58
    CONNECTION_REFUSED = 59
    QUEUE_CHECKPOINT = 60
    OUTLET_CHECKPOINT = 61
    ROUTE_CHECKPOINT = 62
    ACCESS_REFUSED = 70
    RULES_CHANGED = 71
    STORE_ACCEPTED = 72
    LOG_DIFFERS = 73
    LET_GO = 74


class Outcome(IntEnum):
    """How a delivery or a transaction ended."""

    NONE = 0
    ACCEPTED = 1
    REJECTED = 2
    RELEASED = 3
    MODIFIED = 4
    SETTLED_TOO_LATE = 5
    COMMITTED = 6
    ROLLED_BACK = 7
    IN_DOUBT = 8
    PREPARED = 9
    RECOVERED = 10  # prepared in an earlier run


class Reason(IntEnum):
    """Why a step was taken."""

    NONE = 0
    TTL = 1
    QUEUE_FULL = 2
    LAST_VALUE = 3
    PURGE = 4
    QUEUE_DELETED = 5
    NOT_ALLOWED = 6
    NOT_FOUND = 7
    NO_BINDING = 8
    IMMEDIATE = 9
    DISCARD_UNROUTABLE = 10
    ALTERNATE_EXCHANGE = 11
    MAX_DELIVERIES = 12
    REJECTED = 13
    ROLLBACK = 14
    CONNECTION_LOST = 15
    SESSION_ENDED = 16
    LINK_DETACHED = 17
    CANCELLED = 18
    STOPPING = 19
    UNDELIVERABLE = 20
    TOO_LARGE = 21
    POISON = 22
    OPERATOR = 23
    UNDELIVERABLE_HERE = 24
    SETTLED_BEFORE = 25
    UPSTREAM_LOST = 26
    UPSTREAM_REFUSED = 27
    UNDECODABLE = 28
    WRONG_USER = 29
    OVER_LIMIT = 30
    LOGIN_FAILED = 31
    NO_MECHANISM = 32
    THROTTLED = 33
    BROKE_PROTOCOL = 34
    TIMED_OUT = 35
    LEFT = 36
    RULES_CHANGED = 37
    TLS_NEEDED = 38
    REDIRECTED = 39
    QUEUE_DECLARED = 40
    EXCHANGE_DECLARED = 41
    EXCHANGE_DELETED = 42
    BOUND = 43
    UNBOUND = 44
    ASSIGNED = 45
    BRANCH = 46  # a branch of a distributed transaction has it, or had
    FORGOTTEN = 47
    SHADOW = 48  # beside its route: a copy for the shadow of its queue
    NARROW = 60
    DROP = 61
    REFUSE = 62


class Flag(IntFlag):
    """Bits of a record's flags."""

    DURABLE = 1  # the entry is in the store: a restart must bring it back
    REDELIVERED = 2
    COPY = 4  # browsed: the entry stays where it is, whatever becomes of the delivery
    SETTLED = 8  # sent settled: this SENT is its own ACCEPTED
    REMOVED = 16  # the entry left its queue with this settlement
    UNQUEUED = 32  # the copy is in no queue of the gateway (remote node)
    TRANSLATED = 64  # the translation made a body of another form: its digest is not comparable
    REROUTED = 128  # by an alternate exchange or a move, not by its publisher
    PUBLISHER = 256  # of a link: messages come in by it
    TRANSIT = 512  # of an entry: on its way, and whoever sent it hears of its end only


REMOVALS: Final = frozenset(
    {
        *(Kind.EXPIRED, Kind.DEAD_LETTERED, Kind.EVICTED, Kind.REPLACED, Kind.PURGED),
        *(Kind.MOVED, Kind.RETURNED),
    }
)

BODIED: Final = (Kind.RECEIVED, Kind.ENTERED, Kind.RECOVERED, Kind.SENT)

# Those of a `SETTLED`.
DELIVERY_OUTCOMES: Final = (
    *(Outcome.ACCEPTED, Outcome.REJECTED, Outcome.RELEASED, Outcome.MODIFIED),
    *(Outcome.SETTLED_TOO_LATE, Outcome.ROLLED_BACK, Outcome.IN_DOUBT),
)

NO_LIFE: Final = -1  # as `previous`: no life of the gateway is in the log yet
# Other meanings that fields have in some kinds; readers show them by these names.
ALIASES: Final[dict[Kind, dict[str, str]]] = {
    Kind.INCARNATION_STARTED: {
        "message": "incarnation",
        "position": "previous",
        "peer": "version",
    },
    Kind.INCARNATION_STOPPED: {"message": "incarnation"},
    Kind.CLOCK: {"position": "drift_ms"},
    Kind.CONFIRMED: {"message": "first", "position": "last", "copies": "messages"},
    # Within a lane a queue promises order, to each outlet: of priorities, the level is its lane.
    Kind.ENTERED: {"copies": "lane"},
    Kind.SENT: {"copies": "lane"},
    Kind.TRANSLATED_WITH_LOSS: {"exchange": "row"},
    Kind.TRANSLATION_CHECKED: {"exchange": "row"},
    Kind.CONNECTION_OPENED: {"exchange": "protocol", "node": "mechanism"},
    Kind.CONNECTION_REFUSED: {"exchange": "protocol", "node": "mechanism"},
    Kind.ACCESS_REFUSED: {"exchange": "action", "node": "object", "peer": "rule"},
    Kind.RULES_CHANGED: {"exchange": "rules", "node": "sha256", "peer": "file"},
    Kind.STORE_ACCEPTED: {"node": "store", "position": "last_sequence"},
    Kind.LOG_DIFFERS: {"node": "segment", "peer": "problem", "position": "expected"},
    Kind.LET_GO: {
        "message": "first_segment",
        "position": "last_segment",
        "link": "first_sequence",
        "size": "last_sequence",
        "node": "sha256",
        "copies": "book",
        "peer": "archive",
    },
    Kind.FEATURE_USED: {
        "exchange": "feature",
        "node": "client",
        "position": "first_ms",
        "message": "last_ms",
        "copies": "uses",
    },
    Kind.SESSION_ATTACHED: {"peer": "session"},
    Kind.SESSION_DETACHED: {"peer": "session"},
    Kind.QUEUE_CHECKPOINT: {
        "position": "depth",
        "size": "octets",
        "id_digest": "checksum",
        "message": "entered",
        "copies": "unsettled",
    },
    Kind.OUTLET_CHECKPOINT: {"message": "sent", "copies": "unsettled"},
    Kind.ROUTE_CHECKPOINT: {"message": "routed", "copies": "pending"},
}

UNSAID: Final = frozenset({"previous", "lane"})  # of these, 0 says nothing


def crc_input(length: int, kind: int, flags: int) -> bytes:
    """The part of a new block's header that its CRC covers, together with the content."""
    return BLOCK_HEADER.pack(0, length, kind, flags, SCHEMA_VERSION)[4:]


def segment_name(incarnation: int, number: int) -> str:
    """A segment's file name; names sort in the order of the log."""
    return f"{number:010d}-{incarnation:06d}{SEGMENT_SUFFIX}"


def segment_numbers(name: str) -> tuple[int, int]:
    """The number and the incarnation in a segment's file name; (0, 0): no segment has that name."""
    found = SEGMENT_NAME.fullmatch(name)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def unsigned(digest: int) -> int:
    """A stored digest as the unsigned number that xxh3-64 gives."""
    return digest & 0xFFFF_FFFF_FFFF_FFFF
