"""The arguments by which a queue is declared: both 0-10 brokers', as deployed clients spell them.

What is done of each is `argument_fates`, from which `docs/arguments.md` is generated. What is not
done is kept with the queue, answered to queries, and counted for whoever declares it.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, final

from gateway.amqp_0_10.encoding import write_map
from gateway.amqp_0_10.types import FieldTable
from gateway.bridge.queues.discipline import (
    LEVELS_MAX,
    NO_GROUP,
    AlertLimits,
    Discipline,
    FlowLimits,
    Life,
    Policy,
)
from gateway.bridge.seams import LIVES as LIFE_NAMES
from gateway.bridge.seams import QueueSettings
from gateway.message import Condition, Refusal
from gateway.selectors.selector import read_selector
from gateway.wire.buffers import Writer
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
    FLOW_STOP_COUNT = 13
    FLOW_STOP_SIZE = 14
    FLOW_RESUME_COUNT = 15
    FLOW_RESUME_SIZE = 16
    LIFE = 22
    FILTER = 23
    NUMBER_HEADER = 24
    ALERT_COUNT = 25
    ALERT_SIZE = 26
    ALERT_COUNT_DOWN = 27
    ALERT_SIZE_DOWN = 28
    ALERT_GAP = 29  # seconds
    PAGING = 20
    PAGES = 21
    PAGE_FACTOR = 18
    # What has no effect, and must be well said all the same.
    NUMBER = 17
    GROUP_TIMESTAMP = 19


NAMES: Final[dict[str, Argument]] = {
    "qpid.max_count": Argument.MAX_COUNT,
    "qpid.max_size": Argument.MAX_SIZE,
    "qpid.policy_type": Argument.POLICY,
    "qpid.auto_delete_timeout": Argument.AUTO_DELETE_TIMEOUT,
    "qpid.lifetime-policy": Argument.LIFE,
    "qpid.filter": Argument.FILTER,
    "no-local": Argument.NO_LOCAL,
    "qpid.priorities": Argument.PRIORITIES,
    "x-qpid-priorities": Argument.PRIORITIES,
    "qpid.fairshare": Argument.FAIRSHARE,
    "x-qpid-fairshare": Argument.FAIRSHARE,
    "qpid.last_value_queue_key": Argument.LAST_VALUE_KEY,
    "qpid.last_value_queue": Argument.LAST_VALUE,
    "qpid.last_value_queue_no_browse": Argument.LAST_VALUE,
    "qpid.browse-only": Argument.BROWSE_ONLY,
    "qpid.flow_stop_count": Argument.FLOW_STOP_COUNT,
    "qpid.flow_stop_size": Argument.FLOW_STOP_SIZE,
    "qpid.flow_resume_count": Argument.FLOW_RESUME_COUNT,
    "qpid.flow_resume_size": Argument.FLOW_RESUME_SIZE,
    "qpid.group_header_key": Argument.GROUP_KEY,
    "qpid.shared_msg_group": Argument.SHARED_GROUPS,
    "qpid.default-message-group": Argument.NO_GROUP,
    "qpid.group_timestamp": Argument.GROUP_TIMESTAMP,
    "qpid.alert_count": Argument.ALERT_COUNT,
    "qpid.alert_count_up": Argument.ALERT_COUNT,
    "qpid.alert_count_down": Argument.ALERT_COUNT_DOWN,
    "qpid.alert_size": Argument.ALERT_SIZE,
    "qpid.alert_size_up": Argument.ALERT_SIZE,
    "qpid.alert_size_down": Argument.ALERT_SIZE_DOWN,
    "qpid.alert_repeat_gap": Argument.ALERT_GAP,
    "x-qpid-minimum-alert-repeat-gap": Argument.ALERT_GAP,
    "qpid.file_count": Argument.NUMBER,
    "qpid.file_size": Argument.NUMBER,
    "x-qpid-maximum-message-count": Argument.ALERT_COUNT,
    "x-qpid-maximum-message-size": Argument.ALERT_SIZE,
    "qpid.queue_msg_sequence": Argument.NUMBER_HEADER,
    "qpid.paging": Argument.PAGING,
    "qpid.max_pages_loaded": Argument.PAGES,
    "qpid.page_factor": Argument.PAGE_FACTOR,
}
FAIRSHARE_OF: Final = ("qpid.fairshare", "x-qpid-fairshare")  # and, behind -, a level
LAST_VALUE_KEY: Final = "qpid.LVQ_key"
PREFIX: Final = "qpid."
POLICIES: Final[dict[str, Policy]] = {
    "reject": Policy.REJECT,
    "ring": Policy.RING,
    "ring_strict": Policy.RING_STRICT,
    "self-destruct": Policy.SELF_DESTRUCT,
    "flow_to_disk": Policy.FLOW_TO_DISK,
}
LIVES: Final[dict[str, Life]] = {name: life for life, name in LIFE_NAMES.items()}
MANUAL: Final = "manual"  # whatever else is said, it does not delete itself
HEADER_MAX: Final = 255  # octets of a header's name
COUNT_MAX: Final = 0xFFFFFFFF
SIZE_MAX: Final = 0xFFFFFFFF_FFFFFFFF
SWITCHES: Final = {"true": True, "1": True, "false": False, "0": False}
SWITCHED: Final = (
    *(Argument.NO_LOCAL, Argument.BROWSE_ONLY, Argument.SHARED_GROUPS),
    *(Argument.GROUP_TIMESTAMP, Argument.PAGING),
)
WITHOUT_EFFECT: Final = (*(Argument.NUMBER, Argument.GROUP_TIMESTAMP),)
TEXTS: Final = (
    *(Argument.POLICY, Argument.LAST_VALUE_KEY, Argument.GROUP_KEY, Argument.NO_GROUP),
    Argument.NUMBER_HEADER,
)
KEYS: Final = (Argument.LAST_VALUE_KEY, Argument.GROUP_KEY)
ROOMY: Final = (Policy.RING, Policy.RING_STRICT)
PAGE_OCTETS: Final = 4096  # of a qpidd, by one factor
PAGES: Final = 4
ALERT_GAP_S: Final = 60
STOP_PERCENT: Final = 80  # as a qpidd has it where nothing is configured: of a limit, rounded
RESUME_PERCENT: Final = 70
# Which of them a remote queue has: its own broker sees to the rest.
EVERYWHERE: Final = (
    *(Argument.MAX_COUNT, Argument.MAX_SIZE, Argument.AUTO_DELETE_TIMEOUT, Argument.NO_LOCAL),
)


@final
class Asked:
    """What the arguments of one declare come to.

    Attributes:
        ignored: those without effect; a policy with its value.
    """

    __slots__ = ("_fair", "_remote", "_said", "ignored")

    def __init__(self, *, remote: bool) -> None:
        """Read for a queue of the gateway's own, or one that lives at an upstream (`remote`)."""
        self._remote = remote
        self._fair: dict[int, int] = {}
        self._said: dict[Argument, str | int | bool] = {}
        self.ignored: list[str] = []

    def read(self, arguments: list[tuple[str, Tagged]]) -> Refusal | None:
        """Each of them, if it is what it should be; a refusal: 542, and why."""
        for name, tagged in sorted(arguments, key=_name):  # as qpidd: of two spellings the last
            argument = NAMES.get(name)
            if argument is None or (self._remote and argument not in EVERYWHERE):
                if self._remote or not name.startswith(FAIRSHARE_OF):
                    self.ignored.append(name)
                elif not self._take_level(name, tagged):
                    return invalid(f"{name} bounds no level")
                continue
            refusal = self._take(name, argument, tagged)
            if refusal is not None:
                return refusal
            if argument in WITHOUT_EFFECT:
                self.ignored.append(name)
        return None

    def apply(self, settings: QueueSettings) -> Refusal | None:
        """Put them into `settings`, whose discipline is made, if they go together."""
        self._limit(settings)
        discipline = Discipline()
        settings.discipline = discipline
        self._alert(discipline)
        return (
            self._order(discipline)
            or self._group(discipline)
            or self._page(discipline)
            or self._flow(settings, discipline)
        )

    def _take(self, name: str, argument: Argument, tagged: Tagged) -> Refusal | None:
        """One of them, if it is what it should be."""
        if argument in SWITCHED:
            switch = switched(tagged)
            if switch is None:
                return invalid(f"{name} is neither true nor false")
            self._said[argument] = switch
        elif argument == Argument.LIFE:
            life = text_of(tagged) or ""
            self._said[argument] = life
            if life not in LIVES and life != MANUAL:
                self.ignored.append(f"{name}={life}")
        elif argument == Argument.FILTER:
            refusal = self._take_filter(tagged)
            if refusal is not None:
                return refusal
        elif argument == Argument.LAST_VALUE:
            self._said[argument] = True  # whatever it is set to
        elif argument in TEXTS:
            text = text_of(tagged)
            if argument in KEYS and tagged.value is None:
                text = ""
            elif argument in KEYS and isinstance(tagged.value, int):
                text = str(tagged.value)
            if text is None:
                return invalid(f"{name} is no text")
            if argument == Argument.NUMBER_HEADER:
                refusal = _refuse_header(name, tagged.value, text)
                if refusal is not None:
                    return refusal
            self._said[argument] = text
            if argument == Argument.POLICY and text not in POLICIES:
                self.ignored.append(f"{name}={text}")
        else:
            value = number(tagged)
            if argument == Argument.ALERT_GAP and is_number(tagged):
                value = min(max(value, 0), COUNT_MAX)  # as a qpidd: whatever it is
            if value < 0 or value > (SIZE_MAX if "size" in name else COUNT_MAX):
                return invalid(f"{name} is no number of 0 or more, or too large a one")
            self._said[argument] = value
        return None

    def _take_filter(self, tagged: Tagged) -> Refusal | None:
        value = tagged.value
        text = "" if value is None else text_of(tagged)
        if isinstance(value, bool):  # the word is a selector; compiled, `str` makes an int of it
            text = "True" if value else "False"
        elif isinstance(value, int):
            text = str(value)
        if text is None:
            return invalid("qpid.filter is no text")
        selector = read_selector(text) if text else None
        if isinstance(selector, Refusal):
            return invalid(f"qpid.filter: {selector.description}")
        self._said[Argument.FILTER] = text
        return None

    def _take_level(self, name: str, tagged: Tagged) -> bool:
        """The bound of one level; `False`: it is none."""
        prefix, _, level = name.rpartition("-")
        bound = number(tagged)
        known = level.isascii() and level.isdigit() and len(level) < 4
        if prefix not in FAIRSHARE_OF or not known or bound < 0:
            return False
        self._fair[int(level)] = min(bound, COUNT_MAX)
        return True

    def _number(self, argument: Argument, other: int = 0) -> int:
        value = self._said.get(argument, other)
        assert isinstance(value, int)
        return value

    def _text(self, argument: Argument, other: str = "") -> str:
        return str(self._said.get(argument, other))

    def _is_set(self, argument: Argument) -> bool:
        return self._said.get(argument) is True

    def _limit(self, settings: QueueSettings) -> None:
        """What a queue may hold, and how long it lives."""
        settings.max_count = self._number(Argument.MAX_COUNT)
        settings.max_size = self._number(Argument.MAX_SIZE)
        settings.no_local = self._is_set(Argument.NO_LOCAL)
        timeout = self._number(Argument.AUTO_DELETE_TIMEOUT)
        settings.auto_delete = settings.auto_delete or timeout > 0
        settings.auto_delete_timeout_ms = timeout * 1000
        life = self._text(Argument.LIFE)
        if life in LIVES:
            settings.auto_delete = True
            settings.life = LIVES[life]
        elif life == MANUAL:
            settings.auto_delete = False

    def _order(self, discipline: Discipline) -> Refusal | None:
        """Priorities and last values, and what is done at the limits."""
        discipline.policy = POLICIES.get(self._text(Argument.POLICY), Policy.REJECT)
        discipline.browse_only = self._is_set(Argument.BROWSE_ONLY)
        discipline.filter = self._text(Argument.FILTER)
        asked = self._number(Argument.PRIORITIES)
        levels = min(asked, LEVELS_MAX) if asked > 1 else 0
        discipline.levels = levels
        all_levels = self._number(Argument.FAIRSHARE)
        if self._fair or all_levels:
            if not levels:
                return invalid("fairshare goes with priorities")
            if max(self._fair, default=0) >= levels:
                return invalid(f"fairshare of level {max(self._fair)}, of {levels}")
            bounds = [self._fair.get(level, all_levels) for level in range(levels)]
            discipline.fair = tuple(bounds)
        key = self._text(Argument.LAST_VALUE_KEY)
        if key or self._is_set(Argument.LAST_VALUE):
            if levels:
                return invalid("last values do not go with priorities")
            discipline.last_value_key = key or LAST_VALUE_KEY
        else:
            discipline.number_header = self._text(Argument.NUMBER_HEADER)
        return None

    def _group(self, discipline: Discipline) -> Refusal | None:
        key = self._text(Argument.GROUP_KEY)
        shared = self._is_set(Argument.SHARED_GROUPS)
        if not key:
            if shared or self._is_set(Argument.GROUP_TIMESTAMP):
                return invalid("groups need qpid.group_header_key")
            return None
        if discipline.levels or discipline.last_value_key:
            return invalid("groups do not go with priorities or last values")
        if not shared:
            return invalid("groups are shared ones only: qpid.shared_msg_group")
        discipline.group_key = key
        discipline.no_group = self._text(Argument.NO_GROUP, NO_GROUP)
        return None

    def _page(self, discipline: Discipline) -> Refusal | None:
        by_key = discipline.levels or discipline.last_value_key or discipline.group_key
        if not self._is_set(Argument.PAGING):
            paged = Argument.PAGES in self._said or Argument.PAGE_FACTOR in self._said
            return invalid("pages go with qpid.paging") if paged else None
        if by_key:
            return invalid("paging does not go with priorities, last values or groups")
        pages = self._number(Argument.PAGES) or PAGES
        discipline.paged = pages * (self._number(Argument.PAGE_FACTOR) or 1) * PAGE_OCTETS
        return None

    def _flow(self, settings: QueueSettings, discipline: Discipline) -> Refusal | None:
        """When publishers wait: as was said, or by the limits. Rings have room.

        What goes to disk has limits of what is in memory, so that nobody waits by those.
        """
        if self._remote or discipline.policy in ROOMY:
            return None
        on_disk = discipline.policy == Policy.FLOW_TO_DISK
        max_count, max_size = (0, 0) if on_disk else (settings.max_count, settings.max_size)
        by_count = self._flow_by(max_count, Argument.FLOW_STOP_COUNT, Argument.FLOW_RESUME_COUNT)
        by_size = self._flow_by(max_size, Argument.FLOW_STOP_SIZE, Argument.FLOW_RESUME_SIZE)
        for what, numbers, most in (("count", by_count, max_count), ("size", by_size, max_size)):
            stop, resume = numbers
            if resume > stop:
                return invalid(f"qpid.flow_resume_{what} {resume} is above flow_stop_{what} {stop}")
            if stop > most > 0:
                return invalid(f"qpid.flow_stop_{what} {stop} is above max_{what} {most}")
        discipline.flow = FlowLimits(
            stop_count=by_count[0],
            resume_count=by_count[1],
            stop_size=by_size[0],
            resume_size=by_size[1],
        )
        return None

    def _alert(self, discipline: Discipline) -> None:
        """When people hear of it; the next time is another when it is half of that, or less."""
        count = self._number(Argument.ALERT_COUNT)
        size = self._number(Argument.ALERT_SIZE)
        if count or size:
            discipline.alerts = AlertLimits(
                count=count,
                size=size,
                count_down=self._number(Argument.ALERT_COUNT_DOWN, count // 2),
                size_down=self._number(Argument.ALERT_SIZE_DOWN, size // 2),
                gap_ms=self._number(Argument.ALERT_GAP, ALERT_GAP_S) * 1000,
            )

    def _flow_by(self, most: int, stop_by: Argument, resume_by: Argument) -> tuple[int, int]:
        """Stop and resume by messages, or octets; nobody resumes what does not stop."""
        stop = (most * STOP_PERCENT + 50) // 100
        resume = most * RESUME_PERCENT // 100
        if stop_by in self._said:
            stop = self._number(stop_by)
        if resume_by in self._said:
            resume = self._number(resume_by)
        return (stop, resume or stop) if stop else (0, 0)


def _refuse_header(name: str, value: object, text: str) -> Refusal | None:
    """Why nobody could read a header of that name."""
    if len(text.encode()) > HEADER_MAX:
        return invalid(f"{name} is no name of a header: it is too long")
    if isinstance(value, bytes) and not is_utf_8(value):
        return invalid(f"{name} is no name of a header: it is no UTF-8")
    return None


def _name(argument: tuple[str, Tagged]) -> str:
    return argument[0]


def encoded(arguments: FieldTable) -> bytes:
    """Arguments as they are kept, for queries and over a restart; empty for none."""
    if not arguments:
        return b""
    writer = Writer()
    write_map(writer, arguments)
    return writer.getvalue()


def texts(arguments: FieldTable) -> dict[str, str]:
    """Those arguments that qpidd has rules about, as it writes them."""
    found: dict[str, str] = {}
    for key, tagged in arguments:
        if key.startswith(PREFIX):
            value = tagged.value
            text = str(value).lower() if isinstance(value, bool) else str(value)
            found[key[len(PREFIX) :]] = text
    return found


def invalid(why: str) -> Refusal:
    """Of an argument's value, or what it goes with."""
    return Refusal(Condition.INVALID_ARGUMENT, why)


def switched(tagged: Tagged) -> bool | None:
    """What a switch says, in any spelling of deployed clients; `None`: nothing that it could."""
    value = tagged.value
    if isinstance(value, str):
        return SWITCHES.get(value.lower())
    return bool(value) if isinstance(value, int) or value is None else None


def text_of(tagged: Tagged) -> str | None:
    """A text, or octets that are one: UTF-8, or else each a character."""
    value = tagged.value
    if isinstance(value, bytes):
        return value.decode("utf-8" if is_utf_8(value) else "latin-1")
    return value if isinstance(value, str) else None


def is_utf_8(octets: bytes) -> bool:
    """Whether that is what they are."""
    try:
        octets.decode()
    except UnicodeDecodeError:
        return False
    return True


def is_number(tagged: Tagged) -> bool:
    """Whether it is an integer, also one below 0."""
    return isinstance(tagged.value, int) and not isinstance(tagged.value, bool)


def number(tagged: Tagged) -> int:
    """A limit's value: an integer, or one written as text, as some clients do; else -1."""
    value = tagged.value
    if isinstance(value, bool):
        return -1
    if isinstance(value, int):
        return value
    text = text_of(tagged) or ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 40 else -1
