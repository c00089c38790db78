"""What recorded clients said to another broker, said to our face: it understands all of it.

Their command ids and completions speak of the other broker's commands, so only what they say is
looked at: how each conversation ends, and what lies in queues that they published to.
"""

from pathlib import Path

import pytest
from support import drive_0_10 as drive
from support.talk_0_10 import Client, Gateway

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.types import Command

VECTORS = Path(__file__).parent.parent / "vectors" / "0-10"

# What a conversation ends with where it does not end well, and why.
NOT_OFFERED: dict[str, int] = {}
PUBLISHED = {"jms-publish-kinds": 6, "python-send-kinds": 4}


def said(name: str) -> bytes:
    lines = (VECTORS / f"{name}.hex").read_text().splitlines()
    return b"".join(bytes.fromhex(line[1:]) for line in lines if line.startswith(">"))


def replayed(name: str) -> tuple[Gateway, Client, list[object]]:
    """The gateway after the conversation, its client, and what it answered."""
    octets = said(name)
    gateway = Gateway()
    for command in commands(octets):
        if isinstance(command, spec.MessageSubscribe):
            name_of_queue = command.queue or ""
            if not any(declared(octets, name_of_queue)):
                gateway.world.queue(name_of_queue)
    client = Client(gateway)
    answers: list[object] = []
    at = 0
    while at < len(octets):
        size = 8 if at == 0 else int.from_bytes(octets[at + 2 : at + 4], "big")
        client.face.receive_data(octets[at : at + size], gateway.world.now_ms)
        while client.authenticator.asked:
            client.authenticated("guest")
        gateway.world.turn()
        answers += drive.values(client.face.data_to_send())
        at += size
    return gateway, client, answers


def commands(octets: bytes) -> list[Command]:
    return [one.value for one in drive.sent(octets) if isinstance(one.value, Command)]


def declared(octets: bytes, queue: str) -> list[bool]:
    return [
        command.queue == queue and not command.passive
        for command in commands(octets)
        if isinstance(command, spec.QueueDeclare)
    ]


@pytest.mark.parametrize("name", sorted(path.stem for path in VECTORS.glob("*.hex")))
def test_the_face_understands_what_the_client_says(name: str) -> None:
    gateway, client, answers = replayed(name)
    codes = [one.error_code for one in answers if isinstance(one, spec.ExecutionException)]
    wanted = NOT_OFFERED.get(name)
    if name == "jms-not-found":
        assert spec.ErrorCode.NOT_FOUND in codes or not codes
    else:
        assert codes[:1] == ([] if wanted is None else [wanted])
    assert not any(isinstance(one, spec.ConnectionClose) for one in answers)
    assert gateway.settings.counts.protocol_errors[0] <= len(codes)
    client.loses_transport()
    gateway.world.check()


@pytest.mark.parametrize(("name", "count"), PUBLISHED.items())
def test_what_a_client_published_lies_in_its_queue(name: str, count: int) -> None:
    gateway, _, _ = replayed(name)
    depths = [queue.depth for queue in gateway.world.host.topology.queues.values()]
    assert sum(depths) == count
