"""Steps of messages, and work done as one."""

from __future__ import annotations

from typing import Final

from gateway.metrics.rows import counter, gauge, histogram

MESSAGES: Final = (
    counter(
        "gateway_messages_total",
        "Steps of messages: each copy that took one, by how it ended.",
        "stage",
        "outcome",
    ),
    counter(
        "gateway_messages_refused_total",
        "Copies that were not let in, by reason: those `gateway_messages_total` counts as refused.",
        "reason",
    ),
    counter(
        "gateway_shadow_copies_total",
        "Messages that the shadow of their queue was to have: mirrored, which is put in line for"
        " its upstream, or dropped, since `max_size` of the shadow was reached or the queues held"
        " more than their low-water mark.",
        "outcome",
    ),
    counter("gateway_transactions_total", "Transactions, by how they ended.", "outcome"),
    gauge(
        "gateway_branches",
        "Branches of distributed transactions: open, doomed, which have been rolled back and are"
        " remembered, prepared, or decided by an operator.",
        "state",
    ),
    gauge(
        "gateway_oldest_prepared_branch_seconds",
        "For how long the oldest prepared branch waits for its manager; 0: there is none.",
    ),
    gauge("gateway_staged_files", "Files of 0-10 that clients have opened, and not published."),
    gauge("gateway_staged_bytes", "Octets that have come of them."),
    counter(
        "gateway_staging_expired_total",
        "Files that were forgotten since nothing more came of them for `limits.staging_timeout`.",
    ),
    gauge("gateway_unsettled_messages", "Deliveries sent and not settled yet."),
    histogram(
        "gateway_publish_confirm_duration_seconds",
        "How long publishers waited to be told that a message is taken, by their protocol: because"
        " it is in `memory`, on `disk`, or settled by its `upstream`. Of what comes and goes in one"
        " turn of the event loop it is how long that took; what is in transactions, and what takes"
        " several turns to enter its queues, is not counted.",
        "source",
        "target",
    ),
    histogram(
        "gateway_enter_settle_duration_seconds",
        "How long copies were in their queues until whoever got them had accepted or rejected them:"
        " by the protocol that they came by and the one that they went by, or `upstream`.",
        "source",
        "target",
    ),
    gauge(
        "gateway_waiting_publishes",
        "Publishes that wait for an upstream to say what became of them.",
    ),
    gauge(
        "gateway_withheld_publishes",
        "Publishes to queues above their flow stop that are not confirmed for that.",
    ),
)
