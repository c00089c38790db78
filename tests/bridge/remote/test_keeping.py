"""Messages that an upstream settled as it sent them: sent on, or kept, and never just gone."""

from __future__ import annotations

import pytest
from support.bridge_world import Consumer, World
from support.remotes import FakeRelay, FakeRules, FakeSource

from gateway.audit.schema import Kind
from gateway.bridge.limits import BridgeLimits
from gateway.bridge.queues.subscription import UNLIMITED
from gateway.bridge.remote.remote import Inlet
from gateway.bridge.seams import DeliverStatus
from gateway.message import (
    ACCEPTED,
    MODIFIED_FAILED,
    REJECTED,
    RELEASED,
    Condition,
    Outcome,
)

FORGOTTEN = -1  # the token of what no outcome is told of


class Remote:
    """A world in which "far" is remote, with a subscription whose deliveries come settled."""

    def __init__(
        self, *, credit: int = UNLIMITED, acquire: bool = True, settled: bool = True
    ) -> None:
        rules = FakeRules()
        self.remote = rules.add("far*")
        self.world = World(rules=rules, limits=BridgeLimits(remote_prefetch=10))
        self.consumer: Consumer
        self.consumer, self.subscription = self.world.subscribe(
            "far", credit=credit, acquire=acquire, settled=settled
        )
        self.inlet: Inlet
        self.source: FakeSource
        self.inlet, self.source = self.remote.inlets[0]
        self.inlet.on_attached()

    @property
    def relay(self) -> FakeRelay:
        return self.remote.relays["far"]

    def bring(self, *bodies: bytes, durable: bool = False, ttl_ms: int = -1) -> None:
        for body in bodies:
            message = self.world.message(body, key="far", durable=durable, ttl_ms=ttl_ms)
            self.inlet.receive(message, FORGOTTEN, settled=True)

    def wait(self, *bodies: bytes, durable: bool = False) -> None:
        """Have some that wait: the client's transport is full."""
        self.consumer.answers = [DeliverStatus.BLOCKED]
        self.bring(*bodies, durable=durable)
        self.world.turn()

    def sent_back(self) -> list[bytes]:
        self.world.turn()
        return [each.message.payload for each in self.relay.deliveries]


def test_what_came_settled_and_is_sent_on_has_ended() -> None:
    far = Remote()
    far.bring(b"1", b"2")
    assert far.sent_back() == []
    assert far.consumer.bodies() == [b"1", b"2"]
    assert far.world.check().kinds[Kind.MOVED] == 0


def test_what_waits_when_the_client_stops_or_leaves_goes_back_in_order() -> None:
    far = Remote()
    far.wait(b"1", b"2")
    far.subscription.stop()
    assert far.sent_back() == [b"1", b"2"]
    far.subscription.grant(UNLIMITED, UNLIMITED)
    far.wait(b"3")
    far.subscription.cancel()
    assert far.sent_back() == [b"1", b"2", b"3"]
    assert far.world.bridge.counts.moved == 3
    for delivery in far.relay.take():
        far.world.host.settlement.settle(delivery, ACCEPTED)
    checked = far.world.check()
    assert (checked.kinds[Kind.MOVED], checked.kinds[Kind.RETURNED]) == (3, 0)
    assert far.world.depth("far") == 0


def test_what_comes_too_late_goes_back_as_well() -> None:
    far = Remote()
    far.subscription.stop()
    far.bring(b"1")
    far.subscription.cancel()
    far.bring(b"2")
    far.world.bridge.drain()
    far.bring(b"3")
    assert far.sent_back() == [b"1", b"2", b"3"]
    assert far.world.check().kinds[Kind.REFUSED] == 0


def test_a_lost_link_takes_nothing_back_of_what_it_had_settled() -> None:
    far = Remote()
    far.wait(b"1")
    far.inlet.lost()
    far.subscription.resume()
    assert far.sent_back() == []
    assert far.consumer.bodies() == [b"1"]
    far.world.check()


def test_a_node_that_is_gone_leaves_what_waits_to_the_queue_in_front_of_it() -> None:
    far = Remote()
    far.wait(b"1")
    far.inlet.on_refused(Condition.RESOURCE_DELETED, "deleted")
    assert far.sent_back() == [b"1"]
    gone = Outcome(REJECTED.kind, condition=Condition.NOT_FOUND, description="no such queue")
    far.world.host.settlement.settle(far.relay.deliveries[0], gone)
    far.world.turn()
    assert (far.world.depth("far"), far.world.depth("gateway.rejected")) == (0, 1)
    far.world.check()


def test_what_is_durable_outlives_the_gateway() -> None:
    far = Remote()
    far.wait(b"1", durable=True)
    far.subscription.stop()
    far.world.turn()
    far.world.restart()
    assert far.sent_back() == [b"1"]
    far.world.check()


def test_what_the_client_cannot_be_sent_does_not_go_round_in_circles() -> None:
    far = Remote()
    far.consumer.answers = [DeliverStatus.UNDELIVERABLE]
    far.bring(b"1", b"2")
    assert far.sent_back() == []
    assert far.consumer.bodies() == [b"2"]
    assert far.world.depth("gateway.rejected") == 1
    far.world.check()


@pytest.mark.parametrize(
    ("outcome", "sent_back", "rejected", "count"),
    [
        (ACCEPTED, 0, 0, 0),
        (RELEASED, 1, 0, 0),
        (MODIFIED_FAILED, 1, 0, 1),
        (REJECTED, 0, 1, 0),
    ],
)
def test_an_upstream_that_settles_unasked_leaves_the_outcome_to_us(
    outcome: Outcome, sent_back: int, rejected: int, count: int
) -> None:
    far = Remote(settled=False)
    far.bring(b"1")
    far.world.turn()
    assert far.world.host.settlement.settle(far.consumer.deliveries[0], outcome)
    assert len(far.sent_back()) == sent_back
    assert [each.delivery_count for each in far.relay.deliveries] == [count] * sent_back
    queue = far.world.host.topology.find_queue("gateway.rejected")
    assert (0 if queue is None else queue.depth) == rejected
    far.world.check()


def test_what_is_with_the_client_survives_the_link_too() -> None:
    far = Remote(settled=False)
    far.bring(b"1")
    far.world.turn()
    far.inlet.lost()
    assert far.world.host.settlement.settle(far.consumer.deliveries[0], ACCEPTED)
    assert far.sent_back() == []
    assert far.world.bridge.counts.settled_too_late == 0
    far.world.check()


def test_a_browsers_copy_is_not_ours() -> None:
    far = Remote(acquire=False)
    far.wait(b"1")
    far.subscription.stop()
    assert far.sent_back() == []
    assert far.world.check().kinds[Kind.RETURNED] == 1


def test_what_expires_here_has_ended() -> None:
    far = Remote()
    far.consumer.answers = [DeliverStatus.BLOCKED]
    far.bring(b"1", ttl_ms=5)
    far.world.pass_time(10)
    assert far.sent_back() == []
    assert far.world.check().kinds[Kind.EXPIRED] == 1


def test_without_a_queue_in_front_the_queue_of_what_was_rejected_has_it() -> None:
    far = Remote()
    far.wait(b"1")
    assert far.world.host.declaring.delete_queue("far", far.world.owner()) is None
    far.world.limits.queues_max = 0  # so that the rule makes no other one
    far.subscription.cancel()
    assert far.sent_back() == []
    assert far.world.depth("gateway.rejected") == 1
    far.world.check()
