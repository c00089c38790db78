"""What the arguments of queue.declare mean, in the spellings of deployed clients."""

import pytest

from gateway.amqp_0_10._spec_constants import BOOLEAN, INT64, STR16, VOID
from gateway.bridge.queues.discipline import NO_FLOW, PLAIN, AlertLimits, Discipline, Life, Policy
from gateway.bridge.seams import QueueSettings
from gateway.faces.arguments.of_queues import Asked
from gateway.message import Condition, Refusal
from gateway.wire.tagged import Tagged


def tagged(value: object) -> Tagged:
    if isinstance(value, bool):
        return Tagged(BOOLEAN, value)
    if isinstance(value, int):
        return Tagged(INT64, value)
    return Tagged(VOID if value is None else STR16, value)


def read(
    *, remote: bool = False, **arguments: object
) -> tuple[Discipline | Refusal, QueueSettings, list[str]]:
    settings, asked = QueueSettings(), Asked(remote=remote)
    refusal = asked.read([(name, tagged(value)) for name, value in arguments.items()])
    refusal = refusal or asked.apply(settings)
    return refusal or settings.discipline, settings, asked.ignored


def discipline(**arguments: object) -> Discipline | Refusal:
    return read(**arguments)[0]


def why(**arguments: object) -> str:
    found = discipline(**arguments)
    assert isinstance(found, Refusal)
    assert found.condition == Condition.INVALID_ARGUMENT
    return found.description


def test_without_arguments_a_queue_is_plain():
    assert discipline() == PLAIN


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"qpid.policy_type": "ring"}, Discipline(policy=Policy.RING)),
        ({"qpid.policy_type": "ring_strict"}, Discipline(policy=Policy.RING_STRICT)),
        ({"qpid.policy_type": "self-destruct"}, Discipline(policy=Policy.SELF_DESTRUCT)),
        ({"qpid.priorities": 10}, Discipline(levels=10)),
        ({"x-qpid-priorities": "3"}, Discipline(levels=3)),
        ({"qpid.priorities": 0}, PLAIN),
        ({"qpid.priorities": 1}, PLAIN),
        ({"qpid.priorities": 11}, Discipline(levels=10)),
        ({"qpid.priorities": 2, "qpid.fairshare": 5}, Discipline(levels=2, fair=(5, 5))),
        (
            {"qpid.priorities": 3, "qpid.fairshare": "5", "qpid.fairshare-1": 2},
            Discipline(levels=3, fair=(5, 2, 5)),
        ),
        ({"x-qpid-fairshare-0": 1, "x-qpid-priorities": 2}, Discipline(levels=2, fair=(1, 0))),
        ({"qpid.last_value_queue_key": 5}, Discipline(last_value_key="5")),
        ({"qpid.last_value_queue_key": None}, PLAIN),
        ({"qpid.group_header_key": "", "qpid.shared_msg_group": 0}, PLAIN),
        ({"qpid.last_value_queue_key": "symbol"}, Discipline(last_value_key="symbol")),
        ({"qpid.last_value_queue": 1}, Discipline(last_value_key="qpid.LVQ_key")),
        ({"qpid.last_value_queue": "0"}, Discipline(last_value_key="qpid.LVQ_key")),
        ({"x-qpid-priorities": 10, "qpid.priorities": 1}, Discipline(levels=10)),
        ({"qpid.last_value_queue_no_browse": True}, Discipline(last_value_key="qpid.LVQ_key")),
        (
            {"qpid.last_value_queue": 1, "qpid.last_value_queue_key": "symbol"},
            Discipline(last_value_key="symbol"),
        ),
        (
            {"qpid.group_header_key": "g", "qpid.shared_msg_group": "1"},
            Discipline(group_key="g"),
        ),
        (
            {
                "qpid.group_header_key": "g",
                "qpid.shared_msg_group": 1,
                "qpid.default-message-group": "none",
            },
            Discipline(group_key="g", no_group="none"),
        ),
    ],
)
def test_each_spelling_makes_a_discipline(arguments: dict[str, object], expected: Discipline):
    assert discipline(**arguments) == expected


def test_limits_may_be_numbers_or_text():
    _, settings, _ = read(**{"qpid.max_count": "5", "qpid.max_size": 7})
    assert (settings.max_count, settings.max_size) == (5, 7)


@pytest.mark.parametrize("value", [-1, "-1", "many", "", None, True, "1.5", 1 << 32])
@pytest.mark.parametrize(
    "name",
    ["qpid.max_count", "qpid.priorities", "qpid.fairshare", "qpid.flow_stop_count"],
)
def test_a_number_that_is_none_is_refused_by_its_name(name: str, value: object):
    assert why(**{name: value}) == f"{name} is no number of 0 or more, or too large a one"


