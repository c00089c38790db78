"""Who says nothing takes nobody's place who waits to be heard."""

import struct

from support.net import Net

from gateway.net.listening.first_octets import (
    HEADER_1_0_SASL,
)
from gateway.net.listening.silence import SILENCE_S


def test_silent_connections_do_not_keep_one_of_their_own_address_waiting() -> None:
    net = Net(entering_per_address_max=2)
    silent = [net.connect() for _ in range(2)]
    for pump, _ in silent:
        pump.dataReceived(b"AMQP")
    waits = net.connect()
    waits[0].dataReceived(HEADER_1_0_SASL)
    assert net.faces == []
    net.clock.pump([SILENCE_S, SILENCE_S])
    net.turn()
    assert [face.received for face in net.faces] == [HEADER_1_0_SASL]
    silent[0][0].dataReceived(HEADER_1_0_SASL[4:])  # it is heard all the same
    assert len(net.faces) == 2
    assert net.counts.waiting == 0


def test_while_we_are_late_nobody_is_silent_so_soon() -> None:
    net = Net(entering_per_address_max=1)
    net.connect()
    net.connect()
    net.clock.advance(SILENCE_S + 1)
    for _ in range(6):
        net.clock.advance(1)
    assert net.counts.waiting == 1


def test_whose_octets_we_have_not_read_is_not_silent() -> None:
    net = Net(entering_per_address_max=1)
    _, wire = net.connect()
    net.connect()
    wire.memory = struct.pack("=II", 100, 8000)
    for _ in range(8):
        net.clock.advance(SILENCE_S)
    assert net.counts.waiting == 1
    wire.memory = bytes(8)
    net.clock.pump([SILENCE_S, SILENCE_S])
    assert net.counts.waiting == 0


def test_who_goes_on_saying_something_or_waits_for_us_keeps_its_place() -> None:
    net = Net(entering_per_address_max=2)
    talks, held, _ = (net.connect()[0] for _ in range(3))
    held.dataReceived(HEADER_1_0_SASL)
    net.faces[0].peer.held(True)
    for octet in HEADER_1_0_SASL[:6]:
        talks.dataReceived(bytes([octet]))
        net.clock.advance(SILENCE_S)
        net.turn()
    assert net.counts.waiting == 1
    net.faces[0].peer.held(False)
    net.clock.pump([SILENCE_S, SILENCE_S])
    net.turn()
    assert net.counts.waiting == 0
    assert not [call for call in net.clock.getDelayedCalls() if call.getTime() < 5]
