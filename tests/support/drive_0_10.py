"""Plays the other side of a 0-10 connection: frames to feed, and what came out, decoded."""

from support.field_names import field_names

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.connection import Connection
from gateway.amqp_0_10.events import AttachReceived, Event
from gateway.amqp_0_10.frames import (
    BODY,
    COMMAND,
    CONTROL,
    HEADER,
    PROTOCOL_HEADER,
    FrameParser,
    FrameWriter,
    read_command_head,
)
from gateway.amqp_0_10.session import Session
from gateway.amqp_0_10.states import Role
from gateway.amqp_0_10.types import DEPTH_MAX, Command, Control
from gateway.wire.buffers import Reader
from gateway.wire.limits import Limits


def control(value: Control, channel: int = 0) -> bytes:
    writer = FrameWriter()
    writer.control(channel, value)
    return writer.take()


def command(
    value: Command,
    channel: int = 1,
    *,
    sync: bool = False,
    header: bytes | None = None,
    body: bytes = b"",
    max_frame_size: int = 65535,
) -> bytes:
    writer = FrameWriter()
    writer.max_frame_size = max_frame_size
    writer.command(channel, value, sync, header, body)
    return writer.take()


def frame(flags: int, kind: int, channel: int, payload: bytes) -> bytes:
    size = (len(payload) + 12).to_bytes(2, "big")
    head = bytes([flags, kind]) + size + bytes([0, kind != 0]) + channel.to_bytes(2, "big")
    return head + bytes(4) + payload


class Sent:
    """One control, command or segment that a connection wrote."""

    def __init__(self, channel: int, value: object, sync: bool = False) -> None:
        self.channel = channel
        self.value = value
        self.sync = sync

    def __repr__(self) -> str:
        return f"{self.channel}: {self.value!r}{' sync' if self.sync else ''}"


def sent(octets: bytes) -> list[Sent]:
    """What was written, in order; header and body segments as ``bytes``, put together."""
    found: list[Sent] = []
    if octets.startswith(b"AMQP"):
        found.append(Sent(0, octets[:8]))
        octets = octets[8:]
    parser = FrameParser()
    parser.feed(octets)
    segments: dict[int, bytes] = {}
    while parser.next(65535):
        payload = parser.buf[parser.start : parser.end]
        segments[parser.channel] = segments.get(parser.channel, b"") + payload
        if not parser.flags & 1:
            continue
        payload = segments.pop(parser.channel)
        reader = Reader(payload)
        if parser.type == CONTROL:
            value = spec.CONTROLS[reader.u16()](reader, DEPTH_MAX)
            found.append(Sent(parser.channel, value))
        elif parser.type == COMMAND:
            code, sync = read_command_head(reader)
            found.append(Sent(parser.channel, spec.COMMANDS[code](reader, DEPTH_MAX), sync))
        else:
            assert parser.type in (HEADER, BODY)
            found.append(Sent(parser.channel, payload))
    assert not parser._pending_size
    return found


def values(octets: bytes) -> list[object]:
    return [one.value for one in sent(octets)]


START_OK = control(spec.ConnectionStartOk(mechanism="ANONYMOUS", response=b"", locale="en_US"))
TUNE_OK = control(spec.ConnectionTuneOk(channel_max=256, max_frame_size=65535, heartbeat=0))
OPEN = control(spec.ConnectionOpen(virtual_host=""))


def opened_server(limits: Limits | None = None, tune_ok: bytes = TUNE_OK) -> Connection:
    """A server's connection, negotiated to the end."""
    server = Connection(Role.SERVER, limits or Limits(), 0)
    server.receive_data(PROTOCOL_HEADER, 0)
    server.send_start([], ["ANONYMOUS"], ["en_US"])
    server.receive_data(START_OK, 0)
    server.send_tune()
    server.receive_data(tune_ok + OPEN, 0)
    server.send_open_ok([])
    assert server.open
    server.data_to_send()
    return server


def told(end: Connection, *octets: bytes) -> list[Event]:
    """Give an end such octets at once; its events."""
    return end.receive_data(b"".join(octets), 0)


def says(value: Control, channel: int = 1) -> bytes:
    """A control on the channel of the session."""
    return control(value, channel)


def attached(
    server: Connection, name: bytes = b"s", channel: int = 1, pointed: bool = True
) -> Session:
    """A session of a server, attached, with the peer's command-point at 0."""
    octets = control(spec.SessionAttach(name=name), channel)
    if pointed:
        octets += control(spec.SessionCommandPoint(command_id=0, command_offset=0), channel)
    [event] = server.receive_data(octets, 0)
    assert isinstance(event, AttachReceived)
    event.session.accept()
    server.data_to_send()
    return event.session


class Pair:
    """A client and a server, both ours, and the octets between them."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.server = Connection(Role.SERVER, limits or Limits(), 0)
        self.client = Connection(Role.CLIENT, limits or Limits(), 0)

    def exchange(self) -> tuple[list[Event], list[Event]]:
        """Move what both have to say, until both are silent; what server and client were told."""
        told: tuple[list[Event], list[Event]] = ([], [])
        while True:
            up = self.client.data_to_send()
            down = self.server.data_to_send()
            if not up and not down:
                return told
            told[0].extend(self.server.receive_data(up, 0))
            told[1].extend(self.client.receive_data(down, 0))

    def open(self) -> None:
        """Negotiate to the end."""
        self.exchange()
        self.server.send_start([], ["PLAIN", "ANONYMOUS"], ["en_US"])
        self.exchange()
        self.client.send_start_ok([], "ANONYMOUS", b"", "en_US")
        self.exchange()
        self.server.send_tune()
        self.exchange()
        self.client.send_open("")
        self.exchange()
        self.server.send_open_ok(["amqp:tcp:localhost:5672"])
        self.exchange()
        assert self.client.open and self.server.open

    def session(self, name: bytes = b"s", channel: int = 1) -> tuple[Session, Session]:
        """A session attached at both ends: the client's, the server's."""
        ours = self.client.attach(name, channel)
        [event] = self.exchange()[0]
        assert isinstance(event, AttachReceived)
        event.session.accept()
        self.exchange()
        return ours, event.session


def shown(value: object) -> object:
    """Events, alone or in lists and tuples, as their names and fields: to be compared."""
    if isinstance(value, (list, tuple)):
        return [shown(each) for each in value]
    if not isinstance(value, Event):
        return value
    return type(value).__name__, {name: getattr(value, name) for name in field_names(value)}
