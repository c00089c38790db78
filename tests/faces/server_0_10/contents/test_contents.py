"""Class stream on a session: published, consumed, returned; its answers and exceptions."""

import pytest
from support.contents_0_10 import bodies, consume, content, publish
from support.rules import rule
from support.talk_0_10 import Gateway, header_of

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import INT32
from gateway.wire.tagged import Tagged


def gateway_with_queue(name: str = "q") -> Gateway:
    gateway = Gateway()
    gateway.world.queue(name)
    return gateway


@rule("0-10", "stream", "acknowledgement-support")
@rule("0-10", "stream.publish.exchange", "default")
def test_a_streams_message_leaves_the_queue_as_it_is_delivered() -> None:
    gateway = gateway_with_queue()
    client = gateway.session()
    properties = spec.StreamProperties(
        content_type="video/x",
        content_encoding="gzip",
        headers=[("frame", Tagged(INT32, 7))],
        priority=3,
        timestamp=1_234_567,
    )
    publish(client, b"packet", properties=properties)
    assert client.hears() == ["completed 0-0"]
    assert gateway.world.depth() == 1

    heard = consume(client)
    assert heard[0] == spec.StreamConsumeOk(consumer_tag="c")
    assert content(heard) == [
        (
            spec.StreamDeliver(consumer_tag="c", delivery_tag=1, exchange="", queue="q"),
            properties,
            b"packet",
        )
    ]
    assert gateway.world.depth() == 0
    gateway.world.check()


def test_one_without_a_wish_for_an_answer_gets_none() -> None:
    client = gateway_with_queue().session()
    assert consume(client, nowait=True) == ["completed 0-0"]


def test_what_is_cancelled_gets_nothing_more() -> None:
    gateway = gateway_with_queue()
    client = gateway.session()
    consume(client)
    client.does(spec.StreamCancel(consumer_tag="c"))
    publish(client, b"late")
    assert bodies(client.hears()) == []
    assert gateway.world.depth() == 1
    gateway.world.check()


@rule("0-10", "stream.publish.mandatory", "implementation")
def test_what_no_queue_takes_comes_back_if_it_is_mandatory() -> None:
    gateway = gateway_with_queue()
    client = gateway.session()
    properties = spec.StreamProperties(priority=5)
    publish(client, b"lost", key="nowhere")
    publish(client, b"kept", key="nowhere", mandatory=True, properties=properties)
    heard = client.hears()
    ((returned, header, body),) = content(heard)
    assert isinstance(returned, spec.StreamReturn)
    assert (returned.reply_code, returned.exchange, returned.routing_key) == (312, "", "nowhere")
    assert (header, body) == (properties, b"kept")
    assert "completed 0-1" in heard
    gateway.world.check()


@rule("0-10", "stream.publish.immediate", "implementation")
def test_what_nobody_is_ready_for_comes_back_if_it_is_immediate() -> None:
    gateway = gateway_with_queue()
    client = gateway.session()
    publish(client, b"early", immediate=True)
    ((returned, _, body),) = content(client.hears())
    assert isinstance(returned, spec.StreamReturn)
    assert (returned.reply_code, body) == (313, b"early")
    consume(client)
    publish(client, b"now", immediate=True)
    ((delivered, _, body),) = content(client.hears())
    assert isinstance(delivered, spec.StreamDeliver)
    assert body == b"now"
    gateway.world.check()


def test_a_window_of_one_message_opens_as_the_client_completes() -> None:
    gateway = gateway_with_queue()
    client = gateway.session()
    assert spec.StreamQosOk() in client.does(spec.StreamQos(prefetch_count=1))
    consume(client)
    for body in (b"1", b"2"):
        publish(client, body)
    assert bodies(client.hears()) == [b"1"]
    client.completes(2, 2)  # behind qos-ok and consume-ok
    assert bodies(client.hears()) == [b"2"]


def test_a_window_of_the_connection_is_for_all_its_sessions() -> None:
    gateway = gateway_with_queue()
    client = gateway.session()
    first = client.session
    client.does(spec.StreamQos(prefetch_count=1, global_=True))
    consume(client)
    client.attach()
    consume(client, "d")
    for body in (b"1", b"2"):
        publish(client, body)
    assert bodies(client.hears()) == [b"1"]
    client.session = first
    client.completes(2, 2)
    assert bodies(client.hears()) == [b"2"]


