"""A 1.0 client of a gateway that has nodes at a faked upstream."""

from support.face_1_0 import Hub, message
from support.remotes import FakeRules

from gateway.amqp_1_0 import _spec, events
from gateway.message import Condition, Outcome, OutcomeKind

REJECTED = Outcome(OutcomeKind.REJECTED, condition=Condition.NOT_ALLOWED, description="no")


class Remote:
    """A hub with the remote queue ``r``, a local one ``q``, and one client."""

    def __init__(self, **arguments):
        self.rules = FakeRules()
        self.remote = self.rules.add("r")
        self.exchanges = self.rules.add_exchange("e")
        self.hub = Hub(rules=self.rules, **arguments)
        self.hub.world.queue()
        self.client = self.hub.client()

    def asks(self, address="r", **source):
        """A client attaches a receiver; nothing is answered yet."""
        self.session = self.client.session()
        self.link = self.session.attach("link", _spec.RECEIVER)
        self.link.send_attach(
            source=_spec.Source(address=address, **source), target=_spec.Target(address="here")
        )
        self.client.events = []
        self.client.step()
        return self.link

    @property
    def inlet(self):
        return self.remote.inlets[-1][0]

    @property
    def published(self):
        return self.remote.inlets[-1][1].published

    def brings(self, *bodies):
        for token, body in enumerate(bodies):
            self.inlet.receive(self.hub.world.message(message(body), key="r"), token)
        self.hub.step()

    def relay(self, name="r"):
        return self.remote.relays[name]

    def ends(self, outcome):
        for delivery in self.relay().take():
            self.hub.host.settlement.settle(delivery, outcome)
        self.hub.step()

    def told(self):
        return [event.state for event in self.client.take_all(events.DispositionReceived)]
