"""Other node rules: what rests, what is waited for, and where everything lives afterwards."""

from __future__ import annotations

from support.bridge_world import Consumer, Producer, World
from support.remotes import FakeRemote, FakeRules, FakeSource

from gateway.audit.schema import Kind, Reason
from gateway.bridge.durable.homes import queue_rows
from gateway.bridge.queues.subscription import Subscription
from gateway.bridge.remote.moving import Moving
from gateway.bridge.remote.remote import Inlet, Placement
from gateway.message import (
    ACCEPTED,
    MODIFIED_FAILED,
    REJECTED,
    RELEASED,
    Condition,
    OutcomeKind,
    Refusal,
)


class Change:
    """ "far" and exchange "x" live at "broker", and are to live at "other"."""

    def __init__(self, *, spool: bool = False) -> None:
        self.rules = FakeRules()
        self.old = self.rules.add("far", spool=spool)
        self.rules.add_exchange("x")
        self.world = World(rules=self.rules)
        self.old.stops_relays = True
        self.new = FakeRemote("other")
        self.new.begin(self.world.bridge)
        self.new.stops_relays = True
        self.after = FakeRules()
        self.after.remotes = {"other": self.new}
        self.after.queue_rules["far"] = Placement(self.new, spool=spool)
        self.after.exchange_rules["x"] = Placement(self.new)
        self.moving = self.plan()
        self.producer = Producer()
        self.published = 0

    def plan(self) -> Moving:
        return Moving(self.world.bridge, self.after, [self.old, self.new])

    def publish(self, *, key: str = "far", exchange: str = "") -> None:
        self.published += 1
        message = self.world.message(b"m", key=key, exchange=exchange)
        self.world.host.publishing.publish(message, self.producer, self.published)
        self.world.turn()

    def subscribe(self, credit: int = 5) -> tuple[Consumer, Subscription, Inlet, FakeSource]:
        consumer, subscription = self.world.subscribe("far", credit=credit)
        inlet, source = self.old.inlets[-1]
        inlet.on_attached()
        return consumer, subscription, inlet, source

    def outcomes(self) -> list[OutcomeKind]:
        return [outcome.kind for _, outcome in self.producer.published]


def test_what_rests_sends_nothing_and_wants_nothing_until_it_is_released() -> None:
    change = Change()
    _consumer, _subscription, inlet, _source = change.subscribe()
    assert inlet.wanted() == 5
    change.moving.hold()
    change.publish()
    assert change.old.relays["far"].take() == []
    assert inlet.wanted() == 0
    change.moving.release()
    change.world.turn()
    assert len(change.old.relays["far"].take()) == 1
    assert inlet.wanted() == 5
    change.world.check()


def test_what_a_rule_pauses_goes_on_when_it_is_resumed() -> None:
    change = Change()
    _consumer, _subscription, inlet, _source = change.subscribe()
    change.after.queue_rules["far"] = Placement(change.old, paused=True)
    change.after.exchange_rules["x"] = Placement(change.old)
    change.moving.carry_out()
    change.publish()
    assert (change.old.relays["far"].take(), inlet.wanted()) == ([], 0)
    assert change.outcomes() == []
    change.after.queue_rules["far"] = Placement(change.old)
    change.plan().carry_out()
    change.world.turn()
    assert (len(change.old.relays["far"].take()), inlet.wanted()) == (1, 5)
    assert change.old.unserved == []
    change.world.check()


def test_what_was_fetched_and_not_sent_goes_back_when_a_rule_rests() -> None:
    change = Change()
    consumer, _subscription, inlet, source = change.subscribe(credit=1)
    inlet.receive(change.world.message(b"a", key="far"), 1)
    inlet.receive(change.world.message(b"b", key="far"), 2)
    change.world.turn()
    assert len(consumer.deliveries) == 1
    change.moving.hold()
    change.world.turn()
    assert [(token, outcome.kind) for token, outcome in source.published] == [
        (2, OutcomeKind.RELEASED)
    ]
    change.world.check()


def test_what_came_late_to_a_rule_that_rests_goes_back() -> None:
    change = Change()
    consumer, _subscription, inlet, source = change.subscribe()
    change.moving.hold()
    inlet.receive(change.world.message(b"a", key="far"), 1)
    change.world.turn()
    assert consumer.deliveries == []
    assert [outcome.kind for _, outcome in source.published] == [OutcomeKind.RELEASED]
    change.world.check()


def test_what_waits_is_sent_to_the_new_upstream_and_its_publisher_hears_of_it() -> None:
    change = Change()
    change.publish()
    (under_way,) = change.old.relays["far"].take()
    change.moving.hold()
    change.publish()
    assert change.moving.unsettled() == 1
    change.world.host.settlement.settle(under_way, ACCEPTED)
    assert change.moving.unsettled() == 0
    assert change.moving.problems() == []
    change.moving.carry_out()
    change.world.turn()
    assert change.old.unserved == ["far"]
    (sent,) = change.new.relays["far"].take()
    change.world.host.settlement.settle(sent, ACCEPTED)
    change.world.turn()
    assert change.outcomes() == [OutcomeKind.ACCEPTED, OutcomeKind.ACCEPTED]
    change.world.check()


