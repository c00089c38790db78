"""What the configuration says to an upstream's face, and what the face counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, final

from gateway.message import OutcomeKind
from gateway.translate.profiles.templates import Wildcards
from gateway.wire.limits import Limits
from gateway.wire.sasl import ClientMechanism, Derivation


class NodeRules(Protocol):
    """What the node rules say of addresses, where they do not leave that to the profile."""

    def queue_address(self, host: str, queue: str) -> str | None:
        """The address of a queue's node."""

    def shadow_name(self, host: str, queue: str) -> str | None:
        """What the shadow of a queue is called at its upstream; `None`: it has none."""

    def creates(self, host: str, queue: str) -> bool:
        """Whether a queue's node is to be made when it is missing."""

    def exchange_address(self, host: str, exchange: str, key: str) -> str | None:
        """The address to which a message of an exchange's node goes."""

    def subscription_address(
        self, host: str, exchange: str, key: str, *, name: str, wildcards: Wildcards | None
    ) -> str | None:
        """The source of a binding; `name` is the queue's."""


@final
@dataclass(init=False, slots=True)
class CbsToken:
    """A token for one node.

    Attributes:
        kind: its type, as the peer calls it.
        expires_ms: when, on the gateway's clock; 0: unknown.
        problem: why there is none; "" where there is one.
    """

    kind: str
    text: str
    expires_ms: int
    problem: str

    def __init__(
        self, kind: str = "", text: str = "", *, expires_ms: int = 0, problem: str = ""
    ) -> None:
        self.kind = kind
        self.text = text
        self.expires_ms = expires_ms
        self.problem = problem


Derive = Callable[[Derivation, Callable[[int], None]], None]
"""Runs it aside, then tells that it is done, and when: in a later turn."""

Tokens = Callable[[str, int], CbsToken]
"""Makes a token for an audience, now."""


@final
@dataclass(init=False, slots=True)
class UpstreamSettings:
    """One upstream, as plain values.

    Attributes:
        name: as configured; in link names, audit node names and metrics.
        container_id: of our open; the same each time, since durable subscriptions hang on it.
        group: of gateways, this one among them, that share subscriptions there; "": it is alone.
        limits: of the connection: frames, sessions, links, unsettled deliveries, message sizes.
        mechanisms: makes SASL mechanisms for one connection, best first; none: no SASL layer. It is
            told whether the connection is secure.
        derive: runs what a mechanism has to derive.
        tokens: makes tokens for nodes, at a peer that wants one for each; `None`: it does not.
        random: a number from 0 up to 1: jitter for the back-off.
        rules: addresses that the configuration gives.
        hostname: of our open and of sasl-init; "": that of the connection.
        attach_timeout_ms: how long an attach or a look-up may be without an answer.
        back_off_min_ms, back_off_max_ms: before a link is attached again; doubled each time.
        max_redeliveries: released or modified that often, a copy is taken to be rejected.
        redelivery_min_ms, redelivery_max_ms, redelivery_factor, redelivery_jitter: how long such a
            copy waits before it is sent again: from the first to the second, times the third each
            time, less a part by chance of up to the fourth, which is from 0 to 1.
        resume: links are resumed where the profile says that the peer can.
        patience_ms: how long a subscription that was in force elsewhere may be refused by this
            upstream before it ends.
        window: deliveries to one address that may be unsettled: so many a crash leaves in doubt.
        addresses_max: sender links that one exchange keeps, by address.
        reply_nodes_max: reply nodes that are kept at the upstream.
        detours_max: connections to other places that links are redirected to; 0: none are made.
    """

    name: str
    container_id: str
    limits: Limits
    mechanisms: Callable[[bool], list[ClientMechanism]]
    derive: Derive
    tokens: Tokens | None
    random: Callable[[], float]
    rules: NodeRules | None
    hostname: str
    attach_timeout_ms: int
    back_off_min_ms: int
    back_off_max_ms: int
    max_redeliveries: int
    redelivery_min_ms: int
    redelivery_max_ms: int
    redelivery_factor: float
    redelivery_jitter: float
    resume: bool
    patience_ms: int
    window: int
    addresses_max: int
    reply_nodes_max: int
    detours_max: int
    group: str

    def __init__(
        self,
        *,
        name: str,
        container_id: str,
        limits: Limits,
        mechanisms: Callable[[bool], list[ClientMechanism]],
        derive: Derive,
        random: Callable[[], float],
        tokens: Tokens | None = None,
        rules: NodeRules | None = None,
        hostname: str = "",
        attach_timeout_ms: int = 30_000,
        back_off_min_ms: int = 1_000,
        back_off_max_ms: int = 60_000,
        max_redeliveries: int = 10,
        redelivery_min_ms: int = 1_000,
        redelivery_max_ms: int = 60_000,
        redelivery_factor: float = 2.0,
        redelivery_jitter: float = 0.5,
        resume: bool = True,
        patience_ms: int = 60_000,
        window: int = 1_000,
        addresses_max: int = 256,
        reply_nodes_max: int = 1_000,
        detours_max: int = 16,
        group: str = "",
    ) -> None:
        self.name = name
        self.container_id = container_id
        self.limits = limits
        self.mechanisms = mechanisms
        self.derive = derive
        self.tokens = tokens
        self.random = random
        self.rules = rules
        self.hostname = hostname
        self.attach_timeout_ms = attach_timeout_ms
        self.back_off_min_ms = back_off_min_ms
        self.back_off_max_ms = back_off_max_ms
        self.max_redeliveries = max_redeliveries
        self.redelivery_min_ms = redelivery_min_ms
        self.redelivery_max_ms = redelivery_max_ms
        self.redelivery_factor = redelivery_factor
        self.redelivery_jitter = redelivery_jitter
        self.resume = resume
        self.patience_ms = patience_ms
        self.window = window
        self.addresses_max = addresses_max
        self.reply_nodes_max = reply_nodes_max
        self.detours_max = detours_max
        self.group = group

    def back_off_ms(self, failures: int) -> int:
        """How long a link waits: doubled with each failure, up to half of it taken by chance."""
        wait_ms = self.back_off_min_ms << min(max(failures - 1, 0), 20)
        wait_ms = min(self.back_off_max_ms, wait_ms)
        return wait_ms - int(wait_ms * self.random()) // 2

    def redelivery_back_off_ms(self, failures: int) -> int:
        """How long to wait before what was not taken is sent again, with jitter."""
        wait_ms = self.redelivery_min_ms * self.redelivery_factor ** min(failures - 1, 64)
        wait_ms = min(self.redelivery_max_ms, wait_ms)
        return int(wait_ms * (1 - self.redelivery_jitter * self.random()))


