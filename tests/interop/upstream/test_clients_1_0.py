"""1.0 clients of the gateway on queues and exchanges that live at a broker."""

import uuid
from typing import Any

import pytest
from interop.brokers import client
from interop.upstream.behind import Behind
from interop.upstream.conftest import Cell

proton = pytest.importorskip("proton", reason="Proton is missing: tests/interop/install proton")
from interop.upstream.links import (  # noqa: E402
    Modes,
    Sending,
    body_of,
    comes_true,
    durable,
    goes_out,
    receive_at,
)
from interop.upstream.talk import RefusedError  # noqa: E402
from proton import Delivery, Link, Message  # noqa: E402
from proton.reactor import Copy, Selector  # noqa: E402
from proton.utils import LinkDetached  # noqa: E402

LARGE = 4 << 20
MANY_REJECTED = 8
NOT_FOUND = 404
SILENT = ("rabbitmq310",)  # says nothing of what it does not take: publishers wait


def _put(behind: Behind, queue: str, *bodies: bytes) -> None:
    """Publish durable messages here; each is accepted."""
    sending = Sending(behind.at_gateway(), queue)
    for delivery in sending.sends(*[durable(body) for body in bodies]):
        assert sending.outcome(delivery) == "accepted"


# Publishing.


def test_what_is_published_has_the_outcome_that_the_broker_gives(
    behind: Behind, cell: Cell
) -> None:
    queue = behind.queue()
    sending = Sending(behind.at_gateway(), queue)
    behind.broker.pause()
    try:
        [delivery] = sending.sends(durable())
        early = sending.hears(delivery, within_s=0.3)
    finally:
        behind.broker.resume()
    assert not early
    assert sending.outcome(delivery) == "accepted"
    assert behind.depth(queue) == 1
    cell("1-0 accepted", "yes")


def test_a_presettled_message_arrives(behind: Behind, cell: Cell) -> None:
    queue = behind.queue()
    sending = Sending(behind.at_gateway(), queue, [Modes(sender=Link.SND_SETTLED)])
    sending.sends(durable(b"1"), durable(b"2"))
    goes_out(sending.connection)
    receiving = receive_at(behind, queue)
    got = receiving.gets(2)
    assert [body_of(message) for message, _ in got] == [b"1", b"2"]
    for _, delivery in got:
        receiving.ends(delivery)
    assert receiving.quiet()
    assert behind.comes_to(0, queue)
    cell("1-0 send settled", "yes")


def test_the_publisher_hears_the_brokers_rejection(behind: Behind, cell: Cell) -> None:
    queue = behind.limited_queue()
    sending = Sending(behind.at_gateway(), queue)
    body = bytes(2000)
    flood = [Message(body=body, durable=False, inferred=True) for _ in range(MANY_REJECTED)]
    deliveries = sending.sends(*flood)
    if behind.name in SILENT:
        assert not sending.hears(deliveries[-1])
        behind.broker.delete_queue(queue)  # else it is tried again, beneath all other tests
        assert sending.outcome(deliveries[-1]) == "rejected amqp:not-found"
        cell("1-0 rejected", "waits")
        return
    assert sending.outcome(deliveries[0]) == "accepted"
    assert comes_true(
        sending.connection,
        lambda: any(each.remote_state == Delivery.REJECTED for each in deliveries),
        client.TIME_LIMIT_S,
    )
    rejected = next(each for each in deliveries if each.remote_state == Delivery.REJECTED)
    cell("1-0 rejected", sending.outcome(rejected))


