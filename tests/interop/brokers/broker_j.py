"""Apache Qpid Broker-J as a child process: a broker of 0-10 and 1.0, administered over HTTP."""

import json
import re
import urllib.request
from pathlib import Path
from typing import Any, ClassVar

from interop import installed
from interop.brokers.broker import Broker, free_ports, java
from interop.brokers.identity import Identity
from support.certificates import Authority

_ALIASES = [{"name": kind, "type": kind} for kind in ("nameAlias", "defaultAlias", "hostnameAlias")]
_TIME_LIMIT_S = 180


class BrokerJ(Broker):
    """Listens at ``port`` for SASL mechanisms with a password, at ``anonymous_port``, and at
    ``token_port`` for bearer tokens, of which it asks ``identity`` whose they are.

    Queues named ``auto.*`` are made when somebody asks for them.
    """

    peer = "broker-j"
    product = "qpid"
    host_attributes: ClassVar[dict[str, object]] = {}  # more of its virtual host
    _ready = re.compile("BRK-1004")

    def __init__(self, work: Path) -> None:
        super().__init__(work)
        ports = free_ports(4)
        self.anonymous_port, self.token_port, self._http_port, self._identity_port = ports

    def create_queue(self, name: str) -> None:
        self._ask("PUT", f"queue/default/default/{name}", {"durable": True})

    def create_limited_queue(self, name: str) -> None:
        limits = {"maximumQueueDepthMessages": 2, "overflowPolicy": "REJECT"}
        self._ask("PUT", f"queue/default/default/{name}", {"durable": True, **limits})

    def create_topic(self, name: str) -> None:
        """Make a durable topic exchange."""
        self._ask("PUT", f"exchange/default/default/{name}", {"type": "topic", "durable": True})

    def queue_depth(self, name: str) -> int:
        url = f"queue/default/default/{name}/getStatistics"
        return int(
            self._ask("POST", url, {"statistics": ["queueDepthMessages"]})["queueDepthMessages"]
        )

    def topic_target(self, name: str) -> str:
        return f"{name}/news"

    @property
    def management(self) -> str:
        """Where its management over HTTP is."""
        return f"http://127.0.0.1:{self._http_port}"

    def change(self, method: str, url: str, given: object) -> None:
        """Have its management make or change what is there, below api/latest."""
        self._ask(method, url, given)

    def identity(self) -> Identity:
        """Where it asks for tokens; to be entered by the test that shows some."""
        return Identity(self._authority, self._identity_port)

    def _ask(self, method: str, url: str, given: object) -> Any:
        asked = urllib.request.Request(
            f"http://127.0.0.1:{self._http_port}/api/latest/{url}",
            data=json.dumps(given).encode(),
            method=method,
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(asked, timeout=_TIME_LIMIT_S) as answer:
            body = answer.read()
        return json.loads(body) if body else None

    def _configure(self) -> None:
        directory = self.work / "authority"
        if not directory.exists():
            directory.mkdir()
            self._authority = Authority(directory)
        (self.work / "broker.json").write_text(json.dumps(self._configuration()))

    def _command(self) -> list[str]:
        main = ["-cp", f"{installed.BROKER_J}/lib/*", "org.apache.qpid.server.Main"]
        store = ["-st", "Memory", "-icp", str(self.work / "broker.json")]
        return [*java("256m", {"QPID_WORK": self.work}), *main, *store]

    def _configuration(self) -> object:
        automatic = {
            "pattern": "auto[.].*",
            "createdOnPublish": "true",
            "createdOnConsume": "true",
            "nodeType": "queue",
            "attributes": {},
        }
        host = {"type": "ProvidedStore", "nodeAutoCreationPolicies": [automatic]}
        host |= self.host_attributes
        guest = {"name": self.username, "password": self.password, "type": "managed"}
        asked = f"https://127.0.0.1:{self._identity_port}"
        tokens = {
            "name": "tokens",
            "type": "OAuth2",
            "identityResolverType": "KeycloakOpenID",
            "scope": "openid",
            "clientId": "broker",
            "authorizationEndpointURI": f"{asked}/authorize",
            "tokenEndpointURI": f"{asked}/token",
            "identityResolverEndpointURI": f"{asked}/userinfo",
            "trustStore": "identity",
            "secureOnlyMechanisms": [],
            "context": {"qpid.auth.cache.size": "0"},  # a token that was good may not be any more
        }
        return {
            "name": "broker",
            "modelVersion": "9.0",
            "truststores": [
                {
                    "name": "identity",
                    "type": "NonJavaTrustStore",
                    "certificatesUrl": self._authority.ca.as_uri(),
                }
            ],
            "authenticationproviders": [
                {"name": "anonymous", "type": "Anonymous"},
                {
                    "name": "plain",
                    "type": "Plain",
                    "secureOnlyMechanisms": [],
                    "users": [guest],
                },
                tokens,
            ],
            "ports": [
                _port("anonymous", self.anonymous_port),
                _port("plain", self.port),
                _port("tokens", self.token_port),
                {
                    "name": "http",
                    "type": "HTTP",
                    "port": str(self._http_port),
                    "bindingAddress": "127.0.0.1",
                    "authenticationProvider": "anonymous",
                },
            ],
            "plugins": [{"type": "MANAGEMENT-HTTP", "name": "http"}],
            "virtualhostnodes": [
                {
                    "name": "default",
                    "type": "BDB",  # a memory store refuses durable messages from 1.0
                    "storePath": str(self.work / "data"),
                    "defaultVirtualHostNode": "true",
                    "virtualHostInitialConfiguration": json.dumps(host),
                }
            ],
        }


def _port(provider: str, number: int) -> dict[str, object]:
    return {
        "name": provider,
        "type": "AMQP",
        "port": str(number),
        "bindingAddress": "127.0.0.1",
        "authenticationProvider": provider,
        "virtualhostaliases": _ALIASES,
    }
