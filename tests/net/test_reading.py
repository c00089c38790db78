"""Who sends what is much work to take apart is read in small pieces."""

from support.net import Net
from twisted.internet.tcp import Connection
from twisted.protocols.policies import ProtocolWrapper, WrappingFactory

from gateway.net.listening.first_octets import HEADER_0_10
from gateway.net.reading import CHEAP, COSTLY, CROWDED, LITTLE, SCALE, USUAL, Crowd, Reading
from gateway.wire.work import WORK


class Tcp:
    bufferSize = USUAL


def test_twisted_reads_as_much_as_we_take_for_usual() -> None:
    assert Connection.bufferSize == USUAL


def test_after_a_costly_read_the_next_ones_are_small_until_one_is_cheap() -> None:
    crowd = Crowd()
    reading, tcp = Reading(crowd), Tcp()
    sizes = []
    for units in (COSTLY, COSTLY + 1, COSTLY // SCALE, COSTLY // SCALE - 1, COSTLY):
        reading.has_cost(units, tcp)
        sizes.append(tcp.bufferSize)
        for _turn in range(2):
            crowd.end_turn()
    assert sizes == [USUAL, LITTLE, LITTLE, USUAL, USUAL]


def test_of_very_many_who_cost_little_each_those_are_read_less_who_make_a_turn_long() -> None:
    crowd = Crowd()
    count = 4 * CROWDED // COSTLY
    pairs = [(Reading(crowd), Tcp()) for _ in range(count)]
    quiet, wire = Reading(crowd), Tcp()

    def turn(*units: int) -> set[int]:
        for number, (reading, tcp) in enumerate(pairs):
            reading.has_cost(units[number % len(units)], tcp)
        quiet.has_cost(CHEAP - 1, wire)
        assert wire.bufferSize == USUAL
        crowd.end_turn()
        return {tcp.bufferSize for _, tcp in pairs}

    assert turn(COSTLY) == {USUAL, LITTLE}  # it is too late for those who came first
    assert turn(COSTLY // SCALE) == {LITTLE}
    assert turn(COSTLY // SCALE) == {LITTLE}
    assert turn(CHEAP - 1) == {USUAL}
    assert turn(COSTLY) == {USUAL, LITTLE}
    assert turn(COSTLY // SCALE) == {LITTLE}
    for reading, tcp in pairs[1:]:
        reading.has_cost(0, tcp)  # nothing but one of them is left
    crowd.end_turn()
    assert pairs[0][1].bufferSize == LITTLE
    crowd.end_turn()
    pairs[0][0].has_cost(COSTLY // SCALE - 1, pairs[0][1])
    assert pairs[0][1].bufferSize == USUAL


def test_inside_tls_it_is_the_socket_below_that_is_read_less() -> None:
    tcp = Tcp()
    outer = ProtocolWrapper(WrappingFactory(None), None)  # type: ignore[arg-type]  # not used
    outer.transport = tcp  # type: ignore[assignment]  # what is used of it
    reading = Reading(Crowd())
    reading.has_cost(COSTLY + 1, outer)  # type: ignore[arg-type]  # as Twisted's own type says
    assert tcp.bufferSize == LITTLE


def test_a_connection_is_read_less_while_its_reads_are_costly() -> None:
    net = Net()
    pump, wire = net.connect()
    pump.dataReceived(HEADER_0_10)
    net.turn()
    face = net.faces[-1]
    receive = face.receive_data
    cost = COSTLY + 1

    def costs(data: bytes, now_ms: int) -> None:
        WORK.units += cost
        receive(data, now_ms)

    face.receive_data = costs
    pump.dataReceived(b"x")
    assert wire.bufferSize == LITTLE
    assert net.turns.crowd.units >= cost
    net.turn()
    assert net.turns.crowd.units == 0
    cost = 0
    pump.dataReceived(b"x")
    assert wire.bufferSize == USUAL
