"""The class stream of 0-10, by the old Python client's own codec and session layer."""

import pytest
from interop.content import Client, Session
from support.rules import rule

NOT_ALLOWED = 530
RESOURCE_LOCKED = 405
NOT_FOUND = 404
NO_ROUTE = 312
NO_CONSUMERS = 313


@rule("0-10", "stream.publish.exchange", "default")
def test_a_packet_is_delivered_with_all_its_properties(a: Session, name: str) -> None:
    a.declare(name)
    said = {
        "content_type": "video/raw",
        "content_encoding": "identity",
        "headers": {"colour": "blue", "count": 7},
        "priority": 3,
        "timestamp": {"time": 1_795_242_122},
    }
    a.stream(name)
    a.send_packet("hello", name, packet=said)
    got = a.heard("stream_deliver")
    assert got["body"] == "hello"
    assert got["headers"]["stream_properties"] == {**said, "timestamp": 1_795_242_122}
    assert (got["consumer_tag"], got["queue"], got.get("exchange", "")) == ("t", name, "")


def test_a_packet_tells_the_exchange_that_it_was_published_to(a: Session, name: str) -> None:
    a.declare(name)
    a.say("exchange_bind", queue=name, exchange="amq.fanout")
    a.stream(name)
    a.send_packet("hello", "any", exchange="amq.fanout")
    assert a.heard("stream_deliver")["exchange"] == "amq.fanout"


def test_packets_of_a_session_have_tags_of_their_own(a: Session, name: str) -> None:
    a.declare(name)
    a.stream(name)
    for body in "123":
        a.send_packet(body, name)
    tags = [a.heard("stream_deliver")["delivery_tag"] for _ in range(3)]
    assert len(set(tags)) == 3


@rule("0-10", "stream", "acknowledgement-support")
def test_what_was_delivered_does_not_come_again(a: Session, content: Client, name: str) -> None:
    a.declare(name)
    a.stream(name)
    a.send_packet("1", name)
    assert a.packets(1) == ["1"]
    content.cut()
    b = content.session("b", on="second")
    b.send_packet("2", name)
    b.stream(name)
    assert b.packets(1) == ["2"]


@rule("0-10", "stream.consume.consumer-tag", "not-empty-consumer-tag")
@pytest.mark.parametrize("tag", ["", " "])
def test_a_consumer_tag_may_not_be_blank(a: Session, name: str, tag: str) -> None:
    a.declare(name)
    assert a.refused("stream_consume", queue=name, consumer_tag=tag) == NOT_ALLOWED


@rule("0-10", "stream.consume.consumer-tag", "not-existing-consumer")
def test_a_consumer_tag_may_not_be_one_that_is_there(a: Session, name: str) -> None:
    a.declare(name)
    a.stream(name)
    assert a.refused("stream_consume", queue=name, consumer_tag="t") == NOT_ALLOWED


def test_two_clients_may_have_the_same_consumer_tag(a: Session, content: Client, name: str) -> None:
    a.declare(name)
    a.stream(name)
    content.session("b", on="second").stream(name)


@rule("0-10", "stream.consume.queue", "queue-exists-if-empty")
def test_a_queue_without_a_name_may_not_be_consumed_from(a: Session) -> None:
    assert a.refused("stream_consume", queue="", consumer_tag="t") == NOT_ALLOWED


def test_a_queue_that_is_not_there_may_not_be_consumed_from(a: Session, name: str) -> None:
    assert a.refused("stream_consume", queue=name, consumer_tag="t") == NOT_FOUND


@rule("0-10", "stream.consume.exclusive", "in-use")
@pytest.mark.parametrize("exclusive", ["first", "second"])
def test_an_exclusive_consumer_is_alone(
    a: Session, content: Client, name: str, exclusive: str
) -> None:
    a.declare(name)
    a.stream(name, exclusive=exclusive == "first")
    wanted = {"queue": name, "consumer_tag": "u", "exclusive": exclusive == "second"}
    assert content.session("b").refused("stream_consume", **wanted) == RESOURCE_LOCKED


