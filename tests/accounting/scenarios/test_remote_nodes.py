"""The job on a log that the gateway itself wrote, of queues that are at an upstream."""

from support.bridge_world import Producer, World
from support.remotes import FakeRules

from gateway.accounting.reconcile import reconcile
from gateway.accounting.telling.report import html_page
from gateway.audit.schema import Reason
from gateway.audit.segment import SegmentWriter
from gateway.message import (
    ACCEPTED,
    MODIFIED_FAILED,
    REJECTED,
    RELEASED,
    Condition,
    Flag,
    Refusal,
)


class Run:
    """Messages both ways: accepted, sent again, passed on, rejected, lost, and in doubt."""

    def __init__(self):
        self.rules = FakeRules()
        self.remote = self.rules.add("far")
        self.rules.add_exchange("trades")
        self.world = World(rules=self.rules)
        self.world.queue("q", durable=True)
        self.world.host.bindings.bind("q", "trades", "k", {}, b"")
        self.producer = Producer()

    def publish(self, token, flags=0):
        message = self.world.message(b"%d" % token, key="far", flags=flags, durable=True)
        self.world.host.publishing.publish(message, self.producer, token)

    def out(self):
        for token, flags in enumerate((0, 0, Flag.OUTCOMES, 0), 1):
            self.publish(token, flags)
        self.world.turn()
        settle, relay = self.world.host.settlement.settle, self.remote.relays["far"]
        first, second, third, fourth = relay.take()
        for address in ("far", "elsewhere", "far"):
            self.lead(first.subscription, f"{address} at broker")
        settle(first, ACCEPTED)
        settle(second, MODIFIED_FAILED, Reason.UPSTREAM_LOST)
        settle(third, RELEASED)
        settle(fourth, REJECTED)
        self.world.turn()
        settle(relay.take()[0], ACCEPTED)

    def lead(self, link, where):
        audit = self.world.audit
        peer = audit.name(f"link {link}: {where}")
        audit.link_attached(self.world.now_ms, link, connection=1, node=0, peer=peer)
        audit.forget(peer)

    def back(self):
        consumer, subscription = self.world.subscribe("far", credit=3)
        inlet, _ = self.remote.inlets[0]
        inlet.on_attached()
        for token in range(4):
            inlet.receive(self.world.message(b"%d" % token), token)
        self.world.turn()
        self.world.host.settlement.settle(consumer.deliveries[0], ACCEPTED)
        self.world.host.settlement.settle(consumer.deliveries[1], RELEASED)
        self.world.turn()
        inlet.lost()
        self.world.host.settlement.settle(consumer.deliveries[2], ACCEPTED)
        subscription.cancel()
        self.remote.feeds[0][0].receive(self.world.message(b"fed", durable=True), 9)
        self.world.turn()

    def transact(self):
        """Copies of transactions there: committed, rolled back, in doubt."""
        host = self.world.host
        for token, accepted, ends in ((20, True, True), (21, False, True), (22, True, False)):
            transaction = host.transacting.begin(1)
            message = self.world.message(b"%d" % token, key="far")
            host.transacting.publish(transaction, message, self.producer, token)
            branch = self.remote.branches[-1]
            branch.work.on_begun()
            self.world.turn()
            [delivery] = self.remote.relays["far"].take()
            branch.work.on_presumed(delivery, ACCEPTED)
            if accepted:
                host.transacting.commit(transaction, [], self.producer, token + 10)
            else:
                host.transacting.rollback(transaction)
            if ends:
                branch.work.on_discharged(None)
            else:
                branch.work.on_lost(Refusal(Condition.INTERNAL_ERROR, "gone"))
            self.world.turn()

    def in_doubt(self):
        self.publish(7)
        self.world.send(b"transient", key="q")
        self.world.turn()
        self.world.bridge.checkpoint(self.world.now_ms)
        self.world.turn()
        self.world.crash()

    def log(self, directory):
        self.world.bridge.checkpoint(self.world.now_ms)
        self.world.audit.incarnation_stopped(self.world.now_ms)
        self.world.turn()
        writer = SegmentWriter(directory)
        writer.append(bytes(self.world.blocks.octets))
        writer.close()
        return directory


def test_what_goes_by_an_upstream_is_accounted_for(spark, tmp_path):
    run = Run()
    run.out()
    run.back()
    run.transact()
    run.in_doubt()
    result = reconcile(spark, run.log(tmp_path / "log"), tmp_path / "out")
    assert result.classes == {}, result.breaks
    sums = result.sums["queues"]
    assert (sums["returned"], sums["dead_lettered"], sums["in_doubt"]) == (6, 1, 1)
    assert (sums["gone_with_process"], sums["depth"]) == (1, 2)
    nodes = {row["node"] for row in result.queues}
    assert {"far", "far from broker", "q", "gateway.rejected"} <= nodes
    assert "upstream broker" in {row["route"] for row in result.routes}
    leading = [row["leads_to"] for row in result.outlets if row["of_node"] == "far"]
    assert leading[0] == "elsewhere at broker and others"
    assert "on far, to elsewhere at broker and others" in html_page(result)
