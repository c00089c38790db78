"""Who uses what is not offered: in the audit log, by connection, within bounds."""

from __future__ import annotations

import pytest
from support.bridge_world import World
from support.face_1_0 import Hub
from support.remotes import FakeRules
from support.talk_0_10 import Gateway

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import STR16
from gateway.amqp_0_10.types import FieldTable
from gateway.audit.schema import Kind
from gateway.faces.counts import FaceCounts
from gateway.faces.feature_uses import OTHERS, TEXTS_MAX, FeatureUses, UsesBook, client_text
from gateway.faces.features import Feature
from gateway.message import Condition, Refusal
from gateway.wire.tagged import Tagged

PROPERTIES: FieldTable = [
    ("qpid.client_process", Tagged(STR16, "billing")),
    ("product", Tagged(STR16, "qpid python client")),
    ("version", Tagged(STR16, "1.37")),
]


def written(world: World) -> list[tuple[str, str, str, int]]:
    """User, client, feature and uses of each record of uses."""
    return [
        (str(each["peer"]), str(each["node"]), str(each["exchange"]), int(each["copies"]))
        for each in world.blocks.raw()
        if each["kind"] == Kind.FEATURE_USED
    ]


class Alone:
    """The uses of one connection, without a face."""

    def __init__(self) -> None:
        self.world = World()
        self.book = UsesBook()
        self.counts = FaceCounts()
        self.uses = FeatureUses(self.world.bridge, self.book, self.counts, 7, "10.0.0.1")
        self.uses.identity = "joe"

    def written(self) -> list[tuple[str, str, str, int]]:
        self.book.write()
        self.world.turn()
        return written(self.world)


def test_a_0_10_client_is_named_with_what_it_has_used_when_it_leaves() -> None:
    gateway = Gateway()
    client = gateway.client("joe", properties=PROPERTIES)
    client.attach()
    arguments = [("x-own", Tagged(STR16, "1")), ("x-qpid-no-local", Tagged(STR16, "1"))]
    client.does(spec.QueueDeclare(queue="a", arguments=arguments))
    client.does(spec.QueueDeclare(queue="b", arguments=arguments))
    assert written(gateway.world) == []
    client.face.receive_eof(gateway.world.now_ms)
    gateway.world.turn()
    who = "billing (qpid python client 1.37) from 192.0.2.1:1"
    assert written(gateway.world) == [
        ("joe", who, "argument x-own", 2),
        ("joe", who, "argument x-qpid-no-local", 2),
    ]
    assert gateway.settings.counts.arguments_ignored == 4
    assert gateway.settings.counts.unsupported[Feature.NO_LOCAL] == 2


def test_a_1_0_client_is_named_by_its_container_and_user() -> None:
    hub = Hub()
    client = hub.client("reports", user=("user", "pass"))
    client.receiver("amq.topic", capabilities=["shared"])
    client.refused()
    client.face.receive_eof(hub.world.now_ms)
    hub.world.turn()
    who = "reports from 127.0.0.1:1"
    assert written(hub.world) == [
        ("user@realm", who, "shared_subscription", 1),
    ]


def test_what_an_upstream_does_not_have_is_told_with_its_words() -> None:
    rules = FakeRules()
    remote = rules.add("r")
    gateway = Gateway(rules=rules)
    client = gateway.session()
    client.subscribes("r", acquire=1)
    client.hears()
    remote.inlets[-1][0].on_refused(Condition.NOT_IMPLEMENTED, "upstream a does not browse")
    client.hears()
    client.face.receive_eof(gateway.world.now_ms)
    gateway.world.turn()
    (record,) = written(gateway.world)
    assert record[2:] == ("upstream a does not browse", 1)
    assert gateway.settings.counts.unsupported[Feature.REFUSED] == 1


def test_checkpoints_write_what_came_since_the_last_one() -> None:
    alone = Alone()
    alone.uses.count(Feature.QMF)
    alone.uses.count(Feature.QMF)
    assert [each[2:] for each in alone.written()] == [("qmf", 2)]
    assert len(alone.written()) == 1
    alone.uses.count(Feature.QMF)
    alone.uses.end()
    assert [each[2:] for each in alone.written()] == [("qmf", 2), ("qmf", 1)]


def test_times_are_those_of_the_first_and_the_last_use() -> None:
    alone = Alone()
    bridge = alone.world.bridge
    began_ms = bridge.now_ms
    for after_ms in (0, 10, 25):
        bridge.now_ms = began_ms + after_ms
        alone.uses.count(Feature.QMF)
    alone.written()
    (record,) = [each for each in alone.world.blocks.raw() if each["kind"] == Kind.FEATURE_USED]
    assert (record["position"], record["message"]) == (began_ms, began_ms + 25)
    assert record["connection"] == 7


def test_a_refusal_that_was_counted_by_its_feature_is_not_another_use() -> None:
    alone = Alone()
    refusal = Refusal(Condition.NOT_IMPLEMENTED, "not here")
    alone.uses.refuse(Feature.FEDERATION)
    alone.uses.on_refused(refusal)
    alone.uses.on_refused(refusal)
    alone.uses.on_refused(Refusal(Condition.NOT_FOUND, "no such queue"))
    assert [each[2:] for each in alone.written()] == [("federation", 1), ("not here", 1)]


def test_texts_of_a_peer_are_bounded_in_number_and_length() -> None:
    alone = Alone()
    alone.uses.ignore(["x" * 1000, *(f"argument-{number}" for number in range(1000))])
    found = alone.written()
    assert len(found) == TEXTS_MAX + 1
    assert found[-1][2:] == (OTHERS, 1001 - TEXTS_MAX)
    assert all(len(each[2]) <= 200 for each in found)
    assert sum(each[3] for each in found) == 1001


@pytest.mark.parametrize(
    ("told", "text"),
    [
        (("billing", "qpid", "1", "10.0.0.1"), "billing (qpid 1) from 10.0.0.1"),
        (("", "", "", "10.0.0.1"), "from 10.0.0.1"),
        (("billing", "", "", ""), "billing"),
    ],
)
def test_a_client_is_named_by_what_it_tells(told: tuple[str, str, str, str], text: str) -> None:
    assert client_text(*told) == text


def test_a_client_that_names_no_process_is_told_by_its_product() -> None:
    assert client_text("", "amqp-gateway", "0.1.0", "h") == "amqp-gateway 0.1.0 from h"
    assert client_text("billing", "qpid", "1", "") == "billing (qpid 1)"
