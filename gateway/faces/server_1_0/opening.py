"""How a 1.0 connection opens: who the client says that it is, and which virtual host it names.

Owns what is noted and answered of a login and of open; what is in order when, the protocol's
`amqp_1_0.connection` knows. Sources: 1.0 parts 2.4.1, 2.7.1 and 5.3.3, and AMQP Enforcing
Connection Uniqueness 1.0.
"""

from __future__ import annotations

from typing import Final, final

from gateway.amqp_1_0 import types
from gateway.amqp_1_0._spec import Error, Open
from gateway.amqp_1_0._spec_conditions import INVALID_FIELD, RESOURCE_LOCKED
from gateway.amqp_1_0.connection import Connection
from gateway.amqp_1_0.redirects import redirect_error
from gateway.audit.schema import Reason
from gateway.bridge.host import VirtualHost
from gateway.faces.client import Client
from gateway.faces.containers import (
    CLOSE_EXISTING,
    REFUSE_CONNECTION,
    SOLE,
    UNASKED,
    Contained,
    Name,
)
from gateway.faces.feature_uses import client_text
from gateway.faces.outcomes import error_of
from gateway.message import Condition, Refusal
from gateway.wire.dns_names import dns_name
from gateway.wire.places import NOWHERE, Elsewhere, Place
from gateway.wire.sasl import Credentials
from gateway.wire.tagged import Tagged

CAPABILITIES: Final = ["ANONYMOUS-RELAY", SOLE]
VHOST_PREFIX: Final = "vhost:"
POLICY: Final = "sole-connection-enforcement-policy"
UNSIGNED: Final = (types.UBYTE, types.USHORT, types.UINT, types.ULONG)
FAILED: Final = "amqp:connection-establishment-failed"
FAILOVER: Final = "failover-server-list"  # no specification has it; Qpid JMS and Artemis do


