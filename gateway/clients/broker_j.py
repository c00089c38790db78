"""`migrate survey --rest`: asks a Broker-J by the REST of its management over HTTP."""

from __future__ import annotations

import base64
import http.client
import ssl
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any, Final, final

from gateway.clients.client import ClientError, Login
from gateway.files.json_text import json_value
from gateway.migration import broker_j
from gateway.migration.document import Survey

API: Final = "api/latest"
ANSWER_MAX: Final = 256 * 1024 * 1024


@final
@dataclass(frozen=True, slots=True)
class Management:
    """Where it is, and who asks.

    Attributes:
        tls: whom to believe behind https; `None`: the system's authorities.
    """

    url: str
    login: Login
    timeout_s: float
    tls: ssl.SSLContext | None = None

    def ask(self, part: str) -> list[broker_j.Values]:
        """All objects of one kind. Raises ClientError."""
        try:
            with urllib.request.urlopen(
                self._request(part), timeout=self.timeout_s, context=self.tls
            ) as answer:
                octets = answer.read(ANSWER_MAX + 1)
        except urllib.error.HTTPError as error:
            raise ClientError(f"{self.url}: {part}: {error}") from None
        except urllib.error.URLError as error:
            raise ClientError(f"{self.url}: {error.reason}") from None
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise ClientError(f"{self.url}: {str(error) or type(error).__name__}") from None
        return self._listed(octets)

    def _request(self, part: str) -> urllib.request.Request:
        """Raises ValueError: the address is none."""
        request = urllib.request.Request(f"{self.url.rstrip('/')}/{API}/{part}")
        if self.login.username is not None:
            shown = f"{self.login.username}:{self.login.password}".encode()
            request.add_header("Authorization", f"Basic {base64.b64encode(shown).decode()}")
        return request

    def _listed(self, octets: bytes) -> list[broker_j.Values]:
        told: Any = None  # Any: what JSON holds
        if len(octets) <= ANSWER_MAX:
            try:
                told = json_value(octets)
            except ValueError:
                told = None
        found = [told] if isinstance(told, dict) else told
        if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
            raise ClientError(f"{self.url}: what answers there is no Broker-J")
        return found


def survey(management: Management) -> Survey:
    """What is there, without findings. Raises ClientError."""
    nodes = management.ask(broker_j.NODES)
    host = broker_j.host_of(nodes, management.login.virtual_host)
    if not host:
        wanted = management.login.virtual_host or "default"
        raise ClientError(f"{management.url}: there is no virtual host {wanted!r}: --virtual-host")
    told = {
        name: management.ask(part.replace("HOST", host)) for name, part in broker_j.PARTS.items()
    }
    return broker_j.survey_of(told, nodes, host, management.url)
