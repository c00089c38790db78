"""What drives the clients, over a transport of strings."""

import pytest
from support.frames_1_0 import give_up
from support.upstream_world import Broker
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport

from gateway.amqp_0_10.errors import ResourceLimitExceededError
from gateway.amqp_0_10.events import SessionEnded
from gateway.amqp_1_0.events import AuthenticationRequested
from gateway.clients.client import NOT_AMQP, ClientError, ClientProtocol, Login, Subscription
from gateway.clients.client_0_10 import Client010
from gateway.clients.client_1_0 import Client10


@pytest.mark.parametrize("kind", [Client010, Client10])
def test_an_http_server_is_told_from_one_of_amqp(kind: type) -> None:
    client = kind(Login(), 0)
    clock = Clock()
    protocol = ClientProtocol(client, clock, lambda: 0)
    transport = StringTransport()
    protocol.makeConnection(transport)
    failed: list[object] = []
    client.ready().addErrback(lambda failure: failed.append(failure.value))
    protocol.dataReceived(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    (error,) = failed
    assert isinstance(error, ClientError)
    assert str(error) == NOT_AMQP
    assert transport.disconnecting
    assert client.closed


def test_why_a_session_ends_that_the_client_itself_has_ended_is_told() -> None:
    client = Client010(Login(), 0)
    failed: list[object] = []
    client.lost().addErrback(lambda failure: failed.append(str(failure.value)))
    client.ready().addErrback(lambda _: None)  # nor has it ever been
    error = ResourceLimitExceededError("a body of more than 5 octets")
    session = client._connection.channels._new_session(b"s", 0)
    client._on_end(SessionEnded(session, 0, error))
    assert failed == ["the session ended: a body of more than 5 octets"]


class LettingIn(Broker):
    """One that lets everybody in."""

    def _react(self, event: object) -> None:
        if isinstance(event, AuthenticationRequested):
            self.connection.send_verdict(True, 0)
        super()._react(event)


@pytest.mark.parametrize("once", [False, True])
def test_the_credit_of_letters_that_are_given_up_is_given_again(once: bool) -> None:
    client, broker = Client10(Login(), 0), LettingIn(0)

    def step() -> None:
        while octets := client.data_to_send():
            broker.receive(octets, 0)
            client.receive_data(broker.connection.data_to_send(), 0)

    step()
    client.receive(Subscription("q", credit=5, once=once), lambda _delivered: None)
    step()
    link = broker.link("q")
    for _ in range(20):
        give_up(link)
        client.receive_data(broker.connection.data_to_send(), 0)
        step()
        assert link.credit == 5 if once else link.credit > 0
