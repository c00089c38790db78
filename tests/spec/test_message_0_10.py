"""Class message of 0-10: order, identity and numbers, as conversations."""

from support.rules import rule
from support.talk_0_10 import Gateway

from gateway.amqp_0_10 import _spec as spec

TRANSIENT = spec.DeliveryMode.NON_PERSISTENT
DURABLE = spec.DeliveryMode.PERSISTENT


@rule("0-10", "message", "priority-delivery")
def test_durable_and_transient_messages_of_one_priority_stay_in_order() -> None:
    gateway = Gateway()
    gateway.world.queue(durable=True)
    client = gateway.session()
    modes = [DURABLE, TRANSIENT, TRANSIENT, DURABLE, TRANSIENT, DURABLE]
    for number, mode in enumerate(modes):
        delivery = spec.DeliveryProperties(delivery_mode=mode, priority=4)
        client.publishes(b"%d" % number, delivery=delivery)
    client.hears()
    client.subscribes()
    assert client.gets() == [b"0", b"1", b"2", b"3", b"4", b"5"]


@rule("0-10", "message.message-properties.message-id", "immutable")
def test_a_message_keeps_its_id_in_every_queue_and_each_time_it_is_sent() -> None:
    gateway = Gateway()
    for name in ("one", "two"):
        gateway.world.queue(name)
    client = gateway.session()
    for name in ("one", "two"):
        client.says(spec.ExchangeBind(queue=name, exchange="amq.fanout"))
    own = bytes(range(16))
    client.publishes(b"x", to="amq.fanout", message=spec.MessageProperties(message_id=own))
    client.subscribes("one", "one")
    client.subscribes("two", "two")
    came = [one for one in client.hears() if isinstance(one, tuple)]
    client.says(spec.MessageRelease(transfers=[(0, 1)]))
    came += [one for one in client.hears() if isinstance(one, tuple)]
    assert [header[2].message_id for _, header, _ in came] == [own] * 4


@rule("0-10", "message.acquire", "one-to-one")
def test_an_acquire_that_acquires_nothing_is_answered_too() -> None:
    client = Gateway().session()
    empty, completed = client.does(spec.MessageAcquire(transfers=[(0, 9)]))
    assert empty == spec.Acquired(transfers=[])
    assert completed == "completed 0-0"


@rule("0-10", "message.subscribe", "simultaneous-subscriptions")
def test_a_queue_has_more_than_sixteen_subscriptions() -> None:
    gateway = Gateway()
    gateway.world.queue()
    client = gateway.session()
    for number in range(20):
        client.subscribes(destination=f"d{number}", credit=None)
    assert client.hears() == ["completed 0-19"]
