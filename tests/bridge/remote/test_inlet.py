"""Subscriptions to remote queues: credit, settlement and loss, from end to end."""

from __future__ import annotations

import pytest
from support.bridge_world import Consumer, World
from support.remotes import FakeRules, FakeSource

from gateway.audit.schema import Kind
from gateway.bridge.limits import BridgeLimits
from gateway.bridge.queues.subscription import UNLIMITED, Subscription
from gateway.bridge.remote.remote import Inlet
from gateway.bridge.seams import DeliverStatus, SubscribeOptions
from gateway.message import (
    ACCEPTED,
    MODIFIED_FAILED,
    REJECTED,
    RELEASED,
    Condition,
    Outcome,
    OutcomeKind,
    Refusal,
)


class Remote:
    """A world in which "far" is remote, with one subscription to it."""

    def __init__(
        self,
        *,
        credit: int = UNLIMITED,
        octets: int = UNLIMITED,
        acquire: bool = True,
        settled: bool = False,
        attached: bool = True,
    ) -> None:
        rules = FakeRules()
        self.remote = rules.add("far*")
        self.world = World(rules=rules, limits=BridgeLimits(remote_prefetch=10))
        self.consumer, self.subscription = self.world.subscribe(
            "far", credit=credit, octets=octets, acquire=acquire, settled=settled
        )
        self.inlet: Inlet
        self.source: FakeSource
        self.inlet, self.source = self.remote.inlets[0]
        self.tokens = 0
        if attached:
            self.inlet.on_attached()

    def bring(self, *bodies: bytes, ttl_ms: int = -1) -> None:
        for body in bodies:
            self.tokens += 1
            message = self.world.message(body, key="far", ttl_ms=ttl_ms)
            self.inlet.receive(message, self.tokens)

    def told(self) -> list[tuple[int, OutcomeKind]]:
        self.world.turn()
        return [(token, outcome.kind) for token, outcome in self.source.published]


def test_a_subscription_is_attaching_until_the_upstream_has_answered() -> None:
    far = Remote(attached=False)
    assert (far.subscription.attaching, far.consumer.attached) == (True, 0)
    far.inlet.on_attached()
    assert (far.subscription.attaching, far.consumer.attached) == (False, 1)
    far.inlet.on_attached()  # By the next link.
    assert far.consumer.attached == 1


def test_a_refused_subscription_is_over() -> None:
    far = Remote(attached=False)
    far.inlet.on_refused(Condition.NOT_FOUND, "no such queue")
    assert far.consumer.cancelled == [Condition.NOT_FOUND]
    assert far.subscription.cancelled
    assert far.inlet.wanted() == 0
    far.subscription.cancel()
    far.world.check()


def test_link_credit_is_the_clients_less_what_waits_here() -> None:
    far = Remote(credit=3)
    assert far.inlet.wanted() == 3
    far.bring(b"1")
    assert far.inlet.wanted() == 2
    far.world.turn()
    assert far.inlet.wanted() == 2
    far.subscription.grant(UNLIMITED, UNLIMITED)
    assert far.inlet.wanted() == 10
    far.subscription.grant(5, 0)
    assert far.inlet.wanted() == 0
    far.world.check()


@pytest.mark.parametrize("outcome", [ACCEPTED, RELEASED, MODIFIED_FAILED, REJECTED])
def test_what_the_client_says_is_what_the_upstream_hears(outcome: Outcome) -> None:
    far = Remote()
    far.bring(b"1")
    assert far.told() == []
    (delivery,) = far.consumer.deliveries
    assert far.world.host.settlement.settle(delivery, outcome)
    assert far.told() == [(1, outcome.kind)]
    assert not far.world.host.settlement.settle(delivery, outcome)
    far.world.check()


def test_a_browsed_copy_ends_with_its_settlement_and_cannot_be_acquired() -> None:
    far = Remote(acquire=False)
    assert not far.inlet.acquire
    far.bring(b"1")
    far.world.turn()
    (delivery,) = far.consumer.deliveries
    assert not delivery.acquired
    assert not far.world.host.settlement.acquire(delivery)
    assert far.world.bridge.counts.unacquirable == 1
    far.world.host.settlement.settle(delivery, RELEASED)
    assert far.told() == [(1, OutcomeKind.RELEASED)]
    far.world.check()


@pytest.mark.parametrize("acquire", [True, False])
def test_what_is_sent_settled_is_accepted(acquire: bool) -> None:
    far = Remote(settled=True, acquire=acquire)
    far.bring(b"1")
    assert far.told() == [(1, OutcomeKind.ACCEPTED)]
    far.world.check()


def test_a_drain_waits_for_the_upstream_and_gives_back_what_does_not_fit() -> None:
    far = Remote(credit=5, octets=3)
    far.subscription.drain()
    far.world.turn()
    assert (far.inlet.draining, far.consumer.drained) == (True, 0)
    far.bring(b"12", b"34")
    far.world.turn()
    far.inlet.on_drained()
    far.world.turn()
    assert (far.consumer.drained, far.subscription.credit, far.inlet.draining) == (1, 0, False)
    assert far.consumer.bodies() == [b"12"]
    assert far.told() == [(2, OutcomeKind.RELEASED)]
    assert far.world.check().kinds[Kind.RETURNED] == 1


def test_a_drain_without_credit_or_without_link_is_over_at_once() -> None:
    far = Remote(credit=0)
    far.subscription.drain()
    far.world.turn()
    assert far.consumer.drained == 1
    far.subscription.grant(5)
    far.subscription.drain()
    far.inlet.lost()
    far.world.turn()
    assert far.consumer.drained == 2
    far.subscription.grant(5)
    far.subscription.drain()
    far.world.turn()
    assert far.consumer.drained == 3


