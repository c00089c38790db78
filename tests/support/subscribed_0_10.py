"""A queue with messages, and what a 0-10 client that subscribes to it says and hears."""

from support.talk_0_10 import Client, Gateway

from gateway.amqp_0_10 import _spec as spec
from gateway.wire.limits import Limits
from gateway.wire.tagged import Tagged


def gateway_with(*bodies: bytes, limits: Limits | None = None, **queue: object) -> Gateway:
    """A gateway with queue q, and these messages in it, published by a 0-10 client."""
    gateway = Gateway(limits=limits)
    gateway.world.queue(**queue)
    if bodies:
        producer = gateway.session()
        for body in bodies:
            producer.publishes(body)
            producer.hears()
    return gateway


def transfers(client: Client) -> list[tuple]:
    """What it was sent."""
    return [one for one in client.hears() if isinstance(one, tuple) and len(one) == 3]


def accepted(*ranges: tuple[int, int]) -> spec.MessageAccept:
    """It accepts these."""
    return spec.MessageAccept(transfers=list(ranges))


def with_headers(**headers: Tagged) -> spec.MessageProperties:
    """Of a message that it publishes."""
    return spec.MessageProperties(application_headers=list(headers.items()))


def stop() -> spec.MessageStop:
    """It stops its subscription."""
    return spec.MessageStop(destination="d")


def flush() -> spec.MessageFlush:
    """It wants all that there is, and the end of its credit."""
    return spec.MessageFlush(destination="d")
