"""The brokers that the gateway dials: each is started, administered and used as the tests need."""

from interop.brokers import client
from interop.brokers.broker import Broker


def _send(broker: Broker, address: str, *bodies: str) -> None:
    from proton import Message

    connection = client.connect(broker)
    try:
        sender = connection.create_sender(address)
        for body in bodies:
            sender.send(Message(body=body, durable=True))
    finally:
        connection.close()


def _receive(broker: Broker, address: str) -> str:
    connection = client.connect(broker)
    try:
        receiver = connection.create_receiver(address, credit=1)
        body: str = receiver.receive(client.TIME_LIMIT_S).body
        receiver.accept()
        client.synchronize(connection, address)
        return body
    finally:
        connection.close()


def test_a_message_goes_through_a_queue(upstream_broker: Broker, name: str) -> None:
    upstream_broker.create_queue(name)
    address = upstream_broker.queue_address(name)
    _send(upstream_broker, address, "one", "two")
    assert upstream_broker.queue_depth(name) == 2
    assert _receive(upstream_broker, address) == "one"
    assert _receive(upstream_broker, address) == "two"
    assert upstream_broker.queue_depth(name) == 0


def test_a_subscription_is_given_what_is_published(upstream_broker: Broker, name: str) -> None:
    from proton import Message

    upstream_broker.create_topic(name)
    connection = client.connect(upstream_broker)
    try:
        subscription = connection.create_receiver(upstream_broker.create_subscription(name))
        publisher = connection.create_sender(upstream_broker.topic_target(name))
        publisher.send(Message(body="news"))
        assert subscription.receive(client.TIME_LIMIT_S).body == "news"
    finally:
        connection.close()


def test_what_is_there_may_be_created_again(upstream_broker: Broker, name: str) -> None:
    topic = f"{name}.topic"
    for _ in range(2):
        upstream_broker.create_queue(name)
        upstream_broker.create_topic(topic)
    assert upstream_broker.queue_depth(name) == 0


def test_durable_messages_are_there_after_a_crash(upstream_broker: Broker, name: str) -> None:
    upstream_broker.create_queue(name)
    port = upstream_broker.port
    _send(upstream_broker, upstream_broker.queue_address(name), "kept")
    upstream_broker.kill()
    upstream_broker.start()
    assert upstream_broker.port == port
    assert upstream_broker.queue_depth(name) == 1
    assert _receive(upstream_broker, upstream_broker.queue_address(name)) == "kept"


def test_a_paused_broker_goes_on_where_it_was(upstream_broker: Broker, name: str) -> None:
    upstream_broker.create_queue(name)
    upstream_broker.pause()
    assert upstream_broker.paused
    upstream_broker.resume()
    _send(upstream_broker, upstream_broker.queue_address(name), "after")
    assert upstream_broker.queue_depth(name) == 1
