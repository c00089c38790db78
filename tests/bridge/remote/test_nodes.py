"""Remote queues and exchanges by rule: known, made on demand, bound, looked up."""

from __future__ import annotations

import pytest
from support.bridge_world import Consumer, Producer, World
from support.remotes import FakeRemote, FakeRules

from gateway.bridge.limits import BridgeLimits
from gateway.bridge.remote.remote import Target
from gateway.bridge.seams import PublishStatus, QueueSettings, SubscribeOptions
from gateway.message import ACCEPTED, Condition, OutcomeKind, Refusal


def world_with(
    *queues: str, exchange: str = "", limits: BridgeLimits | None = None
) -> tuple[World, FakeRemote]:
    rules = FakeRules()
    remote = rules.add(*queues)
    if exchange:
        rules.add_exchange(exchange)
    return World(rules=rules, limits=limits), remote


def test_named_queues_are_there_from_the_start_and_served() -> None:
    world, remote = world_with("far", "away.*")
    assert "far" in remote.relays
    queue = world.host.topology.find_queue("far")
    assert queue is not None
    assert (queue.transit, queue.durable, queue.target) == (True, False, Target.QUEUE)


def test_a_pattern_makes_queues_when_they_are_asked_for() -> None:
    world, remote = world_with("away.*")
    assert "away.1" not in remote.relays
    assert world.host.publishing.publish(world.message(key="away.1"), Producer(), 1).status == (
        PublishStatus.PENDING
    )
    assert "away.1" in remote.relays
    answer = world.host.declaring.declare_queue(
        "away.2", QueueSettings(), world.owner(), passive=True
    )
    assert not isinstance(answer, Refusal)
    assert world.host.topology.find_queue("elsewhere") is None
    world.crash()
    assert "away.1" not in remote.relays


def test_no_more_queues_are_made_than_a_host_may_have() -> None:
    world, _ = world_with("away.*", limits=BridgeLimits(queues_max=2))
    assert [
        world.host.topology.find_queue(f"away.{number}") is not None for number in range(3)
    ] == [
        True,
        True,
        False,
    ]


def test_declaring_a_remote_queue_answers_the_one_that_is_there() -> None:
    world, _ = world_with("far")
    queue = world.host.topology.find_queue("far")
    settings = QueueSettings(durable=True, max_count=1)
    assert world.host.declaring.declare_queue("far", settings, world.owner()) is queue
    refusal = world.host.declaring.declare_queue(
        "far", QueueSettings(alternate_exchange="none"), world.owner()
    )
    assert isinstance(refusal, Refusal) and refusal.condition == Condition.NOT_FOUND


def test_a_look_up_asks_the_upstream_for_remote_names_only() -> None:
    class Waiter:
        def on_looked_up(self, token: int, refusal: Refusal | None) -> None:
            raise AssertionError

    world, remote = world_with("far")
    world.queue("near")
    waiter = Waiter()
    assert world.host.reaching.look_up("far", waiter, 5)
    assert remote.waiters == [(waiter, 5)]
    assert not world.host.reaching.look_up("near", waiter, 6)
    assert not world.host.reaching.look_up("nowhere", waiter, 7)


@pytest.mark.parametrize("name", ["trades", "amq.topic"])
def test_a_remote_exchange_sends_everything_to_its_upstream(name: str) -> None:
    world, remote = world_with(exchange=name)
    producer = Producer()
    answer = world.host.publishing.publish(world.message(exchange=name, key="a.b"), producer, 1)
    assert answer.status == PublishStatus.PENDING
    world.turn()
    relay = remote.relays[name]
    assert relay.queue.target == Target.EXCHANGE
    assert relay.deliveries[0].message.routing_key == "a.b"
    world.host.settlement.settle(relay.deliveries[0], ACCEPTED)
    world.turn()
    assert producer.published == [(1, ACCEPTED)]
    world.check()


def test_a_remote_exchange_is_declared_as_whatever_its_users_think_it_is() -> None:
    world, _ = world_with(exchange="trades")
    exchange = world.host.declaring.declare_exchange("trades", "fanout")
    assert not isinstance(exchange, Refusal)
    assert exchange.type == "fanout"
    assert world.host.declaring.declare_exchange("trades", "", passive=True) is exchange
    assert world.host.topology.find_exchange("other") is None


def test_there_is_an_exchange_whose_keys_are_addresses_of_the_upstream() -> None:
    world, remote = world_with("far")
    exchange = world.host.declaring.declare_exchange("upstream.broker", "direct", passive=True)
    assert not isinstance(exchange, Refusal)
    world.host.publishing.publish(
        world.message(exchange="upstream.broker", key="/queue/x"), None, 0
    )
    world.turn()
    relay = remote.relays["upstream.broker"]
    assert relay.queue.target == Target.ADDRESS
    assert relay.deliveries[0].message.routing_key == "/queue/x"
    refusal = world.host.declaring.declare_exchange("upstream.other", "direct")
    assert isinstance(refusal, Refusal) and refusal.condition == Condition.NOT_ALLOWED
    assert world.host.declaring.delete_exchange("upstream.broker") is not None


