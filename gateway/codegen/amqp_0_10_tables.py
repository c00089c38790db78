"""AMQP 0-10 as facts: types, domains, structs, controls and commands, with their codes.

Transcribed from the protocol definition of the specification; the section of a row is its class.
`gateway.codegen.amqp_0_10` turns these rows into `gateway/amqp_0_10/_spec*.py`.

Fields are written ``name:type``, a required one ``name*:type``, in the order of their
packing flags. A type is a primitive, a domain or a struct; domains of another
class carry its name and a dot. The choices of an enumerated domain are written ``name:value``.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Type(NamedTuple):
    """A primitive type: `width` octets when fixed, else the width of its length prefix."""

    name: str
    code: int | None
    fixed: bool
    width: int


class Domain(NamedTuple):
    """A named use of a type, with the choices that an enumerated one has."""

    name: str
    type: str
    choices: str = ""


class Struct(NamedTuple):
    """A struct: `size` is the width of its size prefix, `pack` of its packing flags, in octets."""

    class_name: str
    name: str
    code: int | None
    size: int
    pack: int
    fields: str = ""


class Control(NamedTuple):
    """A control; `receivers` names the roles that handle it."""

    class_name: str
    name: str
    code: int
    receivers: str
    fields: str = ""


class Command(NamedTuple):
    """A command; `header` lists the structs of its header segment, `result` is a struct's name."""

    class_name: str
    name: str
    code: int
    receivers: str
    fields: str = ""
    result: str = ""
    header: str = ""
    header_required: bool = False
    body: bool = False


MIN_MAX_FRAME_SIZE: Final = 4096

TYPES: Final = (
    Type("bin8", 0x00, True, 1),
    Type("int8", 0x01, True, 1),
    Type("uint8", 0x02, True, 1),
    Type("char", 0x04, True, 1),
    Type("boolean", 0x08, True, 1),
    Type("bin16", 0x10, True, 2),
    Type("int16", 0x11, True, 2),
    Type("uint16", 0x12, True, 2),
    Type("bin32", 0x20, True, 4),
    Type("int32", 0x21, True, 4),
    Type("uint32", 0x22, True, 4),
    Type("float", 0x23, True, 4),
    Type("char-utf32", 0x27, True, 4),
    Type("sequence-no", None, True, 4),
    Type("bin64", 0x30, True, 8),
    Type("int64", 0x31, True, 8),
    Type("uint64", 0x32, True, 8),
    Type("double", 0x33, True, 8),
    Type("datetime", 0x38, True, 8),
    Type("bin128", 0x40, True, 16),
    Type("uuid", 0x48, True, 16),
    Type("bin256", 0x50, True, 32),
    Type("bin512", 0x60, True, 64),
    Type("bin1024", 0x70, True, 128),
    Type("vbin8", 0x80, False, 1),
    Type("str8-latin", 0x84, False, 1),
    Type("str8", 0x85, False, 1),
    Type("str8-utf16", 0x86, False, 1),
    Type("vbin16", 0x90, False, 2),
    Type("str16-latin", 0x94, False, 2),
    Type("str16", 0x95, False, 2),
    Type("str16-utf16", 0x96, False, 2),
    Type("byte-ranges", None, False, 2),
    Type("sequence-set", None, False, 2),
    Type("vbin32", 0xA0, False, 4),
    Type("map", 0xA8, False, 4),
    Type("list", 0xA9, False, 4),
    Type("array", 0xAA, False, 4),
    Type("struct32", 0xAB, False, 4),
    Type("bin40", 0xC0, True, 5),
    Type("dec32", 0xC8, True, 5),
    Type("bin72", 0xD0, True, 9),
    Type("dec64", 0xD8, True, 9),
    Type("void", 0xF0, True, 0),
    Type("bit", 0xF1, True, 0),
)

CLASSES: Final = (
    ("connection", 0x01),
    ("session", 0x02),
    ("execution", 0x03),
    ("message", 0x04),
    ("tx", 0x05),
    ("dtx", 0x06),
    ("exchange", 0x07),
    ("queue", 0x08),
    ("file", 0x09),
    ("stream", 0x0A),
)