def test_a_stop_gives_back_what_was_fetched_and_what_still_comes() -> None:
    far = Remote(credit=5)
    far.consumer.answers = [DeliverStatus.BLOCKED]
    far.bring(b"1")
    far.world.turn()
    far.subscription.stop()
    far.bring(b"2")
    assert far.told() == [(1, OutcomeKind.RELEASED), (2, OutcomeKind.RELEASED)]
    assert far.inlet.wanted() == 0
    far.subscription.resume()
    far.subscription.grant(1)
    far.bring(b"3")
    far.world.turn()
    assert far.consumer.bodies() == [b"3"]
    far.world.check()


def test_a_cancelled_subscription_gives_back_what_waits_and_keeps_what_is_out() -> None:
    far = Remote(credit=1)
    far.bring(b"1")
    far.world.turn()
    far.bring(b"2")
    far.subscription.cancel()
    far.bring(b"3")
    assert far.told() == [(2, OutcomeKind.RELEASED), (3, OutcomeKind.RELEASED)]
    assert far.source.left == 1
    far.world.host.settlement.settle(far.consumer.deliveries[0], ACCEPTED)
    assert far.told()[2:] == [(1, OutcomeKind.ACCEPTED)]
    far.world.check()


def test_a_lost_link_takes_everything_back_and_the_next_goes_on() -> None:
    far = Remote(credit=1)
    far.bring(b"1")
    far.world.turn()
    far.bring(b"2")
    far.inlet.lost()
    assert far.world.bridge.counts.returned == 1
    assert not far.world.host.settlement.settle(far.consumer.deliveries[0], ACCEPTED)
    assert far.told() == []
    assert far.world.bridge.counts.settled_too_late == 1
    far.inlet.on_attached()
    far.subscription.grant(1)
    far.bring(b"3")
    far.world.turn()
    far.world.host.settlement.settle(far.consumer.deliveries[1], ACCEPTED)
    assert far.told() == [(3, OutcomeKind.ACCEPTED)]
    far.world.check()


def test_a_node_that_disappears_ends_the_subscription_and_late_settlements_are_harmless() -> None:
    far = Remote()
    far.bring(b"1")
    far.world.turn()
    far.inlet.on_refused(Condition.RESOURCE_DELETED, "deleted")
    assert far.consumer.cancelled == [Condition.RESOURCE_DELETED]
    assert not far.world.host.settlement.settle(far.consumer.deliveries[0], ACCEPTED)
    assert far.told() == []
    far.world.check()


def test_what_cannot_be_sent_to_the_client_goes_back_for_others() -> None:
    far = Remote()
    far.consumer.answers = [DeliverStatus.UNDELIVERABLE]
    far.bring(b"1", b"2")
    assert far.told() == [(1, OutcomeKind.MODIFIED)]
    assert far.source.published[0][1].undeliverable_here
    assert far.consumer.bodies() == [b"2"]
    far.world.check()


def test_what_expires_here_is_a_failed_delivery_to_the_upstream() -> None:
    far = Remote(credit=1)
    far.bring(b"1")
    far.world.turn()
    far.bring(b"2", ttl_ms=5)
    far.world.pass_time(10)
    assert far.told() == [(2, OutcomeKind.MODIFIED)]
    far.world.check()


def test_exclusive_is_kept_among_our_own_clients() -> None:
    far = Remote()
    host, owner = far.world.host, far.world.owner()

    def subscribe(exclusive: bool) -> Subscription | Refusal:
        return host.subscribing.subscribe(
            "far",
            Consumer(),
            owner,
            SubscribeOptions(exclusive=exclusive),
        )

    refusal = subscribe(True)
    assert isinstance(refusal, Refusal) and refusal.condition == Condition.RESOURCE_LOCKED
    far.subscription.cancel()
    assert isinstance(subscribe(True), Subscription)
    refusal = subscribe(False)
    assert isinstance(refusal, Refusal) and refusal.condition == Condition.RESOURCE_LOCKED
    host.owners.release(owner)
    assert isinstance(subscribe(False), Subscription)


def test_an_ended_session_leaves_the_upstream_everything() -> None:
    far = Remote()
    owner = far.world.owner()
    consumer, _ = far.world.subscribe("far", owner)
    inlet, source = far.remote.inlets[1]
    inlet.receive(far.world.message(b"1"), 1)
    far.world.turn()
    far.world.host.settlement.settle(consumer.deliveries[0], MODIFIED_FAILED)
    inlet.receive(far.world.message(b"2"), 2)
    far.world.host.owners.release(owner)
    far.world.turn()
    assert [outcome.kind for _, outcome in source.published] == [
        OutcomeKind.MODIFIED,
        OutcomeKind.RELEASED,
    ]
    assert source.left == 1
    far.world.check()


def test_a_stopping_gateway_gives_back_what_waits_and_wants_nothing_more() -> None:
    far = Remote(credit=1)
    far.bring(b"1")
    far.world.turn()
    far.bring(b"2")
    far.world.bridge.drain()
    far.bring(b"3")
    assert far.told() == [(2, OutcomeKind.RELEASED), (3, OutcomeKind.RELEASED)]
    assert far.inlet.wanted() == 0
    far.world.check()


def test_selector_and_no_local_are_for_the_link_to_ask() -> None:
    far = Remote()
    far.world.host.subscribing.subscribe(
        "far.away",
        Consumer(),
        far.world.owner(),
        SubscribeOptions(selector="a = 1", no_local=True),
    )
    inlet, _ = far.remote.inlets[-1]
    assert (inlet.queue_name, inlet.selector, inlet.no_local) == ("far.away", "a = 1", True)
