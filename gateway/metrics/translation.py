"""What crossed from one protocol to the other otherwise than it came."""

from __future__ import annotations

from typing import Final

from gateway.metrics.rows import counter, gauge

TRANSLATION: Final = (
    counter(
        "gateway_arguments_ignored_total",
        "Arguments of declare, bind and subscribe that have no effect.",
    ),
    counter(
        "gateway_unsupported_total",
        "Uses of what is not offered, refused or without effect; `audit features` tells whose.",
        "feature",
    ),
    counter("gateway_translation_losses_total", "Values that did not cross.", "row"),
    counter("gateway_translation_escrowed_total", "Values put into escrow.", "row"),
    counter("gateway_translation_restored_total", "Values that came back from escrow.", "row"),
    gauge("gateway_reply_table_entries", "Requests whose own ids are known, for their answers."),
    gauge("gateway_reply_table_bytes", "Octets of these ids."),
    counter(
        "gateway_reply_table_evicted_total",
        "Requests that were forgotten: they had become too many, too large or too old.",
    ),
)
