"""Conversations of 0-10 clients with the server's face on a real bridge.

A `Gateway` holds the bridge and its turns; a `Client` says commands and hears, in plain values,
what comes back: commands (with content as ``(command, header, body)``), opened results, `completed`
ranges, exceptions as ``(code, command id)``, and the ends of sessions and connections.
"""

from support.bridge_world import World
from support.remotes import FakeRules

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_structs import STRUCTS
from gateway.amqp_0_10.connection import Connection
from gateway.amqp_0_10.events import (
    Attached,
    CommandReceived,
    CommandsCompleted,
    ConnectionClosed,
    ControlReceived,
    Event,
    ExceptionReceived,
    ResultReceived,
    SessionEnded,
    TimeoutGranted,
    Tuned,
    Violation,
)
from gateway.amqp_0_10.session import Session
from gateway.amqp_0_10.states import Role
from gateway.amqp_0_10.structs import open_struct, read_header, write_header
from gateway.amqp_0_10.types import Command, FieldTable, Struct
from gateway.bridge.limits import BridgeLimits
from gateway.faces.face import AuthenticationWaiter, Face, FaceSettings, Peer
from gateway.faces.server_0_10.connection import ServerConnection
from gateway.translate.view import READER
from gateway.wire.buffers import Reader, Writer
from gateway.wire.limits import Limits
from gateway.wire.sasl import Credentials, ServerMechanism, server_mechanism
from gateway.wire.scram import is_scram
from gateway.wire.scram_server import ScramServer

CONTENT = (spec.FileStage, spec.FileReturn, spec.StreamDeliver, spec.StreamReturn)
TAG = "0f8fad5b-d9cb-469f-a165-70867728950e"


class Authenticator:
    """Answers when the test says so."""

    def __init__(self, mechanisms: list[str]) -> None:
        self.offered = mechanisms
        self.asked: list[tuple[Credentials, AuthenticationWaiter]] = []
        self.forgotten = 0

    def mechanisms(self) -> list[str]:
        return self.offered

    def begin(self, mechanism: str) -> ServerMechanism | None:
        if is_scram(mechanism):
            return ScramServer(mechanism, nonce="server", bindings={})
        return server_mechanism(mechanism) if mechanism in self.offered else None

    def authenticate(self, credentials: Credentials, waiter: AuthenticationWaiter) -> None:
        self.asked.append((credentials, waiter))

    def forget(self, waiter: AuthenticationWaiter) -> None:
        self.forgotten += 1


class Gateway:
    """One bridge, its turns, and the settings that all faces share."""

    def __init__(
        self,
        *,
        limits: Limits | None = None,
        bridge_limits: BridgeLimits | None = None,
        hosts: list[str] | None = None,
        strict: bool = False,
        rules: FakeRules | None = None,
        world: World | None = None,
    ) -> None:
        self.world = world or World(reader=READER, limits=bridge_limits, hosts=hosts, rules=rules)
        self.settings = FaceSettings(
            limits=limits or Limits(),
            container_id="gateway",
            federation_tag=TAG,
            version="1",
            strict=strict,
        )
        self.touched: list[Face] = []
        self.connections = 0
        self.address = "192.0.2.1:1"

    def touch(self, face: Face) -> None:
        self.touched.append(face)

    def face(self, authenticator: Authenticator) -> ServerConnection:
        self.connections += 1
        peer = Peer(self.connections, self.address)
        now_ms = self.world.now_ms
        return ServerConnection(self.world.bridge, self, authenticator, peer, self.settings, now_ms)

    def client(self, user: str = "", *, properties: FieldTable | None = None) -> "Client":
        """A connected client; anonymous without `user`."""
        client = Client(self)
        client.open(user, properties or [])
        return client

    def session(self, user: str = "") -> "Client":
        """A connected client with a session to talk on."""
        client = self.client(user)
        client.attach()
        return client


