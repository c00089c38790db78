"""From an old broker of 0-10 to a client's subscription, and what the broker hears of it."""

from support.old_broker import OldBroker, OldWorld

from gateway.message import ACCEPTED, MODIFIED_FAILED, RELEASED, Condition, Outcome, OutcomeKind


def bodies(consumer):
    return [each.message.body() for each in consumer.deliveries]


def settled(world, consumer, outcome=ACCEPTED):
    for delivery in consumer.take():
        world.settle(delivery, outcome)


def test_a_subscription_is_in_force_when_the_old_broker_has_agreed():
    world = OldWorld()
    broker = world.begin()
    broker.silent = True
    consumer, _ = world.subscribe()
    assert consumer.attached == 0
    broker.silent = False
    world.step()
    assert consumer.attached == 1


def test_no_more_comes_than_the_client_gives_credit_for_and_accepted_is_gone():
    world = OldWorld()
    broker = world.begin()
    broker.fill(b"1", b"2", b"3")
    consumer, subscription = world.subscribe(credit=2)
    assert bodies(consumer) == [b"1", b"2"]
    settled(world, consumer)
    assert broker.world.depth() == 1
    subscription.grant(1)
    world.step()
    settled(world, consumer)
    assert broker.world.depth() == 0
    world.check()


def test_what_the_client_gives_back_comes_again_as_it_says():
    world = OldWorld()
    broker = world.begin()
    broker.fill(b"1", b"2")
    consumer, subscription = world.subscribe(credit=2)
    first, second = consumer.take()
    world.settle(first, RELEASED)
    world.settle(second, MODIFIED_FAILED)
    subscription.cancel()
    world.step()
    found = broker.take()
    assert [each.message.body() for each in found] == [b"1", b"2"]
    assert [each.delivery_count for each in found] == [0, 1]
    world.check()


def test_what_the_client_rejects_is_rejected():
    world = OldWorld()
    broker = world.begin()
    broker.fill(b"1")
    consumer, _ = world.subscribe()
    settled(world, consumer, Outcome(OutcomeKind.REJECTED))
    assert broker.world.depth() == 0
    world.check()


def test_a_queue_that_is_not_there_refuses_the_subscription():
    world = OldWorld()
    world.begin(made=False)
    consumer, _ = world.subscribe()
    assert consumer.attached == 0
    assert consumer.cancelled == [Condition.NOT_FOUND]


def test_what_was_unsettled_when_the_connection_is_lost_comes_again_and_is_marked():
    world = OldWorld()
    broker = world.begin()
    broker.fill(b"1", b"2")
    consumer, _ = world.subscribe(credit=10)
    consumer.take()
    world.again()
    found = consumer.take()
    assert [each.message.body() for each in found] == [b"1", b"2"]
    assert [each.message.delivery_count > 0 for each in found] == [True, True]
    for delivery in found:
        world.settle(delivery, ACCEPTED)
    assert broker.world.depth() == 0


def test_what_an_accept_was_not_completed_for_is_marked_when_it_comes_again():
    world = OldWorld()
    broker = world.begin()
    broker.fill(b"1")
    consumer, _ = world.subscribe()
    (delivery,) = consumer.take()
    broker.silent = True
    broker.face.write_blocked(True)
    world.host.settlement.settle(delivery, ACCEPTED)
    world.world.turn()
    world.face.data_to_send()  # lost on the way
    world.again()
    (delivery,) = consumer.take()
    assert delivery.message.delivery_count == 1


def test_who_looks_on_takes_nothing():
    world = OldWorld()
    broker = world.begin()
    broker.fill(b"1", b"2")
    consumer, subscription = world.subscribe(acquire=False, settled=True)
    assert bodies(consumer) == [b"1", b"2"]
    subscription.cancel()
    world.step()
    assert broker.bodies() == [b"1", b"2"]


def test_a_drain_is_over_when_the_old_broker_has_sent_what_it_has():
    world = OldWorld()
    broker = world.begin()
    broker.fill(*[b"%d" % each for each in range(7)])
    consumer, subscription = world.subscribe(credit=10)
    assert consumer.drained == 0
    subscription.drain()
    world.step()
    assert (len(consumer.take()), consumer.drained) == (7, 1)
    subscription.grant(3)
    world.step()
    broker.fill(b"late")
    world.step()
    assert bodies(consumer) == [b"late"]


def test_who_leaves_with_deliveries_may_settle_them_still():
    world = OldWorld()
    broker = world.begin()
    broker.fill(b"1", b"2")
    before = world.upstream.sessions.attached()
    consumer, subscription = world.subscribe()
    first, second = consumer.take()
    subscription.cancel()
    world.step()
    assert broker.world.depth() == 2
    world.settle(first, ACCEPTED)
    assert broker.world.depth() == 1
    world.settle(second, RELEASED)
    assert broker.bodies() == [b"2"]
    assert world.upstream.sessions.attached() == before
    world.check()


def test_credit_that_the_client_takes_back_is_taken_back_from_the_old_broker():
    world = OldWorld()
    broker = world.begin()
    consumer, subscription = world.subscribe(credit=10)
    subscription.stop()
    world.step()
    broker.fill(b"1")
    world.step()
    assert consumer.take() == []
    subscription.grant(1)
    world.step()
    assert bodies(consumer) == [b"1"]


def test_what_the_old_broker_is_not_asked_for_is_refused_by_name():
    world = OldWorld()
    world.begin()
    for option in ({"selector": "a = 1"}, {"no_local": True}):
        consumer, _ = world.subscribe(**option)
        assert consumer.cancelled == [Condition.NOT_IMPLEMENTED]


def test_exchange_and_key_come_as_they_are_at_the_old_broker():
    world = OldWorld()

    def prepare(broker):
        broker.world.queue("q")
        assert broker.world.host.bindings.bind("q", "amq.topic", "uk.#", {}, b"") is None

    world.place("q")
    broker = world.connect(kind=OldBroker, prepare=prepare)
    message = broker.world.message(b"1", exchange="amq.topic", key="uk.mud")
    broker.world.host.publishing.publish(message, None, 0)
    consumer, _ = world.subscribe()
    (delivery,) = consumer.take()
    assert (delivery.message.exchange, delivery.message.routing_key) == ("amq.topic", "uk.mud")
