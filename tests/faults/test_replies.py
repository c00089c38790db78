"""A gateway killed between a durable request and its reply still knows whose reply it is."""

from pathlib import Path

import pytest
from support.gateway_process import GatewayProcess
from support.lines import Lines

from gateway.clients.client import Delivered, Subscription
from gateway.clients.letter import Letter, Typed

pytestmark = pytest.mark.alone


def test_a_reply_after_a_kill_names_the_durable_request_by_its_own_id(tmp_path: Path) -> None:
    gateway = GatewayProcess(tmp_path)
    with gateway.start():
        lines = Lines(gateway.amqp_port)
        asked = request(lines, "request-1")
        lines.hang_up()
        gateway.kill()
        gateway.start()
        assert reply(Lines(gateway.amqp_port), asked) == "request-1"


def request(lines: Lines, message_id: str) -> str | None:
    """Sent by a 1.0 client, taken by a 0-10 one: the id that this one saw."""
    responder, requester = lines.connect_0_10(), lines.connect_1_0()
    for queue in ("requests", "replies"):
        lines.wait_for(responder.declare_queue(queue, durable=True))
    came: list[Delivered] = []
    lines.wait_for(responder.receive(Subscription("requests"), came.append))
    letter = Letter(message_id=message_id, reply_to="replies", durable=True)
    lines.wait_for(requester.send("requests", letter))
    lines.run_until(lambda: bool(came))
    came[0].settle("accept")
    # What is confirmed after the acceptance was committed after it.
    lines.wait_for(responder.declare_queue("later", durable=True))
    return came[0].letter.message_id


def reply(lines: Lines, asked: str | None) -> str | None:
    """Sent by a 0-10 client, taken by a 1.0 one: what it names."""
    responder, requester = lines.connect_0_10(), lines.connect_1_0()
    came: list[Delivered] = []
    lines.wait_for(requester.receive(Subscription("replies"), came.append))
    letter = Letter(body=Typed("string", "answer"), correlation_id=asked)
    lines.wait_for(responder.send("replies", letter))
    lines.run_until(lambda: bool(came))
    lines.hang_up()
    return came[0].letter.correlation_id
