"""Files that are staged to clients, delivered, acknowledged and rejected."""

import pytest
from support.contents_0_10 import consume_files, content, files, publish_file
from support.rules import rule
from support.talk_0_10 import Client, Gateway

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import INT32
from gateway.wire.tagged import Tagged


def gateway_with_queue(**settings: object) -> Gateway:
    gateway = Gateway()
    gateway.world.queue(**settings)  # type: ignore[arg-type]
    return gateway


def with_files(*bodies: bytes) -> tuple[Gateway, Client]:
    gateway = gateway_with_queue()
    client = gateway.session()
    for body in bodies:
        publish_file(client, body)
    return gateway, client


ALL = spec.FileProperties(
    content_type="text/plain",
    content_encoding="gzip",
    headers=[("a", Tagged(INT32, 7))],
    priority=3,
    reply_to="amq.topic/answers",
    message_id="number 1",
    filename="a.txt",
    timestamp=1_234_567,
    cluster_id="here",
)


@rule("0-10", "file", "acknowledgement-support")
@rule("0-10", "file.deliver.delivery-tag", "non-zero")
@rule("0-10", "file.publish.exchange", "default")
def test_a_file_comes_as_it_was_published_and_is_gone_when_it_is_acknowledged() -> None:
    gateway = gateway_with_queue()
    client = gateway.session()
    publish_file(client, b"content", properties=ALL)
    consume_files(client)
    (got,) = files(client)
    assert (got.properties, got.body) == (ALL, b"content")
    assert got.told == spec.FileDeliver(
        consumer_tag="c",
        delivery_tag=1,
        exchange="",
        routing_key="q",
        identifier=got.opened.identifier,
    )
    assert got.opened.content_size == 7
    assert gateway.world.depth() == 1
    client.does(spec.FileAck(delivery_tag=1))
    assert gateway.world.depth() == 0
    gateway.world.check()


@rule("0-10", "file", "acknowledgement-support")
def test_without_acknowledgement_it_is_gone_when_it_is_delivered() -> None:
    gateway, client = with_files(b"1", b"2", b"3")
    client.does(spec.FileQos(prefetch_count=1))
    consume_files(client, no_ack=True)
    client.hears()
    assert gateway.world.depth() == 3
    for _ in range(3):
        client.does(spec.FileOpenOk(staged_size=0))
    assert gateway.world.depth() == 0
    gateway.world.check()


@rule("0-10", "file.open-ok.staged-size", "behavior")
def test_what_a_subscription_gets_of_a_file_is_the_file_when_it_is_sent_on() -> None:
    gateway = gateway_with_queue()
    gateway.world.queue("on")
    client = gateway.session()
    publish_file(client, b"content", properties=ALL)
    client.subscribes(accept=1)
    ((_, structs, body),) = content(client.hears())
    delivery, _, message = structs  # type: ignore[misc]  # those that each client knows
    client.publishes(body, delivery=delivery, message=message, key="on")
    consume_files(client, queue="on")
    (got,) = files(client)
    assert (got.properties, got.body) == (ALL, b"content")


def test_a_client_that_has_a_part_gets_the_rest() -> None:
    _, client = with_files(b"hello, world")
    consume_files(client)
    (got,) = files(client, staged=7)
    assert got.body == b"world"


def test_a_client_cannot_have_more_than_there_is() -> None:
    gateway, client = with_files(b"hello")
    consume_files(client)
    client.hears()
    heard = client.does(spec.FileOpenOk(staged_size=6))
    assert any(isinstance(one, tuple) and one[0] == 542 for one in heard)
    assert gateway.world.depth() == 1
    gateway.world.check()


def test_an_answer_to_nothing_is_refused() -> None:
    client = gateway_with_queue().session()
    assert (409, 0) in client.does(spec.FileOpenOk(staged_size=0))


def test_a_file_has_the_same_identifier_when_it_comes_again() -> None:
    gateway, client = with_files(b"hello")
    consume_files(client)
    (first,) = files(client)
    client.loses_transport()
    other = gateway.session()
    consume_files(other)
    (again,) = files(other)
    assert again.opened.identifier == first.opened.identifier
    assert again.told.redelivered
    gateway.world.check()


