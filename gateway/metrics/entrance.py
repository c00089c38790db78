"""Connections before they have opened, logins, and the admin port."""

from __future__ import annotations

from typing import Final

from gateway.metrics.rows import counter, gauge

ENTRANCE: Final = (
    counter("gateway_connections_accepted_total", "TCP connections taken, of any protocol."),
    counter("gateway_connections_refused_total", "TCP connections beyond a limit.", "reason"),
    gauge(
        "gateway_waiting_connections",
        "TCP connections that wait until others from their address have opened.",
        stable=False,
    ),
    gauge(
        "gateway_ending_connections",
        "Connections whose transports are gone, and whose end waits for its turn; with them an"
        " address may have twice as many as limits.connections_per_address.",
        stable=False,
    ),
    counter(
        "gateway_handshake_failures_total",
        "Connections that ended before they named a protocol that the gateway speaks, or that"
        " renewed the keys of TLS without end.",
        "reason",
    ),
    counter(
        "gateway_authentications_total",
        "Logins that were accepted and refused, also by a mechanism that is not offered to the"
        " client; `other`: by one that the gateway does not have.",
        "mechanism",
        "outcome",
    ),
    gauge("gateway_admin_connections", "Connections to the admin port."),
    counter(
        "gateway_admin_connections_cut_total",
        "Those that gave way to others, beyond `admin_connections`.",
        stable=False,
    ),
    counter(
        "gateway_admin_refused_total",
        "Requests at the admin port that were refused by their head.",
        "reason",
        stable=False,
    ),
    counter(
        "gateway_logins_throttled_total",
        "Logins refused unheard, since too many before them had failed.",
    ),
    counter(
        "gateway_plain_logins_in_clear_total",
        "Passwords that crossed the network without TLS; the log names each user once.",
    ),
    gauge("gateway_waiting_logins", "Logins that wait for a thread to check their password."),
    gauge(
        "gateway_throttle_entries", "Failures and known users that are remembered.", stable=False
    ),
)
