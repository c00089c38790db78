"""Requests and replies between 0-10 clients of the gateway and 1.0 clients at the broker."""

import uuid

from interop.brokers import client
from interop.upstream.behind import Behind
from interop.upstream.conftest import Cell
from interop.upstream.talk import Talk
from support.rules import rule

from gateway.amqp_0_10 import _spec as spec


@rule("1.0", "3.5.3", "dynamic-source-is-asked-without-an-address")
def test_a_1_0_client_at_the_broker_answers_a_0_10_request(
    behind: Behind, talk: Talk, cell: Cell
) -> None:
    from proton import Message

    queue, replies = behind.queue(), f"replies-{uuid.uuid4().hex[:8]}"
    talk.does(spec.QueueDeclare(queue=replies, exclusive=True, auto_delete=True))
    talk.subscribes(replies)
    request = spec.MessageProperties(
        message_id=uuid.uuid4().bytes,
        correlation_id=b"mine",
        reply_to=spec.ReplyTo(exchange="", routing_key=replies),
    )
    talk.completes(talk.publishes(queue, b"who?", properties=request))
    responder = behind.at_broker()
    receiver = responder.create_receiver(behind.broker.queue_address(queue), credit=1)
    asked = receiver.receive(client.TIME_LIMIT_S)
    receiver.accept()
    assert bytes(asked.body) == b"who?"
    outcome = "no way to reply"
    if asked.reply_to not in (None, replies):
        answer = Message(body=b"me", correlation_id=asked.correlation_id, inferred=True)
        responder.create_sender(asked.reply_to).send(answer)
        reply = talk.get()
        talk.accepts(reply)
        assert reply.body == b"me"
        assert reply.properties.correlation_id == b"mine"
        outcome = "yes"
    cell("request-0-10", outcome)


def test_a_0_10_client_answers_a_1_0_request_at_the_broker(
    behind: Behind, talk: Talk, cell: Cell
) -> None:
    from proton import Message

    queue, replies = behind.queue(), behind.queue()
    requester = behind.at_broker()
    answers = requester.create_receiver(behind.broker.queue_address(replies), credit=1)
    request = Message(body=b"who?", id="request-1", inferred=True)
    request.reply_to = behind.broker.queue_address(replies)
    requester.create_sender(behind.broker.queue_address(queue)).send(request)
    talk.subscribes(queue)
    asked = talk.get()
    reply_to = asked.properties.reply_to
    assert asked.body == b"who?"
    assert reply_to is not None
    assert reply_to.routing_key is not None
    answer = spec.MessageProperties(correlation_id=asked.properties.message_id)
    if asked.properties.correlation_id is not None:
        answer.correlation_id = asked.properties.correlation_id
    talk.completes(
        talk.publishes(reply_to.routing_key, b"me", to=reply_to.exchange or "", properties=answer)
    )
    talk.accepts(asked)
    reply = answers.receive(client.TIME_LIMIT_S)
    answers.accept()
    assert bytes(reply.body) == b"me"
    assert reply.correlation_id == "request-1"
    cell("request-1-0", "yes")


def test_a_0_10_client_answers_on_a_dynamic_node_of_the_requester(
    behind: Behind, talk: Talk, cell: Cell
) -> None:
    from proton import Message, ProtonException

    queue = behind.queue()
    requester = behind.at_broker()
    try:
        answers = requester.create_receiver(None, credit=1, dynamic=True)
    except ProtonException:
        cell("request-1-0-dynamic", "the broker has none")
        return
    request = Message(body=b"who?", id=uuid.UUID(int=9), inferred=True)
    request.reply_to = answers.link.remote_source.address
    requester.create_sender(behind.broker.queue_address(queue)).send(request)
    talk.subscribes(queue)
    asked = talk.get()
    reply_to = asked.properties.reply_to
    assert reply_to is not None
    answer = spec.MessageProperties(correlation_id=asked.properties.message_id)
    key, exchange = reply_to.routing_key or "", reply_to.exchange or ""
    talk.completes(talk.publishes(key, b"me", to=exchange, properties=answer))
    talk.accepts(asked)
    reply = answers.receive(client.TIME_LIMIT_S)
    answers.accept()
    assert bytes(reply.body) == b"me"
    cell("request-1-0-dynamic", "yes")
