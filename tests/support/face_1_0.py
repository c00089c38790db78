"""1.0 clients that talk to `ServerConnection` faces on one faked bridge, step by step."""

from __future__ import annotations

from support.bridge_world import World

from gateway.amqp_1_0 import _spec, events, sections
from gateway.amqp_1_0.connection import Connection
from gateway.faces.face import FaceSettings, Peer
from gateway.faces.server_1_0.connection import ServerConnection
from gateway.translate.view import READER
from gateway.wire.buffers import Writer
from gateway.wire.limits import Limits
from gateway.wire.sasl import anonymous, plain, server_mechanism


class Turns:
    def __init__(self):
        self.touched = []

    def touch(self, face):
        if face not in self.touched:
            self.touched.append(face)


class Authenticator:
    """Knows user:pass, of a realm, and all with the password "own"; answers when asked to."""

    def __init__(self, mechanisms):
        self.offered = mechanisms
        self.asked = []

    def mechanisms(self):
        return self.offered

    def begin(self, mechanism):
        return server_mechanism(mechanism) if mechanism in self.offered else None

    def authenticate(self, credentials, waiter):
        self.asked.append((credentials, waiter))

    def forget(self, waiter):
        self.asked = [pair for pair in self.asked if pair[1] is not waiter]

    def answer(self, now_ms):
        credentials, waiter = self.asked.pop(0)
        identity = None
        if credentials.mechanism == "ANONYMOUS":
            identity = "anonymous"
        elif (credentials.username, credentials.password) == ("user", "pass"):
            identity = "user@realm"
        elif credentials.password == "own":
            identity = credentials.username
        waiter.on_authenticated(identity, now_ms)


class Hub:
    """A bridge, and the connections to it."""

    def __init__(
        self,
        *,
        hosts=None,
        hostnames=None,
        limits=None,
        bridge_limits=None,
        rules=None,
        **settings,
    ):
        self.world = World(reader=READER, hosts=hosts, limits=bridge_limits, rules=rules)
        self.turns = Turns()
        self.settings = FaceSettings(
            limits=limits or Limits(),
            container_id="gateway",
            federation_tag="01234567-89ab-cdef-0123-456789abcdef",
            version="1",
            hostnames=hostnames,
            **settings,
        )
        self.clients = []

    @property
    def host(self):
        return self.world.host

    def client(self, name="client", **arguments):
        client = Client(self, name, len(self.clients) + 1, **arguments)
        self.clients.append(client)
        return client.step()

    def step(self):
        """Carry octets, end turns, until all is quiet."""
        for _ in range(100):
            moved = False
            for client in self.clients:
                octets = client.connection.data_to_send()
                if octets and not client.face.closed:
                    client.face.receive_data(octets, self.world.now_ms)
                    moved = True
                while client.authenticator.asked:
                    client.authenticator.answer(self.world.now_ms)
            self.world.turn()
            for client in self.clients:
                octets = client.face.data_to_send()
                if octets:
                    client.events += client.connection.receive_data(octets, self.world.now_ms)
                moved |= bool(octets) or client.face.behind
            if not moved:
                return
        raise AssertionError("it does not end")

    def end(self):
        """Everybody leaves; then the ledger must balance."""
        for client in self.clients:
            client.face.receive_eof(self.world.now_ms)
        self.world.turn()
        self.world.check()


class Client:
    """One client connection and the face that serves it."""

    def __init__(
        self, hub, name, number, *, user=None, sasl=True, hostname=None, limits=None, **opening
    ):
        self.hub = hub
        self.authenticator = Authenticator(["PLAIN", "ANONYMOUS"])
        self.face = ServerConnection(
            hub.world.bridge,
            hub.turns,
            self.authenticator,
            Peer(number, "127.0.0.1:1"),
            hub.settings,
            hub.world.now_ms,
        )
        able = [plain(*user)] if user else [anonymous()]
        self.connection = Connection(
            server=False,
            container_id=name,
            limits=limits or Limits(),
            now_ms=hub.world.now_ms,
            able=able if sasl else None,
        )
        self.events = []
        self.connection.send_open(hostname=hostname, **opening)
        self.links = 0

    def step(self):
        self.hub.step()
        return self

    def kinds(self):
        return [type(event).__name__ for event in self.events]

    def take(self, kind):
        found = [event for event in self.events if isinstance(event, kind)]
        assert found, f"no {kind.__name__} among {self.kinds()}"
        self.events.remove(found[0])
        return found[0]

    def take_all(self, kind):
        found = [event for event in self.events if isinstance(event, kind)]
        self.events = [event for event in self.events if not isinstance(event, kind)]
        return found

    def session(self):
        session = self.connection.session()
        session.send_begin()
        self.step()
        self.take(events.BeginReceived)
        return session

    def attach(self, role, *, session=None, name=None, source=None, target=None, **more):
        """Attach, and take the answer; the link, and the detach if it was refused."""
        session = session or self.session()
        self.links += 1
        link = session.attach(name or f"link-{self.links}", role)
        if role == _spec.SENDER:
            source = source or _spec.Source(address="here")
        else:
            target = target or _spec.Target(address="here")
        link.send_attach(source=source, target=target, **more)
        self.step()
        self.take(events.AttachReceived)
        return link

    def sender(self, address, **more):
        capabilities = more.pop("capabilities", None)
        link = self.attach(
            _spec.SENDER,
            target=_spec.Target(address=address, capabilities=capabilities),
            **more,
        )
        self.take_all(events.FlowReceived)
        return link

    def receiver(self, address, *, credit=10, **more):
        fields = {k: more.pop(k) for k in list(more) if k in SOURCE_FIELDS}
        link = self.attach(_spec.RECEIVER, source=_spec.Source(address=address, **fields), **more)
        if credit and link.attached:
            link.send_flow(credit=credit)
            self.step()
        return link

    def refused(self):
        """The condition with which the last attach was refused."""
        return self.take(events.DetachReceived).detach.error.condition

    def send(self, link, payload, *, tag=b"t", settled=False, **more):
        """Send one delivery; the state that it was settled with (`None` if settled or waiting)."""
        link.send_delivery(tag, b"", payload, settled=settled, **more)
        self.step()
        dispositions = self.take_all(events.DispositionReceived)
        return dispositions[0].state if dispositions else None

    def received(self):
        """Payloads of what has come, taken."""
        return [event.payload for event in self.take_all(events.DeliveryReceived)]


SOURCE_FIELDS = (
    "distribution_mode",
    "filter",
    "capabilities",
    "dynamic",
    "durable",
    "expiry_policy",
    "timeout",
    "default_outcome",
    "dynamic_node_properties",
    "outcomes",
)


def message(body=b"body", *, properties=None, header=None, annotations=None, application=None):
    """An encoded 1.0 message with one data section."""
    writer = Writer()
    if header is not None:
        header.encode(writer)
    if annotations is not None:
        sections.write_map(writer, _spec.MESSAGE_ANNOTATIONS, annotations)
    if properties is not None:
        properties.encode(writer)
    if application is not None:
        sections.write_application_properties(writer, application)
    sections.write_data(writer, body)
    return writer.getvalue()


def body_of(payload):
    found = sections.scan(payload)
    return b"".join(sections.data(payload, found))