DOMAINS: Final = (
    Domain("segment-type", "uint8", "control:0 command:1 header:2 body:3"),
    Domain("track", "uint8", "control:0 command:1"),
    Domain("str16-array", "array"),
    Domain(
        "connection.close-code",
        "uint16",
        "normal:200 connection-forced:320 invalid-path:402 framing-error:501",
    ),
    Domain("connection.amqp-host-url", "str16"),
    Domain("connection.amqp-host-array", "array"),
    Domain("session.name", "vbin16"),
    Domain(
        "session.detach-code",
        "uint8",
        "normal:0 session-busy:1 transport-busy:2 not-attached:3 unknown-ids:4",
    ),
    Domain("session.commands", "sequence-set"),
    Domain("session.command-fragments", "array"),
    Domain(
        "execution.error-code",
        "uint16",
        (
            "unauthorized-access:403 not-found:404 resource-locked:405 "
            "precondition-failed:406 resource-deleted:408 illegal-state:409 "
            "command-invalid:503 resource-limit-exceeded:506 not-allowed:530 "
            "illegal-argument:531 not-implemented:540 internal-error:541 invalid-argument:542"
        ),
    ),
    Domain("message.destination", "str8"),
    Domain("message.accept-mode", "uint8", "explicit:0 none:1"),
    Domain("message.acquire-mode", "uint8", "pre-acquired:0 not-acquired:1"),
    Domain("message.reject-code", "uint16", "unspecified:0 unroutable:1 immediate:2"),
    Domain("message.resume-id", "str16"),
    Domain("message.delivery-mode", "uint8", "non-persistent:1 persistent:2"),
    Domain(
        "message.delivery-priority",
        "uint8",
        (
            "lowest:0 lower:1 low:2 below-average:3 medium:4 above-average:5 high:6 higher:7 "
            "very-high:8 highest:9"
        ),
    ),
    Domain("message.flow-mode", "uint8", "credit:0 window:1"),
    Domain("message.credit-unit", "uint8", "message:0 byte:1"),
    Domain(
        "dtx.xa-status",
        "uint16",
        (
            "xa-ok:0 xa-rbrollback:1 xa-rbtimeout:2 xa-heurhaz:3 xa-heurcom:4 xa-heurrb:5 "
            "xa-heurmix:6 xa-rdonly:7"
        ),
    ),
    Domain("exchange.name", "str8"),
    Domain("queue.name", "str8"),
    Domain("file.return-code", "uint16", "content-too-large:311 no-route:312 no-consumers:313"),
    Domain("stream.return-code", "uint16", "content-too-large:311 no-route:312 no-consumers:313"),
)

