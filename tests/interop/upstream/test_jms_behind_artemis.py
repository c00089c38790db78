"""The Java JMS client of 0-10, as it is, with its queues and topics at an Artemis."""

from collections.abc import Iterator
from typing import Any

import pytest
from interop.brokers import client
from interop.brokers.artemis import Artemis
from interop.foreign import Client, Said
from interop.upstream.behind import Behind

TEXTS: list[dict[str, Any]] = [{"body": ["text", text], "durable": True} for text in "abc"]
BODIES: dict[str, Any] = {
    "text": ["text", "hé"],
    "bytes": ["bytes", "00ff10"],
    "map": ["map", {"i": ["int", 1], "s": ["string", "x"]}],
    "stream": ["stream", [["long", "5"], ["string", "e"], ["boolean", False]]],
    "object": ["object", ["string", "kept"]],
}
TOPIC = "TOPIC:news.uk"


@pytest.fixture(scope="module")
def front(artemis: Artemis, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Behind]:
    """A gateway whose topics live at the Artemis, too."""
    made = Behind(artemis, tmp_path_factory.mktemp("front-jms"), topics=True)
    with made.gateway:
        yield made


@pytest.fixture
def port(front: Behind) -> int:
    return front.gateway.amqp_port


@pytest.fixture
def queue(front: Behind) -> str:
    return f"ADDR:{front.queue()}"


def texts(said: Said) -> list[str]:
    return [line["body"][1] for line in said.received]


def consumed(
    jms: Client, port: int, queue: str, sure: int, more: int = 0, **options: object
) -> Said:
    """So many messages, and what comes of so many more within a short time."""
    given = {"destination": queue, "sure": sure, "count": sure + more, **options}
    return jms.start("consume", port, timeout_ms=1500, **given).finish()


@pytest.mark.parametrize("kind", BODIES)
def test_a_queue_passes_bodies_of_each_kind(kind: str, jms: Client, port: int, queue: str) -> None:
    message = {"body": BODIES[kind], "durable": True, "properties": {"n": ["int", 5]}}
    jms.run("publish", port, [message], destination=queue)
    [received] = jms.run("consume", port, destination=queue).received
    assert received["body"] == BODIES[kind]
    assert received["properties"]["n"] == ["int", 5]
    assert not received["redelivered"]


def test_a_topic_gives_each_subscriber_what_is_published(jms: Client, port: int) -> None:
    waiting = [jms.start("consume", port, destination=TOPIC, count=3) for _ in range(2)]
    for each in waiting:
        each.until("ready")
    jms.run("publish", port, TEXTS, destination=TOPIC)
    for each in waiting:
        assert texts(each.finish().without_error()) == ["a", "b", "c"]


def test_a_durable_subscription_keeps_what_is_published_meanwhile(
    jms: Client, port: int, name: str
) -> None:
    options = {"destination": TOPIC, "durable_subscription": "news", "client_id": name}
    first = jms.start("consume", port, **options)
    first.until("ready")
    jms.run("publish", port, TEXTS[:1], destination=TOPIC)
    assert texts(first.finish().without_error()) == ["a"]
    jms.run("publish", port, TEXTS[1:], destination=TOPIC)
    assert texts(jms.run("consume", port, count=2, **options)) == ["b", "c"]


def test_a_selector_selects(jms: Client, port: int, queue: str) -> None:
    messages = [
        {"body": ["text", colour], "properties": {"colour": ["string", colour]}}
        for colour in ("red", "blue", "red")
    ]
    jms.run("publish", port, messages, destination=queue)
    assert texts(consumed(jms, port, queue, 1, 1, selector="colour = 'blue'")) == ["blue"]
    assert texts(consumed(jms, port, queue, 2, 1)) == ["red", "red"]


def test_a_browser_sees_and_takes_nothing(jms: Client, port: int, queue: str) -> None:
    jms.run("publish", port, TEXTS, destination=queue)
    assert texts(jms.run("browse", port, destination=queue)) == ["a", "b", "c"]
    assert texts(consumed(jms, port, queue, 3)) == ["a", "b", "c"]


def test_what_is_rolled_back_is_not_there_and_what_is_committed_is(
    jms: Client, port: int, queue: str, front: Behind
) -> None:
    name = queue.removeprefix("ADDR:")
    jms.run("publish", port, TEXTS, destination=queue, ack="transacted", end="rollback")
    assert front.depth(name) == 0
    jms.run("publish", port, TEXTS, destination=queue, ack="transacted")
    assert front.depth(name) == 3
    rolled = consumed(jms, port, queue, 3, ack="transacted", end="rollback")
    assert texts(rolled) == ["a", "b", "c"]
    assert front.comes_to(3, name)
    # Artemis gives them back one after the other as the consumer before leaves.
    committed: list[str] = []
    while len(committed) < 3:
        more = texts(consumed(jms, port, queue, 1, 2 - len(committed), ack="transacted"))
        assert more, committed
        committed += more
    assert sorted(committed) == ["a", "b", "c"]
    assert front.comes_to(0, name)


def test_a_jms_responder_answers_a_jms_requester(jms: Client, port: int, queue: str) -> None:
    answering = jms.start("respond", port, destination=queue)
    answering.until("ready")
    asked = jms.run("request", port, [{"body": ["text", "who?"]}], destination=queue)
    answering.finish().without_error()
    [request], [reply] = asked.sent, asked.received
    assert reply["body"] == ["text", "who?"]
    assert reply["correlation-id"] == request["message-id"]


def test_a_1_0_client_at_the_broker_answers_a_jms_requester(
    jms: Client, port: int, queue: str, front: Behind
) -> None:
    from proton import Message

    asking = jms.start("request", port, [{"body": ["text", "who?"]}], destination=queue)
    connection = client.connect(front.broker)
    try:
        receiver = connection.create_receiver(queue.removeprefix("ADDR:"), credit=1)
        request = receiver.receive(client.TIME_LIMIT_S)
        receiver.accept()
        reply = Message(body="me", correlation_id=request.id)
        connection.create_sender(request.reply_to).send(reply)
    finally:
        connection.close()
    [received] = asking.finish().without_error().received
    assert received["body"] == ["text", "me"]