def test_what_was_opened_and_not_asked_for_goes_back_as_it_was() -> None:
    gateway, client = with_files(b"hello")
    consume_files(client)
    assert any(isinstance(one, spec.FileOpen) for one in client.hears())
    client.loses_transport()
    other = gateway.session()
    consume_files(other)
    (got,) = files(other)
    assert not got.told.redelivered
    gateway.world.check()


def test_what_is_cancelled_delivers_nothing_that_was_only_opened() -> None:
    gateway, client = with_files(b"hello")
    consume_files(client)
    client.hears()
    client.does(spec.FileCancel(consumer_tag="c"))
    heard = client.does(spec.FileOpenOk(staged_size=0))
    assert not any(isinstance(one, spec.FileDeliver) for one in heard)
    other = gateway.session()
    consume_files(other)
    assert len(files(other)) == 1
    gateway.world.check()


@rule("0-10", "file.qos.prefetch-count", "prefetch-discretion")
def test_a_window_of_messages_opens_as_they_are_acknowledged() -> None:
    gateway, client = with_files(b"1", b"2", b"3")
    client.does(spec.FileQos(prefetch_count=2))
    consume_files(client)
    assert [got.body for got in files(client)] == [b"1", b"2"]
    client.says(spec.FileAck(delivery_tag=1))
    assert [got.body for got in files(client)] == [b"3"]
    gateway.world.check()


@rule("0-10", "file.qos.prefetch-count", "prefetch-discretion")
def test_a_window_of_octets_opens_as_they_are_acknowledged() -> None:
    _, client = with_files(b"123456", b"abcd", b"x")
    client.does(spec.FileQos(prefetch_size=10))
    consume_files(client)
    assert len(files(client)) == 2
    client.says(spec.FileAck(delivery_tag=2))
    assert [got.body for got in files(client)] == [b"x"]


def test_a_window_of_the_connection_is_for_all_its_sessions() -> None:
    gateway, client = with_files(b"1", b"2")
    first = client.session
    client.does(spec.FileQos(prefetch_count=1, global_=True))
    consume_files(client)
    assert len(files(client)) == 1
    client.attach()
    consume_files(client, "d")
    assert files(client) == []
    second, client.session = client.session, first
    client.says(spec.FileAck(delivery_tag=1))
    opened = [one for one in client.hears() if isinstance(one, spec.FileOpen)]
    assert len(opened) == 1
    assert second is not first
    gateway.world.check()


def test_a_window_of_the_connection_opens_as_one_of_its_sessions_ends() -> None:
    gateway, client = with_files(b"1", b"2")
    first = client.session
    assert first is not None
    client.does(spec.FileQos(prefetch_count=1, global_=True))
    consume_files(client)
    assert [got.body for got in files(client)] == [b"1"]
    client.attach()
    consume_files(client, "d")
    assert files(client) == []
    first.detach()
    assert len(files(client)) == 1
    gateway.world.check()


@rule("0-10", "file.consume", "min-consumers")
def test_a_queue_has_as_many_consumers_as_want_it() -> None:
    _, client = with_files()
    for number in range(20):
        heard = client.does(spec.FileConsume(queue="q", consumer_tag=f"c{number}"))
        assert spec.FileConsumeOk(consumer_tag=f"c{number}") in heard


def test_many_are_acknowledged_up_to_one_and_all_by_zero() -> None:
    gateway, client = with_files(b"1", b"2", b"3", b"4")
    consume_files(client)
    assert [got.tag for got in files(client)] == [1, 2, 3, 4]
    client.does(spec.FileAck(delivery_tag=2, multiple=True))
    assert gateway.world.depth() == 2
    client.does(spec.FileAck(delivery_tag=0, multiple=True))
    assert gateway.world.depth() == 0
    gateway.world.check()


