"""AMQP 1.0 facts, transcribed: the described list types of parts 2 to 5, by section number.

Field lists are in wire order. A field is ``name type``, with ``!`` behind the type when mandatory
and ``=value`` for the default that an absent field stands for (the decoder leaves it absent).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Field:
    """One field of a composite type."""

    name: str
    type: str
    mandatory: bool
    default: str


@dataclass(frozen=True)
class Composite:
    """One described list type: its spec name, numeric descriptor, section and fields."""

    name: str
    code: int
    section: str
    archetypes: tuple[str, ...]
    fields: tuple[Field, ...]

    @property
    def symbol(self) -> str:
        """The symbolic descriptor."""
        return f"amqp:{self.name}:list"


def _field(text: str) -> Field:
    text, _, default = text.partition("=")
    name, _, kind = text.strip().partition(" ")
    return Field(name, kind.rstrip("!"), kind.endswith("!"), default.strip())


def _composite(name: str, code: int, section: str, archetypes: str, fields: str = "") -> Composite:
    parsed = tuple(_field(text) for text in fields.split(",") if text.strip())
    return Composite(name, code, section, tuple(archetypes.split()), parsed)


COMPOSITES: Final = (
    _composite(
        "open", 0x10, "2.7.1", "performative",
        "container-id string!, hostname string, max-frame-size uint=4294967295,"
        "channel-max ushort=65535, idle-time-out uint, outgoing-locales symbols,"
        "incoming-locales symbols, offered-capabilities symbols, desired-capabilities symbols,"
        "properties fields",
    ),
    _composite(
        "begin", 0x11, "2.7.2", "performative",
        "remote-channel ushort, next-outgoing-id uint!, incoming-window uint!,"
        "outgoing-window uint!, handle-max uint=4294967295, offered-capabilities symbols,"
        "desired-capabilities symbols, properties fields",
    ),
    _composite(
        "attach", 0x12, "2.7.3", "performative",
        "name string!, handle uint!, role boolean!, snd-settle-mode sender-settle-mode=2 (mixed),"
        "rcv-settle-mode receiver-settle-mode=0 (first), source source, target target,"
        "unsettled unsettled, incomplete-unsettled boolean=false, initial-delivery-count uint,"
        "max-message-size ulong, offered-capabilities symbols, desired-capabilities symbols,"
        "properties fields",
    ),
    _composite(
        "flow", 0x13, "2.7.4", "performative",
        "next-incoming-id uint, incoming-window uint!, next-outgoing-id uint!,"
        "outgoing-window uint!, handle uint, delivery-count uint, link-credit uint, available uint,"
        "drain boolean=false, echo boolean=false, properties fields",
    ),
    _composite(
        "transfer", 0x14, "2.7.5", "performative scratch",
        "handle uint!, delivery-id uint, delivery-tag tag, message-format uint, settled boolean,"
        "more boolean=false, rcv-settle-mode receiver-settle-mode, state delivery-state,"
        "resume boolean=false, aborted boolean=false, batchable boolean=false",
    ),
    _composite(
        "disposition", 0x15, "2.7.6", "performative",
        "role boolean!, first uint!, last uint, settled boolean=false, state delivery-state,"
        "batchable boolean=false",
    ),
    _composite(
        "detach", 0x16, "2.7.7", "performative",
        "handle uint!, closed boolean=false, error error",
    ),
    _composite("end", 0x17, "2.7.8", "performative", "error error"),
    _composite("close", 0x18, "2.7.9", "performative", "error error"),
    _composite(
        "error", 0x1D, "2.8.14", "error",
        "condition symbol!, description string, info fields",
    ),
    _composite(
        "received", 0x23, "3.4.1", "delivery-state",
        "section-number uint!, section-offset ulong!",
    ),
    _composite("accepted", 0x24, "3.4.2", "delivery-state outcome"),
    _composite("rejected", 0x25, "3.4.3", "delivery-state outcome", "error error"),
    _composite("released", 0x26, "3.4.4", "delivery-state outcome"),
    _composite(
        "modified", 0x27, "3.4.5", "delivery-state outcome",
        "delivery-failed boolean, undeliverable-here boolean, message-annotations fields",
    ),
    _composite(
        "source", 0x28, "3.5.3", "source",
        "address string, durable terminus-durability=0 (none), expiry-policy symbol=session-end,"
        "timeout uint=0, dynamic boolean=false, dynamic-node-properties fields,"
        "distribution-mode symbol, filter fields, default-outcome outcome, outcomes symbols,"
        "capabilities symbols",
    ),
    _composite(
        "target", 0x29, "3.5.4", "target",
        "address string, durable terminus-durability=0 (none), expiry-policy symbol=session-end,"
        "timeout uint=0, dynamic boolean=false, dynamic-node-properties fields,"
        "capabilities symbols",
    ),
    _composite("delete-on-close", 0x2B, "3.5.10", "lifetime-policy"),
    _composite("delete-on-no-links", 0x2C, "3.5.11", "lifetime-policy"),
    _composite("delete-on-no-messages", 0x2D, "3.5.12", "lifetime-policy"),
    _composite("delete-on-no-links-or-messages", 0x2E, "3.5.13", "lifetime-policy"),
    _composite("coordinator", 0x30, "4.5.1", "target", "capabilities symbols"),
    _composite("declare", 0x31, "4.5.2", "coordination", "global-id value"),
    _composite("discharge", 0x32, "4.5.3", "coordination", "txn-id txn-id!, fail boolean"),
    _composite("declared", 0x33, "4.5.5", "delivery-state outcome", "txn-id txn-id!"),
    _composite(
        "transactional-state", 0x34, "4.5.6", "delivery-state",
        "txn-id txn-id!, outcome outcome",
    ),
    _composite(
        "sasl-mechanisms", 0x40, "5.3.3.1", "sasl-frame",
        "sasl-server-mechanisms symbols!",
    ),
    _composite(
        "sasl-init", 0x41, "5.3.3.2", "sasl-frame",
        "mechanism symbol!, initial-response binary, hostname string",
    ),
    _composite("sasl-challenge", 0x42, "5.3.3.3", "sasl-frame", "challenge binary!"),
    _composite("sasl-response", 0x43, "5.3.3.4", "sasl-frame", "response binary!"),
    _composite(
        "sasl-outcome", 0x44, "5.3.3.5", "sasl-frame",
        "code sasl-code!, additional-data binary",
    ),
    _composite(
        "header", 0x70, "3.2.1", "section",
        "durable boolean=false, priority ubyte=4, ttl uint, first-acquirer boolean=false,"
        "delivery-count uint=0",
    ),
    _composite(
        "properties", 0x73, "3.2.4", "section",
        "message-id message-id, user-id binary, to string, subject string, reply-to string,"
        "correlation-id message-id, content-type symbol, content-encoding symbol,"
        "absolute-expiry-time timestamp, creation-time timestamp, group-id string,"
        "group-sequence uint, reply-to-group-id string",
    ),
)  # fmt: skip

SECTIONS: Final = (
    ("header", "list", 0x70),
    ("delivery-annotations", "map", 0x71),
    ("message-annotations", "map", 0x72),
    ("properties", "list", 0x73),
    ("application-properties", "map", 0x74),
    ("data", "binary", 0x75),
    ("amqp-sequence", "list", 0x76),
    ("amqp-value", "*", 0x77),
    ("footer", "map", 0x78),
)
"""Message sections (3.2): name, representation, numeric descriptor."""

FILTERS: Final = (
    ("apache.org:legacy-amqp-direct-binding:string", 0x0000468C00000000),
    ("apache.org:legacy-amqp-topic-binding:string", 0x0000468C00000001),
    ("apache.org:legacy-amqp-headers-binding:map", 0x0000468C00000002),
    ("apache.org:no-local-filter:list", 0x0000468C00000003),
    ("apache.org:selector-filter:string", 0x0000468C00000004),
    ("amqp:sql-filter", 0x0000000000000120),
    ("amqp:properties-filter", 0x0000000000000173),
    ("amqp:application-properties-filter", 0x0000000000000174),
)
"""Filter types: symbolic and numeric descriptor.

