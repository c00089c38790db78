"""The Java JMS client of AMQP 0-10 publishes, a Proton client of 1.0 receives."""

from typing import Any

import pytest
from interop.addresses import jms_exchange, jms_queue
from interop.foreign import PASSWORD, USER, Client, Event

ESCROW = "x-opt-amqp-0-10"
JMS_TYPE = "x-opt-jms-msg-type"

PROPERTIES: dict[str, Any] = {
    "a_boolean": ["boolean", True],
    "a_byte": ["byte", "-5"],
    "a_short": ["short", "300"],
    "an_int": ["int", "-70000"],
    "a_long": ["long", "9223372036854775807"],
    "a_float": ["float", "1.5"],
    "a_double": ["double", "-2.5"],
    "a_string": ["string", "h\u00e9llo"],
}

# what JMS publishes -> the body that Proton sees, its content-type, its JMS message type
BODIES: dict[str, tuple[Any, Any, Any, Any]] = {
    "text": (["text", "h\u00e9"], ["data", "68c3a9"], "text/plain", None),
    "bytes": (["bytes", "00ff10"], ["data", "00ff10"], "application/octet-stream", None),
    "map": (
        ["map", {"i": ["int", 1], "b": ["binary", "00ff"], "n": ["null", None]}],
        ["map", {"i": ["int", "1"], "b": ["binary", "00ff"], "n": ["null", None]}],
        None,
        2,
    ),
    "stream": (
        ["stream", [["long", "5"], ["string", "e"], ["boolean", False], ["char", "q"]]],
        ["list", [["long", "5"], ["string", "e"], ["boolean", False], ["char", "q"]]],
        None,
        4,
    ),
    "object": (
        ["object", ["string", "kept"]],
        ["data", "aced00057400046b657074"],
        "application/x-java-serialized-object",
        1,
    ),
    "nothing": (None, ["data", ""], "application/octet-stream", None),
}


def passed_on(
    message: dict[str, Any], jms: Client, proton: Client, port: int, name: str
) -> tuple[Event, Event]:
    """What JMS said when it had published, what Proton said when it had received."""
    [sent] = jms.run("publish", port, [message], destination=jms_queue(name)).sent
    [received] = proton.run("receive", port, address=name).received
    return sent, received


@pytest.mark.parametrize("kind", BODIES)
def test_a_body_of_each_kind_arrives(
    kind: str, jms: Client, proton: Client, port: int, name: str
) -> None:
    body, expected, content_type, jms_type = BODIES[kind]
    _, received = passed_on({"body": body} if body else {}, jms, proton, port, name)
    assert received["body"] == expected
    assert received.get("content-type") == (["symbol", content_type] if content_type else None)
    annotation = received["annotations"].get(JMS_TYPE)
    assert annotation == (["byte", str(jms_type)] if jms_type else None)


def test_properties_keep_their_types(jms: Client, proton: Client, port: int, name: str) -> None:
    _, received = passed_on({"properties": PROPERTIES}, jms, proton, port, name)
    assert received["properties"] == PROPERTIES


def test_the_header_and_the_properties_are_mapped(
    jms: Client, proton: Client, port: int, name: str
) -> None:
    message = {
        "body": ["text", "x"],
        "durable": True,
        "priority": 7,
        "ttl-ms": 600_000,
        "jms-type": "order",
        "correlation-id": "c-1",
        "reply-to": "ADDR:amq.direct/replies",
        "group-id": "g",
        "group-sequence": 3,
    }
    sent, received = passed_on(message, jms, proton, port, name)
    assert 540_000 < received.pop("ttl-ms") <= 600_000
    assert received.pop("annotations").keys() == {ESCROW}
    assert received == {
        "event": "received",
        "body": ["data", "78"],
        "durable": True,
        "priority": 7,
        "delivery-count": 0,
        "first-acquirer": True,
        "properties": {},
        "message-id": ["uuid", sent["message-id"].removeprefix("ID:")],
        "to": ["string", name],
        "subject": ["string", "order"],
        "reply-to": ["string", "amq.direct/replies"],
        "correlation-id": ["string", "c-1"],
        "content-type": ["symbol", "text/plain"],
        "creation-time": ["timestamp", str(sent["timestamp-ms"])],
        "absolute-expiry-time": ["timestamp", str(sent["timestamp-ms"] + 600_000)],
        "group-id": ["string", "g"],
        "group-sequence": ["uint", "3"],
    }


