"""What a translation is given, and what it hands back, as plain values.

A face makes one `Context` for each connection and passes it with every message; a translation
changes nothing of it but the counts and the reply table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, final

from mypy_extensions import i64 as int64
from mypy_extensions import mypyc_attr

from gateway.message import Loss, Message, Refusal
from gateway.translate.checking.sample import Kinds
from gateway.translate.mapping_rows import NUMBER_MAX
from gateway.translate.replies import ReplyTable


class Nodes(Protocol):
    """The names of one virtual host."""

    def is_queue(self, name: str) -> bool:
        """Whether there is a queue of that name."""

    def is_exchange(self, name: str) -> bool:
        """Whether there is an exchange of that name."""

    def upstream_of(self, exchange: str, key: str) -> str:
        """The upstream where the node lives that this names; "" for a local node, or none.

        The same of a message's exchange and routing key is where the message came from.
        """


class ReplyAddresses(Protocol):
    """What an upstream can reach local nodes by."""

    def address_of(self, exchange: str, key: str) -> str | None:
        """The upstream's address for a local node; `None`: it has none.

        "": it is on its way, and the translation that asked for it will not be used.
        """


class Following(Protocol):
    """Follows messages that have `Flag.TRACED` (`tracing.traces`)."""

    def now_us(self) -> int:
        """The clock, read now."""

    def with_own(self, message: Message, merged: bytes) -> bytes:
        """Message-annotations (an encoded map) with the gateway's trace, if it has no other."""

    def translated(self, message: Message, began_us: int) -> None:
        """It was, for whoever takes it next, since then."""


@final
class Counts:
    """How often each row's value was lost, escrowed or restored, by row number; read by metrics.

    Attributes:
        kinds: how many translations of each kind were looked at.
    """

    __slots__ = ("escrowed", "kinds", "lost", "restored")

    def __init__(self) -> None:
        self.lost: list[int] = [0] * (NUMBER_MAX + 1)
        self.escrowed: list[int] = [0] * (NUMBER_MAX + 1)
        self.restored: list[int] = [0] * (NUMBER_MAX + 1)
        self.kinds = Kinds()


@final
@dataclass(init=False, slots=True)
class Context:
    """Where a translated message goes, and by which rules.

    Attributes:
        nodes: the virtual host's names, for reply-to.
        replies: the virtual host's reply table.
        counts: one for the whole gateway.
        escrow: whether values without a place are kept beside the message; off: counted losses.
        escrow_max: the most octets that escrow may add to a message.
        depth_max: how deep values may nest.
        text_body_value: a text body goes to 1.0 as an amqp-value string, not as data.
        timestamp: messages without a time of creation get that of their arrival.
        java: the receiving 0-10 client is the Java one: times in milliseconds, text types without
            a charset.
        now_ms: the gateway's clock, set before each batch.
        gateway: the gateway's container-id: whose the nodes are that a reply-to names.
        upstream: the name of the upstream that messages go to; "" for a client.
        user_id: whether it takes a user-id.
        value_lists: whether it takes a list as an amqp-value; else the octets go as data.
        reply_address: by what that upstream can reach local nodes.
        jms: the receiver, of 1.0, is one of JMS, as its link tells; set before each message.
        traces: which messages are followed; `None`: none are.
    """

    nodes: Nodes
    replies: ReplyTable
    counts: Counts
    escrow: bool
    escrow_max: int
    depth_max: int
    text_body_value: bool
    timestamp: bool
    java: bool
    now_ms: int
    gateway: str
    upstream: str
    user_id: bool
    value_lists: bool
    reply_address: ReplyAddresses | None
    jms: bool
    traces: Following | None

    def __init__(
        self,
        nodes: Nodes,
        replies: ReplyTable,
        counts: Counts,
        *,
        escrow: bool = True,
        escrow_max: int = 16 * 1024,
        depth_max: int = 32,
        text_body_value: bool = False,
        timestamp: bool = False,
        java: bool = False,
        now_ms: int = 0,
        gateway: str = "",
        upstream: str = "",
        user_id: bool = True,
        value_lists: bool = True,
        reply_address: ReplyAddresses | None = None,
        jms: bool = False,
        traces: Following | None = None,
    ) -> None:
        self.nodes = nodes
        self.replies = replies
        self.counts = counts
        self.escrow = escrow
        self.escrow_max = escrow_max
        self.depth_max = depth_max
        self.text_body_value = text_body_value
        self.timestamp = timestamp
        self.java = java
        self.now_ms = now_ms
        self.gateway = gateway
        self.upstream = upstream
        self.user_id = user_id
        self.value_lists = value_lists
        self.reply_address = reply_address
        self.jms = jms
        self.traces = traces


@final
@mypyc_attr(free_list_len=1)
@dataclass(init=False, slots=True)
class Translated10:
    """A message ready for 1.0, whatever it came by, but for its header section.

    Attributes:
        head: message-annotations, properties and application-properties, encoded.
        body: from `body_at` on: the body sections and, from `body_end` on, the footer, encoded.
            A large body is the message's own octets, not a copy of them.
        data_head: not empty: the body is only what one data section holds, and this is how that
            begins, to be sent before it.
        body_changed: its content is not the octets that came but another form of them.
        priority: of the header section that `towards_1_0.hop` writes.
        losses: every value that did not cross, in no order.
        refusal: why the message cannot be sent at all; then the rest is empty.
        id_digest: of the message-id, as `Message.id_digest` of whoever gets it.
        kind: which one it is of, if it was translated (`checking.kinds`).
    """

    head: bytes
    body: bytes
    body_at: int
    body_end: int
    body_changed: bool
    data_head: bytes
    priority: int
    losses: list[Loss]
    refusal: Refusal | None
    id_digest: int64
    kind: int

    def __init__(
        self,
        head: bytes,
        body: bytes,
        body_end: int,
        priority: int,
        losses: list[Loss],
        refusal: Refusal | None = None,
        *,
        body_changed: bool = False,
        body_at: int = 0,
        data_head: bytes = b"",
        id_digest: int64 = 0,
        kind: int = 0,
    ) -> None:
        self.head = head
        self.body = body
        self.body_at = body_at
        self.body_end = body_end
        self.body_changed = body_changed
        self.data_head = data_head
        self.priority = priority
        self.losses = losses
        self.refusal = refusal
        self.id_digest = id_digest
        self.kind = kind


@final
@mypyc_attr(free_list_len=1)
@dataclass(init=False, slots=True)
class Translated010:
    """A message ready for 0-10, whatever it came by.

    Attributes:
        header: the header segment's content.
        body: the body segment's content.
        empty_body: of an empty `body`: there is a body segment all the same.
        body_changed: as in `Translated10`.
        losses: every value that did not cross, in no order.
        refusal: why the message cannot be sent at all; then the rest is empty.
        id_digest, kind: as in `Translated10`.
        structs: the header may have others than those of messages.
    """

    header: bytes
    body: bytes
    empty_body: bool
    body_changed: bool
    losses: list[Loss]
    refusal: Refusal | None
    id_digest: int64
    kind: int
    structs: bool

    def __init__(
        self,
        header: bytes,
        body: bytes,
        losses: list[Loss],
        refusal: Refusal | None = None,
        *,
        body_changed: bool = False,
        empty_body: bool = False,
        id_digest: int64 = 0,
        kind: int = 0,
        structs: bool = False,
    ) -> None:
        self.header = header
        self.body = body
        self.empty_body = empty_body
        self.body_changed = body_changed
        self.losses = losses
        self.refusal = refusal
        self.id_digest = id_digest
        self.kind = kind
        self.structs = structs
