"""The arguments by which a queue is declared: both 0-10 brokers', as deployed clients spell them.

What is done of each is `FATES`, from which `docs/arguments.md` is generated. What is not done is
kept with the queue, answered to queries, and counted for whoever declares it.
"""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import Final, final

from gateway.bridge.queues.discipline import LEVELS_MAX, NO_GROUP, Discipline, Policy
from gateway.bridge.seams import QueueSettings
from gateway.message import Condition, Refusal
from gateway.wire.tagged import Tagged


class Argument(IntEnum):
    """What an argument says."""

    MAX_COUNT = 0
    MAX_SIZE = 1
    POLICY = 2
    AUTO_DELETE_TIMEOUT = 3  # seconds; implies auto-delete
    NO_LOCAL = 4
    PRIORITIES = 5
    FAIRSHARE = 6  # of all levels
    LAST_VALUE_KEY = 7
    LAST_VALUE = 8  # of a header whose name is fixed
    BROWSE_ONLY = 9
    GROUP_KEY = 10
    SHARED_GROUPS = 11
    NO_GROUP = 12


NAMES: Final[dict[str, Argument]] = {
    "qpid.max_count": Argument.MAX_COUNT,
    "qpid.max_size": Argument.MAX_SIZE,
    "qpid.policy_type": Argument.POLICY,
    "qpid.auto_delete_timeout": Argument.AUTO_DELETE_TIMEOUT,
    "no-local": Argument.NO_LOCAL,
    "qpid.priorities": Argument.PRIORITIES,
    "x-qpid-priorities": Argument.PRIORITIES,
    "qpid.fairshare": Argument.FAIRSHARE,
    "x-qpid-fairshare": Argument.FAIRSHARE,
    "qpid.last_value_queue_key": Argument.LAST_VALUE_KEY,
    "qpid.last_value_queue": Argument.LAST_VALUE,
    "qpid.last_value_queue_no_browse": Argument.LAST_VALUE,
    "qpid.browse-only": Argument.BROWSE_ONLY,
    "qpid.group_header_key": Argument.GROUP_KEY,
    "qpid.shared_msg_group": Argument.SHARED_GROUPS,
    "qpid.default-message-group": Argument.NO_GROUP,
}
FAIRSHARE_OF: Final = ("qpid.fairshare", "x-qpid-fairshare")  # and, behind -, a level
LAST_VALUE_KEY: Final = "qpid.LVQ_key"
POLICIES: Final[dict[str, Policy]] = {
    "reject": Policy.REJECT,
    "ring": Policy.RING,
    "ring_strict": Policy.RING_STRICT,
    "self-destruct": Policy.SELF_DESTRUCT,
}
NUMBER_MAX: Final = 0xFFFFFFFF  # of a level's bound
# Which of them a remote queue has: its own broker sees to the rest.
EVERYWHERE: Final = (
    *(Argument.MAX_COUNT, Argument.MAX_SIZE, Argument.AUTO_DELETE_TIMEOUT, Argument.NO_LOCAL),
)


class Fate(Enum):
    """What becomes of an argument."""

    DONE = "done"
    COUNTED = "kept and counted, without effect"


