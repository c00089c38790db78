"""Connections of 1.0 (2.2 - 2.4, 5.3): what the tests of single modules do not show."""

import pytest
from support.frames_1_0 import octets_of, read_frames
from support.pair_1_0 import T0, Pair
from support.rules import rule

from gateway.amqp_1_0 import _spec, events, frames
from gateway.amqp_1_0.connection import Connection
from gateway.errors import DecodeError
from gateway.wire.buffers import Reader, Writer
from gateway.wire.limits import Limits
from gateway.wire.sasl import anonymous

OPEN = _spec.Open(container_id="c")
BEGIN = _spec.Begin(next_outgoing_id=0, incoming_window=9, outgoing_window=9)


def server(*, mechanisms=("PLAIN", "ANONYMOUS"), **limits):
    """A server that has the client's protocol header of plain 1.0, or of SASL."""
    return Connection(
        server=True,
        container_id="s",
        limits=Limits(**limits),
        now_ms=T0,
        mechanisms=list(mechanisms),
    )


def first(octets, **limits):
    """What a server makes of the first frames of a client."""
    connection = server(**limits)
    return connection, connection.receive_data(frames.PROTOCOL_AMQP + octets, T0)


def condition(found):
    [event] = found
    assert isinstance(event, events.Violation)
    return event.error.condition


@rule("1.0", "2.7.1", "open-is-the-first-frame")
def test_a_frame_before_open_is_an_illegal_state():
    _, found = first(octets_of(BEGIN))
    assert condition(found) == "amqp:illegal-state"


@rule("1.0", "2.4.1", "open-on-channel-zero")
def test_an_open_comes_and_goes_on_channel_zero():
    _, found = first(octets_of(OPEN, channel=1))
    assert condition(found) == "amqp:connection:framing-error"
    connection, _ = first(octets_of(OPEN))
    connection.send_open()
    [(channel, performative)] = read_frames(connection.data_to_send())
    assert (channel, type(performative)) == (0, _spec.Open)


@rule("1.0", "2.7.1", "frames-of-512-are-taken")
@pytest.mark.parametrize("limit", [100, 512])
def test_a_frame_of_512_octets_is_taken_whatever_the_limit(limit):
    empty = len(octets_of(_spec.Open(container_id="c" * 300)))
    large = octets_of(_spec.Open(container_id="c" * (300 + 512 - empty)))
    assert len(large) == 512
    _, [event] = first(large, max_frame_size=limit)
    assert isinstance(event, events.OpenReceived)


@rule("1.0", "2.4.5", "empty-frames-are-taken-on-any-channel")
def test_an_empty_frame_on_any_channel_is_a_sign_of_life_and_nothing_else():
    connection, _ = first(octets_of(OPEN), idle_timeout_ms=1000)
    connection.send_open()
    for channel in (0, 7):
        empty = b"\0\0\0\x08\2\0" + channel.to_bytes(2, "big")
        assert connection.receive_data(empty, T0 + 900) == []
    assert connection.next_deadline() == T0 + 1900


@rule("1.0", "2.4.3", "close-on-channel-zero")
@rule("1.0", "2.4.5", "nothing-after-close")
def test_no_empty_frames_are_sent_behind_a_close():
    impatient = _spec.Open(container_id="c", idle_time_out=1000)
    connection, _ = first(octets_of(impatient))
    connection.send_open()
    connection.send_close()
    channel, close = read_frames(connection.data_to_send())[-1]
    assert (channel, type(close)) == (0, _spec.Close)
    assert connection.handle_deadline(T0 + 600) == []
    assert connection.data_to_send() == b""


@rule("1.0", "2.4.4", "simultaneous-close")
def test_both_sides_may_close_at_once():
    pair = Pair().open()
    pair.client.send_close()
    pair.server.send_close()
    pair.step()
    assert pair.kinds("client") == pair.kinds("server") == ["CloseReceived"]
    assert pair.client.closed
    assert pair.server.closed


# SASL.


@rule("1.0", "5.3.1", "channel-octets-are-zero")
@rule("1.0", "5.3.2", "mechanisms-are-announced")
@rule("1.0", "5.3.3", "mechanisms-are-not-empty")
@pytest.mark.parametrize(
    ("ours", "announced"), [(["PLAIN", "EXTERNAL"], ["PLAIN", "EXTERNAL"]), ([], ["ANONYMOUS"])]
)
def test_the_server_announces_its_mechanisms_and_never_none(ours, announced):
    connection = server(mechanisms=ours)
    connection.receive_data(frames.PROTOCOL_SASL, T0)
    [(channel, said)] = read_frames(connection.data_to_send())
    assert channel == 0
    assert said == _spec.SaslMechanisms(sasl_server_mechanisms=announced)


@rule("1.0", "1.4", "mandatory-multiple-has-a-value")
def test_an_empty_list_of_mechanisms_is_a_decode_error():
    writer = Writer()
    _spec.SaslMechanisms(sasl_server_mechanisms=[]).encode(writer)
    with pytest.raises(DecodeError, match="mandatory"):
        _spec.decode_sasl_frame(Reader(writer.getvalue()))


@rule("1.0", "5.3.1", "one-sasl-body-in-a-frame")
@pytest.mark.parametrize("behind", [b"", b"\x40"])
def test_a_sasl_frame_holds_one_body_and_nothing_behind_it(behind):
    connection = server()
    init = _spec.SaslInit(mechanism="ANONYMOUS")
    octets = octets_of(init, kind=frames.SASL_FRAME, payload=behind)
    [event] = connection.receive_data(frames.PROTOCOL_SASL + octets, T0)
    assert isinstance(event, events.Violation if behind else events.AuthenticationRequested)


@rule("1.0", "5.3.3", "header-follows-success")
def test_a_client_sends_its_header_again_behind_the_outcome():
    client = Connection(
        server=False, container_id="c", limits=Limits(), now_ms=T0, able=[anonymous()]
    )
    client.send_open()
    assert client.data_to_send() == frames.PROTOCOL_SASL
    mechanisms = _spec.SaslMechanisms(sasl_server_mechanisms=["ANONYMOUS"])
    said = octets_of(mechanisms, _spec.SaslOutcome(code=_spec.SASL_OK), kind=frames.SASL_FRAME)
    client.receive_data(frames.PROTOCOL_SASL + said, T0)
    octets = client.data_to_send()
    assert frames.PROTOCOL_AMQP in octets
    assert [type(one) for _, one in read_frames(octets)] == [_spec.SaslInit, _spec.Open]