STRUCTS: Final = (
    Struct("session", "header", None, 1, 1, "sync:bit"),
    Struct(
        "session",
        "command-fragment",
        None,
        0,
        0,
        "command-id*:sequence-no byte-ranges*:byte-ranges",
    ),
    Struct(
        "message",
        "delivery-properties",
        0x01,
        4,
        2,
        (
            "discard-unroutable:bit immediate:bit redelivered:bit priority*:delivery-priority "
            "delivery-mode*:delivery-mode ttl:uint64 timestamp:datetime expiration:datetime "
            "exchange:exchange.name routing-key:str8 resume-id:resume-id resume-ttl:uint64"
        ),
    ),
    Struct("message", "fragment-properties", 0x02, 4, 2, "first:bit last:bit fragment-size:uint64"),
    Struct("message", "reply-to", None, 2, 2, "exchange:exchange.name routing-key:str8"),
    Struct(
        "message",
        "message-properties",
        0x03,
        4,
        2,
        (
            "content-length:uint64 message-id:uuid correlation-id:vbin16 reply-to:reply-to "
            "content-type:str8 content-encoding:str8 user-id:vbin16 app-id:vbin16 "
            "application-headers:map"
        ),
    ),
    Struct("message", "acquired", 0x04, 4, 2, "transfers*:session.commands"),
    Struct("message", "message-resume-result", 0x05, 4, 2, "offset:uint64"),
    Struct("dtx", "xa-result", 0x01, 4, 2, "status*:xa-status"),
    Struct("dtx", "xid", 0x04, 4, 2, "format*:uint32 global-id*:vbin8 branch-id*:vbin8"),
    Struct("dtx", "get-timeout-result", 0x02, 4, 2, "timeout*:uint32"),
    Struct("dtx", "recover-result", 0x03, 4, 2, "in-doubt*:array"),
    Struct(
        "exchange",
        "exchange-query-result",
        0x01,
        4,
        2,
        "type:str8 durable:bit not-found:bit arguments:map",
    ),
    Struct(
        "exchange",
        "exchange-bound-result",
        0x02,
        4,
        2,
        (
            "exchange-not-found:bit queue-not-found:bit queue-not-matched:bit "
            "key-not-matched:bit args-not-matched:bit"
        ),
    ),
    Struct(
        "queue",
        "queue-query-result",
        0x01,
        4,
        2,
        (
            "queue*:name alternate-exchange:exchange.name durable:bit exclusive:bit "
            "auto-delete:bit arguments:map message-count*:uint32 subscriber-count*:uint32"
        ),
    ),
    Struct(
        "file",
        "file-properties",
        0x01,
        4,
        2,
        (
            "content-type:str8 content-encoding:str8 headers:map priority:uint8 reply-to:str8 "
            "message-id:str8 filename:str8 timestamp:datetime cluster-id:str8"
        ),
    ),
    Struct(
        "stream",
        "stream-properties",
        0x01,
        4,
        2,
        ("content-type:str8 content-encoding:str8 headers:map priority:uint8 timestamp:datetime"),
    ),
)

CONTROLS: Final = (
    Control(
        "connection",
        "start",
        0x01,
        "client",
        "server-properties:map mechanisms*:str16-array locales*:str16-array",
    ),
    Control(
        "connection",
        "start-ok",
        0x02,
        "server",
        "client-properties:map mechanism*:str8 response*:vbin32 locale*:str8",
    ),
    Control("connection", "secure", 0x03, "client", "challenge*:vbin32"),
    Control("connection", "secure-ok", 0x04, "server", "response*:vbin32"),
    Control(
        "connection",
        "tune",
        0x05,
        "client",
        ("channel-max:uint16 max-frame-size:uint16 heartbeat-min:uint16 heartbeat-max:uint16"),
    ),
    Control(
        "connection",
        "tune-ok",
        0x06,
        "server",
        "channel-max*:uint16 max-frame-size:uint16 heartbeat:uint16",
    ),
    Control(
        "connection",
        "open",
        0x07,
        "server",
        "virtual-host*:str8 capabilities:str16-array insist:bit",
    ),
    Control("connection", "open-ok", 0x08, "client", "known-hosts:amqp-host-array"),
    Control(
        "connection", "redirect", 0x09, "client", "host*:amqp-host-url known-hosts:amqp-host-array"
    ),
    Control("connection", "heartbeat", 0x0A, "server client"),
    Control("connection", "close", 0x0B, "server client", "reply-code*:close-code reply-text:str8"),
    Control("connection", "close-ok", 0x0C, "server client"),
    Control("session", "attach", 0x01, "server client", "name*:name force:bit"),
    Control("session", "attached", 0x02, "server client", "name*:name"),
    Control("session", "detach", 0x03, "server client", "name*:name"),
    Control("session", "detached", 0x04, "server client", "name*:name code*:detach-code"),
    Control("session", "request-timeout", 0x05, "server client", "timeout:uint32"),
    Control("session", "timeout", 0x06, "server client", "timeout:uint32"),
    Control(
        "session",
        "command-point",
        0x07,
        "server client",
        "command-id*:sequence-no command-offset*:uint64",
    ),
    Control(
        "session",
        "expected",
        0x08,
        "server client",
        "commands*:commands fragments:command-fragments",
    ),
    Control(
        "session",
        "confirmed",
        0x09,
        "server client",
        "commands:commands fragments:command-fragments",
    ),
    Control("session", "completed", 0x0A, "server client", "commands:commands timely-reply:bit"),
    Control("session", "known-completed", 0x0B, "server client", "commands:commands"),
    Control("session", "flush", 0x0C, "server client", "expected:bit confirmed:bit completed:bit"),
    Control("session", "gap", 0x0D, "server client", "commands:commands"),
)