@final
class UpstreamCounts:
    """What one upstream counts, as plain ints that `metrics` reads at scrape; they only go up.

    Attributes:
        connections_made: opened by both sides.
        connections_lost: opened, and ended without our asking.
        connections_refused: ended before the peer's open.
        sessions_ended: by the peer, or for its errors.
        links_attached, links_refused, links_detached: by what the peer said.
        received: deliveries.
        sent: deliveries, those sent again included.
        settled_received, settled_sent: by `OutcomeKind`, told to the peer and heard from it.
        unsettled_lost: deliveries whose fate the end of a link left open, both ways.
        undecodable: received, and rejected because they are no message.
        poison: copies or deliveries with which the link broke twice.
        redirected: redirects that were told.
        feeds_refused: attempts to subscribe for a binding that were refused for good.
    """

    __slots__ = (
        "connections_lost",
        "connections_made",
        "connections_refused",
        "feeds_refused",
        "links_attached",
        "links_detached",
        "links_refused",
        "poison",
        "received",
        "redirected",
        "sent",
        "sessions_ended",
        "settled_received",
        "settled_sent",
        "undecodable",
        "unsettled_lost",
    )

    def __init__(self) -> None:
        self.connections_made = 0
        self.connections_lost = 0
        self.connections_refused = 0
        self.sessions_ended = 0
        self.links_attached = 0
        self.links_refused = 0
        self.links_detached = 0
        self.received = 0
        self.sent = 0
        self.settled_received = [0 for _ in OutcomeKind]
        self.settled_sent = [0 for _ in OutcomeKind]
        self.unsettled_lost = 0
        self.undecodable = 0
        self.poison = 0
        self.redirected = 0
        self.feeds_refused = 0

    def end(self, *, opened: bool, asked: bool) -> None:
        """A connection is over, which the peer had opened or not; `asked`: in good order."""
        if not opened:
            self.connections_refused += 1
        elif not asked:
            self.connections_lost += 1
