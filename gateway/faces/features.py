"""What clients ask for that the gateway does not offer, by the names under which it is counted.

One count for each use, so that whoever migrates learns what is needed before something breaks.
What is refused and what is only without effect are counted alike.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final


class Feature(IntEnum):
    """The label of the metric is the name in small letters; numbers are places in the count."""

    QMF = 0
    XML_EXCHANGE = 1
    FEDERATION = 2
    FAILOVER = 3
    TRANSACTIONAL_ACQUISITION = 4  # 1.0: a flow with a txn-id
    DTX = 5  # of a queue at an upstream
    RESUME = 6
    FILTER = 7  # another filter of a 1.0 source than those offered
    SHARED_SUBSCRIPTION = 8
    QUEUE_POLICY = 9  # one that is not known; or, as the next two, of a remote queue
    LAST_VALUE_QUEUE = 10
    PRIORITY_QUEUE = 11
    MESSAGE_GROUP = 12
    MESSAGE_SEQUENCE = 13
    INITIAL_VALUE = 14
    NO_LOCAL = 15  # as an argument of 0-10 commands
    EXCLUSIVE_BINDING = 16
    OTHER = 17
    REFUSED = 18  # something else with 540: an upstream, or a way of using it, does not have it
    REMOTE_ACQUIRE = 19  # message.acquire of what is browsed at an upstream


# Exchanges that brokers have for their own ends.
EXCHANGES: Final[dict[str, Feature]] = {
    "qmf.default.direct": Feature.QMF,
    "qmf.default.topic": Feature.QMF,
    "qpid.management": Feature.QMF,
    "amq.failover": Feature.FAILOVER,
}
# Arguments of declare, bind and subscribe.
ARGUMENTS: Final[dict[str, Feature]] = {
    "qpid.policy_type": Feature.QUEUE_POLICY,
    "qpid.last_value_queue": Feature.LAST_VALUE_QUEUE,
    "qpid.last_value_queue_key": Feature.LAST_VALUE_QUEUE,
    "qpid.priorities": Feature.PRIORITY_QUEUE,
    "x-qpid-priorities": Feature.PRIORITY_QUEUE,
    "qpid.group_header_key": Feature.MESSAGE_GROUP,
    "qpid.msg_sequence": Feature.MESSAGE_SEQUENCE,
    "qpid.queue_msg_sequence": Feature.MESSAGE_SEQUENCE,
    "qpid.ive": Feature.INITIAL_VALUE,
    "qpid.exclusive-binding": Feature.EXCLUSIVE_BINDING,
    "no-local": Feature.NO_LOCAL,
    "x-qpid-no-local": Feature.NO_LOCAL,
}
XML_TYPE: Final = "xml"
# A broker that comes as a client of another says so when it connects.
FEDERATION_PROPERTY: Final = "qpid.fed_link"
FEDERATION_PREFIX: Final = "qpid.fed."
