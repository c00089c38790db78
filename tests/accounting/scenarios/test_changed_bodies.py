"""The job on a log that the gateway itself wrote while octets of bodies changed on their way."""

from support.bridge_world import Session
from support.face_1_0 import Hub, message
from translate.messages import context

from gateway.accounting.reconcile import reconcile
from gateway.audit.digests import digest
from gateway.audit.schema import Kind
from gateway.audit.segment import SegmentWriter
from gateway.bridge.seams import DeliverStatus, SubscribeOptions
from gateway.message import ACCEPTED
from gateway.translate.facts import body_digest_1_0
from gateway.translate.message import to_0_10, to_1_0

BODIES = (b"one", b"two", b"three", b"four")


def broken(octets):
    return octets.replace(b"three", b"thrEe")


class BrokenOutlet:
    """Translates like a face, and then gets one octet of one body wrong."""

    def __init__(self, protocol):
        self.protocol = protocol
        self.deliveries = []

    def deliver(self, delivery):
        if self.protocol == "1.0":
            made = to_1_0(delivery.message, context())
            delivery.body_digest = body_digest_1_0(broken(made.body), made.body_at, made.body_end)
        else:
            made = to_0_10(delivery.message, context())
            delivery.body_digest = digest(broken(made.body))
        delivery.body_changed = made.body_changed
        self.deliveries.append(delivery)
        return DeliverStatus.TAKEN


class Run:
    """Four messages through each of four queues; the third of some changes on its way."""

    def __init__(self):
        self.hub = Hub()
        for queue in ("same protocol", "other protocol", "changed in the queue", "fine"):
            self.hub.world.queue(queue)
            client = self.hub.client(f"to {queue}")
            sender = client.sender(queue)
            for body in BODIES:
                client.send(sender, message(body))
        self.consume("same protocol", BrokenOutlet("1.0"))
        self.consume("other protocol", BrokenOutlet("0-10"))
        self.change("changed in the queue")
        for queue in ("changed in the queue", "fine"):
            self.hub.client(f"from {queue}").receiver(queue, snd_settle_mode=1)
        self.hub.end()

    def consume(self, queue, outlet):
        host, owner = self.hub.host, Session(900)
        subscription = host.subscribing.subscribe(queue, outlet, owner, SubscribeOptions())
        subscription.grant(len(BODIES), -1)
        self.hub.world.turn()
        for delivery in outlet.deliveries:
            host.settlement.settle(delivery, ACCEPTED)
        host.owners.release(owner)

    def change(self, queue):
        places = self.hub.host.topology.find_queue(queue).places
        entry = places.next_at(0)
        while entry is not None:
            entry.message.payload = broken(entry.message.payload)
            entry = places.next_at(entry.position + 1)

    def third(self, queue):
        """The id of the message that changed."""
        records = self.hub.world.blocks.records()
        entered = [one for one in records if one.kind == Kind.ENTERED and one.node == queue]
        return entered[2].message


def test_a_body_that_leaves_with_a_wrong_octet_is_named_and_no_other(spark, tmp_path):
    run = Run()
    writer = SegmentWriter(tmp_path / "log")
    writer.append(bytes(run.hub.world.blocks.octets))
    writer.close()
    result = reconcile(spark, tmp_path / "log", tmp_path / "out")
    assert result.classes == {"MUTATED": 3}
    queues = ("same protocol", "other protocol", "changed in the queue")
    assert sorted((row["message"], row["node"]) for row in result.breaks) == [
        (run.third(queue), queue) for queue in queues
    ]