def test_a_large_1_0_message_passes(behind: Behind, cell: Cell) -> None:
    queue = behind.queue()
    body = bytes(range(256)) * (LARGE // 256)
    _put(behind, queue, body)
    receiving = receive_at(behind, queue)
    message, delivery = receiving.get()
    receiving.ends(delivery)
    assert body_of(message) == body
    assert receiving.quiet()
    assert behind.comes_to(0, queue)
    cell("1-0 large", "yes")


def test_what_has_no_route_at_the_broker_has_its_outcome(behind: Behind, cell: Cell) -> None:
    exchange = f"topic-{uuid.uuid4().hex[:8]}"
    behind.broker.create_topic(exchange)
    sending = Sending(behind.at_gateway(), f"{exchange}/nobody")
    [delivery] = sending.sends(durable())
    cell("1-0 unroutable", sending.outcome(delivery))


# Consuming.


def test_what_is_accepted_is_gone(behind: Behind, cell: Cell) -> None:
    queue = behind.queue()
    _put(behind, queue, b"1", b"2")
    receiving = receive_at(behind, queue)
    [(first, one), (second, two)] = receiving.gets(2)
    assert (body_of(first), body_of(second)) == (b"1", b"2")
    assert behind.depth(queue) == 2
    receiving.ends(two)
    receiving.ends(one)
    assert receiving.quiet()
    assert behind.comes_to(0, queue)
    cell("1-0 accept", "yes")


def _again(behind: Behind, state: int, *, failed: bool = False) -> Any:
    """What comes again after an outcome; None when nothing does."""
    queue = behind.queue()
    _put(behind, queue, b"bad", b"good")
    receiving = receive_at(behind, queue)
    [(_, bad), (_, good)] = receiving.gets(2)
    receiving.ends(bad, state, failed=failed)
    receiving.ends(good)
    message = None
    if not behind.empties(queue, receiving):
        message, delivery = receiving.get()
        receiving.ends(delivery)
        assert body_of(message) == b"bad"
    assert receiving.quiet()
    assert behind.comes_to(0, queue)
    return message


def _told(message: Any) -> str:
    """How a message that came again tells so."""
    if message is None:
        return "gone"
    if message.delivery_count:
        return f"comes again, delivery-count {message.delivery_count}"
    return "comes again" + ("" if message.first_acquirer else ", not first acquirer")


def test_what_is_released_comes_again(behind: Behind, cell: Cell) -> None:
    cell("1-0 release", _told(_again(behind, Delivery.RELEASED)))


def test_what_failed_comes_again(behind: Behind, cell: Cell) -> None:
    cell("1-0 modify", _told(_again(behind, Delivery.MODIFIED, failed=True)))


def test_what_is_rejected_is_gone_or_comes_again(behind: Behind, cell: Cell) -> None:
    cell("1-0 reject", _told(_again(behind, Delivery.REJECTED)))


def test_what_comes_settled_is_gone(behind: Behind, cell: Cell) -> None:
    queue = behind.queue()
    _put(behind, queue, b"1", b"2")
    receiving = receive_at(behind, queue, Modes(sender=Link.SND_SETTLED))
    assert receiving.link.remote_snd_settle_mode == Link.SND_SETTLED
    got = receiving.gets(2)
    assert [body_of(message) for message, _ in got] == [b"1", b"2"]
    assert all(delivery.settled for _, delivery in got)
    assert behind.comes_to(0, queue)
    cell("1-0 receive settled", "yes")


def test_the_receiver_that_settles_second_is_answered(behind: Behind, cell: Cell) -> None:
    queue = behind.queue()
    _put(behind, queue, b"x")
    receiving = receive_at(behind, queue, Modes(receiver=Link.RCV_SECOND))
    _, delivery = receiving.get()
    second = receiving.link.remote_rcv_settle_mode == Link.RCV_SECOND
    delivery.update(Delivery.ACCEPTED)
    if second:
        assert comes_true(receiving.connection, lambda: delivery.settled, client.TIME_LIMIT_S)
    delivery.settle()
    assert receiving.quiet()
    assert behind.comes_to(0, queue)
    cell("1-0 second", "yes" if second else "first")


def test_credit_is_spent_and_given_again(behind: Behind, cell: Cell) -> None:
    queue = behind.queue()
    _put(behind, queue, b"1", b"2", b"3", b"4")
    receiving = receive_at(behind, queue, credit=2)
    got = receiving.gets(2)
    for _, delivery in got:
        receiving.ends(delivery)
    assert receiving.quiet()
    receiving.flows(1)
    got += receiving.gets(1)
    assert receiving.quiet()
    assert [body_of(message) for message, _ in got] == [b"1", b"2", b"3"]
    receiving.ends(got[2][1])
    assert behind.comes_to(1, queue), behind.depth(queue)
    cell("1-0 credit", "yes")


def test_a_drain_gives_what_is_there_and_ends_the_credit(behind: Behind, cell: Cell) -> None:
    queue = behind.queue()
    _put(behind, queue, b"1", b"2", b"3")
    receiving = receive_at(behind, queue, credit=0)
    receiving.drains(10)
    assert receiving.waiting() == 3
    for _, delivery in receiving.gets(3):
        receiving.ends(delivery)
    receiving.drains(10)  # of a queue that is empty
    _put(behind, queue, b"later")
    assert receiving.quiet()
    receiving.flows(1)
    message, delivery = receiving.get()
    receiving.ends(delivery)
    assert body_of(message) == b"later"
    assert behind.comes_to(0, queue)
    cell("1-0 drain", "yes")


def test_a_browser_leaves_what_is_there_or_is_refused(behind: Behind, cell: Cell) -> None:
    queue = behind.queue()
    _put(behind, queue, b"1", b"2")
    try:
        receiving = receive_at(behind, queue, Copy())
    except LinkDetached as refused:
        cell("1-0 browse", refused.condition)
        return
    for _, delivery in receiving.gets(2):
        receiving.ends(delivery)
    assert receiving.quiet()
    assert behind.depth(queue) == 2
    cell("1-0 browse", "yes")


def test_a_selector_is_echoed_and_applied_or_refused(behind: Behind, cell: Cell) -> None:
    queue = behind.queue()
    sending = Sending(behind.at_gateway(), queue)
    for colour in ("red", "blue", "red"):
        message = durable(colour.encode(), properties={"colour": colour})
        assert sending.outcome(*sending.sends(message)) == "accepted"
    try:
        receiving = receive_at(behind, queue, Selector("colour = 'blue'"))
    except LinkDetached as refused:
        cell("1-0 selector", refused.condition)
        return
    echoed = receiving.link.remote_source.filter
    echoed.rewind()
    assert echoed.next() and list(echoed.get_dict()) == ["selector"]
    message, delivery = receiving.get()
    receiving.ends(delivery)
    assert body_of(message) == b"blue"
    assert receiving.quiet()
    assert behind.comes_to(2, queue)
    cell("1-0 selector", "yes")


@pytest.mark.parametrize("link", ["publish", "subscribe"])
def test_a_node_that_is_missing_is_made_or_refused(link: str, behind: Behind, cell: Cell) -> None:
    queue = f"missing.1-0-{link}-{uuid.uuid4().hex[:8]}"
    outcome = "made"
    try:
        if link == "publish":
            sending = Sending(behind.at_gateway(), queue)
            outcome = sending.outcome(*sending.sends(durable()))
            if outcome == "accepted":
                assert behind.depth(queue) == 1
                outcome = "made"
        else:
            receive_at(behind, queue)
    except LinkDetached as refused:
        outcome = refused.condition
    cell(f"1-0 missing {link}", outcome)


def test_a_sender_is_refused_until_its_queue_is_made(behind: Behind, cell: Cell) -> None:
    queue = f"absent.{uuid.uuid4().hex[:8]}"
    outcome = "made"
    try:
        Sending(behind.at_gateway(), queue)
    except LinkDetached as refused:
        outcome = refused.condition
        with pytest.raises(LinkDetached, match="not-found"):
            receive_at(behind, queue)
        with pytest.raises(RefusedError) as unknown:
            behind.talk().subscribes(queue)
        assert unknown.value.code == NOT_FOUND
        behind.broker.create_queue(queue)
        sending = Sending(behind.at_gateway(), queue)
        assert sending.outcome(*sending.sends(durable())) == "accepted"
        assert behind.comes_to(1, queue)
    cell("1-0 absent publish", outcome)