class Client:
    """A 0-10 client on its own connection; commands go out on the session attached last."""

    def __init__(self, gateway: Gateway, mechanisms: list[str] | None = None) -> None:
        self.gateway = gateway
        self.authenticator = Authenticator(mechanisms or ["PLAIN", "ANONYMOUS"])
        self.face = gateway.face(self.authenticator)
        self.connection = Connection(Role.CLIENT, Limits(), gateway.world.now_ms)
        self.channel = 0
        self.session: Session | None = None

    # Negotiation.

    def open(self, user: str = "", properties: FieldTable | None = None) -> list[object]:
        """Negotiate to the end; everything that was heard on the way."""
        heard = self.hears()
        mechanism = "PLAIN" if user else "ANONYMOUS"
        response = b"\0" + user.encode() + b"\0secret" if user else b""
        self.connection.send_start_ok(properties or [], mechanism, response, "en_US")
        heard += self.hears()
        self.authenticated(user or "anonymous")
        heard += self.hears()
        self.connection.send_open("")
        heard += self.hears()
        assert self.connection.open
        return heard

    def authenticated(self, identity: str | None) -> None:
        """The authenticator's answer to the last question."""
        self.authenticator.asked.pop()[1].on_authenticated(identity, self.gateway.world.now_ms)

    def attach(self, name: bytes = b"", *, force: bool = False) -> list[object]:
        """Attach one more session; what was heard in answer."""
        self.channel += 1
        unique = name or f"s{self.face.client.peer.connection_id}.{self.channel}".encode()
        self.session = self.connection.attach(unique, self.channel, force)
        return self.hears()

    # Talk.

    def says(
        self, *commands: Command, sync: bool = False, header: bytes | None = None, body: bytes = b""
    ) -> int:
        """Send commands, without letting the gateway answer; the id of the last."""
        assert self.session is not None
        command_id = -1
        for command in commands:
            command_id = self.session.send_command(command, sync=sync, header=header, body=body)
        return command_id

    def publishes(
        self,
        body: bytes,
        *,
        to: str = "",
        key: str = "q",
        explicit: bool = False,
        delivery: spec.DeliveryProperties | None = None,
        message: spec.MessageProperties | None = None,
    ) -> int:
        """Send one message.transfer; its id."""
        delivery = delivery or spec.DeliveryProperties()
        delivery.routing_key = key
        transfer = spec.MessageTransfer(destination=to)
        if explicit:
            transfer.accept_mode = spec.AcceptMode.EXPLICIT
        return self.says(transfer, header=write_header(delivery, message), body=body)

    def subscribes(
        self,
        queue: str = "q",
        destination: str = "d",
        *,
        credit: int | None = 0xFFFFFFFF,
        absent: bool = False,
        mode: int | None = None,
        accept: int = 0,
        acquire: int = 0,
        exclusive: bool = False,
        arguments: FieldTable | None = None,
    ) -> None:
        """message.subscribe, and credit in messages if any; octets are infinite.

        With `absent` the value of the flow in messages is.
        """
        self.says(
            spec.MessageSubscribe(
                queue=queue,
                destination=destination,
                accept_mode=accept,
                acquire_mode=acquire,
                exclusive=exclusive,
                arguments=arguments,
            )
        )
        if mode is not None:
            self.says(spec.MessageSetFlowMode(destination=destination, flow_mode=mode))
        if credit is not None:
            self.flows(None if absent else credit, destination=destination)
            self.flows(0xFFFFFFFF, destination=destination, unit=1)

    def flows(self, value: int | None, *, destination: str = "d", unit: int = 0) -> None:
        self.says(spec.MessageFlow(destination=destination, unit=unit, value=value))

    def hears(self) -> list[object]:
        """Let everything take its course; what came back, told in order."""
        heard: list[object] = []
        world = self.gateway.world
        for _ in range(100):
            self.gateway.touched.clear()
            up = self.connection.data_to_send()
            if up and not self.face.closed:
                self.face.receive_data(up, world.now_ms)
            world.turn()
            down = self.face.data_to_send()
            events = self.connection.receive_data(down, world.now_ms) if down else []
            heard += [described(event) for event in events]
            if not up and not down and not self.gateway.touched:
                return heard
        raise AssertionError("the conversation does not end")

    def gets(self) -> list[bytes]:
        """The bodies of the transfers among what is heard."""
        return [one[2] for one in self.hears() if isinstance(one, tuple) and len(one) == 3]

    def does(self, *commands: Command) -> list[object]:
        """Say, and hear the answer."""
        self.says(*commands)
        return self.hears()

    def completes(self, first: int, last: int) -> None:
        """Complete deliveries, as a client does for its window."""
        assert self.session is not None
        self.session.complete(first, last)

    def loses_transport(self) -> None:
        self.face.receive_eof(self.gateway.world.now_ms)
        self.gateway.world.turn()


def properties_of(header: bytes) -> object:
    """The one struct of a header segment."""
    reader = Reader(header)
    struct = reader.sub(reader.u32())
    decoded = STRUCTS[struct.u16()](struct, 32)
    assert not reader.remaining()
    return decoded


def header_of(properties: Struct) -> bytes:
    """A header segment of one struct."""
    writer = Writer()
    properties.encode(writer)  # type: ignore[attr-defined]  # of those with a size and a code
    return writer.getvalue()


def completed(*ranges: tuple[int, int]) -> str:
    return "completed " + " ".join(f"{first}-{last}" for first, last in ranges)


def described(event: Event) -> object:
    """One event, as tests write it."""
    if isinstance(event, CommandReceived):
        if event.payload and isinstance(event.command, CONTENT):
            header = properties_of(event.payload[: event.body_at])
            return (event.command, header, event.payload[event.body_at :])
        if event.payload or isinstance(event.command, spec.MessageTransfer):
            header = read_header(event.payload, event.body_at)
            return (event.command, header, event.payload[event.body_at :])
        return event.command
    if isinstance(event, CommandsCompleted):
        return completed(*event.ranges)
    if isinstance(event, ResultReceived):
        return None if event.value is None else open_struct(event.value)
    if isinstance(event, ExceptionReceived):
        return (event.exception.error_code, event.exception.command_id)
    return _described_rare(event)


def _described_rare(event: Event) -> object:
    if isinstance(event, SessionEnded):
        return f"ended {event.code}"
    if isinstance(event, ConnectionClosed):
        return f"closed {event.code}"
    if isinstance(event, ControlReceived):
        return event.control
    if isinstance(event, Attached):
        return "attached"
    if isinstance(event, TimeoutGranted):
        return f"timeout {event.timeout_s}"
    assert isinstance(event, Tuned | Violation), event
    return event
