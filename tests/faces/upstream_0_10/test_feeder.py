"""Queues of the gateway that are bound to exchanges of an old broker of 0-10."""

import pytest
from support.bridge_world import Producer, bind
from support.old_broker import OldBroker, OldWorld

from gateway.message import Condition, Kind, OutcomeKind
from gateway.wire.tagged import Tagged


class Fed:
    """The exchange ``news`` is remote, the queue ``here`` is bound to it by ``uk.#``."""

    def __init__(self, **settings: object) -> None:
        self.world = OldWorld(**settings)
        self.world.place(exchange="news")
        self.world.world.queue("here")
        self.world.host.topology.find_exchange("news")
        bind(self.world.world, "here", "news", "uk.#")
        self.broker = self.world.connect(kind=OldBroker, prepare=prepare)

    def publish(self, *bodies: bytes, key: str = "uk.mud") -> None:
        """At the old broker, by somebody else."""
        world = self.broker.world
        for body in bodies:
            message = world.message(body, exchange="news", key=key)
            world.host.publishing.publish(message, None, 0)
        self.world.step()

    def here(self) -> list[bytes]:
        consumer, subscription = self.world.world.subscribe("here", settled=True)
        self.world.step()
        subscription.cancel()
        return [each.message.body() for each in consumer.deliveries]


def prepare(broker: OldBroker) -> None:
    broker.world.host.declaring.declare_exchange("news", "topic")


def queues(broker: OldBroker) -> list[str]:
    return [name for name in broker.world.host.topology.queues if name.startswith("gateway.")]


def test_what_its_exchange_routes_by_the_key_comes_and_is_accepted_when_it_is_safe() -> None:
    fed = Fed()
    fed.publish(b"1", b"2")
    fed.publish(b"other", key="fr.wine")
    assert fed.here() == [b"1", b"2"]
    (queue,) = queues(fed.broker)
    assert fed.broker.world.depth(queue) == 0
    fed.world.check()


def test_exchange_and_key_are_those_that_it_was_published_by() -> None:
    fed = Fed()
    fed.publish(b"1")
    consumer, _ = fed.world.world.subscribe("here")
    fed.world.step()
    (delivery,) = consumer.take()
    assert (delivery.message.exchange, delivery.message.routing_key) == ("news", "uk.mud")


def test_what_a_client_of_the_gateway_publishes_comes_back_to_the_queue() -> None:
    fed = Fed()
    publisher = Producer()
    fed.world.publish(b"1", exchange="news", key="uk.mud", publisher=publisher)
    assert [outcome.kind for _, outcome in publisher.published] == [OutcomeKind.ACCEPTED]
    assert fed.here() == [b"1"]


def test_nothing_is_left_behind_when_the_binding_is_gone() -> None:
    fed = Fed()
    assert len(queues(fed.broker)) == 1
    assert fed.world.host.bindings.unbind("here", "news", "uk.#") is None
    fed.world.step()
    assert queues(fed.broker) == []


def test_it_is_made_again_on_the_next_connection_and_before_anything_is_published() -> None:
    fed = Fed()
    fed.world.lose()
    fed.broker.lose()
    assert queues(fed.broker) == []
    publisher = Producer()
    fed.world.publish(b"1", exchange="news", key="uk.mud", publisher=publisher)
    fed.broker = fed.world.connect(kind=OldBroker, before=fed.broker)
    assert [outcome.kind for _, outcome in publisher.published] == [OutcomeKind.ACCEPTED]
    assert fed.here() == [b"1"]


def test_an_exchange_that_is_not_there_is_told_of_and_asked_for_again() -> None:
    world = OldWorld()
    world.place(exchange="news")
    world.world.queue("here")
    world.host.topology.find_exchange("news")
    bind(world.world, "here", "news", "uk.#")
    broker = world.connect(kind=OldBroker)
    assert world.counts.feeds_refused == 1
    assert "nothing comes from exchange 'news'" in world.upstream.health.last_error
    prepare(broker)
    world.pass_time(2_000)
    assert len(queues(broker)) == 1


@pytest.mark.parametrize("name", ["x-filter-jms-selector", "x-apache-selector"])
def test_a_selector_is_refused_by_name(name: str) -> None:
    fed = Fed()
    arguments = {name: Tagged(Kind.STRING, "a = 1")}
    refusal = fed.world.host.bindings.bind("here", "news", "fr.#", arguments, b"")
    assert refusal is not None
    assert refusal.condition == Condition.NOT_IMPLEMENTED
