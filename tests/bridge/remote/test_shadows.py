"""What is published to a queue goes to another upstream, too, and nobody notices."""

from __future__ import annotations

import pytest
from support.branches import again, begun, ended, prepared
from support.bridge_world import Producer, World
from support.remotes import FakeRelay, FakeRules

from gateway.audit.digests import digest
from gateway.audit.schema import Kind, Reason
from gateway.bridge.branches.branches import Verdict
from gateway.bridge.limits import BridgeLimits
from gateway.bridge.pressure import COPY_OCTETS
from gateway.bridge.remote.moving import Moving, Resting
from gateway.bridge.remote.remote import Placement
from gateway.bridge.seams import DeliverStatus, PublishStatus
from gateway.message import (
    ACCEPTED,
    MODIFIED_FAILED,
    NO_TTL,
    REJECTED,
    RELEASED,
    Condition,
    Flag,
    Message,
    Refusal,
)

HALF = 0.5
TWO = 2 * (COPY_OCTETS + 4)  # octets of two copies of "body"


class Mirrored:
    """A world with the local queue "q", or the remote one, which has a shadow at "new"."""

    def __init__(self, *, remote: bool = False, limits: BridgeLimits | None = None, **how) -> None:
        self.rules = FakeRules()
        if remote:
            self.old = self.rules.add("q")
        self.new = self.rules.add_shadow("q", **how)
        self.world = World(rules=self.rules, limits=limits)
        if not remote:
            self.world.queue("q", durable=True)
        self.producer = Producer()

    def message(self, body: bytes = b"body", *, id: bytes = b"", **more) -> Message:
        message = self.world.message(body, key="q", **more)
        message.id_digest = digest(id) if id else 0
        return message

    def publish(self, *bodies: bytes, **more) -> list[PublishStatus]:
        publishing = self.world.host.publishing
        return [
            publishing.publish(self.message(body, **more), self.producer, token).status
            for token, body in enumerate(bodies or (b"body",))
        ]

    @property
    def relay(self) -> FakeRelay:
        return self.new.relays["q"]

    def sent(self) -> list[bytes]:
        self.world.turn()
        return [delivery.message.payload for delivery in self.relay.take()]

    def counted(self) -> tuple[int, int]:
        counts = self.world.bridge.counts
        return counts.shadowed, counts.unshadowed

    def records(self, kind: Kind, reason: Reason = Reason.NONE) -> int:
        records = self.world.blocks.records()
        return sum(each.kind == kind and each.reason == reason for each in records)


def test_what_is_published_to_a_queue_goes_to_its_consumers_and_to_its_shadow() -> None:
    mirrored = Mirrored()
    consumer, _ = mirrored.world.subscribe("q")
    mirrored.publish(b"a", b"b")
    assert mirrored.sent() == [b"a", b"b"]
    assert consumer.bodies() == [b"a", b"b"]
    assert mirrored.counted() == (2, 0)
    assert mirrored.world.host.topology.find_queue("q shadow to new") is None
    mirrored.world.check()


def test_the_publisher_of_a_remote_queue_waits_for_that_and_not_for_the_shadow() -> None:
    mirrored = Mirrored(remote=True)
    assert mirrored.publish() == [PublishStatus.PENDING]
    mirrored.world.turn()
    (delivery,) = mirrored.old.relays["q"].take()
    mirrored.world.host.settlement.settle(delivery, ACCEPTED)
    mirrored.world.turn()
    assert mirrored.producer.published == [(0, ACCEPTED)]
    assert mirrored.sent() == [b"body"]
    mirrored.world.check()