COMMANDS: Final = (
    Command("execution", "sync", 0x01, "server client"),
    Command("execution", "result", 0x02, "server client", "command-id*:sequence-no value:struct32"),
    Command(
        "execution",
        "exception",
        0x03,
        "server client",
        (
            "error-code*:error-code command-id:sequence-no class-code:uint8 "
            "command-code:uint8 field-index:uint8 description:str16 error-info:map"
        ),
    ),
    Command(
        "message",
        "transfer",
        0x01,
        "server client",
        ("destination:destination accept-mode*:accept-mode acquire-mode*:acquire-mode"),
        header="delivery-properties fragment-properties message-properties",
        body=True,
    ),
    Command("message", "accept", 0x02, "server client", "transfers*:session.commands"),
    Command(
        "message",
        "reject",
        0x03,
        "server client",
        "transfers*:session.commands code*:reject-code text:str8",
    ),
    Command(
        "message",
        "release",
        0x04,
        "server client",
        "transfers*:session.commands set-redelivered:bit",
    ),
    Command("message", "acquire", 0x05, "server", "transfers*:session.commands", result="acquired"),
    Command(
        "message",
        "resume",
        0x06,
        "server client",
        "destination:destination resume-id*:resume-id",
        result="message-resume-result",
    ),
    Command(
        "message",
        "subscribe",
        0x07,
        "server",
        (
            "queue*:queue.name destination:destination accept-mode*:accept-mode "
            "acquire-mode*:acquire-mode exclusive:bit resume-id:resume-id resume-ttl:uint64 "
            "arguments:map"
        ),
    ),
    Command("message", "cancel", 0x08, "server", "destination*:destination"),
    Command(
        "message",
        "set-flow-mode",
        0x09,
        "server client",
        "destination:destination flow-mode*:flow-mode",
    ),
    Command(
        "message",
        "flow",
        0x0A,
        "server client",
        "destination:destination unit*:credit-unit value:uint32",
    ),
    Command("message", "flush", 0x0B, "server", "destination:destination"),
    Command("message", "stop", 0x0C, "server client", "destination:destination"),
    Command("tx", "select", 0x01, "server"),
    Command("tx", "commit", 0x02, "server"),
    Command("tx", "rollback", 0x03, "server"),
    Command("dtx", "select", 0x01, "server"),
    Command("dtx", "start", 0x02, "server", "xid*:xid join:bit resume:bit", result="xa-result"),
    Command("dtx", "end", 0x03, "server", "xid*:xid fail:bit suspend:bit", result="xa-result"),
    Command("dtx", "commit", 0x04, "server", "xid*:xid one-phase:bit", result="xa-result"),
    Command("dtx", "forget", 0x05, "server", "xid*:xid"),
    Command("dtx", "get-timeout", 0x06, "server", "xid*:xid", result="get-timeout-result"),
    Command("dtx", "prepare", 0x07, "server", "xid*:xid", result="xa-result"),
    Command("dtx", "recover", 0x08, "server", result="recover-result"),
    Command("dtx", "rollback", 0x09, "server", "xid*:xid", result="xa-result"),
    Command("dtx", "set-timeout", 0x0A, "server", "xid*:xid timeout*:uint32"),
    Command(
        "exchange",
        "declare",
        0x01,
        "server",
        (
            "exchange*:name type*:str8 alternate-exchange:name passive:bit durable:bit "
            "auto-delete:bit arguments:map"
        ),
    ),
    Command("exchange", "delete", 0x02, "server", "exchange*:name if-unused:bit"),
    Command("exchange", "query", 0x03, "server", "name:str8", result="exchange-query-result"),
    Command(
        "exchange",
        "bind",
        0x04,
        "server",
        "queue*:queue.name exchange*:name binding-key*:str8 arguments:map",
    ),
    Command(
        "exchange", "unbind", 0x05, "server", "queue*:queue.name exchange*:name binding-key*:str8"
    ),
    Command(
        "exchange",
        "bound",
        0x06,
        "server",
        "exchange:str8 queue*:str8 binding-key:str8 arguments:map",
        result="exchange-bound-result",
    ),
    Command(
        "queue",
        "declare",
        0x01,
        "server",
        (
            "queue*:name alternate-exchange:exchange.name passive:bit durable:bit "
            "exclusive:bit auto-delete:bit arguments:map"
        ),
    ),
    Command("queue", "delete", 0x02, "server", "queue*:name if-unused:bit if-empty:bit"),
    Command("queue", "purge", 0x03, "server", "queue*:name"),
    Command("queue", "query", 0x04, "server", "queue*:name", result="queue-query-result"),
    Command("file", "qos", 0x01, "server", "prefetch-size:uint32 prefetch-count:uint16 global:bit"),
    Command("file", "qos-ok", 0x02, "client"),
    Command(
        "file",
        "consume",
        0x03,
        "server",
        (
            "queue:queue.name consumer-tag:str8 no-local:bit no-ack:bit exclusive:bit "
            "nowait:bit arguments:map"
        ),
    ),
    Command("file", "consume-ok", 0x04, "client", "consumer-tag:str8"),
    Command("file", "cancel", 0x05, "server", "consumer-tag:str8"),
    Command("file", "open", 0x06, "server client", "identifier:str8 content-size:uint64"),
    Command("file", "open-ok", 0x07, "server client", "staged-size:uint64"),
    Command(
        "file",
        "stage",
        0x08,
        "server client",
        header="file-properties",
        header_required=True,
        body=True,
    ),
    Command(
        "file",
        "publish",
        0x09,
        "server",
        ("exchange:exchange.name routing-key:str8 mandatory:bit immediate:bit identifier:str8"),
    ),
    Command(
        "file",
        "return",
        0x0A,
        "client",
        ("reply-code:return-code reply-text:str8 exchange:exchange.name routing-key:str8"),
        header="file-properties",
        header_required=True,
        body=True,
    ),
    Command(
        "file",
        "deliver",
        0x0B,
        "client",
        (
            "consumer-tag:str8 delivery-tag:uint64 redelivered:bit exchange:exchange.name "
            "routing-key:str8 identifier:str8"
        ),
    ),
    Command("file", "ack", 0x0C, "server", "delivery-tag:uint64 multiple:bit"),
    Command("file", "reject", 0x0D, "server", "delivery-tag:uint64 requeue:bit"),
    Command(
        "stream",
        "qos",
        0x01,
        "server",
        ("prefetch-size:uint32 prefetch-count:uint16 consume-rate:uint32 global:bit"),
    ),
    Command("stream", "qos-ok", 0x02, "client"),
    Command(
        "stream",
        "consume",
        0x03,
        "server",
        ("queue:queue.name consumer-tag:str8 no-local:bit exclusive:bit nowait:bit arguments:map"),
    ),
    Command("stream", "consume-ok", 0x04, "client", "consumer-tag:str8"),
    Command("stream", "cancel", 0x05, "server", "consumer-tag:str8"),
    Command(
        "stream",
        "publish",
        0x06,
        "server",
        "exchange:exchange.name routing-key:str8 mandatory:bit immediate:bit",
        header="stream-properties",
        header_required=True,
        body=True,
    ),
    Command(
        "stream",
        "return",
        0x07,
        "client",
        ("reply-code:return-code reply-text:str8 exchange:exchange.name routing-key:str8"),
        header="stream-properties",
        header_required=True,
        body=True,
    ),
    Command(
        "stream",
        "deliver",
        0x08,
        "client",
        ("consumer-tag:str8 delivery-tag:uint64 exchange:exchange.name queue*:queue.name"),
        header="stream-properties",
        header_required=True,
        body=True,
    ),
)