def test_a_message_that_is_not_persistent_is_not_durable(
    jms: Client, proton: Client, port: int, name: str
) -> None:
    _, received = passed_on({"body": ["text", "x"]}, jms, proton, port, name)
    assert (received["durable"], received["priority"], received["ttl-ms"]) == (False, 4, 0)


@pytest.mark.parametrize(
    ("exchange", "key", "address"),
    [
        ("amq.direct", "k", "amq.direct/k"),
        ("amq.topic", "news.uk", "amq.topic/news.#"),
        ("amq.fanout", "any", "amq.fanout"),
    ],
)
def test_an_exchange_delivers_to_its_receivers(
    exchange: str, key: str, address: str, jms: Client, proton: Client, port: int
) -> None:
    waiting = proton.start("receive", port, address=address)
    waiting.until("ready")
    message = {"body": ["text", "x"], "properties": PROPERTIES}
    jms.run("publish", port, [message], destination=jms_exchange(exchange, key))
    [received] = waiting.finish().without_error().received
    assert received["to"] == ["string", exchange]
    assert received["subject"] == ["string", key]
    assert received["properties"] == PROPERTIES


def test_a_topic_of_the_session_is_a_key_of_the_topic_exchange(
    jms: Client, proton: Client, port: int
) -> None:
    waiting = proton.start("receive", port, address="amq.topic/sport.#")
    waiting.until("ready")
    jms.run("publish", port, [{"body": ["text", "goal"]}], destination="TOPIC:sport.football")
    [received] = waiting.finish().without_error().received
    assert received["subject"] == ["string", "sport.football"]


def test_an_authenticated_publisher_reaches_an_authenticated_receiver(
    jms: Client, proton: Client, port: int, name: str
) -> None:
    alice: dict[str, Any] = {"user": USER, "password": PASSWORD}
    jms.run("publish", port, [{"body": ["text", "x"]}], destination=jms_queue(name), **alice)
    [received] = proton.run("receive", port, address=name, **alice).received
    assert received["body"] == ["data", "78"]


def test_what_proton_releases_comes_again_and_what_it_modifies_is_redelivered(
    jms: Client, proton: Client, port: int, name: str
) -> None:
    jms.run("publish", port, [{"body": ["text", "x"]}], destination=jms_queue(name))
    [first] = proton.run("receive", port, address=name, outcome="released").received
    [second] = proton.run("receive", port, address=name, outcome="modified").received
    [third] = jms.run("consume", port, destination=f"ADDR:{name}").received
    assert (first["delivery-count"], second["delivery-count"]) == (0, 0)
    assert third["redelivered"]


def test_a_thousand_messages_arrive_in_order(
    jms: Client, proton: Client, port: int, name: str
) -> None:
    messages = [{"body": ["text", str(number)], "durable": True} for number in range(1000)]
    jms.run("publish", port, messages, destination=jms_queue(name))
    received = proton.run("receive", port, address=name, count=1000).received
    texts = [bytes.fromhex(line["body"][1]).decode() for line in received]
    assert texts == [str(number) for number in range(1000)]


def test_a_large_message_in_many_frames_arrives_whole(
    jms: Client, proton: Client, port: int, name: str
) -> None:
    octets = bytes(range(256)) * 4096
    _, received = passed_on({"body": ["bytes", octets.hex()]}, jms, proton, port, name)
    assert received["body"] == ["data", octets.hex()]
