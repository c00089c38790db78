"""Who is let in by a 1.0 connection, and to which virtual host."""

import pytest
from support.face_1_0 import Client, Hub
from support.rules import rule

from gateway.amqp_1_0 import _spec, events, types
from gateway.amqp_1_0.redirects import Redirect, redirect_of
from gateway.wire.places import Elsewhere, Place
from gateway.wire.tagged import Tagged

SOLE = "sole-connection-for-container"
POLICY = "sole-connection-enforcement-policy"
REFUSE, CLOSE = 0, 1


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
    assert opened.offered_capabilities == ["ANONYMOUS-RELAY", SOLE]
    assert set(opened.properties) == {"product", "version"}
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
    opened = client.connection.open
    assert opened.properties["amqp:connection-establishment-failed"].value is True
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


# The only connection of a container.


def sole(hub, policy=None, **more):
    """A client that wants to be the only one of its container-id."""
    properties = None if policy is None else {POLICY: Tagged(types.UINT, policy)}
    return hub.client(desired_capabilities=[SOLE], properties=properties, **more)


def stays(client):
    """Whether it goes on, and has not been told that its opening failed."""
    opened = client.take(events.OpenReceived).open
    failed = "amqp:connection-establishment-failed" in opened.properties
    closed = client.take_all(events.CloseReceived)
    assert failed == bool(closed)
    return not closed


def is_refused(client):
    """As the second one of its container."""
    opened = client.take(events.OpenReceived).open
    assert opened.properties["amqp:connection-establishment-failed"].value is True
    error = client.take(events.CloseReceived).error
    told = (error.condition, error.info["invalid-field"])
    return told == ("amqp:invalid-field", Tagged(types.SYMBOL, "container-id"))


def is_replaced(client):
    """By another one of its container."""
    error = client.take(events.CloseReceived).error
    told = (error.condition, error.info["sole-connection-enforcement"].value)
    return told == ("amqp:resource-locked", True)


@pytest.mark.parametrize("policy", [None, REFUSE, 7])
def test_a_second_connection_of_a_container_that_wants_one_is_refused(hub, policy):
    first, second = sole(hub, policy), sole(hub, policy)
    assert is_refused(second)
    assert stays(first)
    assert first.sender("q").attached
    assert sole(hub, policy, name="another").sender("q").attached


def test_the_policy_that_is_in_force_is_told_to_who_asks(hub):
    for policy, told in ((None, REFUSE), (7, REFUSE), (CLOSE, CLOSE)):
        opened = sole(hub, policy, name=f"client {policy}").take(events.OpenReceived).open
        assert opened.properties[POLICY] == Tagged(types.UINT, told)


def test_a_second_connection_may_take_the_place_of_the_first(hub):
    first = sole(hub, CLOSE)
    assert stays(first)
    receiver = first.receiver("q", credit=10)
    second = sole(hub, CLOSE)
    assert is_replaced(first)
    assert stays(second)
    assert not receiver.attached
    assert second.sender("q").attached


@pytest.mark.parametrize(("before", "after"), [(REFUSE, CLOSE), (CLOSE, REFUSE)])
def test_of_two_policies_that_of_the_connection_that_is_there_counts(hub, before, after):
    first, second = sole(hub, before), sole(hub, after)
    if before == REFUSE:
        assert is_refused(second)
        assert stays(first)
    else:
        assert is_replaced(first)
        assert stays(second)


@pytest.mark.parametrize("policy", [REFUSE, CLOSE])
@pytest.mark.parametrize("asks_first", [False, True])
def test_a_connection_that_does_not_ask_counts_too(hub, policy, asks_first):
    first = sole(hub, policy) if asks_first else hub.client()
    second = hub.client() if asks_first else sole(hub, policy)
    if policy == REFUSE:
        assert is_refused(second)
        assert stays(first)
    else:
        assert is_replaced(first)
        assert stays(second)


def test_connections_of_which_none_asks_stand_beside_one_another(hub):
    assert all(stays(client) for client in [hub.client(), hub.client(), hub.client()])


@pytest.mark.parametrize("close", [False, True])
def test_a_container_may_connect_again_when_its_connection_is_over(hub, close):
    first = sole(hub)
    if close:
        first.connection.send_close()
        first.step()
    else:
        first.face.receive_eof(hub.world.now_ms)
    assert stays(sole(hub))
    assert is_refused(sole(hub))


def test_a_connection_that_was_refused_has_not_taken_the_place(hub):
    first = sole(hub)
    assert is_refused(sole(hub))
    first.connection.send_close()
    first.step()
    assert stays(sole(hub))


def test_users_and_virtual_hosts_have_containers_of_their_own():
    hub = Hub(hosts=["/", "b"])
    users = [None, ("one", "own"), ("two", "own")]
    for user in users:
        for hostname in ("vhost:/", "vhost:b"):
            assert stays(sole(hub, user=user, hostname=hostname))
    assert is_refused(sole(hub, user=("one", "own"), hostname="vhost:b"))


B = Place(True, "b.example", 5671)


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        (None, "b.example"),
        ("whatever.example", "b.example"),
        ("vhost:/", "vhost:/"),
        ("a.example", "a.example"),
    ],
)
def test_who_is_sent_elsewhere_is_told_where_and_what_to_ask_for_there(asked, meant):
    hub = Hub(hostnames={"a.example": "/"})
    hub.settings.elsewhere["/"] = Elsewhere(B)
    client = hub.client(hostname=asked)
    opened = client.take(events.OpenReceived).open
    assert opened.properties["amqp:connection-establishment-failed"].value is True
    error = client.take(events.CloseReceived).error
    assert (error.condition, error.description) == (
        "amqp:connection:redirect",
        "go to b.example:5671",
    )
    assert redirect_of(error) == Redirect(hostname=meant, network_host="b.example", port=5671)
    client.connection.send_close()
    client.step()
    assert client.face.closed
    assert hub.settings.counts.connections_opened[1] == 0
    assert hub.settings.counts.connections_redirected == [0, 1]


def test_known_hosts_are_told_in_the_form_that_jms_clients_read(hub):
    hub.settings.elsewhere["/"] = Elsewhere(None, [B, Place(False, "::1", 5672)])
    opened = hub.client(hostname="vhost:/").take(events.OpenReceived).open
    servers = opened.properties["failover-server-list"]
    assert servers.code == types.LIST
    told = [{key.value: value.value for key, value in each.value} for each in servers.value]
    assert told == [
        {"hostname": "vhost:/", "network-host": "b.example", "port": 5671, "scheme": "amqps"},
        {"hostname": "vhost:/", "network-host": "::1", "port": 5672, "scheme": "amqp"},
    ]
