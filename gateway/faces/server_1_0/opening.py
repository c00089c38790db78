"""How a 1.0 connection opens: who the client says that it is, and which virtual host it names.

Owns what is noted and answered of a login and of open; what is in order when, the protocol's
`amqp_1_0.connection` knows. Sources: 1.0 parts 2.4.1, 2.7.1 and 5.3.3.
"""

from __future__ import annotations

from typing import Final, final

from gateway.amqp_1_0 import types
from gateway.amqp_1_0._spec import Open
from gateway.amqp_1_0.connection import Connection
from gateway.audit.schema import Reason
from gateway.bridge.host import VirtualHost
from gateway.faces.client import Client
from gateway.faces.feature_uses import client_text
from gateway.message import Condition, Refusal
from gateway.wire.dns_names import dns_name
from gateway.wire.sasl import Credentials
from gateway.wire.tagged import Tagged

CAPABILITIES: Final = ["ANONYMOUS-RELAY"]
VHOST_PREFIX: Final = "vhost:"


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

    def on_open(self, performative: Open) -> Refusal | None:
        """Answer an open; why the connection must be closed behind that."""
        client, connection = self._client, self._connection
        client.container = performative.container_id
        client.uses.identity = client.identity
        client.uses.client = _text(performative, client.peer.address)
        connection.send_open(
            offered_capabilities=CAPABILITIES,
            properties={
                "product": Tagged(types.STRING, "amqp-gateway"),
                "version": Tagged(types.STRING, client.settings.version),
            },
        )
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
        client.on_opened(host)
        if not client.account.take(len(client.container)):
            text = "too much is kept for the connections of the user"
            client.visit.because(Reason.OVER_LIMIT, text)
            return Refusal(Condition.RESOURCE_LIMIT_EXCEEDED, text)
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


def _text(performative: Open, host: str) -> str:
    """Who the client is, by what it says of itself."""
    told = performative.properties or {}
    texts = {str(key): each.value for key, each in told.items() if isinstance(each.value, str)}
    product, version = texts.get("product", ""), texts.get("version", "")
    return client_text(performative.container_id, product, version, host)