@rule("0-10", "file.ack.multiple", "validation")
@pytest.mark.parametrize(
    "command",
    [
        spec.FileAck(delivery_tag=7),
        spec.FileAck(delivery_tag=7, multiple=True),
        spec.FileAck(delivery_tag=0),
        spec.FileReject(delivery_tag=7),
        spec.FileReject(delivery_tag=0),
    ],
)
def test_what_was_not_delivered_cannot_be_settled(
    command: spec.FileAck | spec.FileReject,
) -> None:
    client = gateway_with_queue().session()
    assert (542, 0) in client.does(command)


def test_a_delivery_is_settled_once() -> None:
    gateway, client = with_files(b"hello")
    consume_files(client)
    files(client)
    client.does(spec.FileAck(delivery_tag=1))
    heard = client.does(spec.FileAck(delivery_tag=1))
    assert any(isinstance(one, tuple) and one[0] == 542 for one in heard)
    gateway.world.check()


@rule("0-10", "file.reject", "server-interpretation")
@rule("0-10", "file.reject.requeue", "requeue-strategy")
def test_what_is_to_be_requeued_never_comes_back_to_its_session() -> None:
    gateway, client = with_files(b"1")
    consume_files(client)
    consume_files(client, "d")
    files(client)
    client.does(spec.FileReject(delivery_tag=1, requeue=True))
    consume_files(client, "e")
    assert files(client) == []
    other = gateway.session()
    consume_files(other)
    (got,) = files(other)
    assert (got.body, got.told.redelivered) == (b"1", True)
    gateway.world.check()


@rule("0-10", "file.deliver", "redelivery-tracking")
@pytest.mark.parametrize("requeued", [True, False])
def test_what_fails_five_times_is_dead_lettered_where_that_can_be(requeued: bool) -> None:
    gateway = gateway_with_queue(alternate_exchange="amq.fanout")
    gateway.world.queue("dead")
    gateway.world.host.bindings.bind("dead", "amq.fanout", "", {}, b"", gateway.world.owner())
    publish_file(gateway.session(), b"1")
    for left in (1, 1, 1, 1, 0):
        client = gateway.session()
        consume_files(client)
        (got,) = files(client)
        if requeued:
            client.does(spec.FileReject(delivery_tag=got.tag, requeue=True))
        client.loses_transport()
        assert gateway.world.depth() == left
    assert gateway.world.depth("dead") == 1
    gateway.world.check()


@rule("0-10", "file", "reliable-storage")
def test_a_file_outlives_the_gateway_in_a_durable_queue() -> None:
    gateway = gateway_with_queue(durable=True)
    publish_file(gateway.session(), b"content", properties=ALL)
    gateway.world.crash()
    client = gateway.session()
    consume_files(client)
    (got,) = files(client)
    assert (got.properties, got.body) == (ALL, b"content")
    gateway.world.check()


def test_who_rejects_a_file_again_and_again_is_remembered_so_often() -> None:
    gateway, _ = with_files(b"1")
    entry = gateway.world.host.topology.queues["q"].places.next_at(0)
    assert entry is not None
    entry.excluded = set(range(-2_000, -1_000))
    client = gateway.session()
    consume_files(client)
    (got,) = files(client)
    client.does(spec.FileReject(delivery_tag=got.tag, requeue=True))
    assert len(entry.excluded) == 1_000
    consume_files(client, "d")
    assert files(client) == []
    gateway.world.check()


def test_what_is_rejected_is_discarded_or_dead_lettered() -> None:
    gateway = gateway_with_queue(alternate_exchange="amq.fanout")
    gateway.world.queue("dead")
    gateway.world.host.bindings.bind("dead", "amq.fanout", "", {}, b"", gateway.world.owner())
    client = gateway.session()
    publish_file(client, b"1")
    publish_file(client, b"2", key="dead")
    consume_files(client)
    files(client)
    client.does(spec.FileReject(delivery_tag=1))
    assert (gateway.world.depth(), gateway.world.depth("dead")) == (0, 2)
    consume_files(client, "d", "dead")
    for got in files(client):
        client.does(spec.FileReject(delivery_tag=got.tag))
    assert gateway.world.depth("dead") == 0
    gateway.world.check()


