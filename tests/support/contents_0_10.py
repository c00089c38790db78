"""What tests of the classes file and stream say to a gateway, and hear."""

from __future__ import annotations

from support.talk_0_10 import Client, header_of

from gateway.amqp_0_10 import _spec as spec


def publish(
    client: Client,
    body: bytes,
    *,
    key: str = "q",
    exchange: str = "",
    mandatory: bool = False,
    immediate: bool = False,
    properties: spec.StreamProperties | None = None,
) -> int:
    """stream.publish; its id."""
    command = spec.StreamPublish(
        exchange=exchange, routing_key=key, mandatory=mandatory, immediate=immediate
    )
    return client.says(command, header=header_of(properties or spec.StreamProperties()), body=body)


def consume(client: Client, tag: str = "c", queue: str = "q", **fields: object) -> list[object]:
    """stream.consume, and what is heard."""
    return client.does(spec.StreamConsume(queue=queue, consumer_tag=tag, **fields))


def bodies(heard: list[object]) -> list[bytes]:
    """Of the content among what was heard."""
    return [one[2] for one in heard if isinstance(one, tuple) and len(one) == 3]


def content(heard: list[object]) -> list[tuple[object, object, bytes]]:
    """The content commands among what was heard, with their properties and bodies."""
    return [one for one in heard if isinstance(one, tuple) and len(one) == 3]
