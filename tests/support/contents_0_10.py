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


# Class file.


def open_file(client: Client, identifier: str, size: int) -> int:
    """How much of it is staged."""
    (answer,) = [
        one
        for one in client.does(spec.FileOpen(identifier=identifier, content_size=size))
        if isinstance(one, spec.FileOpenOk)
    ]
    return answer.staged_size or 0


def stage(client: Client, body: bytes, properties: spec.FileProperties | None = None) -> int:
    """file.stage; its id."""
    header = header_of(properties or spec.FileProperties())
    return client.says(spec.FileStage(), header=header, body=body)


def publish_file(
    client: Client,
    body: bytes,
    *,
    key: str = "q",
    properties: spec.FileProperties | None = None,
    **fields: object,
) -> list[object]:
    """A whole file; what is heard of it after it was opened."""
    identifier = f"file {body!r}"
    assert open_file(client, identifier, len(body)) == 0
    stage(client, body, properties)
    return client.does(spec.FilePublish(routing_key=key, identifier=identifier, **fields))


def consume_files(client: Client, tag: str = "c", queue: str = "q", **fields: object) -> None:
    """file.consume; what is opened then waits for its answer."""
    client.says(spec.FileConsume(queue=queue, consumer_tag=tag, nowait=True, **fields))


class Got:
    """A file that was delivered, and what was staged for it."""

    def __init__(
        self, opened: spec.FileOpen, staged: tuple[object, object, bytes], told: spec.FileDeliver
    ) -> None:
        self.opened = opened
        self.properties, self.body = staged[1], staged[2]
        self.told = told
        self.tag = told.delivery_tag or 0


def files(client: Client, staged: int = 0) -> list[Got]:
    """All files that come, each asked for from behind the octets that are there."""
    got: list[Got] = []
    opened: list[spec.FileOpen] = []
    bodies: list[tuple[object, object, bytes]] = []
    while True:
        heard = client.hears()
        new = [one for one in heard if isinstance(one, spec.FileOpen)]
        opened += new
        for one in heard:
            if isinstance(one, tuple) and isinstance(one[0], spec.FileStage):
                bodies.append(one)
            elif isinstance(one, spec.FileDeliver):
                at = [each.identifier for each in opened].index(one.identifier)
                got.append(Got(opened.pop(at), bodies.pop(0), one))
        for _ in new:
            client.says(spec.FileOpenOk(staged_size=staged))
        if not new:
            return got
