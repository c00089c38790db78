"""How a 0-10 connection opens: start, secure, tune and open, as far as they are a server's.

Owns who the client is and which virtual host it opens; what is in order when, the protocol's
`amqp_0_10.connection` knows.
Source: 0-10 XML, class connection. Deployed clients need a federation tag that is a UUID.
"""

from __future__ import annotations

import sys
from typing import Final, final

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import LIST, STR16
from gateway.amqp_0_10.connection import Connection
from gateway.amqp_0_10.types import Control, FieldTable
from gateway.audit.schema import Reason
from gateway.faces.client import Client
from gateway.faces.face import Authenticator
from gateway.faces.feature_uses import client_text
from gateway.faces.features import FEDERATION_PROPERTY, Feature
from gateway.wire.places import NOWHERE, Place
from gateway.wire.sasl import DENIED_STEP, ServerMechanism, Step, StepKind
from gateway.wire.tagged import Tagged

LOCALES: Final = ["en_US"]
# Properties by which a client says what it is.
JAVA_MARK: Final = "clientName"
PROCESS: Final = "qpid.client_process"
CLIENT_VERSION: Final = "qpid.client_version"
SESSION_FLOW: Final = "qpid.session_flow"
# What the gateway says that it can do.
TCP: Final = "tcp"
TLS: Final = "ssl"
FEATURES: Final = "qpid.features"
JMS_SELECTOR: Final = "qpid.jms-selector"


