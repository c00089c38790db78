"""Who sends what is much work to take apart is read in small pieces."""

from support.net import Net
from twisted.internet.tcp import Connection
from twisted.protocols.policies import ProtocolWrapper, WrappingFactory

from gateway.net.listening.first_octets import HEADER_0_10
from gateway.net.reading import CHEAP, COSTLY, LITTLE, USUAL, Reading
from gateway.wire.work import WORK


class Tcp:
    bufferSize = USUAL


def test_twisted_reads_as_much_as_we_take_for_usual() -> None:
    assert Connection.bufferSize == USUAL


def test_after_a_costly_read_the_next_ones_are_small_until_one_is_cheap() -> None:
    reading, tcp = Reading(), Tcp()
    sizes = []
    for units in (COSTLY, COSTLY + 1, COSTLY // 8, CHEAP, CHEAP - 1, COSTLY):
        reading.has_cost(units, tcp)
        sizes.append(tcp.bufferSize)
    assert sizes == [USUAL, LITTLE, LITTLE, LITTLE, USUAL, USUAL]


def test_inside_tls_it_is_the_socket_below_that_is_read_less() -> None:
    tcp = Tcp()
    outer = ProtocolWrapper(WrappingFactory(None), None)  # type: ignore[arg-type]  # not used
    outer.transport = tcp  # type: ignore[assignment]  # what is used of it
    reading = Reading()
    reading.has_cost(COSTLY + 1, outer)  # type: ignore[arg-type]  # as Twisted's own type says
    assert tcp.bufferSize == LITTLE


def test_a_connection_is_read_less_while_its_reads_are_costly() -> None:
    net = Net()
    pump, wire = net.connect()
    pump.dataReceived(HEADER_0_10)
    net.turn()
    face = net.faces[-1]
    face.peer.entered("alice")
    receive = face.receive_data
    cost = COSTLY + 1

    def costs(data: bytes, now_ms: int) -> None:
        WORK.units += cost
        receive(data, now_ms)

    face.receive_data = costs
    pump.dataReceived(b"x")
    assert wire.bufferSize == LITTLE
    cost = 0
    pump.dataReceived(b"x")
    assert wire.bufferSize == USUAL
