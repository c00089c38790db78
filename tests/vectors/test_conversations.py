"""What foreign clients and a foreign broker said to each other, read by our codec."""

from itertools import pairwise
from pathlib import Path

import pytest
from support import drive_0_10 as drive

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.connection import Connection
from gateway.amqp_0_10.events import (
    AttachReceived,
    CommandReceived,
    ConnectionClosed,
    ControlReceived,
    Event,
    HeaderReceived,
    SessionEnded,
    TimeoutRequested,
    Tuned,
)
from gateway.amqp_0_10.states import Role
from gateway.amqp_0_10.structs import read_header, write_header
from gateway.amqp_0_10.types import Command, Control
from gateway.wire.limits import Limits

VECTORS = sorted((Path(__file__).parent.parent / "vectors" / "0-10").glob("*.hex"))
each_vector = pytest.mark.parametrize("path", VECTORS, ids=lambda path: path.stem)


def pieces(path: Path) -> list[tuple[str, bytes]]:
    """The conversation: ``>`` is the client's, ``<`` the broker's octets."""
    return [
        (line[0], bytes.fromhex(line[1:])) for line in path.read_text().splitlines() if line.strip()
    ]


def direction(path: Path, mark: str) -> bytes:
    return b"".join(octets for side, octets in pieces(path) if side == mark)


def test_there_are_recordings() -> None:
    assert VECTORS


@each_vector
@pytest.mark.parametrize("mark", "><")
def test_everything_is_read_and_written_again_with_the_same_meaning(path: Path, mark: str) -> None:
    for one in drive.sent(direction(path, mark)):
        if isinstance(one.value, Control):
            assert drive.values(drive.control(one.value)) == [one.value]
        elif isinstance(one.value, Command):
            [again] = drive.sent(drive.command(one.value, sync=one.sync))
            assert (again.value, again.sync) == (one.value, one.sync)


@each_vector
@pytest.mark.parametrize("mark", "><")
def test_header_segments_open_and_close(path: Path, mark: str) -> None:
    found = drive.sent(direction(path, mark))
    for before, one in pairwise(found):
        if isinstance(before.value, spec.MessageTransfer):
            header = read_header(one.value, len(one.value))
            octets = write_header(header[0], header[2], header[1])
            assert read_header(octets, len(octets)) == header


class Answers:
    """Says yes to everything, as a face would."""

    def __init__(self) -> None:
        self.connection = Connection(Role.SERVER, Limits(), 0)
        self.ended = 0
        self.transfers = 0
        self.closed = False

    def receive(self, octets: bytes) -> None:
        for event in self.connection.receive_data(octets, 0):
            self.answer(event)
        drive.sent(self.connection.data_to_send())

    def answer(self, event: Event) -> None:
        connection = self.connection
        if isinstance(event, HeaderReceived):
            connection.send_start([], ["PLAIN", "ANONYMOUS"], ["en_US"])
        elif isinstance(event, ControlReceived):
            if isinstance(event.control, spec.ConnectionOpen):
                connection.send_open_ok([])
            else:
                connection.send_tune()
        elif isinstance(event, AttachReceived):
            event.session.accept()
        elif isinstance(event, TimeoutRequested):
            event.session.send_timeout(0)
        elif isinstance(event, CommandReceived):
            event.session.complete(event.command_id, event.command_id)
            self.transfers += isinstance(event.command, spec.MessageTransfer)
        elif isinstance(event, SessionEnded):
            assert event.error is None
            assert event.code == 0
            self.ended += 1
        elif isinstance(event, ConnectionClosed):
            assert event.by_peer
            self.closed = True
        else:
            assert isinstance(event, Tuned), event


@each_vector
@pytest.mark.parametrize("size", [1, 100, 1 << 20])
def test_our_server_understands_the_client(path: Path, size: int) -> None:
    octets = direction(path, ">")
    face = Answers()
    # Negotiation alternates; only what is behind the connection's opening may come in one piece.
    at = 0
    for one in drive.sent(octets)[:4]:
        length = 8 if at == 0 else int.from_bytes(octets[at + 2 : at + 4], "big")
        assert one is not None
        face.receive(octets[at : at + length])
        at += length
    assert face.connection.open
    for start in range(at, len(octets), size):
        face.receive(octets[start : start + size])
    wanted = [one.value for one in drive.sent(octets)]
    assert face.transfers == sum(isinstance(value, spec.MessageTransfer) for value in wanted)
    assert face.ended == sum(isinstance(value, spec.SessionDetach) for value in wanted)
    assert face.closed == any(isinstance(value, spec.ConnectionClose) for value in wanted)
