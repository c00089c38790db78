"""A durable subscription of Proton's, and a publisher to the exchange that it is of."""

from __future__ import annotations

from proton import Message
from proton.reactor import Container, DurableSubscription
from proton.utils import BlockingConnection

PATIENCE_S = 60


class Subscriber:
    """The application's one subscription, at whichever gateway; messages are accepted."""

    def __init__(self, port: int, address: str) -> None:
        container = Container()
        container.container_id = "application"
        self._connection = BlockingConnection(
            f"127.0.0.1:{port}",
            container=container,
            timeout=PATIENCE_S,
            allowed_mechs="ANONYMOUS",
        )
        self._receiver = self._connection.create_receiver(
            address, name="subscription", options=DurableSubscription(), credit=10
        )

    def take(self, count: int) -> list[str]:
        """The next messages."""
        taken = []
        for _ in range(count):
            taken.append(str(self._receiver.receive(timeout=PATIENCE_S).body))
            self._receiver.accept()
        return taken

    def leave(self) -> None:
        """Detach: the subscription stays."""
        self._receiver.detach()
        self._connection.close()

    def end(self) -> None:
        """Close the link, and the subscription with it."""
        self._receiver.close()
        self._connection.close()


def publish(port: int, address: str, texts: list[str]) -> None:
    """Send each, and wait until it is accepted."""
    connection = BlockingConnection(
        f"127.0.0.1:{port}", timeout=PATIENCE_S, allowed_mechs="ANONYMOUS"
    )
    sender = connection.create_sender(address)
    for text in texts:
        sender.send(Message(body=text, durable=True))
    connection.close()
