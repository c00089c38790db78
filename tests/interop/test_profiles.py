"""The profiles' addresses mean at each broker what the gateway takes them to mean."""

import uuid
from typing import Any

import pytest
from interop.brokers import client
from interop.brokers.broker import Broker
from interop.brokers.rabbitmq import RabbitMQ4

from gateway.translate.profiles.loading import Profile, load_profile

PROFILES = {
    "Artemis": "artemis",
    "ActiveMQ": "activemq",
    "RabbitMQ4": "rabbitmq4",
    "RabbitMQ310": "rabbitmq310",
    "BrokerJ": "qpid-broker-j",
}
SHORTLY_S = 0.2  # how long to listen for what must not come


@pytest.fixture
def profile(upstream_broker: Broker) -> Profile:
    return load_profile(PROFILES[type(upstream_broker).__name__])


@pytest.fixture
def connection(upstream_broker: Broker) -> Any:
    made = client.connect(upstream_broker)
    yield made
    made.close()


def test_the_broker_calls_itself_what_its_profile_says(connection: Any, profile: Profile) -> None:
    told = {str(key): value for key, value in connection.conn.remote_properties.items()}
    assert f"{told['product']} {told['version']}".startswith(tuple(profile.products)), told


def receiver(connection: Any, address: str, capabilities: list[str]) -> Any:
    from proton import symbol
    from proton.reactor import ReceiverOption

    class Capable(ReceiverOption):
        def apply(self, link: Any) -> None:
            for each in capabilities:
                link.source.capabilities.put_object(symbol(each))

    return connection.create_receiver(
        address, credit=10, name=uuid.uuid4().hex, options=[Capable()]
    )


def send(broker: Broker, address: str, capabilities: list[str], body: str) -> None:
    from proton import Delivery, Message, symbol
    from proton.reactor import SenderOption
    from proton.utils import SendException

    class Capable(SenderOption):
        def apply(self, link: Any) -> None:
            for each in capabilities:
                link.target.capabilities.put_object(symbol(each))

    connection = client.connect(broker)
    try:
        connection.create_sender(address, options=[Capable()]).send(Message(body=body))
    except SendException as error:
        # RabbitMQ 4 releases what its exchange has no queue for.
        if error.state != Delivery.RELEASED:
            raise
    finally:
        connection.close()


def refused_with(connection: Any, address: str) -> str | None:
    """The condition with which the broker ends a sender's link, or its session."""
    from proton import ProtonException

    with pytest.raises(ProtonException) as caught:
        connection.create_sender(address, name=uuid.uuid4().hex)
    return getattr(caught.value, "condition", None)


def bodies(reading: Any, wanted: int) -> list[str]:
    """So many that come, and what more does within a short time."""
    from proton import Timeout

    found: list[str] = []
    try:
        while True:
            soon = SHORTLY_S if len(found) >= wanted else client.TIME_LIMIT_S
            found.append(reading.receive(timeout=soon).body)
            reading.accept()
    except Timeout:
        return found


@pytest.mark.parametrize("name", ["orders", "orders~day"])
def test_a_queue_has_the_address_that_its_profile_makes(
    upstream_broker: Broker, profile: Profile, connection: Any, name: str
) -> None:
    queue = f"{name}.{uuid.uuid4().hex}"
    upstream_broker.create_queue(queue)
    address = profile.queue_address(queue)
    send(upstream_broker, address, profile.queue_capabilities, "one")
    assert upstream_broker.queue_depth(queue) == 1
    assert bodies(receiver(connection, address, profile.queue_capabilities), 1) == ["one"]


def test_attaching_makes_a_queue_where_the_profile_says_so(
    upstream_broker: Broker, profile: Profile, connection: Any
) -> None:
    queue = f"made.{uuid.uuid4().hex}"
    template = profile.queue_created or profile.queue
    if profile.missing == "fail" and profile.queue_created is None:
        assert refused_with(connection, template.make(queue=queue)) == "amqp:not-found"
        return
    send(upstream_broker, template.make(queue=queue), profile.queue_capabilities, "one")
    assert upstream_broker.queue_depth(queue) == 1
    address = profile.queue_address(queue)
    assert bodies(receiver(connection, address, profile.queue_capabilities), 1) == ["one"]


@pytest.mark.parametrize(
    ("binding", "fitting"),
    [
        ("stock.nyse", ["stock.nyse"]),
        ("stock.*", ["stock.nyse", "stock.dax"]),
        ("stock.#", ["stock", "stock.nyse", "stock.dax", "stock.dax.x"]),
        ("#", ["stock", "stock.nyse", "stock.dax", "stock.dax.x", "bond"]),
        ("*.dax.#", ["stock.dax", "stock.dax.x"]),
    ],
)
def test_a_topic_subscription_brings_what_its_binding_key_fits(
    upstream_broker: Broker,
    profile: Profile,
    connection: Any,
    binding: str,
    fitting: list[str],
) -> None:
    exchange = f"topic.{uuid.uuid4().hex}"
    upstream_broker.create_topic(exchange)
    if isinstance(upstream_broker, RabbitMQ4):  # there an exchange is no source
        queue = f"bound.{exchange}"
        upstream_broker.create_queue(queue)
        upstream_broker.bind(exchange, binding, queue)
        address = profile.queue_address(queue)
    else:
        address = profile.subscription_address(exchange, binding)
    reading = receiver(connection, address, profile.subscription_capabilities)
    for key in ("stock", "stock.nyse", "stock.dax", "stock.dax.x", "bond"):
        target = profile.exchange_address(exchange, key)
        send(upstream_broker, target, profile.exchange_capabilities, key)
    assert sorted(bodies(reading, len(fitting))) == sorted(fitting)
