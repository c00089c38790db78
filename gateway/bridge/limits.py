"""The limits of the bridge, as plain values: what all peers together may make it hold.

`config` builds one; each has its key, default and help there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

NO_QUOTA: Final = 1 << 62


@final
@dataclass(init=False, slots=True)
class BridgeLimits:
    """What the queues may hold, and how much is done in one turn. Sizes are octets.

    Attributes:
        octets_high, octets_low: held by all queues together: above high, publishers wait (their
            publishes are `PENDING`) until it is at or below low.
        octets_max: above it a publish is refused: the last defence against who does not wait.
        memory_octets: that copies take in memory before some of them are on disk alone; 0: none
            ever are.
        index_octets: that the marks of one queue's copies may take which are on disk; above, its
            publishers wait.
        messages_high, messages_low, messages_max: the same by number of copies.
        user_octets, host_octets: of one user's messages, of one virtual host's: above, its
            publishers wait; above twice as much it is refused.
        queue_size_default: `max_size` of a queue that names none; 0 is none.
        queues_max, exchanges_max, bindings_max: of one virtual host.
        subscriptions_max: of one queue.
        name_max: octets of an exchange's or queue's name.
        key_max: octets of a binding key.
        route_cache_max: routing keys of a topic exchange whose queues are remembered.
        route_cache_octets_max: of those, in all topic exchanges of a virtual host.
        topology_octets_max: of what a virtual host's exchanges, queues and bindings take.
        transaction_octets_max: of what one transaction holds (`Transaction.octets`).
        staging_octets_max: that one user's staged content is to have, in a virtual host.
        staging_timeout_ms: how long it is kept when nothing is heard of it.
        branches_max: of distributed transactions, in one virtual host.
        backlog_octets_max: of turns that wait for the disk; above it nothing is
            delivered, and nothing read.
        turn_deliveries: copies sent or expired in one turn, all queues together.
        local_nodes: queues and exchanges may live in the gateway; else a rule places each.
        remote_prefetch: messages that one link from an upstream may bring ahead of what they are
            wanted for: the credit of a client without limit, and of a binding to a remote exchange.
    """

    octets_high: int
    octets_low: int
    octets_max: int
    memory_octets: int
    index_octets: int
    messages_high: int
    messages_low: int
    messages_max: int
    user_octets: int
    host_octets: int
    queue_size_default: int
    queues_max: int
    exchanges_max: int
    bindings_max: int
    subscriptions_max: int
    name_max: int
    key_max: int
    route_cache_max: int
    route_cache_octets_max: int
    topology_octets_max: int
    transaction_octets_max: int
    staging_octets_max: int
    staging_timeout_ms: int
    branches_max: int
    backlog_octets_max: int
    turn_deliveries: int
    remote_prefetch: int
    local_nodes: bool

    def __init__(
        self,
        *,
        octets_high: int = 512 * 1024 * 1024,
        octets_low: int = 384 * 1024 * 1024,
        octets_max: int = 1024 * 1024 * 1024,
        memory_octets: int = 256 * 1024 * 1024,
        index_octets: int = 256 * 1024 * 1024,
        messages_high: int = 2_000_000,
        messages_low: int = 1_500_000,
        messages_max: int = 4_000_000,
        user_octets: int = NO_QUOTA,
        host_octets: int = NO_QUOTA,
        queue_size_default: int = 0,
        queues_max: int = 100_000,
        exchanges_max: int = 10_000,
        bindings_max: int = 1_000_000,
        subscriptions_max: int = 100_000,
        name_max: int = 255,
        key_max: int = 4096,
        route_cache_max: int = 10_000,
        route_cache_octets_max: int = 16 * 1024 * 1024,
        topology_octets_max: int = 512 * 1024 * 1024,
        transaction_octets_max: int = 64 * 1024 * 1024,
        staging_octets_max: int = 256 * 1024 * 1024,
        staging_timeout_ms: int = 3_600_000,
        branches_max: int = 10_000,
        backlog_octets_max: int = 64 * 1024 * 1024,
        turn_deliveries: int = 500,
        remote_prefetch: int = 500,
        local_nodes: bool = True,
    ) -> None:
        self.octets_high = octets_high
        self.octets_low = octets_low
        self.octets_max = octets_max
        self.memory_octets = memory_octets
        self.index_octets = index_octets
        self.messages_high = messages_high
        self.messages_low = messages_low
        self.messages_max = messages_max
        self.user_octets = user_octets
        self.host_octets = host_octets
        self.queue_size_default = queue_size_default
        self.queues_max = queues_max
        self.exchanges_max = exchanges_max
        self.bindings_max = bindings_max
        self.subscriptions_max = subscriptions_max
        self.name_max = name_max
        self.key_max = key_max
        self.route_cache_max = route_cache_max
        self.route_cache_octets_max = route_cache_octets_max
        self.topology_octets_max = topology_octets_max
        self.transaction_octets_max = transaction_octets_max
        self.staging_octets_max = staging_octets_max
        self.staging_timeout_ms = staging_timeout_ms
        self.branches_max = branches_max
        self.backlog_octets_max = backlog_octets_max
        self.turn_deliveries = turn_deliveries
        self.remote_prefetch = remote_prefetch
        self.local_nodes = local_nodes
