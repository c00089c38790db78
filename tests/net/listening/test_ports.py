"""What a port accepts in one pass of the event loop."""

from twisted.internet import tcp
from twisted.internet.protocol import ServerFactory

from gateway.net.listening.ports import AT_ONCE, accept_few
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
