"""Who the gateway is at an upstream: SASL mechanisms from what the configuration names.

A file that was replaced counts at the next connection, once that has been seen (`kept_files`).
What tells that a token was replaced before is `renewal`.
"""

from __future__ import annotations

import base64
import hmac
import os
import secrets
from urllib.parse import quote

from gateway.config.upstreams import UpstreamSection
from gateway.faces.dialled.settings import CbsToken, Tokens
from gateway.files.json_text import json_value
from gateway.files.whole import SECRET_MAX, read_regular
from gateway.net.kept_files import Read
from gateway.net.logs import NamedLogger
from gateway.net.saslprep import saslprep
from gateway.wire.bearer import oauthbearer, xoauth2
from gateway.wire.sasl import ClientMechanism, anonymous, external, plain
from gateway.wire.scram import ScramClient

TRACE = "amqp-gateway"
NONCE_OCTETS = 24
SAS = "servicebus.windows.net:sastoken"
JWT = "jwt"
SAS_LIFETIME_S = 3600


class UpstreamCredentials:
    """Those of one upstream.

    Args:
        read: what is in their files now, as far as is known without waiting.

    Attributes:
        shown: the token that the last connection had for its login; "": it had none.
    """

    log = NamedLogger("gateway.net.credentials.UpstreamCredentials")

    def __init__(
        self, name: str, section: UpstreamSection, *, cbs: bool, read: Read = read_regular
    ) -> None:
        self._name = name
        self._section = section
        self._cbs = cbs
        self._read = read
        self._shows_token = section.shows_token(cbs=self._cbs)
        self.shown = ""

    @property
    def tokens(self) -> Tokens | None:
        """Makes a token for one node; `None`: the upstream wants none."""
        return self._node_token if self._section.puts_tokens(cbs=self._cbs) else None

    def mechanisms(self, secure: bool) -> list[ClientMechanism]:
        """Fresh ones for one connection, best first; without those whose secret cannot be read.

        What may be shown without TLS was checked with the configuration, host by host: `secure`
        decides nothing more.
        """
        self.shown = ""
        made: list[ClientMechanism] = []
        for mechanism in self._section.all_mechanisms(cbs=self._cbs):
            try:
                made.append(self._make(mechanism))
            except (OSError, KeyError, ValueError) as error:
                self.log.error(
                    "upstream {upstream}: no {mechanism}: {error}",
                    upstream=self._name,
                    mechanism=mechanism,
                    error=error,
                )
        return made

    def token(self) -> str:
        """The token that a login would show now; "": it would show none."""
        if not self._shows_token:
            return ""
        try:
            return self._token()
        except (OSError, ValueError):
            return ""  # the next connection says so

    def _make(self, mechanism: str) -> ClientMechanism:
        username = self._section.username or ""
        if mechanism == "ANONYMOUS":
            return anonymous(TRACE)
        if mechanism == "EXTERNAL":
            return external()
        if mechanism == "OAUTHBEARER":
            return oauthbearer(self._show_token(), authorization=username)
        if mechanism == "XOAUTH2":
            return xoauth2(username, self._show_token())
        if mechanism == "PLAIN":
            shown = self._password() if self._section.has_password else self._show_token()
            return plain(username, shown)
        return ScramClient(
            mechanism,
            saslprep(username),
            saslprep(self._password()),
            nonce=secrets.token_urlsafe(NONCE_OCTETS),
        )

    def _password(self) -> str:
        section = self._section
        if section.password_file is not None:
            text = self._read(section.password_file, SECRET_MAX).decode("utf-8")
            return text.removesuffix("\n").removesuffix("\r")
        return os.environ[section.password_env or ""]

    def _show_token(self) -> str:
        self.shown = self._token()
        return self.shown

    def _token(self) -> str:
        file = self._section.token_file
        assert file is not None
        token = self._read(file, SECRET_MAX).decode("ascii").strip()
        if not token:
            raise ValueError(f"{file} is empty")
        return token

    def _node_token(self, audience: str, now_ms: int) -> CbsToken:
        """A token for one node: signed by the shared access key, else the one in the file."""
        section = self._section
        try:
            if section.sas_key_file is None:
                text = self._token()
                return CbsToken(JWT, text, expires_ms=expiry_ms(text))
            key = self._read(section.sas_key_file, SECRET_MAX).decode("utf-8")
        except (OSError, ValueError) as error:
            return CbsToken(problem=str(error))
        expires_s = now_ms // 1000 + SAS_LIFETIME_S
        key = key.removesuffix("\n").removesuffix("\r")
        text = shared_access_signature(
            audience, name=section.sas_key_name or "", key=key, expires_s=expires_s
        )
        return CbsToken(SAS, text, expires_ms=expires_s * 1000)


def shared_access_signature(audience: str, *, name: str, key: str, expires_s: int) -> str:
    """A token of Azure's, good for `audience` and what is below it."""
    resource = quote(audience, safe="")
    signed = hmac.digest(key.encode(), f"{resource}\n{expires_s}".encode(), "sha256")
    signature = quote(base64.b64encode(signed), safe="")
    return f"SharedAccessSignature sr={resource}&sig={signature}&se={expires_s}&skn={quote(name)}"


def expiry_ms(token: str) -> int:
    """When a JSON Web Token (RFC 7519) expires by its own word; 0 where it does not say."""
    parts = token.split(".")
    try:
        claims = json_value(base64.urlsafe_b64decode(parts[1] + "=="))
        return int(claims["exp"] * 1000)
    except (IndexError, KeyError, TypeError, ValueError, OverflowError):
        return 0
