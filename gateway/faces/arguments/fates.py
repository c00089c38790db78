"""What becomes of each argument by which a queue is declared, of both 0-10 brokers'.

`docs/arguments.md` is generated from it.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from gateway.faces.arguments.of_queues import ALERT_GAP_S, LAST_VALUE_KEY


class Fate(Enum):
    """What becomes of an argument."""

    DONE = "done"
    COUNTED = "kept and counted, without effect"


FATES: Final[dict[str, tuple[Fate, str]]] = {
    "qpid.max_count": (Fate.DONE, "messages that the queue may hold; 0 is no limit"),
    "qpid.max_size": (Fate.DONE, "octets that it may hold, of bodies and headers as they came"),
    "qpid.policy_type": (
        Fate.DONE,
        "at those limits: `reject`, `ring`, `ring_strict`, `self-destruct`; others are as "
        "`reject`, and counted. What a ring lets go is sent on to the alternate exchange, through "
        "32 rings at most, and to none a second time. With `flow_to_disk` the limits are of what "
        "is in memory, and more is on disk",
    ),
    "qpid.auto_delete_timeout": (Fate.DONE, "seconds; implies auto-delete"),
    "qpid.lifetime-policy": (
        Fate.DONE,
        "`delete-if-unused`, `delete-if-unused-and-empty` and `delete-on-close`, which is with the "
        "last subscription, whoever has the queue exclusively: each implies auto-delete; `manual` "
        "switches that off, and its timeout. Others, as `delete-if-empty`, are counted: a qpidd "
        "does not know them either",
    ),
    "no-local": (
        Fate.DONE,
        "what the connection publishes does not enter that has the queue exclusively, or else has "
        "an exclusive subscription to it; of a queue at an upstream refused, 540",
    ),
    "qpid.filter": (
        Fate.DONE,
        "the selector of what enters; the rest is dropped, its publisher hears of nothing. What is "
        "no selector is refused, 542",
    ),
    "qpid.priorities, x-qpid-priorities": (
        Fate.DONE,
        "levels; 0 and 1 are a plain queue, above 10 are 10",
    ),
    "qpid.fairshare, qpid.fairshare-N, x-qpid-fairshare, x-qpid-fairshare-N": (
        Fate.DONE,
        "so many of a level in a row, then a lower one has its turn; with priorities only, else "
        "refused, 542",
    ),
    "qpid.last_value_queue_key": (
        Fate.DONE,
        "the header by whose value a message takes the place of an older one; with priorities "
        "refused, 542",
    ),
    "qpid.last_value_queue, qpid.last_value_queue_no_browse": (
        Fate.DONE,
        f"the same; the header is `{LAST_VALUE_KEY}`",
    ),
    "qpid.browse-only": (Fate.DONE, "whoever subscribes browses"),
    "qpid.flow_stop_count, qpid.flow_stop_size, qpid.flow_resume_count, qpid.flow_resume_size": (
        Fate.DONE,
        "above stop, messages are not confirmed before the queue is below resume or they have left "
        "it; 80 % and 70 % of the limits of the same declare where not said, but never by those "
        "of flow_to_disk, which are of memory; 0 is never; not of rings; above their limit, or "
        "resume above stop: refused, 542",
    ),
    "qpid.group_header_key, qpid.shared_msg_group": (
        Fate.DONE,
        "the header by whose value messages are in groups; all of a group go to one subscription "
        "until nothing of it is acquired; without shared groups, with priorities and with last "
        "values refused, 542",
    ),
    "qpid.default-message-group": (Fate.DONE, "the group of messages that name none"),
    "qpid.group_timestamp": (Fate.COUNTED, "nobody asks for it but QMF"),
    "qpid.queue_msg_sequence": (
        Fate.DONE,
        "the header by which whoever gets a message is told its number: from 1, in the order of "
        "arrival, and anew after a restart of the gateway; not with last values. What leaves for "
        "an alternate exchange is as it came",
    ),
    "qpid.alert_count, qpid.alert_count_up, x-qpid-maximum-message-count, qpid.alert_size, "
    "qpid.alert_size_up, x-qpid-maximum-message-size": (
        Fate.DONE,
        "when the queue holds as much, `gateway_queue_alerts_total` counts and the log tells; not "
        "where it is not said",
    ),
    "qpid.alert_count_down, qpid.alert_size_down": (
        Fate.DONE,
        "no more than that, and the next time is another; half of the above where it is not said",
    ),
    "qpid.alert_repeat_gap, x-qpid-minimum-alert-repeat-gap": (
        Fate.DONE,
        f"seconds for which the log tells of no other time; {ALERT_GAP_S} where it is not said",
    ),
    "x-qpid-maximum-message-age, x-qpid-maximum-queue-depth": (
        Fate.COUNTED,
        "the metrics say how full queues are",
    ),
    "x-qpid-capacity, x-qpid-flow-resume-capacity": (
        Fate.COUNTED,
        "by flow_stop_size and flow_resume_size publishers wait",
    ),
    "qpid.lifetime_policy, qpid.exclusivity_policy": (
        Fate.COUNTED,
        "`auto_delete` and `exclusive` of the command say it",
    ),
    "x-qpid-maximum-delivery-count, x-qpid-dlq-enabled": (
        Fate.COUNTED,
        "rejected messages go to the alternate exchange of the command",
    ),
    "qpid.queue_sort_key": (Fate.COUNTED, "the order is that of arrival"),
    "qpid.default_filters": (Fate.COUNTED, "a subscription may have a selector"),
    "qpid.trace.id, qpid.trace.exclude": (Fate.COUNTED, "federation is not offered"),
    "qpid.paging, qpid.max_pages_loaded, qpid.page_factor": (
        Fate.DONE,
        "pages of 4096 octets, times the factor, of which so many are in memory, or 4; and nine "
        "pages of our own, of 256 messages. The rest is on disk, as it is for any queue beyond "
        "`queues.memory`. With priorities, last values or groups refused, 542",
    ),
    "qpid.file_count, qpid.file_size": (Fate.COUNTED, "the store has one size for all"),
    "qpid.message_durability, qpid.ensure_nondestructive_consumers": (Fate.COUNTED, ""),
    "x-single-active-consumer": (Fate.COUNTED, "an exclusive subscription is alone"),
    "x-qpid-description, qpid.replicate": (Fate.COUNTED, ""),
}