Section 3.5.8 leaves them to a registry; the last three are of AMQP Filter Expressions 1.0.
"""

CONDITIONS: Final = (
    ("internal-error", "amqp:internal-error"),
    ("not-found", "amqp:not-found"),
    ("unauthorized-access", "amqp:unauthorized-access"),
    ("decode-error", "amqp:decode-error"),
    ("resource-limit-exceeded", "amqp:resource-limit-exceeded"),
    ("not-allowed", "amqp:not-allowed"),
    ("invalid-field", "amqp:invalid-field"),
    ("not-implemented", "amqp:not-implemented"),
    ("resource-locked", "amqp:resource-locked"),
    ("precondition-failed", "amqp:precondition-failed"),
    ("resource-deleted", "amqp:resource-deleted"),
    ("illegal-state", "amqp:illegal-state"),
    ("frame-size-too-small", "amqp:frame-size-too-small"),
    ("connection-forced", "amqp:connection:forced"),
    ("framing-error", "amqp:connection:framing-error"),
    ("connection-redirect", "amqp:connection:redirect"),
    ("window-violation", "amqp:session:window-violation"),
    ("errant-link", "amqp:session:errant-link"),
    ("handle-in-use", "amqp:session:handle-in-use"),
    ("unattached-handle", "amqp:session:unattached-handle"),
    ("detach-forced", "amqp:link:detach-forced"),
    ("transfer-limit-exceeded", "amqp:link:transfer-limit-exceeded"),
    ("message-size-exceeded", "amqp:link:message-size-exceeded"),
    ("link-redirect", "amqp:link:redirect"),
    ("stolen", "amqp:link:stolen"),
    ("unknown-id", "amqp:transaction:unknown-id"),
    ("transaction-rollback", "amqp:transaction:rollback"),
    ("transaction-timeout", "amqp:transaction:timeout"),
)
"""Error conditions (2.8.15 to 2.8.18, 4.5.8): name in our code, symbol."""

CONSTANTS: Final = (
    ("MIN_MAX_FRAME_SIZE", 512, "2.8.19"),
    ("SENDER", False, "role, 2.8.1"),
    ("RECEIVER", True, "role, 2.8.1"),
    ("SND_UNSETTLED", 0, "sender-settle-mode, 2.8.2"),
    ("SND_SETTLED", 1, "sender-settle-mode, 2.8.2"),
    ("SND_MIXED", 2, "sender-settle-mode, 2.8.2"),
    ("RCV_FIRST", 0, "receiver-settle-mode, 2.8.3"),
    ("RCV_SECOND", 1, "receiver-settle-mode, 2.8.3"),
    ("SASL_OK", 0, "sasl-code, 5.3.3.6"),
    ("SASL_AUTH", 1, "sasl-code, 5.3.3.6"),
    ("SASL_SYS", 2, "sasl-code, 5.3.3.6"),
    ("SASL_SYS_PERM", 3, "sasl-code, 5.3.3.6"),
    ("SASL_SYS_TEMP", 4, "sasl-code, 5.3.3.6"),
    ("DURABLE_NONE", 0, "terminus-durability, 3.5.5"),
    ("DURABLE_CONFIGURATION", 1, "terminus-durability, 3.5.5"),
    ("DURABLE_UNSETTLED_STATE", 2, "terminus-durability, 3.5.5"),
    ("EXPIRY_LINK_DETACH", "link-detach", "terminus-expiry-policy, 3.5.6"),
    ("EXPIRY_SESSION_END", "session-end", "terminus-expiry-policy, 3.5.6"),
    ("EXPIRY_CONNECTION_CLOSE", "connection-close", "terminus-expiry-policy, 3.5.6"),
    ("EXPIRY_NEVER", "never", "terminus-expiry-policy, 3.5.6"),
    ("DISTRIBUTION_MOVE", "move", "std-dist-mode, 3.5.7"),
    ("DISTRIBUTION_COPY", "copy", "std-dist-mode, 3.5.7"),
    ("TXN_LOCAL", "amqp:local-transactions", "txn-capability, 4.5.7"),
    ("TXN_DISTRIBUTED", "amqp:distributed-transactions", "txn-capability, 4.5.7"),
    ("TXN_PROMOTABLE", "amqp:promotable-transactions", "txn-capability, 4.5.7"),
    ("TXN_MULTI_TXNS_PER_SSN", "amqp:multi-txns-per-ssn", "txn-capability, 4.5.7"),
    ("TXN_MULTI_SSNS_PER_TXN", "amqp:multi-ssns-per-txn", "txn-capability, 4.5.7"),
)
