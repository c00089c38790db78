"""What a queue does beyond "first in, first out", as it was declared."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final, final

LEVELS_MAX: Final = 10
FLOW_MAX: Final = (1 << 62) - 1
NO_GROUP: Final = "qpid.no-group"


class Policy(IntEnum):
    """What becomes of a message for which a queue has no room."""

    REJECT = 0  # it is refused
    RING = 1  # it enters, and what is available leaves: the lowest priority first, the oldest of it
    RING_STRICT = 2  # the same, but it is refused where somebody has acquired the oldest
    SELF_DESTRUCT = 3  # the queue is deleted
    FLOW_TO_DISK = 4  # it enters: the limits are of what is in memory, and the rest is on disk


class Life(IntEnum):
    """When a queue that deletes itself is over; the store has the number."""

    UNUSED = 0  # nobody subscribes any more, nor has it exclusively
    UNUSED_AND_EMPTY = 1  # nor is anything in it
    CLOSED = 2  # nobody subscribes any more, whoever has it


@final
@dataclass(init=False, slots=True)
class FlowLimits:
    """How much is in a queue when publishers to it wait, and when they do so no more.

    Attributes:
        stop_count, stop_size: more messages, or octets, than that, and they wait; 0: however many.
        resume_count, resume_size: fewer than that, of each that is not 0, and they go on.
    """

    stop_count: int
    stop_size: int
    resume_count: int
    resume_size: int

    def __init__(
        self,
        *,
        stop_count: int = 0,
        stop_size: int = 0,
        resume_count: int = 0,
        resume_size: int = 0,
    ) -> None:
        self.stop_count = min(stop_count, FLOW_MAX)
        self.stop_size = min(stop_size, FLOW_MAX)
        self.resume_count = min(resume_count, FLOW_MAX)
        self.resume_size = min(resume_size, FLOW_MAX)


NO_FLOW: Final = FlowLimits()


@final
@dataclass(init=False, slots=True)
class AlertLimits:
    """How much is in a queue when people are to hear of it.

    Attributes:
        count, size: as many messages, or octets; 0: however many.
        count_down, size_down: no more than that, and the next time is another.
        gap_ms: how long people hear of no other time.
    """

    count: int
    size: int
    count_down: int
    size_down: int
    gap_ms: int

    def __init__(
        self,
        *,
        count: int = 0,
        size: int = 0,
        count_down: int = 0,
        size_down: int = 0,
        gap_ms: int = 0,
    ) -> None:
        self.count = min(count, FLOW_MAX)
        self.size = min(size, FLOW_MAX)
        self.count_down = min(count_down, FLOW_MAX)
        self.size_down = min(size_down, FLOW_MAX)
        self.gap_ms = min(gap_ms, FLOW_MAX)


NO_ALERTS: Final = AlertLimits()


@final
@dataclass(init=False, slots=True)
class Discipline:
    """In which order a queue's copies are sent, and which of them others take the place of.

    Attributes:
        policy: at its limits.
        levels: of priority, 2 to `LEVELS_MAX`; 0: all are sent in the order in which they came.
        fair: by level, the lowest first: so many in a row, then a lower one has its turn; 0 is "no
            bound". Empty: the highest goes first, always.
        last_value_key: the header by whose value a copy takes the place of an older one; "": none.
        group_key: the header by whose value copies are in groups, each of which one subscription
            has at a time; "": none. `no_group`: the group of those that have no such header.
        browse_only: whoever subscribes browses.
        flow: when its publishers wait; that changes nothing of what becomes of its copies.
        filter: the selector of what it lets in; "": everything.
        number_header: the header that tells each copy's number; "": they are not counted.
        alerts: when people are to hear of it.
        paged: octets of messages that are in memory of it, and the rest is on disk; 0: as many as
            those of other queues.
    """

    policy: Policy
    levels: int
    fair: tuple[int, ...]
    last_value_key: str
    group_key: str
    no_group: str
    browse_only: bool
    flow: FlowLimits
    filter: str
    number_header: str
    alerts: AlertLimits
    paged: int

    def __init__(
        self,
        *,
        policy: Policy = Policy.REJECT,
        levels: int = 0,
        fair: tuple[int, ...] = (),
        last_value_key: str = "",
        group_key: str = "",
        no_group: str = NO_GROUP,
        browse_only: bool = False,
        flow: FlowLimits = NO_FLOW,
        filter: str = "",
        number_header: str = "",
        alerts: AlertLimits = NO_ALERTS,
        paged: int = 0,
    ) -> None:
        self.policy = policy
        self.levels = levels
        self.fair = fair
        self.last_value_key = last_value_key
        self.group_key = group_key
        self.no_group = no_group
        self.browse_only = browse_only
        self.flow = flow
        self.filter = filter
        self.number_header = number_header
        self.alerts = alerts
        self.paged = min(paged, FLOW_MAX)

    def in_words(self) -> str:
        """What becomes of its copies, for the audit log and for people; "" for a plain queue."""
        words: list[str] = []
        if self.policy != Policy.REJECT:
            words.append(self.policy.name.lower().replace("_", "-"))
        if self.levels:
            words.append(f"priorities={self.levels}")
        if self.fair:
            words.append(f"fairshare={'/'.join([str(each) for each in self.fair])}")
        if self.last_value_key:
            words.append(f"last-value={self.last_value_key}")
        if self.group_key:
            words.append(f"groups={self.group_key}")
        if self.browse_only:
            words.append("browse-only")
        if self.filter:
            words.append(f"filter={self.filter}")
        if self.number_header:
            words.append(f"numbers={self.number_header}")
        if self.paged:
            words.append(f"paged={self.paged}")
        return " ".join(words)


PLAIN: Final = Discipline()
