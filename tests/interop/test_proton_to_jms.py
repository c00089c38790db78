"""A Proton client of 1.0 sends, the Java JMS client of AMQP 0-10 consumes."""

from typing import Any

import pytest
from interop.addresses import jms_exchange
from interop.foreign import Client, Event

ESCROW = "x-amqp-1.0"

# what Proton sends -> what JMS sees
BODIES: dict[str, tuple[Any, Any]] = {
    "data": (["data", "00ff10"], ["bytes", "00ff10"]),
    "string": (["string", "h\u00e9llo"], ["text", "h\u00e9llo"]),
    "binary": (["binary", "00ff"], ["bytes", "00ff"]),
    "null": (["null", None], ["bytes", ""]),
    "map": (
        ["map", {"i": ["int", "1"], "s": ["string", "e"], "b": ["boolean", True]}],
        ["map", {"i": ["int", 1], "s": ["string", "e"], "b": ["boolean", True]}],
    ),
    "list": (
        ["list", [["long", "5"], ["null", None]]],
        ["stream", [["long", "5"], ["null", None]]],
    ),
    "sequence": (
        ["sequence", [["int", "1"], ["string", "e"]]],
        ["stream", [["int", 1], ["string", "e"]]],
    ),
    "another value": (["int", "42"], ["stream", [["int", 42]]]),
}

# JMS has no unsigned numbers, times or symbols: it shows the nearest of its own types
PROPERTIES: dict[str, tuple[Any, Any]] = {
    "a_boolean": (["boolean", True], ["boolean", True]),
    "a_byte": (["byte", "-5"], ["byte", -5]),
    "a_short": (["short", "300"], ["short", 300]),
    "an_int": (["int", "-70000"], ["int", -70000]),
    "a_long": (["long", "9223372036854775807"], ["long", "9223372036854775807"]),
    "a_ubyte": (["ubyte", "255"], ["short", 255]),
    "a_ushort": (["ushort", "65535"], ["int", 65535]),
    "a_uint": (["uint", "4294967295"], ["long", "4294967295"]),
    "a_ulong": (["ulong", "7"], ["long", "7"]),
    "a_float": (["float", "1.5"], ["float", "1.5"]),
    "a_double": (["double", "-2.5"], ["double", "-2.5"]),
    "a_string": (["string", "h\u00e9llo"], ["string", "h\u00e9llo"]),
    "a_symbol": (["symbol", "sym"], ["string", "sym"]),
    "a_char": (["char", "q"], ["string", "q"]),
    "a_timestamp": (["timestamp", "1795242122000"], ["long", "1795242122000"]),
}


def passed_on(message: dict[str, Any], proton: Client, jms: Client, port: int, queue: str) -> Event:
    """What JMS said when it had received what Proton sent."""
    [sent] = proton.run("send", port, [message], address=queue).sent
    assert sent["outcome"] == "accepted"
    [received] = jms.run("consume", port, destination=f"ADDR:{queue}").received
    return received


@pytest.mark.parametrize("kind", BODIES)
def test_a_body_of_each_kind_arrives(
    kind: str, proton: Client, jms: Client, port: int, queue: str
) -> None:
    body, expected = BODIES[kind]
    assert passed_on({"body": body}, proton, jms, port, queue)["body"] == expected


def test_properties_arrive_as_the_nearest_types_of_jms(
    proton: Client, jms: Client, port: int, queue: str
) -> None:
    sent = {name: pair for name, (pair, _) in PROPERTIES.items()}
    received = passed_on({"properties": sent}, proton, jms, port, queue)["properties"]
    received.pop(ESCROW)
    assert received == {name: pair for name, (_, pair) in PROPERTIES.items()}


def test_the_header_and_the_properties_are_mapped(
    proton: Client, jms: Client, port: int, queue: str
) -> None:
    message = {
        "body": ["data", "78"],
        "content-type": "text/plain",
        "durable": True,
        "priority": 7,
        "message-id": ["uuid", "b62c1a1b-8e83-3ac3-9874-76c503552361"],
        "correlation-id": ["string", "c-1"],
        "creation-time": ["timestamp", "1795242122208"],
        "absolute-expiry-time": ["timestamp", "4102444800123"],
        "reply-to": "amq.direct/replies",
        "subject": "s",
        "group-id": "g",
        "group-sequence": 3,
    }
    received = passed_on(message, proton, jms, port, queue)
    assert received.pop("properties").pop(ESCROW)[0] == "string"
    assert "amq.direct" in received["reply-to"]
    assert "replies" in received.pop("reply-to")
    assert queue in received.pop("destination")
    assert (received.pop("destination-kind"), received.pop("reply-to-kind")) == (None, None)
    assert received == {
        "event": "received",
        "body": ["text", "x"],
        "durable": True,
        "priority": 7,
        "expiration-ms": 4102444800123,
        "timestamp-ms": 1795242122208,
        "redelivered": False,
        "message-id": "ID:b62c1a1b-8e83-3ac3-9874-76c503552361",
        "correlation-id": "c-1",
        "jms-type": None,
    }


def test_a_message_that_is_not_durable_is_not_persistent(
    proton: Client, jms: Client, port: int, queue: str
) -> None:
    received = passed_on({"body": ["data", "78"]}, proton, jms, port, queue)
    assert (received["durable"], received["priority"]) == (False, 4)


@pytest.mark.parametrize(
    ("exchange", "key", "binding"),
    [("amq.direct", "k2", "k2"), ("amq.topic", "music.jazz", "music.*"), ("amq.fanout", "", "")],
)
def test_an_exchange_delivers_to_its_consumers(
    exchange: str, key: str, binding: str, proton: Client, jms: Client, port: int
) -> None:
    destination = jms_exchange(exchange, binding) if binding else f"ADDR:{exchange}"
    waiting = jms.start("consume", port, destination=destination)
    waiting.until("ready")
    proton.run("send", port, [{"body": ["string", "x"], "subject": key}], address=exchange)
    [received] = waiting.finish().without_error().received
    assert received["body"] == ["text", "x"]


def test_client_acknowledgement_takes_the_messages_off_the_queue(
    proton: Client, jms: Client, port: int, queue: str
) -> None:
    proton.run("send", port, [{"body": ["data", "78"]}] * 5, address=queue)
    taken = jms.run("consume", port, destination=f"ADDR:{queue}", ack="client", count=5)
    left = jms.run("browse", port, destination=f"ADDR:{queue}")
    assert (len(taken.received), len(left.received)) == (5, 0)


def test_a_browser_leaves_the_messages_where_they_are(
    proton: Client, jms: Client, port: int, queue: str
) -> None:
    proton.run("send", port, [{"body": ["data", "78"]}] * 3, address=queue)
    seen = jms.run("browse", port, destination=f"ADDR:{queue}")
    taken = jms.run("consume", port, destination=f"ADDR:{queue}", count=3)
    assert (len(seen.received), len(taken.received)) == (3, 3)


def test_a_killed_consumer_gives_back_what_it_had_not_acknowledged(
    proton: Client, jms: Client, port: int, queue: str
) -> None:
    proton.run("send", port, [{"body": ["data", "78"]}], address=queue)
    holding = jms.start("consume", port, destination=f"ADDR:{queue}", ack="client", count=2)
    holding.until("received")
    holding.kill()
    [again] = jms.run("consume", port, destination=f"ADDR:{queue}").received
    assert again["redelivered"]