def test_a_binding_to_a_remote_exchange_feeds_the_queue() -> None:
    world, remote = world_with(exchange="trades")
    world.queue("q", durable=True)
    assert world.host.bindings.bind("q", "trades", "a.#", {}, b"") is None
    ((feed, source),) = remote.feeds
    assert (feed.exchange, feed.key, feed.queue_name, feed.durable) == ("trades", "a.#", "q", True)
    assert feed.wanted() == 500
    world.auto_commit = False
    feed.receive(world.message(b"1", exchange="trades", key="a.b", durable=True), 7)
    assert feed.wanted() == 499
    world.turn()
    assert source.published == []
    world.commit()
    assert [(token, outcome.kind) for token, outcome in source.published] == [
        (7, OutcomeKind.ACCEPTED)
    ]
    assert world.depth("q") == 1
    world.check()


def test_durable_bindings_are_fed_again_after_a_restart_and_unbound_ones_are_not() -> None:
    world, remote = world_with("far", exchange="trades")
    world.queue("q", durable=True)
    world.queue("brief")
    for queue in ("q", "brief", "far"):
        assert world.host.bindings.bind(queue, "trades", "k", {}, b"") is None
    world.host.bindings.bind("q", "trades", "gone", {}, b"")
    world.host.bindings.bind("far", "amq.topic", "k", {}, b"")
    world.host.bindings.unbind("q", "trades", "gone")
    assert [source.left for _, source in remote.feeds] == [0, 0, 0, 1]
    world.turn()
    world.crash()
    assert sorted(feed.queue_name for feed, _ in remote.feeds) == ["far", "q"]
    assert ("amq.topic", "k") in (
        world.host.topology.find_queue("far") or remote.feeds[0][0].queue
    ).bound_to()
    world.host.declaring.delete_queue("q")
    assert sorted(source.left for _, source in remote.feeds) == [0, 1]
    world.check()


def test_a_scoped_binding_is_fed_for_the_life_of_its_session() -> None:
    world, remote = world_with(exchange="trades")
    world.queue("q", durable=True)
    owner = world.owner()
    world.host.bindings.bind("q", "trades", "k", {}, b"", owner, scoped=True)
    ((feed, source),) = remote.feeds
    assert not feed.durable
    world.host.owners.release(owner)
    assert source.left == 1
    feed.receive(world.message(b"late"), 1)
    world.turn()
    assert [outcome.kind for _, outcome in source.published] == [OutcomeKind.RELEASED]
    world.check()


def test_a_scoped_binding_that_is_made_for_good_is_fed_by_a_lasting_subscription() -> None:
    world, remote = world_with(exchange="trades")
    world.queue("q", durable=True)
    owner = world.owner()
    world.host.bindings.bind("q", "trades", "k", {}, b"", owner, scoped=True)
    world.host.bindings.bind("q", "trades", "k", {}, b"")
    world.host.owners.release(owner)
    assert [(feed.durable, source.left) for feed, source in remote.feeds] == [(False, 1), (True, 0)]


def test_a_remote_queue_fed_by_a_remote_exchange_confirms_when_its_upstream_has_it() -> None:
    world, remote = world_with("far", exchange="trades")
    world.host.bindings.bind("far", "trades", "k", {}, b"")
    feed, source = remote.feeds[0]
    feed.receive(world.message(b"1"), 1)
    world.turn()
    assert source.published == []
    world.host.settlement.settle(remote.relays["far"].deliveries[0], ACCEPTED)
    world.turn()
    assert source.published == [(1, ACCEPTED)]
    world.check()


def test_a_feed_wants_nothing_while_its_queue_or_the_gateway_is_full() -> None:
    world, remote = world_with(
        exchange="trades", limits=BridgeLimits(messages_high=2, messages_low=1)
    )
    world.queue("q", max_count=1)
    world.queue("other")
    world.host.bindings.bind("q", "trades", "k", {}, b"")
    feed, source = remote.feeds[0]
    feed.receive(world.message(b"1"), 1)
    feed.receive(world.message(b"2"), 2)
    world.turn()
    assert [(token, outcome.kind) for token, outcome in source.published] == [
        (1, OutcomeKind.ACCEPTED),
        (2, OutcomeKind.RELEASED),
    ]
    assert feed.wanted() == 0
    world.send(b"1", b"2", key="other")
    before = source.credits
    world.host.declaring.purge_queue("q")
    world.turn()
    assert (feed.wanted(), source.credits) == (0, before)
    world.host.declaring.purge_queue("other")
    world.turn()
    assert (feed.wanted(), source.credits) == (500, before + 1)
    world.check()


def test_an_exclusive_remote_queue_is_locked_among_our_own_clients() -> None:
    world, _ = world_with("far")
    owner = world.owner()
    settings = QueueSettings(exclusive=True)
    assert not isinstance(world.host.declaring.declare_queue("far", settings, owner), Refusal)
    refusal = world.host.subscribing.subscribe(
        "far",
        Consumer(),
        world.owner(),
        SubscribeOptions(),
    )
    assert isinstance(refusal, Refusal) and refusal.condition == Condition.RESOURCE_LOCKED
    world.host.owners.release(owner)
    world.subscribe("far")
    refusal = world.host.declaring.declare_queue("far", settings, owner)
    assert isinstance(refusal, Refusal) and refusal.condition == Condition.RESOURCE_LOCKED