@pytest.mark.parametrize("outcome", [REJECTED, RELEASED, MODIFIED_FAILED])
def test_what_the_shadow_refuses_its_publisher_does_not_hear(outcome) -> None:
    mirrored = Mirrored()
    assert mirrored.publish(durable=True, flags=int(Flag.OUTCOMES)) == [PublishStatus.IN_TURN]
    mirrored.world.turn()
    (copy,) = mirrored.relay.take()
    mirrored.world.host.settlement.settle(copy, outcome)
    again = len(mirrored.sent())
    assert again == (0 if outcome is REJECTED else 1)
    assert mirrored.producer.published == []
    assert "gateway.rejected" not in mirrored.world.host.topology.queues
    assert mirrored.world.depth("q") == 1
    mirrored.world.check()


def test_what_can_never_be_sent_to_the_shadow_ends_there() -> None:
    mirrored = Mirrored()
    mirrored.relay.answers = [DeliverStatus.REFUSED]
    mirrored.relay.why = Refusal(Condition.NOT_FOUND, "no such node")
    mirrored.publish()
    mirrored.world.turn()
    assert mirrored.records(Kind.RETURNED, Reason.UPSTREAM_REFUSED) == 1
    assert mirrored.world.depth("q") == 1
    mirrored.world.check()


def test_a_shadow_that_is_away_has_a_bound_and_the_log_says_what_was_not_mirrored() -> None:
    mirrored = Mirrored(octets_max=TWO)
    mirrored.relay.answers = [DeliverStatus.BLOCKED] * 100
    assert mirrored.publish(*[b"body"] * 5) == [PublishStatus.DONE] * 5
    mirrored.world.turn()
    assert mirrored.counted() == (5, 3)
    assert mirrored.records(Kind.ROUTED, Reason.SHADOW) == 5
    assert mirrored.records(Kind.EVICTED, Reason.QUEUE_FULL) == 3
    assert mirrored.world.depth("q") == 5
    mirrored.world.check()


def test_what_is_under_way_counts_for_the_bound_until_it_is_settled() -> None:
    mirrored = Mirrored(octets_max=TWO)
    mirrored.publish(b"body", b"body", b"body")
    mirrored.world.turn()
    copies = mirrored.relay.take()
    assert len(copies) == 2
    mirrored.world.host.settlement.settle(copies[0], ACCEPTED)
    mirrored.publish(b"more")
    assert mirrored.sent() == [b"more"]
    mirrored.world.check()


def test_a_shadow_has_no_part_in_what_makes_publishers_wait() -> None:
    limits = BridgeLimits(messages_high=4, messages_low=3)
    mirrored = Mirrored(limits=limits)
    assert mirrored.publish(*[b"body"] * 3) == [PublishStatus.DONE] * 3
    assert mirrored.counted() == (3, 2)  # the first one's makes two copies, the second one three
    assert not mirrored.world.bridge.pressure.high


def test_its_copies_are_on_nobodys_account() -> None:
    mirrored = Mirrored()
    mirrored.world.bridge.pressure.join(1, "alice", "/")
    mirrored.publish(b"a" * 1000)
    mirrored.world.turn()
    quota = mirrored.world.bridge.pressure.quotas.users["alice"]
    assert quota.octets == 1000 + COPY_OCTETS
    assert mirrored.world.bridge.pressure.messages == 2


def test_a_share_is_chosen_by_the_ids_and_always_the_same() -> None:
    ids = [b"%d" % number for number in range(200)]
    chosen = []
    for _ in range(2):
        mirrored = Mirrored(share=HALF)
        for each in ids:
            mirrored.publish(each, id=each)
        chosen.append(mirrored.sent())
        assert mirrored.counted() == (len(chosen[-1]), 0)
    assert chosen[0] == chosen[1]
    assert 60 < len(chosen[0]) < 140
    smaller = Mirrored(share=HALF / 2)
    for each in ids:
        smaller.publish(each, id=each)
    assert set(smaller.sent()) < set(chosen[0])


def test_without_an_id_a_message_is_in_no_share_but_all() -> None:
    mirrored = Mirrored(share=0.99)
    mirrored.publish()
    assert mirrored.sent() == []
    assert mirrored.counted() == (0, 0)


