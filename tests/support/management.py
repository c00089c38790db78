"""The management node of a scripted container: requests as tuples, responses on order."""

from gateway.amqp_1_0 import _spec, events, sections, types
from gateway.wire.buffers import Writer
from gateway.wire.tagged import Tagged

NODE = "/management"


def plain(tagged):
    """A value without its types."""
    if tagged.code == types.MAP:
        return {key.value: plain(value) for key, value in tagged.value}
    return tagged.value


class Manager:
    """Speaks for the node at one `upstream_world.Broker`."""

    def __init__(self, broker):
        self.broker = broker
        self.unanswered = []

    def take(self):
        """The requests that have come: (method, path, body)."""
        deliveries = [
            event
            for event in self.broker.take_all(events.DeliveryReceived)
            if event.link.attach.target.address == NODE
        ]
        requests = []
        for event in deliveries:
            found = sections.scan(event.payload)
            properties = sections.properties(event.payload, found)
            assert properties.reply_to == "$me"
            assert event.settled
            self.unanswered.append(properties.message_id)
            (body,) = sections.body_values(event.payload, found)
            requests.append((properties.subject, properties.to, plain(body)))
        return requests

    def answer(self, status=200, body=None):
        """Answer the oldest request."""
        writer = Writer()
        _spec.Properties(
            subject=str(status), to="$me", correlation_id=self.unanswered.pop(0)
        ).encode(writer)
        value = Tagged(types.STRING, body) if isinstance(body, str) else body
        sections.write_value(writer, value or Tagged(types.NULL, None))
        self.broker.deliver(NODE, writer.getvalue(), settled=True)
