"""A requester of one protocol, a responder of the other: replies on a temporary node, matched."""

import pytest
from interop.foreign import Client


def test_proton_answers_a_jms_request(jms: Client, proton: Client, port: int, queue: str) -> None:
    answering = proton.start("respond", port, address=queue)
    answering.until("ready")
    asked = jms.run("request", port, [{"body": ["text", "who?"]}], destination=f"ADDR:{queue}")
    answering.finish().without_error()
    [request], [reply] = asked.sent, asked.received
    assert reply["body"] == ["text", "who?"]
    assert reply["correlation-id"] == request["message-id"]


def test_jms_answers_a_jms_request(jms: Client, port: int, queue: str) -> None:
    answering = jms.start("respond", port, destination=f"ADDR:{queue}")
    answering.until("ready")
    asked = jms.run("request", port, [{"body": ["text", "who?"]}], destination=f"ADDR:{queue}")
    answering.finish().without_error()
    [request], [reply] = asked.sent, asked.received
    assert reply["correlation-id"] == request["message-id"]


IDS = [
    ["string", "request-1"],
    ["string", "ID:b62c1a1b-8e83-3ac3-9874-76c503552361"],
    ["uuid", "b62c1a1b-8e83-3ac3-9874-76c503552361"],
    ["ulong", "18446744073709551615"],
    ["binary", "00ff10"],
]


@pytest.mark.parametrize("message_id", IDS, ids=lambda pair: f"{pair[0]}-{len(pair[1])}")
def test_jms_answers_a_proton_request_and_is_matched(
    message_id: list[str], jms: Client, proton: Client, port: int, queue: str
) -> None:
    answering = jms.start("respond", port, destination=f"ADDR:{queue}")
    answering.until("ready")
    request = {"body": ["string", "who?"], "message-id": message_id}
    [reply] = proton.run("request", port, [request], address=queue).received
    answering.finish().without_error()
    assert reply["correlation-id"] == message_id
    assert reply["message-id"] != message_id


@pytest.mark.parametrize("message_id", IDS, ids=lambda pair: f"{pair[0]}-{len(pair[1])}")
def test_qpid_python_answers_a_proton_request_and_is_matched(
    message_id: list[str], qpid_python: Client, proton: Client, port: int, name: str
) -> None:
    address = f"{name}; {{create: always, node: {{type: queue}}}}"
    answering = qpid_python.start("respond", port, address=address)
    answering.until("ready")
    request = {"body": ["string", "who?"], "message-id": message_id}
    [reply] = proton.run("request", port, [request], address=name).received
    answering.finish().without_error()
    assert reply["correlation-id"] == message_id


def test_proton_answers_a_qpid_python_request(
    qpid_python: Client, proton: Client, port: int, queue: str
) -> None:
    answering = proton.start("respond", port, address=queue)
    answering.until("ready")
    asked = qpid_python.run("request", port, [{"body": ["string", "who?"]}], address=queue)
    answering.finish().without_error()
    [reply] = asked.received
    assert reply["body"] == ["string", "who?"]
