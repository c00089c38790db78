"""Files and streams of 0-10 and messages of both protocols are each other's."""

import pytest
from interop.addresses import jms_queue
from interop.content import Session
from interop.foreign import Client

FILE = {
    "content_type": "text/plain",
    "headers": {"colour": "blue", "count": 7},
    "priority": 7,
    "reply_to": "answers",
    "message_id": "number 1",
    "filename": "letter.txt",
    "cluster_id": "left",
}


def test_a_file_is_a_message_of_1_0(a: Session, proton: Client, port: int, name: str) -> None:
    a.declare(name)
    a.publish("hello", name, file=FILE)
    [received] = proton.run("receive", port, address=name).received
    assert received["body"] == ["data", b"hello".hex()]
    assert received["message-id"] == ["string", "number 1"]
    assert received["content-type"] == ["symbol", "text/plain"]
    assert received["priority"] == 7
    assert received["reply-to"] == ["string", "answers"]
    assert received["durable"]
    properties = received["properties"]
    assert properties["colour"] == ["string", "blue"]
    assert properties["count"] == ["long", "7"]
    assert properties["x-amqp-0-10.filename"] == ["string", "letter.txt"]


def test_a_message_of_1_0_is_a_file(a: Session, proton: Client, port: int, name: str) -> None:
    a.declare(name)
    message = {
        "body": ["data", b"hello".hex()],
        "message-id": ["string", "number 1"],
        "content-type": "text/plain",
        "priority": 7,
        "reply-to": ["string", "answers"],
        "properties": {
            "colour": ["string", "blue"],
            "x-amqp-0-10.filename": ["string", "letter.txt"],
        },
    }
    proton.run("send", port, [message], address=name)
    a.consume(name)
    file = a.file()
    assert file.body == "hello"
    wanted = {each: FILE[each] for each in FILE if each not in ("headers", "cluster_id")}
    assert wanted.items() <= file.properties.items()
    assert file.properties["headers"]["colour"] == "blue"
    a.ack(file.delivery_tag)


def test_a_packet_is_a_message_of_1_0(a: Session, proton: Client, port: int, name: str) -> None:
    a.declare(name)
    packet = {"content_type": "video/raw", "headers": {"colour": "blue"}, "priority": 7}
    a.send_packet("hello", name, packet=packet)
    [received] = proton.run("receive", port, address=name).received
    assert received["body"] == ["data", b"hello".hex()]
    assert (received["content-type"], received["priority"]) == (["symbol", "video/raw"], 7)
    assert received["properties"]["colour"] == ["string", "blue"]


def test_a_message_of_1_0_is_a_packet(a: Session, proton: Client, port: int, name: str) -> None:
    a.declare(name)
    message = {
        "body": ["data", b"hello".hex()],
        "content-type": "video/raw",
        "priority": 7,
        "properties": {"colour": ["string", "blue"]},
    }
    proton.run("send", port, [message], address=name)
    a.stream(name)
    got = a.heard("stream_deliver")
    properties = got["headers"]["stream_properties"]
    assert got["body"] == "hello"
    assert (properties["content_type"], properties["priority"]) == ("video/raw", 7)
    assert properties["headers"]["colour"] == "blue"


def test_a_transfer_is_a_file_and_a_packet(a: Session, name: str) -> None:
    a.declare(name)
    headers = {"application_headers": {"colour": "blue"}, "content_type": "text/plain"}
    for body in "12":
        a.transfer(body, name, message_properties=headers)
    a.say("file_qos", prefetch_count=1)
    a.consume(name)
    file = a.file()
    assert (file.body, file.properties["headers"]["colour"]) == ("1", "blue")
    a.say("file_cancel", consumer_tag="t")
    a.stream(name, "u")
    got = a.heard("stream_deliver")
    assert got["body"] == "2"
    assert got["headers"]["stream_properties"]["content_type"] == "text/plain"


@pytest.mark.parametrize("kind", ["file", "stream"])
def test_a_file_or_packet_is_a_transfer(a: Session, name: str, kind: str) -> None:
    a.declare(name)
    properties = {"content_type": "text/plain", "headers": {"colour": "blue"}, "priority": 7}
    if kind == "file":
        a.publish("hello", name, file=properties)
    else:
        a.send_packet("hello", name, packet=properties)
    a.subscribe(name)
    got = a.heard("message_transfer")
    message = got["headers"]["message_properties"]
    assert got["body"] == "hello"
    assert message["content_type"] == "text/plain"
    assert message["application_headers"]["colour"] == "blue"
    assert got["headers"]["delivery_properties"]["priority"] == 7


def test_a_file_that_a_client_of_1_0_forwards_is_the_same_file(
    a: Session, proton: Client, port: int, name: str
) -> None:
    a.declare(name)
    a.declare(f"{name}-on")
    a.publish("hello", name, file=FILE)
    proton.run("forward", port, address=name, to=f"{name}-on")
    a.consume(f"{name}-on")
    file = a.file()
    assert (file.body, file.properties) == ("hello", FILE)


@pytest.mark.parametrize("kind", ["file", "stream"])
def test_the_java_client_receives_text(
    a: Session, jms: Client, port: int, name: str, kind: str
) -> None:
    a.declare(name)
    properties = {"content_type": "text/plain", "headers": {"colour": "blue"}, "priority": 7}
    if kind == "file":
        a.publish("hello", name, file={**properties, "message_id": "number 1", "filename": "x"})
    else:
        a.send_packet("hello", name, packet=properties)
    [received] = jms.run("consume", port, destination=jms_queue(name)).received
    assert received["body"] == ["text", "hello"]
    assert received["priority"] == 7
    assert received["properties"]["colour"] == ["string", "blue"]


def test_what_the_java_client_publishes_is_a_file(
    a: Session, jms: Client, port: int, name: str
) -> None:
    a.declare(name)
    message = {
        "body": ["text", "hello"],
        "properties": {"colour": ["string", "blue"], "x-amqp-0-10.filename": ["string", "x"]},
    }
    jms.run("publish", port, [message], destination=jms_queue(name))
    a.consume(name)
    file = a.file()
    assert file.body == "hello"
    assert file.properties["content_type"] == "text/plain"
    assert file.properties["headers"]["colour"] == "blue"
    assert file.properties["timestamp"] > 0
    a.ack(file.delivery_tag)


@pytest.mark.parametrize("kind", ["file", "stream"])
def test_a_client_that_knows_neither_class_receives_both(
    a: Session, qpid_python: Client, port: int, name: str, kind: str
) -> None:
    a.declare(name)
    properties = {"content_type": "text/plain", "headers": {"colour": "blue"}}
    if kind == "file":
        a.publish("hello", name, file={**properties, "message_id": "number 1", "filename": "x"})
    else:
        a.send_packet("hello", name, packet=properties)
    [received] = qpid_python.run("receive", port, address=name).received
    assert received["body"][1] in ("hello", b"hello".hex())
    assert received["properties"]["colour"] == ["string", "blue"]


def test_a_client_that_knows_neither_class_receives_a_file_that_came_by_1_0(
    a: Session, proton: Client, qpid_python: Client, port: int, name: str
) -> None:
    a.declare(name)
    a.declare(f"{name}-on")
    a.publish("hello", name, file=FILE)
    proton.run("forward", port, address=name, to=f"{name}-on")
    [received] = qpid_python.run("receive", port, address=f"{name}-on").received
    assert received["properties"]["x-amqp-0-10.filename"] == ["string", "letter.txt"]
