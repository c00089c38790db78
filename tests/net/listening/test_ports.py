"""What a port accepts in one pass of the event loop."""

from twisted.internet import tcp
from twisted.internet.protocol import Protocol, ServerFactory

from gateway.net.listening.ports import AT_ONCE, Entrance, accept_few
from gateway.wire.work import BEGUN, STRANGERS


class Crowded(tcp.Port):
    """More come than it accepts: each time it accepts more of them, as Twisted's own does."""

    def __init__(self) -> None:
        super().__init__(0, ServerFactory())
        self.numberAccepts = 100
        self.accepted: list[int] = []

    def doRead(self) -> None:
        self.accepted.append(self.numberAccepts)
        self.numberAccepts += 20


def test_no_more_are_accepted_at_once_than_an_address_may_have_done_in_a_turn() -> None:
    port = Crowded()
    accept_few(port)
    for _ in range(3):
        port.doRead()
    assert port.accepted == [AT_ONCE] * 3
    assert AT_ONCE * BEGUN <= STRANGERS


def test_a_port_that_few_come_to_is_left_as_it_is() -> None:
    port = Crowded()
    accept_few(port)
    port.numberAccepts = 1
    port.doRead()
    assert port.accepted == [1]


def test_whoever_comes_in_is_served_by_the_factory_that_there_is_by_then() -> None:
    entrance = Entrance()
    assert entrance.buildProtocol(None) is None
    made: list[Protocol] = []
    for factory in (ServerFactory(), ServerFactory()):
        factory.protocol = Protocol
        entrance.serve(factory)
        made.append(entrance.buildProtocol(None))
        assert made[-1].factory is factory
    assert made[0] is not made[1]


def test_the_factory_that_serves_is_begun_and_ended_with_the_port() -> None:
    entrance, first, second = Entrance(), ServerFactory(), ServerFactory()
    entrance.doStart()
    entrance.serve(first)
    assert first.numPorts == 1
    entrance.serve(second)
    assert (first.numPorts, second.numPorts) == (0, 1)
    entrance.doStop()
    assert second.numPorts == 0