def test_what_the_old_upstream_did_not_settle_is_sent_again_marked() -> None:
    change = Change()
    change.publish()
    change.moving.hold()
    change.moving.carry_out()
    change.world.turn()
    assert change.old.abandoned == ["far"]
    (again,) = change.new.relays["far"].take()
    assert again.delivery_count == 1
    change.world.check()


def test_a_subscription_stays_and_is_fed_by_the_new_upstream() -> None:
    change = Change()
    consumer, subscription, inlet, source = change.subscribe()
    change.moving.hold()
    change.moving.carry_out()
    (moved, new_source) = change.new.inlets[0]
    assert moved is inlet and not subscription.cancelled
    assert (source.moved, inlet.established) == (1, True)
    inlet.on_attached()
    assert inlet.wanted() == 5
    inlet.receive(change.world.message(b"a", key="far"), 1)
    change.world.turn()
    (delivery,) = consumer.deliveries
    assert change.world.host.settlement.settle(delivery, ACCEPTED)
    change.world.turn()
    assert (len(new_source.published), source.published) == (1, [])
    change.world.check()


def test_what_a_client_did_not_settle_goes_back_and_is_then_settled_too_late() -> None:
    change = Change()
    consumer, _subscription, inlet, source = change.subscribe()
    inlet.receive(change.world.message(b"a", key="far"), 1)
    change.world.turn()
    change.moving.hold()
    assert change.moving.unsettled() == 1
    change.moving.carry_out()
    change.world.turn()
    assert source.published == [(1, RELEASED)]
    assert not change.world.host.settlement.settle(consumer.deliveries[0], ACCEPTED)
    change.world.check()


def test_the_bindings_of_an_exchange_are_fed_by_the_new_upstream() -> None:
    change = Change()
    change.world.queue("here")
    assert change.world.host.bindings.bind("here", "x", "k", {}, b"") is None
    ((_feed, old_source),) = change.old.feeds
    change.moving.hold()
    change.publish(exchange="x", key="k")
    change.moving.carry_out()
    change.world.turn()
    ((feed, _source),) = change.new.feeds
    assert (old_source.moved, old_source.left) == (1, 0)
    feed.receive(change.world.message(b"a", key="k"), 1)
    change.world.turn()
    here = change.world.host.topology.find_queue("here")
    assert here is not None and here.depth == 1
    assert len(change.new.relays["x"].take()) == 1
    change.world.check()


def test_a_queue_with_messages_does_not_move_here_nor_from_here() -> None:
    change = Change()
    change.publish()
    change.world.queue("near")
    change.publish(key="near")
    del change.after.queue_rules["far"]
    change.after.queue_rules["near"] = Placement(change.new)
    problems = dict(change.plan().problems())
    assert "must be empty" in problems["queue 'far' of virtual host '/'"]
    assert "live at other" in problems["queue 'near' of virtual host '/'"]
    change.world.check()


def test_an_empty_queue_moves_here_and_back() -> None:
    change = Change()
    queue = change.world.host.topology.find_queue("far")
    assert queue is not None
    rule = change.after.queue_rules.pop("far")
    change.plan().carry_out()
    assert (queue.transit, queue.durable, queue.placement) == (False, True, None)
    change.publish()
    assert change.outcomes() in ([], [OutcomeKind.ACCEPTED])
    assert change.world.host.declaring.purge_queue("far") == 1
    change.after.queue_rules["far"] = rule
    moving = change.plan()
    assert moving.problems() == []
    moving.carry_out()
    assert (queue.transit, queue.durable) == (True, False)
    assert "far" in change.new.relays
    change.world.check()


def test_the_row_of_a_queue_says_where_it_lives_after_each_move() -> None:
    change = Change()
    world = change.world
    rule = change.after.queue_rules.pop("far")
    change.plan().carry_out()
    world.turn()
    assert [row.upstream for row in queue_rows(world.store.topology())] == [""]
    change.after.queue_rules["far"] = rule
    change.plan().carry_out()
    world.turn()
    assert [row.upstream for row in queue_rows(world.store.topology())] == ["other"]


def test_an_exchange_moves_here_with_its_bindings_and_back() -> None:
    change = Change()
    change.world.queue("here")
    assert change.world.host.bindings.bind("here", "x", "k.*", {}, b"") is None
    rule = change.after.exchange_rules.pop("x")
    change.plan().carry_out()
    change.publish(exchange="x", key="k.1")
    here = change.world.host.topology.find_queue("here")
    assert here is not None and here.depth == 1
    change.after.exchange_rules["x"] = rule
    change.plan().carry_out()
    assert len(change.new.feeds) == 1
    change.world.check()


