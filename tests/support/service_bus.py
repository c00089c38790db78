"""A scripted Azure Service Bus, as its AMQP guide describes it: no link without a token.

A token is put at `$cbs` for each entity; what was put is in `puts`. Links to entities without a
good token are refused, and dropped when theirs expires (`expire`).
"""

from __future__ import annotations

from support.upstream_world import Broker, address_of

from gateway.amqp_1_0 import _spec, events, sections, types
from gateway.wire.buffers import Writer
from gateway.wire.limits import Limits
from gateway.wire.tagged import Tagged

NAMESPACE = "name.servicebus.windows.net"
SIZE_MAX = 256 * 1024
UNAUTHORIZED = _spec.Error(condition="amqp:unauthorized-access", description="no claim")
IDLE = _spec.Error(
    condition="amqp:link:detach-forced",
    description="The link is force detached: AmqpMessagePublisher.IdleTimerExpired, 00:10:00.",
)
BUSY = _spec.Error(condition="com.microsoft:server-busy", description="wait 10 seconds")


class ServiceBus(Broker):
    """One connection of a namespace.

    Attributes:
        statuses: by entity, what put-token is answered instead of 202; `None`: nothing.
        puts: application-properties and token of each request, in order.
        granted: entities with a token.
        refused: entities to which a link without one was asked for.
    """

    def __init__(self, now_ms, *, statuses=None):
        super().__init__(now_ms, limits=Limits(message_size_max=SIZE_MAX))
        self.statuses = statuses or {}
        self.puts = []
        self.granted = set()
        self.refused = []

    def _on_attach(self, event):
        attach = event.attach
        terminus = attach.source if attach.role else attach.target
        path = address_of(terminus)
        if path == "$cbs" or path in self.granted:
            super()._on_attach(event)
        else:
            self.attached.append(event)
            self.refused.append(path)
            event.link.refuse(UNAUTHORIZED)

    def _react(self, event):
        if isinstance(event, events.AuthenticationRequested):
            self.connection.send_verdict(True, 0)
        if isinstance(event, events.DeliveryReceived):
            target = next(each for each in self.attached if each.link is event.link).attach.target
            if target.address == "$cbs":
                self._put_token(event)
                return
        super()._react(event)

    def _put_token(self, event):
        found = sections.scan(event.payload)
        properties = sections.properties(event.payload, found)
        application = sections.application_properties(event.payload, found)
        put = {name: each.value for name, each in application.items()}
        put["token"] = sections.body_values(event.payload, found)[0].value
        self.puts.append(put)
        self.settle(event)
        path = put["name"].removeprefix(f"sb://{NAMESPACE}/")
        answer = self.statuses.get(path, (202, "Accepted"))
        if answer is None:
            return
        if answer[0] in (200, 202):
            self.granted.add(path)
        assert properties.reply_to == self.attached_address_of_replies()
        writer = Writer()
        _spec.Properties(correlation_id=properties.message_id).encode(writer)
        sections.write_application_properties(
            writer,
            {
                "status-code": Tagged(types.INT, answer[0]),
                "status-description": Tagged(types.STRING, answer[1]),
            },
        )
        sections.write_value(writer, Tagged(types.NULL, None))
        self.deliver("$cbs", writer.getvalue(), settled=True)

    def attached_address_of_replies(self):
        """The target of the link by which answers go."""
        found = [each for each in self.attached if each.attach.role]
        return next(
            each.attach.target.address for each in found if each.attach.source.address == "$cbs"
        )

    def paths(self):
        """The entities of the tokens that were put, in order, taken."""
        puts, self.puts = self.puts, []
        return [put["name"].removeprefix(f"sb://{NAMESPACE}/") for put in puts]

    def expire(self, path):
        """The token of an entity is not good any more: its links are dropped."""
        self.granted.discard(path)
        for sends in (True, False):
            for link in self.links(path, sends=sends):
                link.send_detach(closed=True, error=UNAUTHORIZED)
