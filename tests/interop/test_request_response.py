"""A requester of one protocol and a responder of the other, with a temporary reply queue."""

import pytest
from interop.addresses import jms_queue
from interop.foreign import Client


@pytest.fixture
def queue(jms: Client, port: int, name: str) -> str:
    """A queue that a JMS client has declared."""
    jms.run("publish", port, [], destination=jms_queue(name))
    return name


def test_proton_answers_a_jms_request(jms: Client, proton: Client, port: int, queue: str) -> None:
    answering = proton.start("respond", port, address=queue)
    answering.until("ready")
    asked = jms.run("request", port, [{"body": ["text", "who?"]}], destination=f"ADDR:{queue}")
    answering.finish().without_error()
    [request], [reply] = asked.sent, asked.received
    assert reply["body"] == ["text", "who?"]
    assert request["message-id"].endswith(reply["correlation-id"])


def test_jms_answers_a_jms_request(jms: Client, port: int, queue: str) -> None:
    answering = jms.start("respond", port, destination=f"ADDR:{queue}")
    answering.until("ready")
    asked = jms.run("request", port, [{"body": ["text", "who?"]}], destination=f"ADDR:{queue}")
    answering.finish().without_error()
    [request], [reply] = asked.sent, asked.received
    assert reply["correlation-id"] == request["message-id"]