def test_an_upstream_that_is_gone_takes_its_own_exchange_along() -> None:
    change = Change()
    Moving(change.world.bridge, change.after, [change.new]).carry_out()
    assert change.world.host.topology.find_exchange("upstream.broker") is None
    assert change.world.host.topology.find_exchange("upstream.other") is not None
    message = change.world.message(b"m", exchange="upstream.broker", key="a")
    answer = change.world.host.publishing.publish(message, change.producer, 1)
    assert isinstance(answer.refusal, Refusal)
    assert answer.refusal.condition == Condition.NOT_FOUND
    change.world.check()


def test_a_spool_goes_on_at_the_new_upstream() -> None:
    change = Change(spool=True)
    change.publish()
    change.moving.hold()
    change.moving.carry_out()
    change.world.turn()
    (sent,) = change.new.relays["far"].take()
    change.world.host.settlement.settle(sent, MODIFIED_FAILED, Reason.UPSTREAM_LOST)
    change.world.turn()
    assert len(change.new.relays["far"].take()) == 1
    change.world.check()


def test_dead_letters_on_their_way_are_at_the_new_upstream_also_after_a_crash() -> None:
    change = Change()
    world = change.world
    world.queue("near", durable=True, alternate_exchange="x")
    consumer, _ = world.subscribe("near")
    world.send(b"1", key="near", durable=True)
    world.turn()
    world.host.settlement.settle(consumer.deliveries[0], REJECTED)
    world.turn()
    change.moving.hold()
    change.moving.carry_out()
    assert world.check().kinds[Kind.MOVED] == 1
    assert len(change.new.relays["x"].deliveries) == 1
    world.rules = change.after
    for _ in range(2):
        world.crash()
        assert len(change.new.relays["x"].deliveries) == 1
        world.check()


def test_an_exchange_with_messages_on_their_way_does_not_move_here() -> None:
    change = Change()
    change.publish(exchange="x", key="k")
    del change.after.exchange_rules["x"]
    problems = dict(change.plan().problems())
    assert "1 messages on their way" in problems["exchange 'x' of virtual host '/'"]
    [delivery] = change.old.relays["x"].take()
    change.world.host.settlement.settle(delivery, ACCEPTED)
    assert change.plan().problems() == []


def test_a_queue_with_subscriptions_does_not_move_here_nor_from_here() -> None:
    change = Change()
    _consumer, subscription, _inlet, _source = change.subscribe()
    change.world.queue("near")
    change.world.subscribe("near")
    del change.after.queue_rules["far"]
    change.after.queue_rules["near"] = Placement(change.new)
    problems = dict(change.plan().problems())
    assert "has 1 subscriptions" in problems["queue 'far' of virtual host '/'"]
    assert "has 1 subscriptions" in problems["queue 'near' of virtual host '/'"]
    subscription.cancel()
    assert list(dict(change.plan().problems())) == ["queue 'near' of virtual host '/'"]


def test_a_queue_with_messages_is_not_kept_otherwise() -> None:
    change = Change()
    change.publish()
    change.after.queue_rules["far"] = Placement(change.old, spool=True)
    [(_, problem)] = change.plan().problems()
    assert "be kept otherwise (spool)" in problem


def test_an_exchange_that_stays_keeps_its_links_and_obeys_its_new_rule() -> None:
    change = Change()
    change.world.queue("here")
    change.world.host.bindings.bind("here", "x", "k", {}, b"")
    ((feed, source),) = change.old.feeds
    change.after.queue_rules["far"] = Placement(change.old)
    change.after.exchange_rules["x"] = Placement(change.old, paused=True)
    change.plan().carry_out()
    change.publish(exchange="x", key="k")
    assert (change.old.relays["x"].take(), feed.wanted()) == ([], 0)
    change.after.exchange_rules["x"] = Placement(change.old)
    change.plan().carry_out()
    change.world.turn()
    assert len(change.old.relays["x"].take()) == 1
    assert feed.wanted() > 0
    assert (source.left, source.moved, len(change.old.feeds)) == (0, 0, 1)
    change.world.check()


def test_what_a_feed_has_not_confirmed_is_in_flight_until_it_has() -> None:
    change = Change()
    change.world.queue("here", durable=True)
    change.world.host.bindings.bind("here", "x", "k", {}, b"")
    ((feed, _source),) = change.old.feeds
    change.world.auto_commit = False
    feed.receive(change.world.message(b"a", key="k", durable=True), 1)
    change.moving.hold()
    change.world.turn()
    assert change.moving.unsettled() == 1
    change.world.commit()
    assert change.moving.unsettled() == 0
    change.world.auto_commit = True
    change.world.check()
