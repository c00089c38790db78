"""Proton with messages as octets: sent as they are given, told as they came."""

from typing import Any

from interop.brokers.client import TIME_LIMIT_S


def send(connection: Any, address: str, octets: bytes, tag: str = "1") -> None:
    """Send one message; it must be accepted."""
    from proton import Delivery

    sender = connection.create_sender(address)
    delivery = sender.link.delivery(tag)
    sender.link.stream(octets)
    sender.link.advance()
    connection.wait(lambda: delivery.settled, timeout=TIME_LIMIT_S, msg="the outcome")
    assert delivery.remote_state == Delivery.ACCEPTED


def receive(connection: Any, address: str) -> bytes:
    """Receive and accept one message."""
    from proton import Delivery, Handler

    came: list[bytes] = []

    class Taker(Handler):  # type: ignore[misc]  # proton has no type information
        def on_delivery(self, event: Any) -> None:
            delivery = event.delivery
            if delivery.readable and not delivery.partial:
                came.append(delivery.link.recv(delivery.pending))
                delivery.update(Delivery.ACCEPTED)
                delivery.settle()
                delivery.link.advance()

    receiver = connection.create_receiver(address, credit=1, handler=Taker())
    # its handler is gone when nobody names it
    connection.wait(lambda: receiver and came, timeout=TIME_LIMIT_S, msg="a message")
    return came[0]
