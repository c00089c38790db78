"""What the tests say to a broker over AMQP 1.0 with Qpid Proton: admin requests, attachments."""

import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from interop.brokers.broker import Broker

TIME_LIMIT_S = 180


def connect(broker: "Broker") -> Any:
    """A connection of the broker's user, like Proton's BlockingConnection."""
    from interop.brokers.blocking import Connection  # only when a broker runs: it may be missing

    return Connection(
        f"127.0.0.1:{broker.port}",
        timeout=TIME_LIMIT_S,
        user=broker.username,
        password=broker.password,
        allowed_mechs="PLAIN",
        allow_insecure_mechs=True,
    )


def request(
    broker: "Broker", address: str, properties: Mapping[str, object], body: str | None
) -> Any:
    """Send a request to an administrative node and return the message that answers it."""
    from proton import Message
    from proton.utils import SyncRequestResponse

    connection = connect(broker)
    try:
        asking = SyncRequestResponse(connection, address)
        return asking.call(Message(properties=dict(properties), body=body))
    finally:
        connection.close()


def attach_sender(broker: "Broker", address: str) -> None:
    """Attach to a node and leave, for brokers that make a node when somebody asks for it."""
    connection = connect(broker)
    try:
        connection.create_sender(address)
    finally:
        connection.close()


def synchronize(connection: Any, address: str) -> None:
    """Send what waits to be sent and let the broker answer something after it.

    Broker-J loses the acceptance of a delivery when the connection's close comes with it; RabbitMQ
    3.10 never answers a link's close as such, so that a closed link cannot be waited for.
    """
    connection.create_sender(address, name=uuid.uuid4().hex)