@pytest.mark.parametrize("name", ["qpid.fairshare-", "qpid.fairshare-x", "x-qpid-fairshares"])
def test_a_bound_of_no_level_is_refused(name: str):
    assert why(**{"qpid.priorities": 2, name: 1}) == f"{name} bounds no level"
    assert why(**{"qpid.priorities": 2, "qpid.fairshare-1": "many"}).endswith("bounds no level")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, (0, 0, 0, 0)),
        ({"max_count": 10}, (8, 7, 0, 0)),
        ({"max_count": 1}, (1, 1, 0, 0)),
        ({"max_count": 3}, (2, 2, 0, 0)),
        ({"max_size": 100}, (0, 0, 80, 70)),
        ({"flow_stop_count": 5}, (5, 5, 0, 0)),
        ({"flow_stop_size": "5", "flow_resume_size": "3"}, (0, 0, 5, 3)),
        ({"max_count": 10, "flow_stop_count": 8}, (8, 7, 0, 0)),
        ({"max_count": 10, "flow_stop_count": 5, "flow_resume_count": 0}, (5, 5, 0, 0)),
        ({"max_count": 10, "flow_resume_count": 2}, (8, 2, 0, 0)),
        ({"max_count": 10, "flow_stop_count": 0}, (0, 0, 0, 0)),
        ({"max_count": 10, "max_size": 50, "flow_stop_count": 0}, (0, 0, 40, 35)),
        ({"max_count": 10, "flow_stop_count": 10, "flow_resume_count": 10}, (10, 10, 0, 0)),
        ({"flow_resume_count": 6}, (0, 0, 0, 0)),
        ({"flow_stop_count": 5, "flow_resume_size": 6}, (5, 5, 0, 0)),
        ({"max_count": 10, "policy_type": "ring", "flow_stop_count": 1}, (0, 0, 0, 0)),
        ({"max_count": 10, "policy_type": "flow_to_disk"}, (0, 0, 0, 0)),
        (
            {"max_count": 10, "policy_type": "flow_to_disk", "flow_stop_count": 800},
            (800, 800, 0, 0),
        ),
        ({"max_count": 10, "policy_type": "ring_strict"}, (0, 0, 0, 0)),
        ({"max_count": 10, "policy_type": "self-destruct"}, (8, 7, 0, 0)),
    ],
)
def test_publishers_wait_as_was_asked_or_by_the_limits(
    arguments: dict[str, object], expected: tuple[int, ...]
):
    found = discipline(**{f"qpid.{name}": value for name, value in arguments.items()})
    assert isinstance(found, Discipline)
    flow = found.flow
    numbers = (flow.stop_count, flow.resume_count, flow.stop_size, flow.resume_size)
    assert numbers == expected
    assert (found.flow == NO_FLOW) is (not any(expected))


def test_flow_control_that_cannot_be_is_refused():
    ten = {"qpid.max_count": 10, "qpid.max_size": 10}
    above = "qpid.flow_resume_count 7 is above flow_stop_count 5"
    assert why(**ten, **{"qpid.flow_stop_count": 5}) == above
    above = "qpid.flow_resume_size 9 is above flow_stop_size 8"
    assert why(**ten, **{"qpid.flow_resume_size": 9}) == above
    assert why(**ten, **{"qpid.flow_stop_count": 11}) == (
        "qpid.flow_stop_count 11 is above max_count 10"
    )
    assert why(**ten, **{"qpid.flow_stop_size": 11}) == (
        "qpid.flow_stop_size 11 is above max_size 10"
    )


def test_texts_and_switches_are_such():
    assert why(**{"qpid.policy_type": 1}) == "qpid.policy_type is no text"
    assert why(**{"qpid.browse-only": "yes"}) == "qpid.browse-only is neither true nor false"
    for said in (True, "True", "1", 5):
        assert discipline(**{"qpid.browse-only": said}) == Discipline(browse_only=True)
    for said in (False, "FALSE", "0", 0):
        assert discipline(**{"qpid.browse-only": said}) == PLAIN


def test_what_has_no_effect_must_be_well_said():
    assert why(**{"qpid.file_count": "x"}).startswith("qpid.file_count is no number")
    assert read(**{"qpid.file_count": 5})[2] == ["qpid.file_count"]


def test_pages_and_limits_of_what_flows_to_the_disk_are_those_of_memory():
    assert discipline(**{"qpid.paging": 1}) == Discipline(paged=4 * 4096)
    assert discipline(**{"qpid.paging": 0}) == PLAIN
    asked = {"qpid.paging": 1, "qpid.max_pages_loaded": 10, "qpid.page_factor": 3}
    assert discipline(**asked) == Discipline(paged=10 * 3 * 4096)
    found, settings, ignored = read(**{"qpid.policy_type": "flow_to_disk", "qpid.max_count": 5})
    assert (found, ignored) == (Discipline(policy=Policy.FLOW_TO_DISK), [])  # and nobody waits
    assert settings.max_count == 5
    key = {"qpid.last_value_queue_key": "k", "qpid.policy_type": "flow_to_disk"}
    assert read(**key)[2] == []


