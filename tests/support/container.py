"""A scripted container that remembers: what its nodes hold, what came, and how each came to an end.

`Container` outlives its connections, each of which is a `Peer`. Messages of clients that publish to
it are b"p<number>", those that it has for consumers b"c<number>". It never says by itself that a
message was delivered before, as several brokers do not. What breaks a promise is a line in
`problems`.
"""

from __future__ import annotations

from collections import deque

from support.face_1_0 import body_of, message
from support.upstream_world import Broker, RemoteConsumer, address_of

from gateway.amqp_1_0 import _spec, events
from gateway.message import Delivery, Outcome, OutcomeKind
from gateway.translate.facts import arrival_1_0

AGAIN = (OutcomeKind.RELEASED, OutcomeKind.MODIFIED)


class Container:
    """Its nodes, and the whole of what happened to them."""

    def __init__(self):
        self.nodes = {}  # by address: what waits for consumers
        self.counts = {}  # of failed deliveries, by message
        self.ended = {}  # by message: the outcome that ended it
        self.sent = {}  # by name of the link: what was sent by it, in order
        self.arrived = {}  # by address: what came, in order of its first arrival
        self.attempts = {}  # by message that came: how each arrival of it ended
        self.problems = []
        self.supplied = 0

    def supply(self, address):
        """One more message for consumers."""
        self.supplied += 1
        body = b"c%d" % self.supplied
        self.nodes.setdefault(address, deque()).append(body)
        return body

    def arrive(self, address, payload):
        """A message came from the gateway."""
        body = body_of(payload)
        attempts = self.attempts.setdefault(body, [])
        if not attempts:
            before = self.arrived.setdefault(address, [])
            if before and int(before[-1][1:]) > int(body[1:]):
                self.problems.append(f"{body!r} came to {address} behind {before[-1]!r}")
            before.append(body)
        elif attempts[-1] not in AGAIN and arrival_1_0(payload).delivery_count == 0:
            self.problems.append(f"{body!r} came again without a mark, after {attempts}")
        attempts.append(None)
        return body

    def decide(self, body, kind):
        """How its latest arrival ends."""
        self.attempts[body][-1] = kind

    def keep(self, event):
        """It is kept, and the gateway does not hear of it."""
        self.decide(body_of(event.payload), OutcomeKind.ACCEPTED)

    def stored(self):
        """What came and was kept."""
        return {
            body for body, attempts in self.attempts.items() if OutcomeKind.ACCEPTED in attempts
        }

    def waiting(self):
        return sum(len(node) for node in self.nodes.values())


