"""The values that the middle speaks: messages, deliveries, outcomes, conditions and losses.

They name no protocol. A `Message` keeps the octets it arrived with; what a face or the bridge needs
of them often is read once, on arrival, into plain fields (its facts); anything else is asked of the
message's `MessageReader`, which the face that received it put in.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final, Protocol, final

from mypy_extensions import i64 as int64
from mypy_extensions import mypyc_attr

from gateway.wire.tagged import Tagged


class Encoding(IntEnum):
    """Which protocol's encoding a message's octets are in."""

    AMQP_0_10 = 0
    AMQP_1_0 = 1


class Kind(IntEnum):
    """The `Tagged.code` of a neutral value: what selectors and headers exchanges tell apart."""

    NULL = 0
    BOOLEAN = 1
    INTEGER = 2
    REAL = 3
    STRING = 4
    BINARY = 5
    UUID = 6
    TIMESTAMP = 7
    OTHER = 8


def plain(value: Tagged) -> Tagged:
    """Octets that are text are that text, as a qpidd has it: who sends one may ask by the other.

    (A Python 2 client sends what is not ASCII as octets or as text, by the type that it has.)
    """
    octets = value.value
    if value.code != Kind.BINARY or not isinstance(octets, bytes):
        return value
    try:
        return Tagged(Kind.STRING, octets.decode())
    except UnicodeDecodeError:
        return value


class Condition(IntEnum):
    """Why something failed; `translate.conditions` has each protocol's code or symbol for it."""

    NONE = 0
    UNAUTHORIZED_ACCESS = 1
    NOT_FOUND = 2
    RESOURCE_LOCKED = 3
    PRECONDITION_FAILED = 4
    RESOURCE_DELETED = 5
    ILLEGAL_STATE = 6
    DECODE_ERROR = 7
    RESOURCE_LIMIT_EXCEEDED = 8
    NOT_ALLOWED = 9
    ILLEGAL_ARGUMENT = 10
    INVALID_ARGUMENT = 11
    NOT_IMPLEMENTED = 12
    INTERNAL_ERROR = 13
    CONNECTION_FORCED = 14
    UNROUTABLE = 15
    IMMEDIATE = 16
    MESSAGE_SIZE_EXCEEDED = 17
    IN_DOUBT = 18


class OutcomeKind(IntEnum):
    """The terminal states of a delivery; a 0-10 accept, reject and release map onto them."""

    ACCEPTED = 0
    REJECTED = 1
    RELEASED = 2
    MODIFIED = 3


@final
@dataclass(init=False, slots=True)
class Outcome:
    """How a delivery ended.

    Attributes:
        kind: which terminal state.
        condition: for `REJECTED`, why; `Condition.NONE` when the peer did not say.
        description: for `REJECTED`, the peer's text, for people.
        delivery_failed: for `MODIFIED`, the attempt counts as a failed delivery.
        undeliverable_here: for `MODIFIED`, not to be sent to this subscriber again.
        nor_to_owner: with it, nor to any other of the same owner.
        annotations: for `MODIFIED`, message-annotations for the later deliveries of this copy: an
            encoded AMQP 1.0 map, or empty. What a peer says is to be merged with what there was
            (`Delivery.annotations`); what `settle` is given takes the place of it.
    """

    kind: OutcomeKind
    condition: Condition
    description: str
    delivery_failed: bool
    undeliverable_here: bool
    nor_to_owner: bool
    annotations: bytes

    def __init__(
        self,
        kind: OutcomeKind,
        *,
        condition: Condition = Condition.NONE,
        description: str = "",
        delivery_failed: bool = False,
        undeliverable_here: bool = False,
        nor_to_owner: bool = False,
        annotations: bytes = b"",
    ) -> None:
        self.kind = kind
        self.condition = condition
        self.description = description
        self.delivery_failed = delivery_failed
        self.undeliverable_here = undeliverable_here
        self.nor_to_owner = nor_to_owner
        self.annotations = annotations


ACCEPTED: Final = Outcome(OutcomeKind.ACCEPTED)
RELEASED: Final = Outcome(OutcomeKind.RELEASED)
MODIFIED_FAILED: Final = Outcome(OutcomeKind.MODIFIED, delivery_failed=True)
REJECTED: Final = Outcome(OutcomeKind.REJECTED)


@final
@dataclass(init=False, slots=True)
class Refusal:
    """An expected "no" to a verb: a value, not an exception."""

    condition: Condition
    description: str

    def __init__(self, condition: Condition, description: str) -> None:
        self.condition = condition
        self.description = description


