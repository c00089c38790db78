"""Clients, what they have attached, and what they were refused."""

from __future__ import annotations

from typing import Final

from gateway.metrics.rows import counter, gauge

CLIENTS: Final = (
    gauge("gateway_connections", "Connections that are open.", "protocol"),
    gauge("gateway_limit_connections", "How many there may be, `limits.connections`."),
    gauge(
        "gateway_client_connections",
        "Connections of clients that have opened, by what they are: `product`, as far as it is a"
        " known one, and `login`: anonymous, password, certificate or kerberos.",
        "protocol",
        "product",
        "login",
    ),
    counter("gateway_connections_opened_total", "Connections that were opened.", "protocol"),
    counter(
        "gateway_connections_redirected_total",
        "Connections that were sent to another gateway (`elsewhere`) instead of being opened.",
        "protocol",
    ),
    counter(
        "gateway_access_refused_total",
        "What clients asked for and may not do by the access rules, or their quotas.",
        "action",
    ),
    counter(
        "gateway_protocol_errors_total",
        "Connections closed because the client broke its protocol.",
        "protocol",
    ),
    counter(
        "gateway_session_errors_total",
        "Sessions ended, and links refused or detached, by the gateway; connections went on. "
        "`error`: the condition that the client was told, or `protocol`: it broke its protocol.",
        "protocol",
        "scope",
        "error",
    ),
    counter(
        "gateway_user_ids_unchecked_total",
        "Messages with a user-id that nobody could check: of clients without a login.",
    ),
    gauge("gateway_sessions", "Sessions that are attached.", "protocol"),
    counter("gateway_sessions_opened_total", "Sessions that were attached.", "protocol"),
    gauge(
        "gateway_absent_sessions",
        "0-10 sessions whose state is kept, and that have no connection now; suspended links of "
        "1.0 included.",
    ),
    gauge("gateway_absent_session_bytes", "Octets that are kept for them."),
    counter(
        "gateway_sessions_detached_total",
        "Times that a session whose state is kept has lost its connection, or was detached; and "
        "that a 1.0 link was suspended.",
    ),
    counter("gateway_sessions_resumed_total", "Times that one has gone on."),
    counter(
        "gateway_sessions_expired_total",
        "Sessions that did not in time: what they held has gone back.",
    ),
    gauge("gateway_links", "Links (1.0) and subscriptions (0-10).", "protocol"),
    counter("gateway_links_opened_total", "Links and subscriptions so far.", "protocol"),
    counter("gateway_network_bytes_total", "Octets on AMQP connections, inside TLS.", "direction"),
    gauge("gateway_open_transactions", "Transactions of 1.0 clients, not discharged."),
    counter(
        "gateway_transactions_refused_total",
        "Declares of 1.0 clients beyond `limits.transactions`.",
    ),
    gauge(
        "gateway_kept_bytes",
        "Octets kept for connections: what is not whole, waits or is not read, what TLS needs; no"
        " queued messages.",
    ),
    counter(
        "gateway_kept_refused_total",
        "What would have been kept, but for `limits.connection_size`, `user_size`, `host_size`.",
        "scope",
        stable=False,
    ),
)
