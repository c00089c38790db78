"""Who is let in by a 1.0 connection, and to which virtual host."""

import pytest
from support.face_1_0 import Client, Hub
from support.rules import rule

from gateway.amqp_1_0 import _spec, events


@pytest.fixture
def hub():
    hub = Hub()
    hub.world.queue("q")
    yield hub
    hub.end()


def test_an_anonymous_client_is_let_in_and_told_who_we_are(hub):
    client = hub.client()
    opened = client.take(events.OpenReceived).open
    assert opened.container_id == "gateway"
    assert opened.offered_capabilities == ["ANONYMOUS-RELAY"]
    assert opened.properties["product"].value == "amqp-gateway"
    assert client.face.client.identity == "anonymous"
    assert not client.face.client.authenticated


def test_a_client_without_sasl_is_anonymous_where_that_is_allowed(hub):
    client = hub.client(sasl=False)
    client.take(events.OpenReceived)
    assert client.face.client.identity == "anonymous"


def test_a_client_without_sasl_is_sent_away_where_it_is_not_allowed():
    hub = Hub(anonymous_allowed=False)
    client = hub.client(sasl=False)
    assert client.kinds() == ["Violation"]
    assert client.face.closed


def test_a_user_is_known_by_name_once_verified(hub):
    client = hub.client(user=("user", "pass"))
    client.take(events.OpenReceived)
    assert client.face.client.identity == "user@realm"
    assert client.face.client.authenticated


def test_a_wrong_password_ends_the_connection(hub):
    client = hub.client(user=("user", "wrong"))
    assert client.kinds() == ["Violation"]
    assert client.face.closed
    assert hub.settings.counts.authentication_failures[1] == 1


@rule("1.0", "2.7.1", "hostname-has-a-default")
@pytest.mark.parametrize(
    ("hostname", "host"),
    [
        (None, "/"),
        ("b.example", "b"),
        ("B.EXAMPLE.", "b"),
        ("vhost:b", "b"),
        ("other", "/"),
        ("vhost:/", "/"),
    ],
)
def test_the_hostname_picks_the_virtual_host(hostname, host):
    hub = Hub(hosts=["/", "b"], hostnames={"b.example": "b"})
    assert hub.client(hostname=hostname).face.client.host.name == host


def test_the_name_of_a_virtual_host_is_no_name_of_the_dns():
    client = Hub(hosts=["/", "b"]).client(hostname="vhost:B")
    client.take(events.OpenReceived)
    assert client.take(events.CloseReceived).error.condition == "amqp:not-found"


@pytest.mark.parametrize("hosts", [["/", "b"], ["/"]])
def test_a_virtual_host_that_is_asked_for_by_name_is_there_or_not_found(hosts):
    hub = Hub(hosts=hosts)
    client = hub.client(hostname="vhost:none")
    client.take(events.OpenReceived)
    error = client.take(events.CloseReceived).error
    assert (error.condition, error.description) == (
        "amqp:not-found",
        "there is no virtual host 'none'",
    )
    client.connection.send_close()
    client.step()
    assert client.face.closed
    assert hub.settings.counts.connections_opened[1] == 0


def test_what_was_said_ahead_to_a_virtual_host_that_is_not_there_is_not_done():
    hub = Hub(hosts=["/", "b"])
    hub.world.queue("q")
    client = Client(hub, "early", 1, hostname="vhost:none")
    session = client.connection.session()
    session.send_begin()
    link = session.attach("link", _spec.SENDER)
    link.send_attach(source=_spec.Source(), target=_spec.Target(address="q"))
    hub.clients.append(client)
    client.step()
    assert client.take(events.CloseReceived).error.condition == "amqp:not-found"
    assert not client.take_all(events.AttachReceived)