@final
@dataclass(init=False, slots=True)
class Loss:
    """A value that did not cross: the mapping row that decided, and what became of the value.

    Attributes:
        row: the row's id in `mappings/`, such as ``properties.message-id``.
        policy: ``narrow``, ``drop`` or ``refuse``.
    """

    row: str
    policy: str

    def __init__(self, row: str, policy: str) -> None:
        self.row = row
        self.policy = policy


class MessageReader(Protocol):
    """Looks inside the octets of one encoding, through the translated view.

    One view, whatever encoding came.
    """

    def header(self, message: Message, name: str) -> Tagged | None:
        """The application header or property `name`, its code a `Kind`; `None` when absent."""

    def headers(self, message: Message) -> dict[str, Tagged]:
        """All application headers."""

    def selectable(self, message: Message, name: str) -> Tagged | None:
        """What a selector's identifier stands for: a property by its JMS name, or a header."""

    def body_digest(self, message: Message) -> int:
        """What `Message.body_digest` is for these octets, computed anew."""

    def numbered(self, message: Message, name: str, number: int, *, wide: bool) -> Message:
        """`message` with a header `name` that is a number, of 32 bits or, `wide`, of 64."""


NO_PRIORITY: Final = -1
NORMAL: Final = 4  # what a message of 1.0 has that names none (1.0 3.2.1)
NO_TTL: Final = -1
NEVER: Final = 0
SAME: Final = -1  # of an id


class Flag(IntEnum):
    """Bits of `Message.flags`: facts about the arrival that a translator needs later."""

    REDELIVERED = 1  # the arrival said that it may have been delivered before
    TIMES_IN_MS = 2  # 0-10 datetimes of this sender are milliseconds (the Java client)
    DISCARD_UNROUTABLE = 4
    IMMEDIATE = 8
    TRANSIENT_COPY = 16  # a durable message that only transient queues hold
    TELL_UNROUTABLE = 32  # its publisher hears of no route: the exchange's alternate is not tried
    OUTCOMES = 64  # its publisher takes released and modified as they are (1.0)
    EMPTY_BODY = 128  # 0-10: its body segment has come, without an octet: it is not absent
    FILE = 256  # content of a class that is never let go to make room for others
    STREAM = 512  # content that makes room, by its priority, for others of its class
    TRACED = 1024  # its steps are told as spans, while there is tracing


@final
@mypyc_attr(acyclic=True)
@dataclass(init=False, slots=True)
class Message:
    """One message as it arrived; shared by all its copies and never changed after routing.

    Attributes:
        id: the gateway's own 64-bit number for it, unique in the life of a data directory.
        encoding: which protocol `payload` is in.
        payload: the arrival octets. 0-10: the header segment's content, then the body segment's
            content. 1.0: all sections, as the transfers carried them.
        body_at: where the body begins in `payload` (1.0: at the constructor of the first body
            section).
        message_format: the 1.0 transfer's message-format; 0 otherwise.
        durable, priority, ttl_ms, expires_ms: facts; absent priority is `NO_PRIORITY`, absent ttl
            `NO_TTL`, and a message that never expires has `expires_ms` `NEVER` (gateway clock, ms).
        arrived_ms: gateway clock at arrival.
        exchange, routing_key: the gateway's node that it was published to, always set ("" is the
            default exchange, whose key is a queue name).
        delivery_count: failed deliveries before it came to the gateway.
        flags: `Flag` bits.
        publisher: number of the connection it came by; 0 after a restart.
        id_digest, body_digest: xxh3-64 of the application's message-id, in the form of
            `translate.original_ids` (0 if none), and of the body's content as the audit log has it.
        reader: looks inside; set by the face, and again by recovery.
    """

    id: int
    encoding: int
    payload: bytes
    body_at: int
    message_format: int
    durable: bool
    priority: int
    ttl_ms: int
    expires_ms: int
    arrived_ms: int
    exchange: str
    routing_key: str
    delivery_count: int
    flags: int
    publisher: int
    id_digest: int64
    body_digest: int64
    reader: MessageReader | None

    def __init__(
        self,
        id: int,
        encoding: int,
        payload: bytes,
        body_at: int,
        message_format: int,
        durable: bool,
        priority: int,
        ttl_ms: int,
        expires_ms: int,
        arrived_ms: int,
        exchange: str,
        routing_key: str,
        delivery_count: int,
        flags: int,
        publisher: int,
        id_digest: int64,
        body_digest: int64,
        reader: MessageReader | None,
    ) -> None:
        self.id = id
        self.encoding = encoding
        self.payload = payload
        self.body_at = body_at
        self.message_format = message_format
        self.durable = durable
        self.priority = priority
        self.ttl_ms = ttl_ms
        self.expires_ms = expires_ms
        self.arrived_ms = arrived_ms
        self.exchange = exchange
        self.routing_key = routing_key
        self.delivery_count = delivery_count
        self.flags = flags
        self.publisher = publisher
        self.id_digest = id_digest
        self.body_digest = body_digest
        self.reader = reader

    def header(self, name: str) -> Tagged | None:
        """The application header `name` in the translated view, its code a `Kind`, or `None`."""
        return None if self.reader is None else self.reader.header(self, name)

    def selectable(self, name: str) -> Tagged | None:
        """What a selector's identifier `name` stands for, in the translated view, or `None`."""
        return None if self.reader is None else self.reader.selectable(self, name)

    def rank(self) -> int:
        """Its priority, for a queue that orders by it.

        One of 0-10 that names none has 0: so do clients say 0.
        """
        if self.priority != NO_PRIORITY:
            return self.priority
        return 0 if self.encoding == Encoding.AMQP_0_10 else NORMAL

    def with_octets(self, payload: bytes, body_at: int, id: int = SAME) -> Message:
        """The same message in other octets, whose body is the same; `id`: or a copy of its own."""
        return Message(
            self.id if id == SAME else id,
            self.encoding,
            payload,
            body_at,
            self.message_format,
            self.durable,
            self.priority,
            self.ttl_ms,
            self.expires_ms,
            self.arrived_ms,
            self.exchange,
            self.routing_key,
            self.delivery_count,
            self.flags,
            self.publisher,
            self.id_digest,
            self.body_digest,
            self.reader,
        )

    def hollow(self) -> Message:
        """The same message without its octets and whatever looks at them: what a record names."""
        return Message(
            self.id,
            self.encoding,
            b"",
            0,
            self.message_format,
            self.durable,
            self.priority,  # by which its queue finds it
            NO_TTL,
            NEVER,
            self.arrived_ms,
            "",
            "",
            self.delivery_count,
            self.flags,
            self.publisher,
            self.id_digest,
            self.body_digest,
            None,
        )

    def body(self) -> bytes:
        """The octets from `body_at` on."""
        return self.payload[self.body_at :]

    def size(self) -> int:
        """Octets of the payload: what byte credit, queue limits and the audit log count."""
        return len(self.payload)


