"""What applications of JMS rely on beyond messages: subscriptions, temporary destinations.

Both clients, of either protocol, against one gateway.
"""

import uuid
from typing import Any

import pytest
from interop import foreign
from interop.foreign import Client, Event
from interop.needed import needed

TOPIC = "TOPIC:weather"


@pytest.fixture(params=[foreign.JMS, foreign.JMS_1_0], ids=lambda client: client.protocol)
def client(request: pytest.FixtureRequest) -> Client:
    needed("jms")
    needed("artemis")  # which brings the client of 1.0
    found: Client = request.param
    return found


@pytest.fixture
def subscription() -> dict[str, Any]:
    """One that no other test uses: who subscribes, and by which name."""
    unique = uuid.uuid4().hex[:8]
    return {"client_id": f"client-{unique}", "durable_subscription": f"sub-{unique}"}


def published(client: Client, port: int, *texts: str, destination: str = TOPIC) -> None:
    messages = [{"body": ["text", text], "durable": True} for text in texts]
    client.run("publish", port, messages, destination=destination)


def texts(received: list[Event]) -> list[str]:
    return [each["body"][1] for each in received]


def test_a_durable_subscription_has_what_was_published_while_nobody_was_there(
    client: Client, port: int, subscription: dict[str, Any]
) -> None:
    first = client.start("consume", port, destination=TOPIC, count=1, **subscription)
    first.until("ready")
    published(client, port, "one")
    assert texts(first.finish().without_error().received) == ["one"]
    published(client, port, "two", "three")
    again = client.run("consume", port, destination=TOPIC, count=2, **subscription)
    assert texts(again.received) == ["two", "three"]


def test_a_durable_subscription_that_is_given_up_has_nothing(
    client: Client, port: int, subscription: dict[str, Any]
) -> None:
    client.start("consume", port, destination=TOPIC, count=0, **subscription).finish()
    published(client, port, "lost")
    client.run("unsubscribe", port, destination=TOPIC, **subscription)
    again = client.start(
        "consume", port, destination=TOPIC, count=1, timeout_ms=500, **subscription
    )
    assert not again.finish().received


def test_a_temporary_destination_is_its_connections_own_and_goes_with_it(
    client: Client, port: int
) -> None:
    held = client.start("consume", port, destination="TEMPORARY-QUEUE", count=1)
    name = held.until("ready")["queue"]
    address = f"QUEUE:{name}"
    other = client.start("consume", port, destination=address, count=1)
    assert other.finish().errors
    published(client, port, "answer", destination=address)
    assert texts(held.finish().without_error().received) == ["answer"]
    gone = client.start("publish", port, [{"body": ["text", "late"]}], destination=address)
    assert gone.finish().errors
