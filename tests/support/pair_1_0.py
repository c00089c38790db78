"""A client connection and a server connection that talk to one another."""

from __future__ import annotations

from gateway.amqp_1_0 import _spec, events
from gateway.amqp_1_0.connection import Connection
from gateway.wire.limits import Limits
from gateway.wire.sasl import anonymous

T0 = 1_000_000


class Pair:
    """Both ends; `step` carries octets until neither has any more, each end's events in a list."""

    def __init__(
        self, *, sasl=False, client_limits=None, server_limits=None, chunk=0, strict=False
    ):
        self.now = T0
        self.chunk = chunk
        self.client = Connection(
            server=False,
            container_id="client",
            limits=client_limits or Limits(),
            now_ms=T0,
            able=[anonymous()] if sasl else None,
        )
        self.server = Connection(
            server=True,
            container_id="server",
            limits=server_limits or Limits(),
            now_ms=T0,
            mechanisms=["ANONYMOUS", "PLAIN"],
            sasl_required=sasl,
            strict=strict,
        )
        self.at_client = []
        self.at_server = []

    def _carry(self, octets, to, into):
        pieces = [octets]
        if self.chunk:
            pieces = [octets[i : i + self.chunk] for i in range(0, len(octets), self.chunk)]
        for piece in pieces:
            into += to.receive_data(piece, self.now)

    def feed(self, octets):
        """Give the server what no client of ours would send; its events."""
        return self.server.receive_data(octets, self.now)

    def to_server(self):
        octets = self.client.data_to_send()
        self._carry(octets, self.server, self.at_server)
        return octets

    def to_client(self):
        octets = self.server.data_to_send()
        self._carry(octets, self.client, self.at_client)
        return octets

    def step(self):
        while self.to_server() or self.to_client():
            pass

    def take(self, side, kind):
        """The one event of `kind` at `side`, taken out of its list."""
        into = self.at_client if side == "client" else self.at_server
        found = [event for event in into if isinstance(event, kind)]
        assert len(found) == 1, f"{kind.__name__} at {side}: {[type(e).__name__ for e in into]}"
        into.remove(found[0])
        return found[0]

    def kinds(self, side):
        return [type(e).__name__ for e in (self.at_client if side == "client" else self.at_server)]

    def open(self):
        self.client.send_open()
        self.step()
        self.take("server", events.OpenReceived)
        self.server.send_open()
        self.step()
        self.take("client", events.OpenReceived)
        return self

    def begin(self):
        session = self.client.session()
        session.send_begin()
        self.step()
        theirs = self.take("server", events.BeginReceived).session
        theirs.send_begin()
        self.step()
        self.take("client", events.BeginReceived)
        return session, theirs

    def attach(self, session, role, name="link", **modes):
        """A link from the client, with role the client's; both ends."""
        link = session.attach(name, role)
        source, target = _spec.Source(address="a"), _spec.Target(address="b")
        link.send_attach(source=source, target=target, **modes)
        self.step()
        theirs = self.take("server", events.AttachReceived).link
        theirs.send_attach(source=source, target=target, **modes)
        self.step()
        self.take("client", events.AttachReceived)
        return link, theirs


def links_of(connection):
    """How many links the peer has attached, in all sessions."""
    return sum(len(session.handles.links) for session in connection.sessions())


def sending(**arguments):
    """A pair whose client sends on a link with credit 10: pair, sender, receiver."""
    pair = Pair(**arguments).open()
    session, _ = pair.begin()
    sender, receiver = pair.attach(session, _spec.SENDER)
    receiver.send_flow(credit=10)
    pair.step()
    pair.take("client", events.FlowReceived)
    assert sender.credit == 10
    return pair, sender, receiver