FATES: Final[dict[str, tuple[Fate, str]]] = {
    "qpid.max_count": (Fate.DONE, "messages that the queue may hold; 0 is no limit"),
    "qpid.max_size": (Fate.DONE, "octets that it may hold, of bodies and headers as they came"),
    "qpid.policy_type": (
        Fate.DONE,
        "at those limits: `reject`, `ring`, `ring_strict`, `self-destruct`; `flow_to_disk` and "
        "others are as `reject`, and counted",
    ),
    "qpid.auto_delete_timeout": (Fate.DONE, "seconds; implies auto-delete"),
    "no-local": (Fate.DONE, "of exclusive queues; of others refused, 540"),
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
        Fate.COUNTED,
        "publishers are held back by what the gateway holds in all, of each user and host",
    ),
    "qpid.group_header_key, qpid.shared_msg_group": (
        Fate.DONE,
        "the header by whose value messages are in groups; all of a group go to one subscription "
        "until nothing of it is acquired; without shared groups, with priorities and with last "
        "values refused, 542",
    ),
    "qpid.default-message-group": (Fate.DONE, "the group of messages that name none"),
    "qpid.group_timestamp": (Fate.COUNTED, "nobody asks for it but QMF"),
    "qpid.queue_msg_sequence": (Fate.COUNTED, "no message is numbered"),
    "qpid.alert_count, qpid.alert_size, qpid.alert_repeat_gap": (
        Fate.COUNTED,
        "the metrics say how full queues are",
    ),
    "x-qpid-maximum-message-count, x-qpid-maximum-message-size, x-qpid-maximum-message-age": (
        Fate.COUNTED,
        "the same",
    ),
    "x-qpid-minimum-alert-repeat-gap, x-qpid-maximum-queue-depth": (Fate.COUNTED, "the same"),
    "x-qpid-capacity, x-qpid-flow-resume-capacity": (Fate.COUNTED, "as flow_stop and flow_resume"),
    "qpid.lifetime-policy, qpid.lifetime_policy, qpid.exclusivity_policy": (
        Fate.COUNTED,
        "`auto_delete` and `exclusive` of the command say it",
    ),
    "x-qpid-maximum-delivery-count, x-qpid-dlq-enabled": (
        Fate.COUNTED,
        "rejected messages go to the alternate exchange of the command",
    ),
    "qpid.queue_sort_key": (Fate.COUNTED, "the order is that of arrival"),
    "qpid.filter, qpid.default_filters": (Fate.COUNTED, "a subscription may have a selector"),
    "qpid.trace.id, qpid.trace.exclude": (Fate.COUNTED, "federation is not offered"),
    "qpid.paging, qpid.max_pages_loaded, qpid.page_factor": (
        Fate.COUNTED,
        "all messages are in memory, durable ones on disk, too",
    ),
    "qpid.file_count, qpid.file_size": (Fate.COUNTED, "the store has one size for all"),
    "qpid.message_durability, qpid.ensure_nondestructive_consumers": (Fate.COUNTED, ""),
    "x-single-active-consumer": (Fate.COUNTED, "an exclusive subscription is alone"),
    "x-qpid-description, qpid.replicate": (Fate.COUNTED, ""),
}