def test_an_acknowledgement_in_a_transaction_counts_with_its_commit() -> None:
    gateway, client = with_files(b"1", b"2")
    client.does(spec.TxSelect())
    client.does(spec.FileQos(prefetch_count=2))
    consume_files(client)
    files(client)
    client.does(spec.FileAck(delivery_tag=1))
    assert gateway.world.depth() == 2
    client.does(spec.TxCommit())
    assert gateway.world.depth() == 1
    publish_file(client, b"3")
    client.says(spec.TxCommit())
    assert [got.body for got in files(client)] == [b"3"]
    client.does(spec.FileAck(delivery_tag=2))
    client.does(spec.TxRollback())
    client.loses_transport()
    assert gateway.world.depth() == 2
    gateway.world.check()


@rule("0-10", "file.publish.mandatory", "implementation")
@rule("0-10", "file.publish.immediate", "implementation")
def test_a_file_that_goes_nowhere_comes_back_where_that_is_asked_for() -> None:
    gateway = gateway_with_queue()
    client = gateway.session()
    assert not any(isinstance(one, tuple) for one in publish_file(client, b"1", key="nowhere"))
    for body, fields, code in (
        (b"2", {"key": "nowhere", "mandatory": True}, 312),
        (b"3", {"immediate": True}, 313),
    ):
        heard = publish_file(client, body, properties=ALL, **fields)  # type: ignore[arg-type]
        ((returned, header, back),) = [one for one in heard if isinstance(one, tuple)]
        assert isinstance(returned, spec.FileReturn)
        assert (returned.reply_code, header, back) == (code, ALL, body)
    gateway.world.check()


@pytest.mark.parametrize(
    ("command", "code"),
    [
        pytest.param(
            spec.FileConsume(consumer_tag="c"),
            530,
            marks=rule("0-10", "file.consume.queue", "queue-exists-if-empty"),
        ),
        pytest.param(
            spec.FileConsume(queue="q"),
            530,
            marks=rule("0-10", "file.consume.consumer-tag", "not-empty-consumer-tag"),
        ),
        pytest.param(
            spec.FileConsume(queue="q", consumer_tag="taken"),
            530,
            marks=rule("0-10", "file.consume.consumer-tag", "not-existing-consumer"),
        ),
        pytest.param(
            spec.FileConsume(queue="q", consumer_tag="c", exclusive=True),
            405,
            marks=rule("0-10", "file.consume.exclusive", "in-use"),
        ),
        (spec.FileConsume(queue="none", consumer_tag="c"), 404),
        (spec.FileCancel(consumer_tag="none"), 404),
    ],
)
def test_what_may_not_be_is_refused(command: spec.FileConsume, code: int) -> None:
    client = gateway_with_queue().session()
    consume_files(client, "taken")
    assert (code, 1) in client.does(command)


def test_many_files_are_opened_a_few_at_a_time() -> None:
    gateway, client = with_files(*[b"%d" % number for number in range(40)])
    consume_files(client)
    opened = [one for one in client.hears() if isinstance(one, spec.FileOpen)]
    assert len(opened) == 16
    for _ in range(16):
        client.says(spec.FileOpenOk(staged_size=0))
    more = [one for one in client.hears() if isinstance(one, spec.FileOpen)]
    assert len(more) == 16
    gateway.world.check()


def test_a_file_of_a_queue_that_was_deleted_is_not_delivered() -> None:
    gateway, client = with_files(b"hello")
    consume_files(client)
    client.hears()
    gateway.session().does(spec.QueueDelete(queue="q"))
    client.hears()
    gateway.world.check()


def test_files_messages_and_streams_are_each_others() -> None:
    gateway = gateway_with_queue()
    client = gateway.session()
    client.publishes(b"message", message=spec.MessageProperties(content_type="text/plain"))
    publish_file(client, b"file", properties=ALL)
    consume_files(client)
    message, file = files(client)
    assert message.body == b"message"
    assert file.properties == ALL
    client.does(spec.FileReject(delivery_tag=2, requeue=True))
    other = gateway.session()
    other.subscribes(accept=1)
    ((_, header, body),) = [one for one in other.hears() if isinstance(one, tuple)]
    assert body == b"file"
    assert dict(header[2].application_headers)["x-amqp-0-10.filename"].value == "a.txt"
    gateway.world.check()