class Peer(Broker):
    """One connection of it."""

    def __init__(self, now_ms, *, container, **more):
        super().__init__(now_ms, **more)
        self.container = container
        self.out = {}  # unsettled deliveries, and the address that each is from
        self.came = []  # deliveries from the gateway that are not decided

    def _react(self, event):
        if isinstance(event, events.DeliveryReceived):
            address = address_of(event.link.attach.target)
            self.container.arrive(address, event.payload)
            self.came.append(event)
        elif isinstance(event, events.DispositionReceived):
            for delivery in event.deliveries:
                self._on_state(delivery, event.state)
        elif isinstance(event, events.DetachReceived | events.LinkViolation):
            self._let_go(lambda link: link is event.link)
        elif isinstance(event, events.EndReceived | events.SessionViolation):
            self._let_go(lambda link: link.session is event.session)
        elif isinstance(event, events.CloseReceived | events.Violation):
            self._let_go(lambda link: True)
        if isinstance(event, events.LinkViolation | events.SessionViolation | events.Violation):
            self.container.problems.append(f"we broke a rule: {event.error}")
        super()._react(event)

    def _on_state(self, delivery, state):
        container = self.container
        address = self.out.pop(delivery)
        body = delivery.context
        if isinstance(state, _spec.Accepted):
            self._end(body, OutcomeKind.ACCEPTED)
        elif isinstance(state, _spec.Rejected):
            self._end(body, OutcomeKind.REJECTED)
        elif isinstance(state, _spec.Modified) and state.undeliverable_here:
            self._end(body, OutcomeKind.MODIFIED)
        else:
            assert isinstance(state, _spec.Released | _spec.Modified), state
            if isinstance(state, _spec.Modified) and state.delivery_failed:
                container.counts[body] = container.counts.get(body, 0) + 1
            self._back(address, [body])

    def _end(self, body, kind):
        if body in self.container.ended:
            self.container.problems.append(f"{body!r} ended twice")
        self.container.ended[body] = kind

    def _back(self, address, bodies):
        node = self.container.nodes[address]
        node.extend(bodies)
        self.container.nodes[address] = deque(sorted(node, key=lambda body: int(body[1:])))

    def _let_go(self, of_link):
        for delivery in [each for each in self.out if of_link(each.link)]:
            self._back(self.out.pop(delivery), [delivery.context])
        self.came = [event for event in self.came if not of_link(event.link)]

    # What the test has it do.

    def end_all(self):
        """The connection is gone."""
        self._let_go(lambda link: True)

    def ours(self, *, sends):
        """Its links that are attached: those by which it sends, or not."""
        return [
            event.link
            for event in self.attached
            if event.attach.role == sends and event.link.attached
        ]

    def send(self, link):
        """The next message of a link's node, if there is one and credit for it."""
        address = link.attach.source.address
        node = self.container.nodes.get(address)
        if not node or link.credit <= 0 or link.session.blocked:
            return False
        body = node.popleft()
        self.tags += 1
        count = self.container.counts.get(body, 0)
        header = _spec.Header(delivery_count=count) if count else None
        delivery = link.send_delivery(
            self.tags.to_bytes(4, "big"),
            b"",
            message(body, header=header),
            settled=False,
            context=body,
        )
        self.out[delivery] = address
        self.container.sent.setdefault(link.name, []).append(body)
        return True

    def take_back(self, delivery, state):
        """Settle before the gateway has: it is with the node again."""
        self._back(self.out.pop(delivery), [delivery.context])
        delivery.link.session.settle_outgoing(delivery, state)

    def answer_drains(self):
        """Whoever wants to have what there is has had it."""
        for link in self.ours(sends=True):
            if link.drain and link.credit > 0:
                link.send_drained()

    def abort(self, link):
        """Begin a delivery, and give it up."""
        session = link.session
        if link.credit <= 0 or session.sending.remote_incoming_window < 2 or session.blocked:
            return
        first = _spec.Transfer(
            handle=link.handle_out,
            delivery_id=session.sending.next_delivery_id,
            delivery_tag=b"aborted",
            message_format=0,
            more=True,
        )
        for transfer in (first, _spec.Transfer(handle=link.handle_out, aborted=True)):
            session.write(transfer)
            session.sending.next_outgoing_id += 1
            session.sending.remote_incoming_window -= 1
        session.sending.next_delivery_id += 1
        link.delivery_count += 1
        link.credit -= 1

    def decide(self, event, state, kind):
        """An outcome for a delivery of the gateway's."""
        self.came.remove(event)
        self.container.decide(body_of(event.payload), kind)
        self.settle(event, state)

    def detach(self, link, error):
        """End a link, and with it what is unsettled on it."""
        self._let_go(lambda each: each is link)
        link.send_detach(error=error)

    def end(self, session, error):
        """End a session, in the same way."""
        self._let_go(lambda each: each.session is session)
        session.send_end(error=error)

    def close(self, error):
        """End the connection, in the same way."""
        self.end_all()
        self.connection.send_close(error=error)


class Reader(RemoteConsumer):
    """A client that knows what it had, and `had` what all clients had, last first."""

    def __init__(self, had, problems):
        super().__init__()
        self.had = had
        self.problems = problems
        self.log = []
        self.outcomes = {}

    def deliver(self, delivery):
        status = super().deliver(delivery)
        if self.deliveries and self.deliveries[-1] is delivery:
            body = body_of(delivery.message.payload)
            before = self.had.get(body)
            kind = OutcomeKind.ACCEPTED if delivery.settled else None
            if before is not None and before[0] not in AGAIN and delivery.delivery_count == 0:
                self.problems.append(f"{body!r} was delivered again without a mark")
            self.had[body] = [kind]
            self.outcomes[id(delivery)] = self.had[body]
            self.log.append(body)
        return status

    def note(self, delivery: Delivery, outcome: Outcome):
        """It settles a delivery."""
        self.outcomes[id(delivery)][0] = outcome.kind

    def unsettled(self):
        return [delivery for delivery in self.deliveries if not delivery.settled]