class UpstreamTransaction(Protocol):
    """The transaction at an upstream that a delivery is sent in, for the face that sends it."""

    @property
    def txn_id(self) -> bytes:
        """By what name it goes at the upstream."""

    def is_at(self, upstream: object) -> bool:
        """Whether it is at that upstream (a `Remote`)."""

    def on_presumed(self, delivery: Delivery, outcome: Outcome) -> None:
        """How a copy that was sent will have ended, if the transaction is committed."""


@final
@mypyc_attr(acyclic=True, free_list_len=1)
@dataclass(init=False, slots=True)
class Delivery:
    """One copy of a message on its way to one subscriber.

    Attributes:
        message: shared with the other copies.
        queue: number of the queue that it comes from.
        position: its place in that queue, ascending, never reused.
        subscription: number of the subscription that it was given to.
        delivery_count: failed deliveries so far, those before arrival included: > 0 is
            "redelivered".
        acquired: whether the subscriber holds it (move) or only sees it (copy).
        settled: set by the bridge when the delivery has ended, whoever ended it.
        annotations: message-annotations that earlier subscribers added: an encoded AMQP 1.0 map,
            or empty.
        body_digest: set by the outlet that takes it: the digest of the body as it left, in the form
            of `Message.body_digest`; 0 if it was not computed.
        body_changed: set with it: the translation made a body of another form.
        id_digest: set with it: of the message-id as it left, as `Message.id_digest`.
        transaction: at an upstream, that it is to be sent in; only relays are given such.
        sent_us: set by a relay, or where it is followed: when it was sent, as `Bridge.now_us`.
    """

    message: Message
    queue: int
    position: int
    subscription: int
    delivery_count: int
    acquired: bool
    settled: bool
    annotations: bytes
    body_digest: int64
    body_changed: bool
    id_digest: int64
    transaction: UpstreamTransaction | None
    sent_us: int64

    def __init__(
        self,
        message: Message,
        queue: int,
        position: int,
        subscription: int,
        delivery_count: int,
        acquired: bool,
    ) -> None:
        self.message = message
        self.queue = queue
        self.position = position
        self.subscription = subscription
        self.delivery_count = delivery_count
        self.acquired = acquired
        self.settled = False
        self.annotations = b""
        self.body_digest = 0
        self.body_changed = False
        self.id_digest = 0
        self.transaction = None
        self.sent_us = 0
