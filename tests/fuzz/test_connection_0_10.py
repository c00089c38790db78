"""Any octets in any state: events, at most one violation, that last, wherever they are cut."""

from functools import cache

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support import drive_0_10 as drive
from support import values_0_10
from support.field_names import field_names

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.connection import Connection
from gateway.amqp_0_10.events import CommandReceived, ConnectionClosed, Event, Violation
from gateway.amqp_0_10.frames import PROTOCOL_HEADER
from gateway.amqp_0_10.states import Role
from gateway.codegen import amqp_0_10_tables as tables
from gateway.wire.limits import Limits

LIMITS = Limits(message_size_max=3000, table_size_max=1000, commands_in_doubt_max=20)


def fresh_server() -> Connection:
    return Connection(Role.SERVER, LIMITS, 0)


def started_server() -> Connection:
    server = fresh_server()
    server.receive_data(PROTOCOL_HEADER, 0)
    server.send_start([], [], [])
    return server


def tuning_server() -> Connection:
    server = started_server()
    server.receive_data(drive.START_OK, 0)
    server.send_tune()
    return server


def open_server() -> Connection:
    return drive.opened_server(LIMITS)


def attached_server() -> Connection:
    server = open_server()
    drive.attached(server)
    drive.attached(server, b"unpointed", 2, pointed=False)
    return server


def failing_server() -> Connection:
    server = attached_server()
    server.receive_data(drive.control(spec.SessionGap(commands=[(9, 9)]), 1), 0)
    return server


def in_the_middle_server() -> Connection:
    server = attached_server()
    octets = drive.command(spec.MessageTransfer(), header=b"h", body=b"body")
    server.receive_data(octets[:-16], 0)
    return server


def closing_server() -> Connection:
    server = attached_server()
    server.send_close(200, "", 0)
    return server


def fresh_client() -> Connection:
    return Connection(Role.CLIENT, LIMITS, 0)


def attached_client() -> Connection:
    pair = drive.Pair(LIMITS)
    pair.open()
    pair.session()
    return pair.client


STATES = [
    fresh_server,
    started_server,
    tuning_server,
    open_server,
    attached_server,
    failing_server,
    in_the_middle_server,
    closing_server,
    fresh_client,
    attached_client,
]

channels = st.integers(0, 3)
any_frame = st.builds(
    drive.frame, st.integers(0, 15), st.integers(0, 3), channels, st.binary(max_size=60)
)


@cache
def control(row: tables.Control) -> st.SearchStrategy[bytes]:
    return st.builds(drive.control, values_0_10.instances(row), channels)


@cache
def command(row: tables.Command) -> st.SearchStrategy[bytes]:
    return st.builds(
        drive.command,
        values_0_10.instances(row),
        channels,
        sync=st.booleans(),
        header=st.none() | st.binary(max_size=30),
        body=st.binary(max_size=30),
    )


any_control = st.sampled_from(tables.CONTROLS).flatmap(control)
any_command = st.sampled_from(tables.COMMANDS).flatmap(command)
some_mutations = st.integers(0, 3)
an_octet = st.integers(0, 255)


@st.composite
def mutated(draw: st.DrawFn, base: st.SearchStrategy[bytes]) -> bytes:
    octets = bytearray(draw(base))
    for _ in range(draw(some_mutations)):
        octets[draw(st.integers(0, len(octets) - 1))] = draw(an_octet)
    return bytes(octets)


any_octets = st.one_of(
    st.binary(max_size=100), any_frame, mutated(st.one_of(any_control, any_command))
)
streams = st.lists(any_octets, max_size=8).map(b"".join)


def told(connection: Connection, pieces: list[bytes]) -> list[Event]:
    return [event for piece in pieces for event in connection.receive_data(piece, 0)]


def described(events: list[Event]) -> list[str]:
    """Events without the identity of sessions, which differs between two connections."""
    texts = []
    for event in events:
        session = getattr(event, "session", None)
        fields = [
            f"{name}={getattr(event, name)!r}" for name in field_names(event) if name != "session"
        ]
        where = f" {session.channel} {session.name!r}" if session is not None else ""
        texts.append(f"{type(event).__name__}{where} {fields}")
    return texts


def is_transfer(event: Event) -> bool:
    """Nobody takes it, but it is told of."""
    return isinstance(event, CommandReceived) and isinstance(event.command, spec.MessageTransfer)


def check(make: object, octets: bytes) -> None:
    connection = make()
    events = told(connection, [octets])
    ends = [at for at, e in enumerate(events) if isinstance(e, Violation | ConnectionClosed)]
    behind = events[ends[0] + 1 :] if ends else []
    assert len(ends) <= 1
    assert all(is_transfer(event) for event in behind)
    drive.sent(connection.data_to_send())
    apart = told(make(), [octets[at : at + 1] for at in range(len(octets))])
    assert described(apart) == described(events)
    connection.receive_eof()
    assert connection.closed


@pytest.mark.parametrize("make", STATES)
def test_any_octets_in_any_state(make: object) -> None:
    @given(streams)
    @example(b"")
    def run(octets: bytes) -> None:
        check(make, octets)

    run()