def test_what_does_not_go_together_is_refused():
    key = {"qpid.last_value_queue_key": "k"}
    assert why(**{"qpid.fairshare": 5}) == "fairshare goes with priorities"
    assert why(**{"qpid.fairshare-1": 5}) == "fairshare goes with priorities"
    assert why(**{"qpid.priorities": 2, "qpid.fairshare-2": 5}) == "fairshare of level 2, of 2"
    assert why(**key, **{"qpid.priorities": 2}) == "last values do not go with priorities"
    groups = {"qpid.group_header_key": "g", "qpid.shared_msg_group": 1}
    for other in (key, {"qpid.priorities": 2}):
        assert why(**groups, **other) == "groups do not go with priorities or last values"
        assert why(**other, **{"qpid.paging": 1}).startswith("paging does not go with")
    assert why(**{"qpid.group_header_key": "g"}).startswith("groups are shared ones only")
    assert why(**{"qpid.shared_msg_group": 1}) == "groups need qpid.group_header_key"
    assert why(**{"qpid.page_factor": 1}) == "pages go with qpid.paging"


def test_what_is_not_known_is_told_and_a_policy_with_its_value():
    found, settings, ignored = read(
        **{"qpid.policy_type": "none", "x-own": 1, "qpid.lifetime-policy": "as-it-is"}
    )
    assert (found, settings.auto_delete) == (PLAIN, False)
    assert ignored == [
        *("qpid.lifetime-policy=as-it-is", "qpid.policy_type=none", "x-own"),
    ]


def test_a_life_implies_auto_delete_and_manual_switches_it_off():
    for name, life in (
        ("delete-if-unused", Life.UNUSED),
        ("delete-if-unused-and-empty", Life.UNUSED_AND_EMPTY),
        ("delete-on-close", Life.CLOSED),
    ):
        settings = read(**{"qpid.lifetime-policy": name})[1]
        assert (settings.auto_delete, settings.life) == (True, life)
        assert settings.in_words() == ("" if life == Life.UNUSED else name)
    manual = read(**{"qpid.lifetime-policy": "manual", "qpid.auto_delete_timeout": 1})[1]
    assert (manual.auto_delete, manual.in_words()) == (False, "")


def test_a_filter_is_a_selector_and_numbers_and_switches_are_as_they_are_written():
    assert discipline(**{"qpid.filter": "a = 1"}) == Discipline(filter="a = 1")
    assert discipline(**{"qpid.filter": True}) == Discipline(filter="True")
    assert discipline(**{"qpid.filter": ""}) == PLAIN
    assert discipline(**{"qpid.filter": None}) == PLAIN
    assert why(**{"qpid.filter": "a ="}).startswith("qpid.filter: the selector cannot be")
    assert why(**{"qpid.filter": 5}).startswith("qpid.filter: the selector cannot be")


def test_a_remote_queue_has_its_limits_and_is_otherwise_its_brokers():
    arguments = {"qpid.policy_type": "ring", "qpid.max_count": 5, "qpid.fairshare-1": 2}
    found, settings, ignored = read(remote=True, **arguments)
    assert (found, settings.max_count) == (PLAIN, 5)
    assert ignored == ["qpid.fairshare-1", "qpid.policy_type"]


def test_a_number_is_told_by_a_header_of_that_name_but_not_of_last_values():
    asked = {"qpid.queue_msg_sequence": "seq"}
    assert discipline(**asked) == Discipline(number_header="seq")
    assert discipline(**asked, **{"qpid.last_value_queue": 1}) == discipline(
        **{"qpid.last_value_queue": 1}
    )
    assert why(**{"qpid.queue_msg_sequence": 5}) == "qpid.queue_msg_sequence is no text"
    assert why(**{"qpid.queue_msg_sequence": "ä" * 128}).endswith("it is too long")
    assert why(**{"qpid.queue_msg_sequence": b"\xff"}).endswith("it is no UTF-8")
    assert discipline(**{"qpid.queue_msg_sequence": "ä".encode()}) == Discipline(number_header="ä")


def test_octets_that_are_no_utf_8_are_characters_each():
    found = discipline(**{"qpid.last_value_queue_key": b"\xff"})
    assert found == Discipline(last_value_key="ÿ")


def test_who_is_to_be_alerted_is_so_again_at_half_of_it_unless_it_is_said():
    assert discipline(**{"qpid.alert_count": 9}) == Discipline(
        alerts=AlertLimits(count=9, count_down=4, gap_ms=60_000)
    )
    said = {"x-qpid-maximum-message-size": "1000", "qpid.alert_size_down": 10}
    assert discipline(**said, **{"qpid.alert_repeat_gap": 5}) == Discipline(
        alerts=AlertLimits(size=1000, size_down=10, gap_ms=5000)
    )
    assert discipline(**{"qpid.alert_count": 0, "qpid.alert_repeat_gap": -1}) == PLAIN
    assert discipline(**{"qpid.alert_size_up": 1 << 40}) != PLAIN
    for name in ("qpid.alert_count_up", "qpid.alert_count_down", "qpid.alert_size"):
        assert why(**{name: -1}).startswith(f"{name} is no number")
    assert why(**{"qpid.alert_repeat_gap": "x"}).startswith("qpid.alert_repeat_gap is no number")
