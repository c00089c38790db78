"""Who the gateway is at an upstream: SASL mechanisms from what the configuration names.

Secrets are read anew for each connection, so that a file that was replaced counts at the next one.
"""

from __future__ import annotations

import os
import secrets

from twisted.logger import Logger

from gateway.config.upstreams import UpstreamSection
from gateway.net.saslprep import saslprep
from gateway.wire.bearer import OAuthBearerClient, XOAuth2Client
from gateway.wire.sasl import AnonymousClient, ClientMechanism, ExternalClient, PlainClient
from gateway.wire.scram import ScramClient

TRACE = "amqp-gateway"
NONCE_OCTETS = 24


class UpstreamCredentials:
    """Those of one upstream."""

    log = Logger()

    def __init__(self, name: str, section: UpstreamSection) -> None:
        self._name = name
        self._section = section

    def mechanisms(self, secure: bool) -> list[ClientMechanism]:
        """Fresh ones for one connection, best first; without those whose secret cannot be read.

        What may be shown without TLS was checked with the configuration, host by host: `secure`
        decides nothing more.
        """
        made: list[ClientMechanism] = []
        for mechanism in self._section.all_mechanisms:
            try:
                made.append(self._make(mechanism))
            except (OSError, KeyError, ValueError) as error:
                self.log.error(
                    "upstream {name}: no {mechanism}: {error}",
                    name=self._name,
                    mechanism=mechanism,
                    error=error,
                )
        return made

    def _make(self, mechanism: str) -> ClientMechanism:
        username = self._section.username or ""
        if mechanism == "ANONYMOUS":
            return AnonymousClient(TRACE)
        if mechanism == "EXTERNAL":
            return ExternalClient()
        if mechanism == "OAUTHBEARER":
            return OAuthBearerClient(self._token(), authorization=username)
        if mechanism == "XOAUTH2":
            return XOAuth2Client(username, self._token())
        if mechanism == "PLAIN":
            return PlainClient(username, self._password())
        return ScramClient(
            mechanism,
            saslprep(username),
            saslprep(self._password()),
            nonce=secrets.token_urlsafe(NONCE_OCTETS),
        )

    def _password(self) -> str:
        section = self._section
        if section.password_file is not None:
            text = section.password_file.read_text(encoding="utf-8")
            return text.removesuffix("\n").removesuffix("\r")
        return os.environ[section.password_env or ""]

    def _token(self) -> str:
        file = self._section.token_file
        assert file is not None
        return file.read_text(encoding="ascii").strip()