@final
class Asked:
    """What the arguments of one declare come to.

    Attributes:
        ignored: those without effect; a policy with its value.
    """

    __slots__ = ("_fair", "_fair_all", "_key", "_last_value", "_remote", "_shared", "ignored")

    def __init__(self, *, remote: bool) -> None:
        """Read for a queue of the gateway's own, or one that lives at an upstream (`remote`)."""
        self._remote = remote
        self._fair: dict[int, int] = {}
        self._fair_all = 0
        self._key = ""
        self._last_value = False
        self._shared = False
        self.ignored: list[str] = []

    def read(self, arguments: list[tuple[str, Tagged]], settings: QueueSettings) -> Refusal | None:
        """Put them into `settings`, whose discipline is made; a refusal: 542, and why."""
        discipline = Discipline()
        for name, tagged in sorted(arguments, key=_name):  # as qpidd: of two spellings the last
            argument = NAMES.get(name)
            if argument is None or (self._remote and argument not in EVERYWHERE):
                if self._remote or not name.startswith(FAIRSHARE_OF):
                    self.ignored.append(name)
                elif not self._take_level(name, tagged):
                    return invalid(f"{name} bounds no level")
                continue
            refusal = self._take(name, argument, tagged, settings, discipline)
            if refusal is not None:
                return refusal
        refusal = self._finish(discipline)
        settings.discipline = discipline
        return refusal

    def _take(
        self,
        name: str,
        argument: Argument,
        tagged: Tagged,
        settings: QueueSettings,
        discipline: Discipline,
    ) -> Refusal | None:
        if argument == Argument.NO_LOCAL:
            settings.no_local = is_set(tagged)
        elif argument == Argument.BROWSE_ONLY:
            discipline.browse_only = is_set(tagged)
        elif argument == Argument.LAST_VALUE:
            self._last_value = True  # whatever it is set to
        elif argument == Argument.SHARED_GROUPS:
            self._shared = is_set(tagged)
        elif argument == Argument.GROUP_KEY:
            discipline.group_key = str(tagged.value) if tagged.value is not None else ""
        elif argument == Argument.NO_GROUP:
            discipline.no_group = str(tagged.value) if tagged.value is not None else NO_GROUP
        elif argument == Argument.LAST_VALUE_KEY:
            self._key = str(tagged.value) if tagged.value is not None else ""
        elif argument == Argument.POLICY:
            if not isinstance(tagged.value, str):
                return invalid(f"{name} is no text")
            policy = POLICIES.get(tagged.value)
            if policy is None:
                self.ignored.append(f"{name}={tagged.value}")
            else:
                discipline.policy = policy
        else:
            value = number(tagged)
            if value < 0:
                return invalid(f"{name} is no number of 0 or more")
            self._take_number(argument, value, settings, discipline)
        return None

    def _take_number(
        self, argument: Argument, value: int, settings: QueueSettings, discipline: Discipline
    ) -> None:
        if argument == Argument.MAX_COUNT:
            settings.max_count = value
        elif argument == Argument.MAX_SIZE:
            settings.max_size = value
        elif argument == Argument.PRIORITIES:
            discipline.levels = min(value, LEVELS_MAX) if value > 1 else 0
        elif argument == Argument.FAIRSHARE:
            self._fair_all = min(value, NUMBER_MAX)
        else:
            settings.auto_delete = settings.auto_delete or value > 0
            settings.auto_delete_timeout_ms = value * 1000

    def _take_level(self, name: str, tagged: Tagged) -> bool:
        """The bound of one level; `False`: it is none."""
        prefix, _, level = name.rpartition("-")
        bound = number(tagged)
        known = level.isascii() and level.isdigit() and len(level) < 4
        if prefix not in FAIRSHARE_OF or not known or bound < 0:
            return False
        self._fair[int(level)] = min(bound, NUMBER_MAX)
        return True

    def _finish(self, discipline: Discipline) -> Refusal | None:
        """What goes together, and what does not."""
        levels = discipline.levels
        if self._fair or self._fair_all:
            if not levels:
                return invalid("fairshare goes with priorities")
            if max(self._fair, default=0) >= levels:
                return invalid(f"fairshare of level {max(self._fair)}, of {levels}")
            bounds = [self._fair.get(level, self._fair_all) for level in range(levels)]
            discipline.fair = tuple(bounds)
        if self._key or self._last_value:
            if levels:
                return invalid("last values do not go with priorities")
            discipline.last_value_key = self._key or LAST_VALUE_KEY
        if discipline.group_key:
            if levels or discipline.last_value_key:
                return invalid("groups do not go with priorities or last values")
            if not self._shared:
                return invalid("groups are shared ones only: qpid.shared_msg_group")
        return None


def _name(argument: tuple[str, Tagged]) -> str:
    return argument[0]


def invalid(why: str) -> Refusal:
    """Of an argument's value, or what it goes with."""
    return Refusal(Condition.INVALID_ARGUMENT, why)


def is_set(tagged: Tagged) -> bool:
    """Whether a flag is: by any value that says so, as clients have it."""
    value = tagged.value
    if isinstance(value, str):
        return value.lower() not in ("", "0", "false", "no")
    return bool(value)


def number(tagged: Tagged) -> int:
    """A limit's value: an integer, or one written as text, as some clients do; else -1."""
    value = tagged.value
    if isinstance(value, bool):
        return -1
    if isinstance(value, int):
        return value
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value)
    return -1
