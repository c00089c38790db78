"""How brokers behind the gateway are, and what goes to them and comes."""

from __future__ import annotations

from typing import Final

from gateway.metrics.rows import counter, gauge, histogram

UPSTREAMS: Final = (
    gauge("gateway_upstream_up", "1 while the upstream is connected and open.", "upstream"),
    gauge(
        "gateway_upstream_state_seconds",
        "How long the upstream has been as `state` says.",
        "upstream",
        "state",
    ),
    gauge(
        "gateway_upstream_down_seconds",
        "How long the upstream has not been connected; 0 while it is.",
        "upstream",
    ),
    gauge(
        "gateway_upstream_failed_tries",
        "Tries in a row that did not connect, each of all its hosts.",
        "upstream",
    ),
    gauge("gateway_upstream_links", "Links that are attached.", "upstream"),
    gauge(
        "gateway_upstream_token_expiry_timestamp_seconds",
        "When the token that the upstream was shown last expires by its own word, as Unix time; 0:"
        " there is none, or it does not say.",
        "upstream",
    ),
    gauge(
        "gateway_upstream_certificate_expiry_timestamp_seconds",
        "When the certificate that the upstream is shown expires, or one above it in its file, as"
        " Unix time; 0: there is none, or it is not read yet.",
        "upstream",
    ),
    gauge(
        "gateway_upstream_held_messages",
        "Messages to an upstream whose publishers wait to hear of them.",
        "upstream",
    ),
    gauge(
        "gateway_upstream_spooled_messages",
        "Messages to an upstream that the gateway has stored, their publishers told.",
        "upstream",
    ),
    gauge(
        "gateway_upstream_shadow_messages",
        "Copies for shadows at an upstream (`shadow` of a rule) that it has not settled.",
        "upstream",
    ),
    gauge(
        "gateway_upstream_oldest_seconds",
        "How long the oldest message to an upstream has waited; 0 if there is none.",
        "upstream",
    ),
    counter(
        "gateway_upstream_connections_total",
        "Connections to an upstream that were opened, were lost, or ended before they were open.",
        "upstream",
        "event",
    ),
    counter(
        "gateway_upstream_sessions_ended_total", "Sessions that the upstream ended.", "upstream"
    ),
    counter(
        "gateway_upstream_links_total",
        "Links that the upstream attached, refused or detached.",
        "upstream",
        "event",
    ),
    counter(
        "gateway_upstream_messages_total",
        "Deliveries to and from an upstream, those sent again included.",
        "upstream",
        "direction",
    ),
    counter(
        "gateway_upstream_outcomes_total",
        "How deliveries to and from an upstream ended.",
        "upstream",
        "direction",
        "outcome",
    ),
    histogram(
        "gateway_upstream_settle_duration_seconds",
        "How long it took an upstream to settle what it was sent.",
        "upstream",
    ),
    gauge(
        "gateway_upstream_unsettled_messages",
        "Deliveries under way to and from an upstream.",
        "upstream",
        "direction",
    ),
    gauge(
        "gateway_upstream_waiting_messages",
        "Messages that wait to be sent to an upstream, or to a client from it.",
        "upstream",
        "direction",
    ),
    counter(
        "gateway_upstream_in_doubt_total",
        "Deliveries whose outcome the end of a link left open: sent again, marked.",
        "upstream",
    ),
    counter(
        "gateway_upstream_poison_total",
        "Messages given up because the link broke with them first in line, again and again.",
        "upstream",
    ),
    counter("gateway_upstream_undecodable_total", "Deliveries that were no message.", "upstream"),
    counter(
        "gateway_upstream_redirects_total",
        "Times that the upstream sent the gateway, or one link, elsewhere.",
        "upstream",
    ),
    gauge(
        "gateway_upstream_detour_connections",
        "Connections to other hosts, or attempts, for links that the upstream redirects to them.",
        "upstream",
        stable=False,
    ),
    counter(
        "gateway_upstream_feeds_refused_total",
        "Times that the upstream refused, for good, to feed a queue bound to an exchange of its.",
        "upstream",
    ),
    gauge("gateway_moves", "Moves of queues from an upstream that are under way.", "state"),
    counter(
        "gateway_moved_messages_total",
        "Messages of an upstream's queues that moves took to another place, or that this refused;"
        ' "" is the gateway.',
        "source",
        "target",
        "result",
    ),
    counter(
        "gateway_move_redelivered_total",
        "Messages that came to a move marked as redelivered: the new place may have them twice.",
        "source",
        "target",
    ),
    gauge(
        "gateway_move_left_messages",
        "What moves have left to do, where the old upstream tells it (0-10).",
        "source",
    ),
)
