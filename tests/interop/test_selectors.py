"""Selectors on queues and topics of the gateway itself, from clients of either protocol."""

import json
from typing import Any

import pytest
from interop.addresses import jms_queue
from interop.foreign import Client, ForeignError

RED = "colour = 'red' AND size BETWEEN 2 AND 10"
THREE = [
    {
        "body": ["text", colour + str(size)],
        "properties": {"colour": ["string", colour], "size": ["int", size]},
    }
    for colour, size in (("red", 1), ("blue", 5), ("red", 5))
]
OF_1_0 = [
    {
        "body": ["string", message["body"][1]],
        "properties": {
            "colour": message["properties"]["colour"],
            "size": ["int", str(message["properties"]["size"][1])],
        },
    }
    for message in THREE
]


def selector(text: str) -> str:
    """The option of the 1.0 client."""
    return json.dumps({"selector": ["apache.org:selector-filter:string", ["string", text]]})


def texts(events: list[dict[str, Any]]) -> list[str]:
    return [event["body"][1] for event in events]


def test_a_jms_consumer_of_a_queue_gets_what_it_selects(jms: Client, port: int, name: str) -> None:
    jms.run("publish", port, THREE, destination=jms_queue(name))
    [found] = jms.run("consume", port, destination=f"ADDR:{name}", selector=RED).received
    assert texts([found]) == ["red5"]
    left = jms.run("consume", port, destination=f"ADDR:{name}", count=2).received
    assert texts(left) == ["red1", "blue5"]


@pytest.mark.parametrize(
    "text",
    [
        "JMSType = 'kind'",
        "JMSPriority > 4",
        "JMSDeliveryMode = 'PERSISTENT'",
        "JMSCorrelationID LIKE 'ID:%'",
    ],
)
def test_jms_headers_select(text: str, jms: Client, port: int, name: str) -> None:
    other = {"body": ["text", "no"]}
    wanted = {
        "body": ["text", "yes"],
        "jms-type": "kind",
        "priority": 7,
        "durable": True,
        "correlation-id": "ID:a",
    }
    jms.run("publish", port, [other, wanted], destination=jms_queue(name))
    said = jms.run("consume", port, destination=f"ADDR:{name}", selector=text)
    assert texts(said.received) == ["yes"]


def test_a_jms_browser_sees_what_it_selects(jms: Client, port: int, name: str) -> None:
    jms.run("publish", port, THREE, destination=jms_queue(name))
    said = jms.run("browse", port, destination=f"QUEUE:{name}", selector=RED)
    assert texts(said.received) == ["red5"]


@pytest.mark.parametrize("form", ["TOPIC:{}", "ADDR:amq.topic/{}"])
def test_a_jms_subscriber_of_a_topic_gets_what_it_selects(
    form: str, jms: Client, port: int, name: str
) -> None:
    topic = form.format(name)
    subscriber = jms.start("consume", port, destination=topic, selector=RED)
    subscriber.until("ready")
    jms.run("publish", port, THREE, destination=topic)
    assert texts(subscriber.finish().without_error().received) == ["red5"]


def test_a_durable_jms_subscription_selects_while_nobody_is_there(
    jms: Client, port: int, name: str
) -> None:
    options = {
        "destination": f"TOPIC:{name}",
        "selector": RED,
        "durable_subscription": f"sub-{name}",
        "client_id": f"client-{name}",
    }
    with pytest.raises(ForeignError, match="timeout"):
        jms.run("consume", port, timeout_ms=200, **options)
    jms.run("publish", port, THREE, destination=f"TOPIC:{name}")
    assert texts(jms.run("consume", port, **options).received) == ["red5"]


def test_what_a_1_0_client_sends_is_selected_by_jms_and_the_other_way_round(
    jms: Client, proton: Client, port: int, name: str
) -> None:
    jms.run("publish", port, THREE, destination=jms_queue(name))
    said = proton.run("receive", port, address=name, filters=selector(RED))
    assert texts(said.received) == [b"red5".hex()] or texts(said.received) == ["red5"]
    proton.run("send", port, OF_1_0, address=name)
    found = jms.run("consume", port, destination=f"ADDR:{name}", selector=RED).received
    assert texts(found) == ["red5"]


def test_a_jms_subscriber_without_local_messages_gets_what_others_publish(
    jms: Client, port: int, name: str
) -> None:
    topic = f"TOPIC:{name}"
    subscriber = jms.start("consume", port, destination=topic, no_local="true", selector=RED)
    subscriber.until("ready")
    jms.run("publish", port, THREE, destination=topic)
    assert texts(subscriber.finish().without_error().received) == ["red5"]
