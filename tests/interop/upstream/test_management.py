"""What the gateway makes, empties and deletes at a broker that has a management for it."""

import time
import uuid
from collections.abc import Iterator

import pytest
from interop.brokers.rabbitmq import RabbitMQ4
from interop.upstream.behind import PATIENCE_S, Behind
from interop.upstream.talk import RefusedError, Talk

from gateway.amqp_0_10 import _spec as spec


@pytest.fixture(scope="module")
def front(rabbitmq4: RabbitMQ4, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Behind]:
    """A gateway in front of RabbitMQ 4, with queues ``made.*`` that it makes."""
    created = [{"queue": "made.*", "create": True}]
    front = Behind(rabbitmq4, tmp_path_factory.mktemp("managing"), more=created)
    with front.gateway:
        yield front


@pytest.fixture
def talk(front: Behind) -> Iterator[Talk]:
    """A 0-10 client at that gateway."""
    yield front.talk()
    front.leave()


def queues(front: Behind) -> set[str]:
    """The names of all queues of the broker."""
    broker = front.broker
    assert isinstance(broker, RabbitMQ4)
    return broker.queue_names()


def comes_to_be(front: Behind, wanted: int, part: str) -> list[str]:
    """The broker's queues with that in their names, once there are so many."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        found = sorted(name for name in queues(front) if part in name)
        if len(found) == wanted or time.monotonic() > deadline:
            return found


def topic(front: Behind, talk: Talk) -> str:
    name = f"topic-{uuid.uuid4().hex[:8]}"
    front.broker.create_topic(name)
    talk.does(spec.ExchangeDeclare(exchange=name, type="topic", durable=True))
    return name


@pytest.mark.parametrize("durable", [True, False])
def test_bindings_share_a_queue_there_that_goes_with_the_last(
    front: Behind, talk: Talk, durable: bool
) -> None:
    exchange = topic(front, talk)
    queue = f"bound/{uuid.uuid4().hex[:8]}"
    talk.does(spec.QueueDeclare(queue=queue, durable=durable))
    for key in ("news.#", "*.uk"):
        talk.does(spec.ExchangeBind(exchange=exchange, queue=queue, binding_key=key))
    (there,) = comes_to_be(front, 1, queue)
    assert there.endswith(queue if durable else f"{queue}.transient")
    talk.subscribes(queue)
    talk.puts("news.uk", b"once", to=exchange)
    got = talk.get()
    talk.accepts(got)
    assert (got.body, got.delivery.exchange, got.delivery.routing_key) == (
        b"once",
        exchange,
        "news.uk",
    )
    assert talk.quiet()
    talk.does(spec.ExchangeUnbind(exchange=exchange, queue=queue, binding_key="news.#"))
    talk.puts("sport.uk", b"still", to=exchange)
    got = talk.get()
    talk.accepts(got)
    assert got.body == b"still"
    assert len(comes_to_be(front, 1, queue)) == 1
    talk.does(spec.MessageCancel(destination="d"), spec.QueueDelete(queue=queue))
    assert comes_to_be(front, 0, queue) == []


def test_what_an_exchange_routes_while_the_gateway_is_away_is_kept(
    front: Behind, talk: Talk
) -> None:
    exchange = topic(front, talk)
    queue = f"kept-{uuid.uuid4().hex[:8]}"
    talk.does(spec.QueueDeclare(queue=queue, durable=True))
    talk.does(spec.ExchangeBind(exchange=exchange, queue=queue, binding_key="#"))
    (there,) = comes_to_be(front, 1, queue)
    talk.puts("a", b"first", to=exchange)
    talk.subscribes(queue)
    got = talk.get()
    talk.accepts(got)
    talk.detach()
    front.gateway.stop()
    from proton import Message
    from proton.utils import BlockingConnection

    broker = front.broker
    connection = BlockingConnection(
        f"127.0.0.1:{broker.port}", user=broker.username, password=broker.password
    )
    connection.create_sender(f"/exchanges/{exchange}/b").send(Message(body="meanwhile"))
    connection.close()
    assert front.depth(there) == 1
    front.gateway.start(same_ports=True)
    later = front.talk()
    later.subscribes(queue)
    assert b"meanwhile" in later.get().body
    later.does(spec.MessageCancel(destination="d"), spec.QueueDelete(queue=queue))
    assert comes_to_be(front, 0, queue) == []


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_what_is_unbound_while_the_broker_is_away_is_removed_after_a_restart(
    front: Behind, talk: Talk, end: str
) -> None:
    exchange = topic(front, talk)
    queues_here = [f"away-{uuid.uuid4().hex[:8]}" for _ in range(2)]
    for queue in queues_here:
        talk.does(spec.QueueDeclare(queue=queue, durable=True))
        for key in ("a", "b"):
            talk.does(spec.ExchangeBind(exchange=exchange, queue=queue, binding_key=key))
        assert len(comes_to_be(front, 1, queue)) == 1
    deleted, unbound = queues_here
    front.broker.stop()
    try:
        talk.does(spec.QueueDelete(queue=deleted))
        talk.does(spec.ExchangeUnbind(exchange=exchange, queue=unbound, binding_key="a"))
        talk.detach()
        getattr(front.gateway, end)()
    finally:
        front.broker.start()
    front.gateway.start(same_ports=True)
    assert comes_to_be(front, 0, deleted) == []
    (there,) = comes_to_be(front, 1, unbound)
    broker = front.broker
    assert isinstance(broker, RabbitMQ4)
    deadline = time.monotonic() + PATIENCE_S
    while broker.binding_keys(there) - {there} != {"b"} and time.monotonic() < deadline:
        pass
    assert broker.binding_keys(there) - {there} == {"b"}
    later = front.talk()
    later.does(spec.QueueDelete(queue=unbound))
    assert comes_to_be(front, 0, unbound) == []


def test_a_queue_is_emptied_and_deleted_there(front: Behind, talk: Talk) -> None:
    queue = front.queue()
    talk.puts(queue, b"1", b"2")
    assert front.comes_to(2, queue)
    talk.does(spec.QueuePurge(queue=queue))
    assert front.depth(queue) == 0
    talk.does(spec.QueueDelete(queue=queue))
    assert queue not in queues(front)
    with pytest.raises(RefusedError, match="404"):
        talk.does(spec.QueueDelete(queue=queue))


def test_a_queue_that_is_missing_is_made_where_the_rule_says_so(front: Behind, talk: Talk) -> None:
    queue = f"made.{uuid.uuid4().hex[:8]}"
    talk.subscribes(queue)
    talk.puts(queue, b"x")
    got = talk.get()
    talk.accepts(got)
    assert got.body == b"x"
    assert queue in queues(front)
    other = f"made.{uuid.uuid4().hex[:8]}"
    talk.puts(other, b"y")
    assert front.comes_to(1, other)


def test_a_binding_to_an_exchange_that_is_missing_begins_when_it_is_there(
    front: Behind, talk: Talk
) -> None:
    exchange = f"topic-{uuid.uuid4().hex[:8]}"
    queue = f"early-{uuid.uuid4().hex[:8]}"
    talk.does(spec.QueueDeclare(queue=queue, durable=True))
    talk.does(spec.ExchangeDeclare(exchange=exchange, type="topic", durable=True))
    talk.does(spec.ExchangeBind(exchange=exchange, queue=queue, binding_key="#"))
    assert len(comes_to_be(front, 1, queue)) == 1
    assert front.gateway.said("no exchange")
    front.broker.create_topic(exchange)
    talk.subscribes(queue)
    while talk.quiet():
        talk.puts("a", b"late", to=exchange)
    assert talk.get().body == b"late"
    talk.does(spec.MessageCancel(destination="d"), spec.QueueDelete(queue=queue))
