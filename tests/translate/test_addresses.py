"""Which node an address names, and the address of a node."""

import pytest
from translate.messages import Names, data, payload_1_0

from gateway.amqp_1_0 import types
from gateway.translate.addresses import (
    JMS_DEST,
    Capability,
    address_of,
    capability_in,
    capability_of,
    reply_to_address,
    reply_to_node,
    resolve,
    resolve_target,
    without_host,
)
from gateway.translate.facts import arrival_1_0
from gateway.wire.tagged import Tagged

NODES = Names(("q", "both", "x/q"), ("x", "both", "amq.topic", "x/y"))


@pytest.mark.parametrize(
    ("address", "capability", "queue", "exchange", "key"),
    [
        ("q", Capability.ANY, "q", "", None),
        ("both", Capability.ANY, "both", "", None),
        ("both", Capability.QUEUE, "both", "", None),
        ("both", Capability.TOPIC, "", "both", None),
        ("x/q", Capability.ANY, "x/q", "", None),
        ("x/k", Capability.ANY, "", "x", "k"),
        ("x/", Capability.ANY, "", "x", ""),
        ("x/a/b", Capability.ANY, "", "x", "a/b"),
        ("x/y", Capability.ANY, "", "x/y", None),
        ("news.it", Capability.TOPIC, "", "amq.topic", "news.it"),
        ("x/q", Capability.TOPIC, "", "x", "q"),
    ],
)
def test_an_address_names_one_node(
    address: str, capability: Capability, queue: str, exchange: str, key: str | None
) -> None:
    node = resolve(address, capability, NODES)
    assert node is not None
    assert (node.queue, node.exchange, node.key) == (queue, exchange, key)


@pytest.mark.parametrize(
    ("address", "named"),
    [
        ("amqp://host/q", "q"),
        ("amqps://host:5671/q", "q"),
        ("amqp://user@[::1]:5672/q", "q"),
        ("amqp://host/x/a.b%2Fc%20d", "x/a.b/c d"),
        ("amqp://host/amq.topic/news.#", "amq.topic/news.#"),
        ("amqp://host/%C3%A9%25", "é%"),
        ("amqp://host/amqp://host/q", "amqp://host/q"),
        ("amqp://host/%zz", "%zz"),
    ],
)
def test_an_address_that_is_a_url_names_what_is_behind_the_host(address: str, named: str) -> None:
    assert without_host(address) == named


@pytest.mark.parametrize(
    "address",
    [
        *("", "q", "x/k", "x/amqp://host/q", "amqp:q", "amqp:/q", "amqp:///q", "http://host/q"),
        *("amqp://host", "amqp://host/", "amqp://host/q?a=b", "amqp://host/%C3", " amqp://host/q"),
    ],
)
def test_an_address_of_any_other_form_is_what_it_says(address: str) -> None:
    assert without_host(address) == address


@pytest.mark.parametrize(
    ("address", "capability"),
    [
        ("", Capability.ANY),
        ("nothing", Capability.ANY),
        ("/k", Capability.ANY),
        ("nothing/k", Capability.ANY),
        ("x", Capability.QUEUE),
        ("x/k", Capability.QUEUE),
    ],
)
def test_an_address_may_name_nothing(address: str, capability: Capability) -> None:
    assert resolve(address, capability, NODES) is None


@pytest.mark.parametrize(
    ("address", "capability", "queue", "exchange", "key"),
    [
        ("both", Capability.QUEUE, "both", "", None),
        ("x/q", Capability.QUEUE, "x/q", "", None),
        ("x/k", Capability.QUEUE, "", "x", "k"),
        ("news", Capability.TOPIC, "", "amq.topic", "news"),
        ("x/k", Capability.ANY, "", "x", "k"),
    ],
)
def test_a_senders_address_may_be_an_exchanges_key_though_it_asks_for_a_queue(
    address: str, capability: Capability, queue: str, exchange: str, key: str | None
) -> None:
    node = resolve_target(address, capability, NODES)
    assert node is not None
    assert (node.queue, node.exchange, node.key) == (queue, exchange, key)


@pytest.mark.parametrize("address", ["x", "nothing", "nothing/k"])
def test_a_sender_that_asks_for_a_queue_gets_no_exchange(address: str) -> None:
    assert resolve_target(address, Capability.QUEUE, NODES) is None


def marked(value: Tagged, key: str = "x-opt-jms-dest", body: bytes = b"") -> Capability:
    payload = payload_1_0(annotations=[(Tagged(types.SYMBOL, key), value)], body=data(body))
    return capability_in(payload, arrival_1_0(payload).body_at)


def test_a_message_says_of_its_address_what_a_jms_client_knows() -> None:
    asked = [marked(Tagged(types.BYTE, kind)) for kind in range(5)]
    topic, other = Capability.TOPIC, Capability.ANY
    assert asked == [other, topic, other, topic, other]
    assert marked(Tagged(types.STRING, "1")) == other
    assert marked(Tagged(types.STRING, "x-opt-jms-dest"), key="x-opt-other") == other
    assert marked(Tagged(types.BYTE, 1), key="x-opt-other", body=b"x-opt-jms-dest") == other
    broken = payload_1_0(annotations=[(Tagged(types.INT, 1), Tagged(types.SYMBOL, JMS_DEST))])
    assert capability_in(broken, len(broken)) == other


def test_without_the_topic_exchange_a_topic_name_is_nothing() -> None:
    assert resolve("news", Capability.TOPIC, Names()) is None


def test_asking_for_both_is_asking_for_neither() -> None:
    assert capability_of(["queue", "topic"]) == Capability.ANY
    assert capability_of(["shared"]) == Capability.ANY
    assert capability_of(["temporary-queue"]) == Capability.QUEUE
    assert capability_of(["shared", "topic"]) == Capability.TOPIC


def test_the_address_of_a_node() -> None:
    assert address_of("x", "k") == "x"
    assert address_of("", "q") == "q"
    assert address_of("", "") is None


@pytest.mark.parametrize(("exchange", "key"), [("", "q"), ("x", "k"), ("x", "a/b"), ("x", "")])
def test_a_reply_to_of_a_known_node_comes_back(exchange: str, key: str) -> None:
    address = reply_to_address(exchange, key)
    assert address is not None
    assert reply_to_node(address, NODES) == (exchange, key, True)


def test_an_unknown_reply_to_is_a_key_of_the_default_exchange() -> None:
    assert reply_to_node("far/away", NODES) == ("", "far/away", False)
    assert reply_to_address("", "") is None
