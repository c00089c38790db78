"""A 1.0 client that works in transactions, on a faked bridge."""

from __future__ import annotations

from support.face_1_0 import Hub, body_of, message
from support.remotes import FakeRules

from gateway.amqp_1_0 import _spec, events
from gateway.amqp_1_0.transactions import (
    control_source,
    coordinator,
    declare_payload,
    discharge_payload,
)
from gateway.audit.schema import Kind
from gateway.audit.schema import Outcome as AuditOutcome

ACCEPTED = _spec.Accepted()
COMMITTED = AuditOutcome.COMMITTED
ROLLED_BACK = AuditOutcome.ROLLED_BACK
IN_DOUBT = AuditOutcome.IN_DOUBT


class Controller:
    """A client with a session and a control link; the queues ``q`` and, at an upstream, ``r``."""

    def __init__(self, *, durable=False, outcomes=None, hub=None, client=None, **arguments):
        if hub is None:
            rules = FakeRules()
            self.remote = rules.add("r")
            hub = Hub(rules=rules, **arguments)
            hub.world.queue("q", durable=durable)
        self.hub = hub
        self.client = client or hub.client()
        self.session = self.client.session()
        self.tags = 0
        self.control = self.control_link(outcomes=outcomes)

    def control_link(self, *, session=None, outcomes=None):
        link = self.client.attach(
            _spec.SENDER,
            session=session or self.session,
            source=control_source() if outcomes is None else _spec.Source(outcomes=outcomes),
            target=coordinator(),
        )
        self.client.take_all(events.FlowReceived)
        return link

    def says(self, payload, *, link=None, **more):
        """The coordinator's answer; `None` if there is none so far."""
        self.tags += 1
        link = link or self.control
        return self.client.send(link, payload, tag=self.tags.to_bytes(4, "big"), **more)

    def declares(self, link=None) -> bytes:
        state = self.says(declare_payload(), link=link)
        assert isinstance(state, _spec.Declared), state
        return state.txn_id

    def commits(self, txn_id, link=None):
        return self.says(discharge_payload(txn_id, fail=False), link=link)

    def rolls_back(self, txn_id, link=None):
        return self.says(discharge_payload(txn_id, fail=True), link=link)

    def sender(self, address="q", **more):
        return self.client.sender(address, session=self.session, **more)

    def receiver(self, address="q", **more):
        return self.client.receiver(address, session=self.session, **more)

    def posts(self, sender, txn_id, body=b"body", *, durable=False, **more):
        """What is told of a message that is sent in a transaction."""
        header = _spec.Header(durable=True) if durable else None
        self.tags += 1
        return self.client.send(
            sender,
            message(body, header=header),
            tag=self.tags.to_bytes(4, "big"),
            state=_spec.TransactionalState(txn_id=txn_id),
            **more,
        )

    def gets(self, receiver):
        """Deliveries that have come on a link."""
        mine = [
            each
            for each in self.client.events
            if isinstance(each, events.DeliveryReceived) and each.link is receiver
        ]
        self.client.events = [each for each in self.client.events if each not in mine]
        return mine

    def retires(self, event, txn_id, outcome=ACCEPTED, *, settled=False):
        state = _spec.TransactionalState(txn_id=txn_id, outcome=outcome)
        event.link.session.settle_incoming(event.delivery_id, state, settled=settled)
        self.client.step()

    def settles(self, event, state=ACCEPTED):
        event.link.session.settle_incoming(event.delivery_id, state)
        self.client.step()

    def puts(self, *bodies, durable=False):
        """Messages in the queue ``q``."""
        sender = self.client.sender("q", session=self.session)
        header = _spec.Header(durable=True) if durable else None
        for body in bodies:
            assert self.client.send(sender, message(body, header=header)) == ACCEPTED
        sender.send_detach()
        self.client.step()
        self.client.take(events.DetachReceived)

    def brings(self, *bodies):
        """Deliveries of the upstream for the last receiver on ``r``."""
        inlet = self.remote.inlets[-1][0]
        inlet.on_attached()
        self.hub.step()
        for token, body in enumerate(bodies):
            inlet.receive(self.hub.world.message(message(body), key="r"), token)
        self.hub.step()

    def begins(self):
        """The upstream begins the transaction that it is asked for."""
        branch = self.remote.branches.pop(0)
        branch.work.on_begun()
        self.hub.step()
        return branch

    def presumes(self, branch, *outcomes):
        """The upstream says what it will have done with the copies that it got."""
        for delivery, outcome in zip(self.remote.relays["r"].take(), outcomes, strict=True):
            branch.work.on_presumed(delivery, outcome)
        self.hub.step()

    def told(self):
        return [event.state for event in self.client.take_all(events.DispositionReceived)]

    def settlements(self):
        """What is told of deliveries to the client."""
        return [event.state for event in self.client.take_all(events.SenderDispositionReceived)]

    def depth(self, queue="q"):
        return self.hub.world.depth(queue)

    def detached(self):
        """The condition of a detach."""
        return self.client.refused()

    def ended(self):
        """How transactions ended."""
        raw = self.hub.world.blocks.raw()
        return [
            AuditOutcome(int(each["outcome"])) for each in raw if each["kind"] == Kind.TRANSACTION
        ]

    def end(self):
        self.hub.end()


def error_of(state):
    assert isinstance(state, _spec.Rejected), state
    return state.error.condition


def bodies(found):
    """Of deliveries that a client got."""
    return [body_of(event.payload) for event in found]
