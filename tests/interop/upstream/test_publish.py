"""0-10 clients publish to queues that live at a broker."""

import uuid

import pytest
from interop.brokers import client
from interop.upstream.behind import Behind
from interop.upstream.conftest import Cell
from interop.upstream.talk import RefusedError, Talk

from gateway.amqp_0_10 import _spec as spec

MANY = 300
MANY_REJECTED = 8
LARGE = 4 << 20
REJECTED = "gateway.rejected"


def test_a_publish_completes_when_the_broker_has_accepted(
    behind: Behind, talk: Talk, cell: Cell
) -> None:
    queue = behind.queue()
    talk.puts(queue, b"before")
    behind.broker.pause()
    try:
        sent = talk.publishes(queue)
        early = talk.completed(sent)
    finally:
        behind.broker.resume()
    assert not early
    talk.completes(sent)
    assert behind.depth(queue) == 2
    cell("completes-after-acceptance", "yes")


def test_a_durable_message_outlives_the_brokers_crash(
    behind: Behind, talk: Talk, cell: Cell
) -> None:
    queue = behind.queue()
    talk.puts(queue, b"kept")
    behind.broker.kill()
    held = talk.publishes(queue, b"held")
    assert not talk.completed(held)
    behind.broker.start()
    talk.completes(held)
    assert behind.depth(queue) == 2
    talk.subscribes(queue)
    got = talk.gets(2)
    talk.accepts(*got)
    assert [each.body for each in got] == [b"kept", b"held"]
    cell("durable-restart", "yes")


def test_hundreds_of_messages_stay_in_order(behind: Behind, talk: Talk, cell: Cell) -> None:
    queue = behind.queue()
    bodies = [b"%d" % number for number in range(MANY)]
    sent = [talk.publishes(queue, body, delivery=spec.DeliveryProperties()) for body in bodies]
    for command_id in sent:
        talk.completes(command_id)
    talk.subscribes(queue, credit=MANY, window=True)
    got = talk.gets(MANY)
    assert [each.body for each in got] == bodies
    talk.accepts(*got)
    assert behind.comes_to(0, queue)
    cell("order", "yes")


def test_a_large_message_passes(behind: Behind, talk: Talk, cell: Cell) -> None:
    queue = behind.queue()
    body = bytes(range(256)) * (LARGE // 256)
    talk.puts(queue, body)
    talk.subscribes(queue)
    got = talk.get()
    talk.accepts(got)
    assert got.body == body
    cell("large", "yes")


def test_priority_and_ttl_pass(behind: Behind, talk: Talk, cell: Cell) -> None:
    queue = behind.queue()
    delivery = spec.DeliveryProperties(delivery_mode=2, priority=7, ttl=600_000)
    talk.completes(talk.publishes(queue, delivery=delivery))
    receiver = behind.at_broker().create_receiver(behind.broker.queue_address(queue), credit=1)
    message = receiver.receive(client.TIME_LIMIT_S)
    assert message.durable
    assert message.priority == 7
    assert 540 < message.ttl <= 600
    receiver.accept()
    cell("priority-ttl", "yes")


def _missing(behind: Behind, attempt: str) -> str:
    """What is said of a queue that is not there, or "made"."""
    queue = f"missing.{attempt}-{uuid.uuid4().hex[:8]}"
    talk = behind.talk()
    try:
        if attempt == "publish":
            if talk.outcome(talk.publishes(queue, explicit=True)) == "rejected":
                return "reject"
            assert behind.depth(queue) == 1
        elif attempt == "subscribe":
            talk.subscribes(queue)
        elif attempt == "declare":
            talk.does(spec.QueueDeclare(queue=queue, passive=True))
        else:
            found = talk.asks(spec.QueueQuery(queue=queue))
            return "made" if found.queue == queue else "not found"
    except RefusedError as error:
        return str(error.code)
    return "made"


@pytest.mark.parametrize("attempt", ["publish", "subscribe", "declare", "query"])
def test_a_queue_that_is_missing_is_made_or_not_found(
    attempt: str, behind: Behind, cell: Cell
) -> None:
    cell(f"missing-{attempt}", _missing(behind, attempt))


def _flood(talk: Talk, queue: str, *, explicit: bool) -> dict[int, bytes]:
    """Publish more than the queue takes, all at once: id -> body.

    Transient messages, since what is full at some brokers is memory; at once, since some give no
    credit any more after the first that was too much.
    """
    bodies = [f"{queue} {number}".encode().ljust(2000) for number in range(MANY_REJECTED)]
    transient = spec.DeliveryProperties
    with talk.at_once():
        return {
            talk.publishes(queue, body, explicit=explicit, delivery=transient()): body
            for body in bodies
        }


SILENT = ("rabbitmq310",)  # says nothing of what it does not take: publishers wait


def test_who_asks_hears_of_a_rejection(behind: Behind, talk: Talk, cell: Cell) -> None:
    queue = behind.limited_queue()
    sent = _flood(talk, queue, explicit=True)
    if behind.name in SILENT:
        assert not talk.hears(max(sent))
        behind.broker.delete_queue(queue)  # else it is tried again, beneath all other tests
        assert talk.outcome(max(sent)) == "rejected"
        cell("rejected-explicit", "waits")
        return
    assert talk.outcome(min(sent)) == "accepted"
    talk.hears(max(sent))
    assert "rejected" in talk.outcomes.values()
    cell("rejected-explicit", "reject")


def test_what_is_rejected_is_dead_lettered(behind: Behind, talk: Talk, cell: Cell) -> None:
    queue = behind.limited_queue()
    sent = _flood(talk, queue, explicit=False)
    if behind.name in SILENT:
        assert not talk.completed(max(sent))
        behind.broker.delete_queue(queue)
        talk.completes(max(sent))
        cell("rejected-dead-letter", "waits")
        return
    talk.completes(max(sent))  # the queue of the rejected is made for the first of them
    talk.subscribes(REJECTED)
    got = talk.get()
    talk.accepts(got)
    assert got.body in sent.values()
    assert got.body != sent[min(sent)]
    cell("rejected-dead-letter", "yes")


def test_what_is_rejected_is_an_exception_where_the_rule_says_so(
    behind: Behind, talk: Talk, cell: Cell
) -> None:
    queue = behind.limited_queue("limited.exception")
    sent = _flood(talk, queue, explicit=False)
    if behind.name in SILENT:
        assert not talk.completed(max(sent))
        behind.broker.delete_queue(queue)
        with pytest.raises(RefusedError, match="404"):
            talk.completes(max(sent))
        cell("rejected-exception", "waits")
        return
    with pytest.raises(RefusedError) as refused:
        for command_id in sent:
            talk.completes(command_id)
    cell("rejected-exception", str(refused.value.code))
