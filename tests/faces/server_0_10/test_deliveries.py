"""Deliveries and their settlement, as conversations."""

import pytest
from support.bridge_world import bind
from support.rules import rule
from support.subscribed_0_10 import accepted, gateway_with, transfers
from support.talk_0_10 import Client, Gateway

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import STR16
from gateway.amqp_0_10.types import FieldTable
from gateway.faces.placed import JMS_SELECTOR
from gateway.faces.server_0_10.unsettled import BROWSED_MAX
from gateway.wire.tagged import Tagged


def test_accepted_messages_leave_the_queue_and_ids_unknown_are_nothing() -> None:
    gateway = gateway_with(b"1", b"2")
    client = gateway.session()
    client.subscribes()
    assert len(client.gets()) == 2
    assert client.does(accepted((0, 0), (7, 4000))) == ["completed 3-3"]
    assert gateway.world.depth() == 1
    assert client.does(accepted((0, 1))) == ["completed 4-4"]
    assert gateway.world.depth() == 0
    gateway.world.check()


def test_a_settlement_is_completed_when_it_is_on_disk() -> None:
    gateway = gateway_with(durable=True)
    producer, client = gateway.session(), gateway.session()
    producer.publishes(b"kept", delivery=spec.DeliveryProperties(delivery_mode=2))
    producer.hears()
    client.subscribes()
    assert client.gets() == [b"kept"]
    gateway.world.auto_commit = False
    client.says(accepted((0, 0)))
    assert client.hears() == []
    gateway.world.commit()
    assert client.hears() == ["completed 3-3"]


@pytest.mark.parametrize("redelivered", [False, True])
def test_a_released_message_comes_again(redelivered: bool) -> None:
    gateway = gateway_with(b"1", b"2")
    client = gateway.session()
    client.subscribes(credit=1)
    assert client.gets() == [b"1"]
    client.says(spec.MessageRelease(transfers=[(0, 0)], set_redelivered=redelivered))
    client.completes(0, 0)
    [(_, (delivery, _, _), body)] = transfers(client)
    assert body == b"1"
    assert delivery.redelivered == redelivered


@rule("0-10", "message.reject", "alternate-exchange")
@pytest.mark.parametrize("code", [0, 5, 65_535])
def test_a_rejected_message_goes_to_the_alternate_exchange_or_away(code: int) -> None:
    gateway = gateway_with(b"1", alternate_exchange="amq.fanout")
    gateway.world.queue("dead")
    client = gateway.session()
    client.says(spec.ExchangeBind(queue="dead", exchange="amq.fanout"))
    client.subscribes()
    assert client.gets() == [b"1"]
    client.does(spec.MessageReject(transfers=[(0, 0)], code=code, text="bad"))
    assert gateway.world.depth() == 0
    assert gateway.world.depth("dead") == 1
    client.subscribes("dead", "dead")
    assert client.gets() == [b"1"]
    client.does(spec.MessageReject(transfers=[(1, 1)], code=code))
    assert gateway.world.depth("dead") == 0
    gateway.world.check()


def test_without_acceptance_a_message_is_gone_when_it_is_sent() -> None:
    gateway = gateway_with(b"1")
    client = gateway.session()
    client.subscribes(accept=spec.AcceptMode.NONE)
    [(transfer, _, _)] = transfers(client)
    assert transfer.accept_mode == spec.AcceptMode.NONE
    assert gateway.world.depth() == 0
    assert client.does(accepted((0, 0))) == ["completed 3-3"]
    gateway.world.check()


@rule("0-10", "message.acquire", "one-to-one")
def test_a_browser_sees_messages_and_may_acquire_them_if_they_are_free() -> None:
    gateway = gateway_with(b"1", b"2", b"3")
    browser, consumer = gateway.session(), gateway.session()
    browser.subscribes(acquire=spec.AcquireMode.NOT_ACQUIRED)
    seen = transfers(browser)
    assert [one[2] for one in seen] == [b"1", b"2", b"3"]
    assert seen[0][0].acquire_mode == spec.AcquireMode.NOT_ACQUIRED
    consumer.subscribes(credit=1)
    assert consumer.gets() == [b"1"]
    assert browser.does(spec.MessageAcquire(transfers=[(0, 2)])) == [
        spec.Acquired(transfers=[(1, 2)]),
        "completed 3-3",
    ]
    browser.does(accepted((1, 1)), spec.MessageRelease(transfers=[(0, 0), (2, 2)]))
    assert gateway.world.depth() == 2
    gateway.world.check()