@pytest.mark.parametrize(("own", "left"), [(NO_TTL, 500), (100, 100), (900, 500)])
def test_a_copy_lives_no_longer_than_its_message_nor_than_the_shadow_says(own, left) -> None:
    mirrored = Mirrored(ttl_ms=500)
    mirrored.relay.answers = [DeliverStatus.BLOCKED] * 100
    message = mirrored.message(ttl_ms=own)
    mirrored.world.host.publishing.publish(message, None, 0)
    (own_queue,) = mirrored.world.host.nodes.shadows.queues()
    entry = own_queue.peek()
    assert entry is not None
    copy = entry.message
    assert (copy.ttl_ms, copy.expires_ms) == (left, mirrored.world.now_ms + left)
    assert message.ttl_ms == own
    mirrored.world.pass_time(left)
    assert own_queue.depth == 0
    mirrored.world.check()


def test_a_copy_is_marked_and_the_message_is_not() -> None:
    mirrored = Mirrored(mark=b"mark")
    consumer, _ = mirrored.world.subscribe("q")
    mirrored.publish(flags=int(Flag.OUTCOMES | Flag.REDELIVERED))
    mirrored.world.turn()
    (copy,), (delivery,) = mirrored.relay.take(), consumer.take()
    assert (copy.annotations, delivery.annotations) == (b"mark", b"")
    assert copy.message.flags == Flag.REDELIVERED
    assert copy.message.id_digest == delivery.message.id_digest


def test_a_transaction_is_mirrored_when_it_is_committed() -> None:
    mirrored = Mirrored()
    transacting = mirrored.world.host.transacting
    for end in ("rollback", "commit"):
        transaction = transacting.begin(1)
        transacting.publish(transaction, mirrored.message(end.encode()), None, 0)
        assert mirrored.sent() == []
        if end == "commit":
            transacting.commit(transaction, [], mirrored.producer, 1)
        else:
            transacting.rollback(transaction)
    assert mirrored.sent() == [b"commit"]
    assert mirrored.counted() == (1, 0)
    mirrored.world.check()


@pytest.mark.parametrize("lost", [None, Refusal(Condition.INTERNAL_ERROR, "rolled back")])
def test_so_is_one_at_an_upstream(lost: Refusal | None) -> None:
    mirrored = Mirrored(remote=True, octets_max=TWO)
    transacting = mirrored.world.host.transacting
    transaction = transacting.begin(1)
    for _ in range(3):
        transacting.publish(transaction, mirrored.message(), mirrored.producer, 0)
    mirrored.world.turn()
    branch = mirrored.old.branches[-1]
    branch.work.on_begun()
    mirrored.world.turn()
    for delivery in mirrored.old.relays["q"].take():
        branch.work.on_presumed(delivery, ACCEPTED)
    transacting.commit(transaction, [], mirrored.producer, 1)
    assert mirrored.sent() == []
    branch.work.on_discharged(lost)
    assert mirrored.sent() == ([b"body", b"body"] if lost is None else [])
    assert mirrored.counted() == ((3, 1) if lost is None else (0, 0))
    (shadow,) = mirrored.world.host.nodes.shadows.by_queue.values()
    assert shadow.held == 0
    mirrored.world.check()


def test_a_prepared_branch_is_mirrored_when_it_is_committed() -> None:
    mirrored = Mirrored()
    world = mirrored.world
    prepared(world, ended(world, begun(world, b"a")))
    assert mirrored.sent() == []
    world.restart()
    assert mirrored.sent() == []
    assert world.host.branches.commit(again(world), Producer(), 0) == Verdict.OK
    assert mirrored.sent() == [b"a"]
    world.check()