@rule("0-10", "stream.consume", "min-consumers")
def test_a_queue_has_as_many_consumers_as_want_it() -> None:
    client = gateway_with_queue().session()
    for number in range(20):
        heard = consume(client, f"c{number}")
        assert spec.StreamConsumeOk(consumer_tag=f"c{number}") in heard


def test_a_rate_holds_messages_back_until_it_is_their_time() -> None:
    gateway = gateway_with_queue()
    client = gateway.session()
    client.does(spec.StreamQos(consume_rate=1000))
    consume(client)
    publish(client, b"x" * 500)
    publish(client, b"y" * 500)
    assert len(bodies(client.hears())) == 1
    deadline = client.face.next_deadline()
    assert deadline is not None
    gateway.world.now_ms = deadline - 1
    client.face.handle_deadline(deadline - 1)
    assert bodies(client.hears()) == []
    gateway.world.now_ms = gateway.world.bridge.now_ms = deadline
    client.face.handle_deadline(deadline)
    assert len(bodies(client.hears())) == 1


@pytest.mark.parametrize(
    ("command", "code"),
    [
        pytest.param(
            spec.StreamConsume(consumer_tag="c"),
            530,
            marks=rule("0-10", "stream.consume.queue", "queue-exists-if-empty"),
        ),
        pytest.param(
            spec.StreamConsume(queue="q"),
            530,
            marks=rule("0-10", "stream.consume.consumer-tag", "not-empty-consumer-tag"),
        ),
        (spec.StreamConsume(queue="q", consumer_tag=" "), 530),
        pytest.param(
            spec.StreamConsume(queue="q", consumer_tag="taken"),
            530,
            marks=rule("0-10", "stream.consume.consumer-tag", "not-existing-consumer"),
        ),
        pytest.param(
            spec.StreamConsume(queue="q", consumer_tag="c", exclusive=True),
            405,
            marks=rule("0-10", "stream.consume.exclusive", "in-use"),
        ),
        (spec.StreamConsume(queue="none", consumer_tag="c"), 404),
        (spec.StreamCancel(consumer_tag="none"), 404),
    ],
)
def test_what_may_not_be_is_refused(command: spec.StreamConsume, code: int) -> None:
    client = gateway_with_queue().session()
    consume(client, "taken")
    assert (code, 1) in client.does(command)


def test_a_consumer_tag_is_one_consumers_of_its_connection() -> None:
    client = gateway_with_queue().session()
    consume(client, "taken")
    client.attach()
    assert (530, 0) in consume(client, "taken")


def test_content_without_its_properties_is_refused() -> None:
    gateway = gateway_with_queue()
    client = gateway.session()
    client.says(spec.StreamPublish(routing_key="q"), header=b"", body=b"x")
    assert (503, 0) in client.hears()
    gateway.world.check()


def test_the_properties_of_a_message_are_none_of_a_stream() -> None:
    gateway = gateway_with_queue()
    client = gateway.session()
    header = spec.DeliveryProperties(priority=1)
    client.says(spec.StreamPublish(routing_key="q"), header=header_of(header), body=b"x")
    assert (503, 0) in client.hears()
    gateway.world.check()


def test_an_exchange_that_is_not_there_is_not_found() -> None:
    gateway = gateway_with_queue()
    client = gateway.session()
    publish(client, b"x", exchange="none")
    assert (404, 0) in client.hears()
    gateway.world.check()


def test_no_local_keeps_out_what_the_connection_published() -> None:
    gateway = gateway_with_queue()
    client = gateway.session()
    consume(client, no_local=True)
    publish(client, b"own")
    assert bodies(client.hears()) == []
    other = gateway.session()
    publish(other, b"of another")
    other.hears()
    assert bodies(client.hears()) == [b"of another"]


def test_a_message_reaches_a_stream_and_a_stream_a_subscription() -> None:
    gateway = gateway_with_queue()
    client = gateway.session()
    message = spec.MessageProperties(content_type="text/plain", correlation_id=b"asked")
    client.publishes(b"as message", message=message)
    client.hears()
    ((_, header, body),) = content(consume(client))
    assert isinstance(header, spec.StreamProperties)
    assert (header.content_type, body) == ("text/plain", b"as message")
    client.does(spec.StreamCancel(consumer_tag="c"))
    client.says(
        spec.StreamPublish(routing_key="q"),
        header=header_of(header),
        body=b"as stream",
    )
    client.subscribes(accept=1)
    ((_, back, body),) = content(client.hears())
    assert back[2].correlation_id == b"asked"  # type: ignore[index]
    assert (back[2].content_type, body) == ("text/plain", b"as stream")  # type: ignore[index]
    gateway.world.check()
