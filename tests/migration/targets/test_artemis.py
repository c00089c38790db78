"""What Artemis is given."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

from gateway.migration.document import Binding, Exchange, Queue, Survey
from gateway.migration.planned_nodes import planned_nodes
from gateway.migration.targets.artemis import Artemis
from gateway.migration.targets.target import Taken

DEAD: dict[str, Any] = {
    "exchanges": [Exchange(name="dead", type="fanout", durable=True)],
    "bindings": [Binding(exchange="dead", queue="letters")],
}


def problem(name: str = "q", **arguments: Any) -> str:
    survey = Survey(queues=[Queue(name=name, durable=True, arguments=spelled(arguments))])
    return Artemis().problem(planned_nodes(survey).queues[0])


def spelled(arguments: dict[str, Any]) -> dict[str, Any]:
    return {f"qpid.{name}": value for name, value in arguments.items()}


def taken(*queues: Queue, **what: Any) -> tuple[list[Taken], ET.Element]:
    nodes = planned_nodes(Survey(queues=list(queues), **what))
    found = [Artemis().take(each, nodes) for each in nodes.queues]
    return found, ET.fromstring(f"<core>{Artemis().written(found, nodes)}</core>")


def test_each_queue_is_an_anycast_queue_at_an_address_of_its_name() -> None:
    _, core = taken(Queue(name="a&b", durable=True))
    queue = core.find("addresses/address[@name='a&b']/anycast/queue[@name='a&b']")
    assert queue is not None
    assert queue.findtext("durable") == "true"


def test_disciplines_that_it_has_are_said_in_its_terms() -> None:
    arguments = {
        "ring": {"qpid.policy_type": "ring", "qpid.max_count": 5},
        "values": {"qpid.last_value_queue_key": "symbol"},
        "browsed": {"qpid.browse-only": 1},
        "filtered": {"qpid.filter": "a < 'b'"},
    }
    _, core = taken(*[Queue(name=name, arguments=each) for name, each in arguments.items()])
    queues = {each.attrib.pop("name"): each for each in core.iter("queue")}
    assert queues["ring"].attrib == {"ring-size": "5"}
    assert queues["values"].attrib == {"last-value-key": "symbol"}
    assert queues["browsed"].attrib == {"non-destructive": "true"}
    assert queues["filtered"].find("filter[@string=\"a < 'b'\"]") is not None


def test_limits_are_settings_of_the_address() -> None:
    limits = {"qpid.max_count": 5, "qpid.max_size": 4096}
    paged = {"qpid.max_size": 4096, "qpid.policy_type": "flow_to_disk"}
    _, core = taken(Queue(name="q", arguments=limits), Queue(name="p", arguments=paged))
    found = {
        each.attrib["match"]: {setting.tag: setting.text for setting in each}
        for each in core.iter("address-setting")
    }
    assert found == {
        "q": {
            "address-full-policy": "FAIL",
            "max-size-bytes": "4096",
            "max-size-messages": "5",
        },
        "p": {"address-full-policy": "PAGE", "max-size-bytes": "4096"},
    }


def test_an_alternate_that_leads_to_one_queue_is_a_dead_letter_address() -> None:
    queue = Queue(name="q", durable=True, alternate_exchange="dead")
    found, core = taken(queue, Queue(name="letters", durable=True), **DEAD)
    assert core.findtext("address-settings/address-setting/dead-letter-address") == "letters"
    assert found[0].told == []


def test_an_alternate_that_leads_elsewhere_is_told() -> None:
    queue = Queue(name="q", durable=True, alternate_exchange="dead")
    local = Queue(name="letters", durable=True, arguments={"qpid.queue_msg_sequence": "n"})
    found, core = taken(queue, local, **DEAD)
    assert core.find("address-settings/address-setting") is None
    assert found[0].told == ["what it rejects does not reach its alternate dead"]


def test_what_it_has_not_is_a_problem() -> None:
    assert problem() == ""
    assert problem("a.*")
    assert problem(policy_type="ring", max_size=5)
    assert problem(policy_type="self-destruct", max_count=5)
    assert problem(group_header_key="g", shared_msg_group=1)
    assert problem(priorities=10, fairshare=2)
    assert problem(queue_msg_sequence="n")
    assert problem(priorities=10) == ""


def test_what_is_done_by_other_means_is_told() -> None:
    arguments = {"qpid.alert_count": 5, "qpid.flow_stop_count": 9}
    [found], _ = taken(Queue(name="q", arguments=arguments))
    assert [each.split()[1] for each in found.told] == ["is", "alerts", "publishers"]