@final
class Negotiation:
    """That of one connection. Implements `AuthenticationWaiter`."""

    def __init__(
        self, connection: Connection, client: Client, authenticator: Authenticator
    ) -> None:
        self._connection = connection
        self._client = client
        self._authenticator = authenticator
        self._mechanism: ServerMechanism | None = None
        self._granted = False  # the client has still to say so
        self._over = False

    def begin(self) -> None:
        """The client speaks 0-10: tell it what the gateway is, and how it may log in."""
        offered = self._authenticator.mechanisms()
        self._client.visit.offered = offered
        self._connection.send_start(self._server_properties(), offered, LOCALES)

    def end(self) -> None:
        """The connection is over."""
        self._over = True
        self._authenticator.forget(self)

    def _server_properties(self) -> FieldTable:
        settings = self._client.settings
        properties: FieldTable = [
            ("product", Tagged(STR16, "amqp-gateway")),
            ("version", Tagged(STR16, settings.version)),
            ("host", Tagged(STR16, settings.container_id)),
            ("platform", Tagged(STR16, sys.platform)),
            ("information", Tagged(STR16, "a gateway between AMQP 0-10 and 1.0")),
            ("qpid.federation_tag", Tagged(STR16, settings.federation_tag)),
            # Without it the Java client sends none, but acquires what it wants one by one.
            (FEATURES, Tagged(LIST, [Tagged(STR16, JMS_SELECTOR)])),
        ]
        return properties

    def go_on(self, control: Control, now_ms: int) -> bool:
        """The client has said something; `False`: the connection is over, and nobody is told."""
        if isinstance(control, spec.ConnectionStartOk):
            return self._on_start_ok(control, now_ms)
        if isinstance(control, spec.ConnectionSecureOk):
            self._on_secure_ok(control.response or b"", now_ms)
        elif isinstance(control, spec.ConnectionOpen):
            self._on_open(control, now_ms)
        return True

    def _on_start_ok(self, start_ok: spec.ConnectionStartOk, now_ms: int) -> bool:
        properties = start_ok.client_properties or []
        client = self._client
        client.uses.client = _text(properties, client.peer.address)
        for key, value in properties:
            if key == JAVA_MARK:
                client.java = True
            elif key == SESSION_FLOW:
                client.session_flow = bool(value.value)
            elif key == FEDERATION_PROPERTY:
                client.uses.count(Feature.FEDERATION)
        client.visit.mechanism = start_ok.mechanism or ""
        mechanism = self._authenticator.begin(client.visit.mechanism)
        if mechanism is None:
            client.visit.because(Reason.NO_MECHANISM, "")
            client.on_authenticated(None)
            self._connection.drop()  # without a word, as the XML says
            return False
        self._mechanism = mechanism
        self._step(mechanism.respond(start_ok.response), now_ms)
        return True

    def _on_secure_ok(self, response: bytes, now_ms: int) -> None:
        mechanism = self._mechanism
        if self._granted and not response:
            self._connection.send_tune()
        elif self._granted or mechanism is None:
            self._step(DENIED_STEP, now_ms)
        else:
            self._step(mechanism.respond(response), now_ms)

    def _step(self, step: Step, now_ms: int) -> None:
        if step.kind == StepKind.CHALLENGE:
            self._connection.send_secure(step.octets)
        elif step.kind == StepKind.VERIFY and step.credentials is not None:
            self._client.visit.user = step.credentials.username
            self._connection.hold(now_ms)
            self._authenticator.authenticate(step.credentials, self)
        elif step.kind == StepKind.GRANTED and step.octets:
            # No control ends SASL with data: it goes as a challenge, whose answer is empty.
            self._granted = True
            self._connection.send_secure(step.octets)
        elif step.kind == StepKind.GRANTED:
            self._connection.send_tune()
        else:
            if step.credentials is not None:
                self._client.visit.user = step.credentials.username
            self._client.on_authenticated(None)
            forced = spec.CloseCode.CONNECTION_FORCED
            self._connection.send_close(forced, "authentication failed", now_ms)

    def on_authenticated(self, identity: str | None, now_ms: int) -> None:
        """The authenticator's answer."""
        mechanism = self._mechanism
        if mechanism is None or self._over or self._connection.closed:
            return
        self._connection.go_on(now_ms)
        step = mechanism.resolve(identity is not None)
        if step.kind == StepKind.GRANTED:
            self._client.on_authenticated(identity)
        self._step(step, now_ms)
        self._client.touch()

    def _on_open(self, command: spec.ConnectionOpen, now_ms: int) -> None:
        if self._client.draining:
            forced = spec.CloseCode.CONNECTION_FORCED
            self._connection.send_close(forced, "the gateway stops", now_ms)
            return
        bridge, client = self._client.bridge, self._client
        name = (command.virtual_host or "").lstrip("/")
        host = bridge.hosts.get(name) if name else bridge.default_host
        if host is None and len(bridge.hosts) == 1:
            host = bridge.default_host  # with one virtual host, every name reaches it
        if host is None:
            text = f"there is no virtual host {name}"
            client.visit.because(Reason.NOT_FOUND, text)
            self._connection.send_close(spec.CloseCode.INVALID_PATH, text, now_ms)
            return
        refusal = client.ask_for(host)
        if refusal is not None:
            forced = spec.CloseCode.CONNECTION_FORCED  # as qpidd does
            client.visit.user = client.identity
            client.visit.because(Reason.NOT_ALLOWED, refusal.description)
            self._connection.send_close(forced, refusal.description, now_ms)
            return
        elsewhere = client.settings.elsewhere.get(host.name, NOWHERE)
        known = [_url(each) for each in elsewhere.known]
        redirect = elsewhere.redirect
        if redirect is not None and not command.insist:
            client.on_redirected(redirect)
            self._connection.send_redirect(_url(redirect), known)
            return
        client.on_opened(host)
        self._connection.send_open_ok(known)


def _url(place: Place) -> str:
    """An amqp-host-url. The XML leaves out how TLS is spelled: so does the C++ client."""
    return f"amqp:{TLS if place.tls else TCP}:{place}"


def _text(properties: FieldTable, host: str) -> str:
    """Who the client is, by what it says of itself."""
    told = {key: value.value for key, value in properties if isinstance(value.value, str)}
    process = told.get(PROCESS) or told.get(JAVA_MARK) or ""
    version = told.get("version") or told.get(CLIENT_VERSION) or ""
    return client_text(process, told.get("product", ""), version, host)
