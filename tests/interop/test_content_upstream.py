"""Files and streams of 0-10 in queues that live at an upstream, which knows messages of 1.0."""

from collections.abc import Iterator
from typing import Any

import pytest
from interop.content import Client, Session
from interop.declaring import declare_queues
from support.gateway_process import GatewayProcess

FILE: dict[str, Any] = {
    "content_type": "text/plain",
    "headers": {"colour": "blue"},
    "priority": 7,
    "message_id": "number 1",
    "filename": "letter.txt",
    "cluster_id": "left",
}
PACKET: dict[str, Any] = {"content_type": "video/raw", "headers": {"colour": "blue"}, "priority": 7}


@pytest.fixture(scope="module")
def behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    """Another gateway, which has the queues."""
    with GatewayProcess(tmp_path_factory.mktemp("behind")) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory, behind: GatewayProcess) -> Any:
    """The one that the client speaks to."""
    settings = {
        "upstreams": {"behind": {"hosts": [f"amqp://127.0.0.1:{behind.amqp_port}"]}},
        "nodes": [
            {"queue": "spooled.*", "upstream": "behind", "spool": True},
            {"queue": "queue-*", "upstream": "behind"},
        ],
    }
    with GatewayProcess(tmp_path_factory.mktemp("gateway"), settings) as running:
        yield running


@pytest.fixture
def remote(behind: GatewayProcess, name: str) -> str:
    """A queue there."""
    declare_queues(behind.amqp_port, name)
    return name


def test_a_file_is_confirmed_when_the_upstream_has_it(
    a: Session, behind: GatewayProcess, proton: Any, remote: str
) -> None:
    a.publish("hello", remote, file=FILE)
    [received] = proton.run("receive", behind.amqp_port, address=remote).received
    assert received["body"] == ["data", b"hello".hex()]
    assert received["message-id"] == ["string", "number 1"]
    assert received["properties"]["x-amqp-0-10.filename"] == ["string", "letter.txt"]


def test_a_file_comes_back_from_an_upstream_as_it_went(a: Session, remote: str) -> None:
    a.publish("hello", remote, file=FILE)
    a.consume(remote)
    file = a.file()
    assert (file.body, file.properties) == ("hello", FILE)
    a.ack(file.delivery_tag)


def test_a_file_comes_back_from_an_upstream_behind_a_spool_as_it_went(
    a: Session, behind: GatewayProcess, name: str
) -> None:
    queue = f"spooled.{name}"
    declare_queues(behind.amqp_port, queue)
    a.publish("hello", queue, file=FILE)
    a.consume(queue)
    file = a.file()
    assert (file.body, file.properties) == ("hello", FILE)
    a.ack(file.delivery_tag)


def test_a_packet_comes_back_from_an_upstream_as_it_went(a: Session, remote: str) -> None:
    a.send_packet("hello", remote, packet=PACKET)
    a.stream(remote)
    got = a.heard("stream_deliver")
    assert (got["body"], got["headers"]["stream_properties"]) == ("hello", PACKET)


def test_a_packet_that_was_delivered_is_no_longer_at_the_upstream(
    a: Session, content: Client, remote: str
) -> None:
    a.send_packet("1", remote)
    a.stream(remote)
    assert a.packets(1) == ["1"]
    content.cut()
    b = content.session("b", on="second")
    b.send_packet("2", remote)
    b.stream(remote)
    assert b.packets(1) == ["2"]


def test_a_file_that_is_not_acknowledged_goes_back_to_the_upstream(
    a: Session, content: Client, remote: str
) -> None:
    a.publish("hello", remote)
    a.consume(remote)
    assert not a.file().redelivered
    content.cut()
    b = content.session("b", on="second")
    b.consume(remote)
    again = b.file()
    assert (again.body, again.redelivered) == ("hello", True)
    b.ack(again.delivery_tag)


def test_a_file_that_is_requeued_at_an_upstream_goes_to_another_session_only(
    a: Session, content: Client, remote: str
) -> None:
    a.publish("hello", remote)
    a.consume(remote)
    a.say("file_reject", delivery_tag=a.file().delivery_tag, requeue=True)
    b = content.session("b", on="second")
    b.consume(remote)
    again = b.file()
    assert again.body == "hello"
    b.ack(again.delivery_tag)
    assert a.so_far("file_open") == []


def test_a_file_that_is_rejected_is_gone_from_the_upstream(
    a: Session, content: Client, remote: str
) -> None:
    for body in "12":
        a.publish(body, remote)
    a.say("file_qos", prefetch_count=1)
    a.consume(remote)
    a.say("file_reject", delivery_tag=a.file().delivery_tag)
    file = a.file()
    assert file.body == "2"
    a.ack(file.delivery_tag)


def test_the_windows_hold_for_a_queue_at_an_upstream(a: Session, remote: str) -> None:
    a.say("file_qos", prefetch_count=2)
    a.consume(remote)
    for body in "123":
        a.publish(body, remote)
    first, second = a.file(), a.file()
    assert a.so_far("file_open") == []
    a.ack(second.delivery_tag, multiple=True)
    third = a.file()
    assert [each.body for each in (first, second, third)] == ["1", "2", "3"]
    a.ack(third.delivery_tag)