def test_nowait_has_no_answer(a: Session, name: str) -> None:
    a.declare(name)
    a.say("stream_consume", queue=name, consumer_tag="t", nowait=True)
    assert a.so_far("stream_consume_ok") == []
    a.send_packet("hello", name)
    assert a.packets(1) == ["hello"]


def test_no_local_leaves_what_its_connection_published_to_others(
    a: Session, content: Client, name: str
) -> None:
    a.declare(name)
    a.stream(name, no_local=True)
    a.send_packet("own", name)
    other = content.session("b", on="second")
    other.send_packet("other", name)
    assert a.packets(1) == ["other"]
    other.stream(name)
    assert other.packets(1) == ["own"]


def test_a_cancelled_consumer_gets_no_more(a: Session, content: Client, name: str) -> None:
    a.declare(name)
    a.stream(name)
    a.say("stream_cancel", consumer_tag="t")
    a.send_packet("hello", name)
    other = content.session("b")
    other.stream(name)
    assert other.packets(1) == ["hello"]
    assert a.so_far("stream_deliver") == []


def test_a_qos_is_confirmed(a: Session, name: str) -> None:
    a.declare(name)
    a.say("stream_qos", prefetch_size=1000, prefetch_count=10, consume_rate=1_000_000)
    a.heard("stream_qos_ok")
    a.stream(name)
    a.send_packet("hello", name)
    assert a.packets(1) == ["hello"]


def test_what_a_rate_does_not_allow_is_left_to_others(
    a: Session, content: Client, name: str
) -> None:
    a.declare(name)
    a.say("stream_qos", consume_rate=1)
    a.stream(name)
    for body in ("1" * 1000, "2"):
        a.send_packet(body, name)
    assert a.packets(1) == ["1" * 1000]
    b = content.session("b")
    b.stream(name, "u")
    assert b.packets(1) == ["2"]


@rule("0-10", "stream", "priority-levels")
def test_low_priorities_wait_for_high_ones_in_a_plain_queue(a: Session, name: str) -> None:
    a.declare(name)
    for priority in (0, 4, 5, 9):
        a.send_packet(str(priority), name, packet={"priority": priority})
    a.stream(name)
    bodies = a.packets(4)
    assert sorted(bodies[:2]) == ["5", "9"]
    assert sorted(bodies[2:]) == ["0", "4"]


@rule("0-10", "stream", "overflow-discard")
@rule("0-10", "stream.qos.consume-rate", "drop-by-priority")
@pytest.mark.parametrize(
    ("arriving", "kept"), [("0099", ["9", "9"]), ("9900", ["9", "9"]), ("9090", ["9", "9"])]
)
def test_low_priorities_are_discarded_from_a_queue_that_is_full(
    a: Session, name: str, arriving: str, kept: list[str]
) -> None:
    a.declare(name, arguments={"qpid.policy_type": "ring", "qpid.max_count": 2})
    for priority in arriving:
        a.send_packet(priority, name, packet={"priority": int(priority)})
    a.stream(name)
    assert a.packets(2) == kept
    assert a.so_far("stream_deliver") == []


@rule("0-10", "stream.publish.mandatory", "implementation")
def test_a_packet_without_a_queue_is_dropped_or_with_mandatory_returned(
    a: Session, name: str
) -> None:
    a.send_packet("silent", name)
    a.send_packet("hello", name, mandatory=True, packet={"content_type": "b"})
    returned = a.heard("stream_return")
    assert (returned["reply_code"], returned["routing_key"]) == (NO_ROUTE, name)
    assert returned["headers"]["stream_properties"]["content_type"] == "b"
    assert returned["body"] == "hello"
    assert a.so_far("stream_return") == []


@rule("0-10", "stream.publish.immediate", "implementation")
def test_an_immediate_packet_without_a_consumer_is_returned(a: Session, name: str) -> None:
    a.declare(name)
    a.send_packet("hello", name, immediate=True)
    returned = a.heard("stream_return")
    assert (returned["reply_code"], returned["body"]) == (NO_CONSUMERS, "hello")
    a.stream(name)
    a.send_packet("again", name, immediate=True)
    assert a.packets(1) == ["again"]


def test_an_exchange_that_is_not_there_takes_no_packet(a: Session, name: str) -> None:
    assert a.packet_refused("hello", "k", exchange=name) == NOT_FOUND
