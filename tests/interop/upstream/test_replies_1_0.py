"""Requests of 1.0 clients of the gateway, and replies of 1.0 clients at the broker."""

import contextlib
import uuid
from typing import Any

import pytest
from interop.brokers import client
from interop.upstream.behind import Behind
from interop.upstream.conftest import Cell

proton = pytest.importorskip("proton", reason="Proton is missing: tests/interop/install proton")
from interop.brokers.blocking import SessionEndedError  # noqa: E402
from interop.upstream.links import Receiving, Sending, body_of, durable, receive_at  # noqa: E402
from proton import Endpoint  # noqa: E402
from proton.utils import LinkDetached  # noqa: E402


def test_a_reply_queue_of_one_name_here_and_there_brings_the_reply(
    behind: Behind, cell: Cell
) -> None:
    queue, replies = behind.queue(), behind.queue()
    receiving = receive_at(behind, replies)
    requester = Sending(behind.at_gateway(), queue)
    request = durable(b"who?", id="request-1", reply_to=replies)
    assert requester.outcome(*requester.sends(request)) == "accepted"
    asked, responder = _asked(behind, queue)
    assert asked.reply_to == replies  # never rewritten
    if not _takes(responder, asked.reply_to):
        cell("1-0 request", "no way to reply")
        return
    answer = Sending(responder, asked.reply_to)
    reply = durable(b"me", correlation_id=asked.id)
    assert answer.outcome(*answer.sends(reply)) == "accepted"
    message, delivery = receiving.get()
    receiving.ends(delivery)
    assert (body_of(message), message.correlation_id) == (b"me", "request-1")
    cell("1-0 request", "yes")


def test_a_dynamic_node_here_is_out_of_reach_there(behind: Behind, cell: Cell) -> None:
    queue = behind.queue()
    connection = behind.at_gateway()
    receiving = Receiving(connection, None, dynamic=True)
    receiving.flows(1)
    replies = receiving.link.remote_source.address
    requester = Sending(connection, queue)
    request = durable(b"who?", reply_to=replies)
    assert requester.outcome(*requester.sends(request)) == "accepted"
    asked, responder = _asked(behind, queue)
    assert asked.reply_to == replies  # never rewritten
    outcome = "no way to reply"
    if _takes(responder, replies):  # by making a node of that name
        answer = Sending(responder, replies)
        answer.outcome(*answer.sends(durable(b"me")))
        outcome = "the reply stays at the broker"
    assert receiving.quiet()
    cell("1-0 request dynamic", outcome)


def test_a_dynamic_node_that_a_rule_places_at_the_broker_brings_the_reply(
    behind: Behind, cell: Cell
) -> None:
    queue = behind.queue()
    connection = behind.at_gateway(container=f"remote.{uuid.uuid4().hex[:8]}")
    try:
        receiving = Receiving(connection, None, dynamic=True)
    except LinkDetached as refused:
        cell("1-0 request dynamic placed", refused.condition)
        return
    receiving.flows(1)
    requester = Sending(connection, queue)
    request = durable(b"who?", id=7, reply_to=receiving.link.remote_source.address)
    assert requester.outcome(*requester.sends(request)) == "accepted"
    asked, responder = _asked(behind, queue)
    answer = Sending(responder, asked.reply_to)
    answer.outcome(*answer.sends(durable(b"me", correlation_id=asked.id)))
    message, delivery = receiving.get()
    receiving.ends(delivery)
    assert (body_of(message), message.correlation_id) == (b"me", 7)
    cell("1-0 request dynamic placed", "yes")


def _asked(behind: Behind, queue: str) -> tuple[Any, Any]:
    """The request as a responder at the broker gets it, and its connection."""
    responder = behind.at_broker()
    receiver = responder.create_receiver(behind.broker.queue_address(queue), credit=1)
    asked = receiver.receive(client.TIME_LIMIT_S)
    receiver.accept()
    return asked, responder


def _takes(responder: Any, address: str) -> bool:
    """Whether a responder may send to an address, asked in a session that may end for it."""
    session = responder.conn.session()
    session.open()
    link = session.sender(f"try-{address}")
    link.target.address = address
    link.open()
    answered = Endpoint.REMOTE_ACTIVE | Endpoint.REMOTE_CLOSED
    with contextlib.suppress(LinkDetached, SessionEndedError):
        responder.wait(lambda: link.state & answered)
    takes = link.remote_target.address is not None
    session.close()
    return takes