@rule("0-10", "message.accept", "acquisition")
@rule("0-10", "message.reject", "acquisition")
def test_settling_what_was_only_browsed_leaves_it_where_it_is() -> None:
    gateway = gateway_with(b"1", b"2", b"3")
    browser = gateway.session()
    browser.subscribes(acquire=1)
    assert len(browser.gets()) == 3
    browser.does(
        accepted((0, 0)),
        spec.MessageReject(transfers=[(1, 1)], code=0),
        spec.MessageRelease(transfers=[(2, 2)]),
    )
    assert gateway.world.depth() == 3
    gateway.world.check()


@rule("0-10", "message.delivery-properties.redelivered", "implementation")
def test_the_end_of_a_session_gives_everything_back_marked_redelivered() -> None:
    gateway = gateway_with(b"1", b"2")
    first, second = gateway.session(), gateway.session()
    first.subscribes()
    assert len(first.gets()) == 2
    first.does(accepted((0, 0)))
    first.session.detach()
    first.hears()
    second.subscribes()
    [(_, (delivery, _, _), body)] = transfers(second)
    assert body == b"2"
    assert delivery.redelivered
    gateway.world.check()


def test_the_end_of_a_connection_does_too() -> None:
    gateway = gateway_with(b"1", b"2")
    first, second = gateway.session(), gateway.session()
    first.subscribes()
    assert len(first.gets()) == 2
    first.loses_transport()
    second.subscribes()
    assert second.gets() == [b"1", b"2"]
    gateway.world.check()


def dead_letters(gateway: Gateway, *, with_credit: bool) -> list[bytes]:
    """Those of a queue of five that is deleted while somebody has the first two of them."""
    world = gateway.world
    world.host.declaring.declare_exchange("dead", "fanout")
    world.queue("letters")
    bind(world, "letters", "dead")
    world.queue(alternate_exchange="dead")
    world.send(b"0", b"1", b"2", b"3", b"4")
    client = gateway.session()
    client.subscribes(credit=2)
    if with_credit:
        nothing: FieldTable = [(JMS_SELECTOR, Tagged(STR16, "a = 1"))]
        client.subscribes(destination="e", arguments=nothing)
    assert client.gets() == [b"0", b"1"]
    gateway.session().does(spec.QueueDelete(queue="q"))
    client.loses_transport()
    consumer, _ = world.subscribe("letters")
    world.turn()
    world.check()
    return consumer.bodies()


def test_dead_letters_of_a_deleted_queue_keep_its_order_where_its_sessions_end_for_that() -> None:
    assert dead_letters(Gateway(), with_credit=True) == [b"0", b"1", b"2", b"3", b"4"]


def test_what_a_session_has_of_a_deleted_queue_follows_in_its_order_when_it_ends() -> None:
    assert dead_letters(Gateway(), with_credit=False) == [b"0", b"1", b"2", b"3", b"4"]


def looked_at(gateway: Gateway, count: int) -> Client:
    """A client that looks on, and settles nothing, and was sent so many."""
    gateway.world.queue()
    gateway.world.send(*[b"%d" % number for number in range(count)])
    client = gateway.session()
    client.subscribes(accept=1, acquire=1)
    assert len(client.gets()) == count
    return client


def acquired(client: Client, *ranges: tuple[int, int]) -> list[tuple[int, int]]:
    heard = client.does(spec.MessageAcquire(transfers=[*ranges]))
    [answer] = [one for one in heard if isinstance(one, spec.Acquired)]
    return answer.transfers or []


def test_who_looks_on_and_settles_nothing_dequeues_what_it_acquires_once() -> None:
    gateway = Gateway()
    client = looked_at(gateway, 3)
    assert acquired(client, (0, 1)) == [(0, 1)]
    assert acquired(client, (0, 1)) == []
    assert gateway.world.depth() == 1
    gateway.world.check()


def test_what_is_completed_or_with_somebody_else_cannot_be_acquired() -> None:
    gateway = Gateway()
    client = looked_at(gateway, 3)
    client.completes(0, 0)
    other = gateway.session()
    other.subscribes(credit=2)
    assert len(other.gets()) == 2
    assert acquired(client, (0, 2)) == [(2, 2)]
    gateway.world.check()


def test_of_what_was_looked_at_the_oldest_is_forgotten() -> None:
    gateway = Gateway()
    client = looked_at(gateway, BROWSED_MAX + 1)
    assert acquired(client, (0, 1)) == [(1, 1)]
    client.does(spec.MessageCancel(destination="d"))
    assert acquired(client, (2, 5)) == []
    gateway.world.check()