def test_what_comes_otherwise_than_by_its_publisher_is_not_mirrored() -> None:
    mirrored = Mirrored()
    world = mirrored.world
    world.host.bindings.bind("q", "amq.fanout", "", {}, b"")
    world.queue("first", alternate_exchange="amq.fanout")
    consumer, _ = world.subscribe("first")
    world.send(b"a", key="first")
    world.turn()
    world.host.settlement.settle(consumer.deliveries[0], REJECTED)
    assert (mirrored.sent(), world.depth("q")) == ([], 1)
    world.check()


def test_it_ends_with_its_queue() -> None:
    mirrored = Mirrored()
    mirrored.publish(b"a")
    mirrored.world.turn()
    mirrored.new.stops_relays = True
    mirrored.world.host.declaring.delete_queue("q", mirrored.world.owner())
    mirrored.world.turn()
    assert mirrored.new.abandoned == ["q"]
    assert mirrored.world.host.nodes.shadows.queues() == []
    mirrored.world.check()


def test_what_it_holds_does_not_outlive_the_gateway_and_what_comes_then_is_mirrored() -> None:
    mirrored = Mirrored()
    mirrored.publish(b"a", durable=True)
    mirrored.world.turn()
    mirrored.world.restart()
    assert mirrored.sent() == []
    mirrored.publish(b"b", durable=True)
    assert mirrored.sent() == [b"b"]
    assert mirrored.world.depth("q") == 2


def moved(mirrored: Mirrored, after: FakeRules) -> Moving:
    """Other rules count."""
    for remote in after.remotes.values():
        if remote.bridge is None:
            remote.begin(mirrored.world.bridge)
    moving = Moving(mirrored.world.bridge, after, [*after.remotes.values()])
    assert moving.problems() == []
    moving.hold()
    assert moving.unsettled() == 0
    moving.carry_out()
    mirrored.world.turn()
    return moving


def test_other_rules_begin_and_end_it_while_the_queue_is_in_use() -> None:
    mirrored = Mirrored()
    mirrored.new.stops_relays = True
    mirrored.world.subscribe("q")
    mirrored.publish(b"a")
    mirrored.world.turn()
    moved(mirrored, FakeRules())
    mirrored.publish(b"b")
    assert mirrored.new.abandoned == ["q"]
    assert mirrored.world.host.nodes.shadows.queues() == []
    other = FakeRules()
    newer = other.add_shadow("q", upstream="newer")
    moved(mirrored, other)
    mirrored.publish(b"c")
    mirrored.world.turn()
    assert [each.message.payload for each in newer.relays["q"].take()] == [b"c"]
    mirrored.world.check()


def test_other_bounds_count_for_the_one_that_there_is() -> None:
    mirrored = Mirrored()
    other = FakeRules()
    other.remotes["new"] = mirrored.new
    other.add_shadow("q", octets_max=COPY_OCTETS)
    moved(mirrored, other)
    mirrored.publish()
    assert mirrored.sent() == []
    assert mirrored.counted() == (1, 1)
    assert mirrored.new.unserved == []


def test_it_rests_while_the_connection_of_its_upstream_is_made_anew() -> None:
    mirrored = Mirrored()
    mirrored.publish(b"a")
    mirrored.world.turn()
    resting = Resting(mirrored.world.bridge, mirrored.new)
    resting.hold()
    assert resting.unsettled() == 1
    mirrored.publish(b"b")
    assert mirrored.sent() == [b"a"]
    resting.release()
    assert mirrored.sent() == [b"b"]


def test_a_queue_may_move_to_where_its_shadow_was() -> None:
    mirrored = Mirrored(remote=True)
    mirrored.old.stops_relays = True
    after = FakeRules()
    after.remotes = {"new": mirrored.new, "broker": mirrored.old}
    after.queue_rules["q"] = Placement(mirrored.new)
    moved(mirrored, after)
    assert mirrored.world.host.nodes.shadows.queues() == []
    mirrored.publish(b"a")
    assert mirrored.sent() == [b"a"]
    mirrored.world.check()
