"""Class connection of 0-10: what the tests of single modules do not show."""

import pytest
from support import drive_0_10 as drive
from support.rules import rule
from support.talk_0_10 import Gateway

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import MIN_MAX_FRAME_SIZE, STR16
from gateway.amqp_0_10.connection import Connection
from gateway.amqp_0_10.events import ControlReceived
from gateway.amqp_0_10.frames import PROTOCOL_HEADER
from gateway.amqp_0_10.states import Role
from gateway.audit.schema import Kind, Reason
from gateway.clients.client import Login
from gateway.clients.client_0_10 import Client010
from gateway.wire.limits import Limits
from gateway.wire.tagged import Tagged


def start_ok(size: int) -> bytes:
    """A start-ok in a frame of so many octets."""

    def padded(octets: int) -> bytes:
        properties = [("padding", Tagged(STR16, "x" * octets))]
        return drive.control(spec.ConnectionStartOk(client_properties=properties))

    return padded(size - len(padded(0)))


@rule("0-10", "connection.tune.max-frame-size", "minimum")
@rule("0-10", "connection.tune-ok.max-frame-size", "minimum")
@pytest.mark.parametrize("limit", [512, 65535])
def test_before_tuning_a_frame_of_the_minimum_size_is_taken(limit: int) -> None:
    server = Connection(Role.SERVER, Limits(max_frame_size=limit), 0)
    server.receive_data(PROTOCOL_HEADER, 0)
    server.send_start([], [], [])
    octets = start_ok(MIN_MAX_FRAME_SIZE)
    assert len(octets) == MIN_MAX_FRAME_SIZE
    [event] = server.receive_data(octets, 0)
    assert isinstance(event, ControlReceived)
    assert server.tuning.offer().max_frame_size >= MIN_MAX_FRAME_SIZE


@rule("0-10", "connection.close-ok", "reporting")
@pytest.mark.parametrize("closes", [True, False])
def test_a_transport_that_ends_without_close_ok_is_recorded_as_lost(closes: bool) -> None:
    client = Gateway().session()
    if closes:
        client.connection.send_close(200, "", 0)
        client.hears()
    client.loses_transport()
    raw = client.gateway.world.blocks.raw()
    [closed] = [each for each in raw if each["kind"] == Kind.CONNECTION_CLOSED]
    assert closed["reason"] == (Reason.NONE if closes else Reason.CONNECTION_LOST)


@rule("0-10", "connection.start-ok.client-properties", "required-fields")
def test_our_client_says_what_it_is() -> None:
    client = Client010(Login(), 0)
    server = Connection(Role.SERVER, Limits(), 0)
    server.receive_data(client.data_to_send(), 0)
    server.send_start([], ["ANONYMOUS"], ["en_US"])
    client.receive_data(server.data_to_send(), 0)
    [start_ok] = drive.values(client.data_to_send())
    properties = dict(start_ok.client_properties)
    assert properties.keys() >= {"product", "version", "platform", "information"}