@final
class Opening:
    """That of one connection."""

    def __init__(self, connection: Connection, client: Client) -> None:
        self._connection = connection
        self._client = client

    def on_credentials(self, credentials: Credentials) -> None:
        """The client wants to log in so."""
        visit = self._client.visit
        visit.mechanism = credentials.mechanism
        visit.user = credentials.username

    def on_login_failed(self, problem: str) -> None:
        """A login that failed breaks no rule, but is the end."""
        visit, connection = self._client.visit, self._connection
        known = visit.mechanism = connection.sasl_mechanism
        reason = Reason.LOGIN_FAILED if known in visit.offered else Reason.NO_MECHANISM
        visit.user = visit.user or connection.sasl_claimed
        visit.because(reason, problem)
        self._client.on_violation("")

    def on_open(self, performative: Open, opened: Contained) -> Error | None:
        """Answer an open; the error for which the connection must be closed behind that."""
        client = self._client
        client.container = performative.container_id
        client.uses.identity = client.identity
        client.uses.client = _text(performative, client.peer.address)
        policy = _policy(performative)
        error = self._admit(performative, opened, policy)
        properties = {
            "product": Tagged(types.STRING, "amqp-gateway"),
            "version": Tagged(types.STRING, client.settings.version),
        }
        known = self._elsewhere().known
        if known:
            hostname = self._meant(performative)
            properties[FAILOVER] = Tagged(types.LIST, [_server(hostname, each) for each in known])
        if policy != UNASKED:
            properties[POLICY] = Tagged(types.UINT, policy)
        if error is not None:
            properties[FAILED] = Tagged(types.BOOLEAN, True)
        self._connection.send_open(offered_capabilities=CAPABILITIES, properties=properties)
        return error

    def _admit(self, performative: Open, opened: Contained, policy: int) -> Error | None:
        refusal = self._choose_host(performative)
        if refusal is not None:
            return error_of(refusal)
        client = self._client
        place = self._elsewhere().redirect
        if place is not None:
            client.on_redirected(place)
            hostname = self._meant(performative) or place.host
            return redirect_error(hostname, place, f"go to {place}")
        making_way = client.settings.containers.enter(self.name(), opened, policy)
        if making_way is None:
            text = f"container-id {client.container!r} has a connection already"
            client.visit.user = client.identity
            client.visit.because(Reason.NOT_ALLOWED, text)
            info = {"invalid-field": Tagged(types.SYMBOL, "container-id")}
            return Error(condition=INVALID_FIELD, description=text, info=info)
        client.bridge.turns.spread.begin(making_way)
        client.on_opened(client.host)
        if not client.account.take(len(client.container)):
            text = "too much is kept for the connections of the user"
            client.visit.because(Reason.OVER_LIMIT, text)
            return error_of(Refusal(Condition.RESOURCE_LIMIT_EXCEEDED, text))
        return None

    def _elsewhere(self) -> Elsewhere:
        client = self._client
        return client.settings.elsewhere.get(client.host.name, NOWHERE)

    def _meant(self, performative: Open) -> str:
        """The hostname that means the virtual host, also elsewhere; "" where it means nothing."""
        hostname = performative.hostname or self._connection.sasl_hostname or ""
        known = dns_name(hostname) in self._client.settings.hostnames
        return hostname if known or hostname.startswith(VHOST_PREFIX) else ""

    def name(self) -> Name:
        """What it is known by among the connections of containers."""
        client = self._client
        return client.host.name, client.user(), client.container

    def make_way(self) -> None:
        """Another connection of the container takes its place: close it."""
        text = "another connection of its container has taken its place"
        self._client.visit.because(Reason.CANCELLED, text)
        info = {"sole-connection-enforcement": Tagged(types.BOOLEAN, True)}
        error = Error(condition=RESOURCE_LOCKED, description=text, info=info)
        self._connection.send_close(error=error)

    def _choose_host(self, performative: Open) -> Refusal | None:
        """The client is at the virtual host that it names; why it may not open that."""
        client, connection = self._client, self._connection
        hostname = performative.hostname or connection.sasl_hostname or ""
        host = self._host_of(hostname)
        if host is None:
            text = f"there is no virtual host {hostname[len(VHOST_PREFIX) :]!r}"
            client.visit.because(Reason.NOT_FOUND, text)
            return Refusal(Condition.NOT_FOUND, text)
        refusal = client.ask_for(host)
        client.visit.mechanism = connection.sasl_mechanism
        if refusal is not None:
            client.visit.user = client.identity
            client.visit.because(Reason.NOT_ALLOWED, refusal.description)
            return refusal
        client.host = host
        return None

    def _host_of(self, hostname: str) -> VirtualHost | None:
        """The virtual host that is named, `None` if there is none of that name.

        Another hostname is but what the client dialled: without a meaning it is the default host's.
        """
        bridge = self._client.bridge
        if hostname.startswith(VHOST_PREFIX):
            name = hostname[len(VHOST_PREFIX) :]
            return bridge.hosts.get(name) or (bridge.default_host if name in ("", "/") else None)
        name = self._client.settings.hostnames.get(dns_name(hostname), "")
        return bridge.hosts.get(name, bridge.default_host)


def _server(hostname: str, place: Place) -> Tagged:
    """A known host, as Qpid JMS reads it."""
    told = (
        ("hostname", Tagged(types.STRING, hostname or place.host)),
        ("network-host", Tagged(types.STRING, place.host)),
        ("port", Tagged(types.USHORT, place.port)),
        ("scheme", Tagged(types.STRING, "amqps" if place.tls else "amqp")),
    )
    return Tagged(types.MAP, [(Tagged(types.SYMBOL, key), value) for key, value in told])


def _policy(performative: Open) -> int:
    """Whether the container wants this connection only, and what becomes of another."""
    if SOLE not in (performative.desired_capabilities or []):
        return UNASKED
    asked = (performative.properties or {}).get(POLICY)
    if asked is not None and asked.code in UNSIGNED and asked.value == CLOSE_EXISTING:
        return CLOSE_EXISTING
    return REFUSE_CONNECTION


def _text(performative: Open, host: str) -> str:
    """Who the client is, by what it says of itself."""
    told = performative.properties or {}
    texts = {str(key): each.value for key, each in told.items() if isinstance(each.value, str)}
    product, version = texts.get("product", ""), texts.get("version", "")
    return client_text(performative.container_id, product, version, host)
