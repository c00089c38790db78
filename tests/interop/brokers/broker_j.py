"""Apache Qpid Broker-J as a child process: a broker of 0-10 and 1.0, administered over HTTP."""

import json
import re
import urllib.request
from pathlib import Path
from typing import Any

from interop import installed
from interop.brokers.broker import Broker, free_ports, java

_ALIASES = [{"name": kind, "type": kind} for kind in ("nameAlias", "defaultAlias", "hostnameAlias")]
_TIME_LIMIT_S = 20


class BrokerJ(Broker):
    """Listens twice: at ``port`` for SASL mechanisms with a password, at ``anonymous_port``.

    Queues named ``auto.*`` are made when somebody asks for them.
    """

    peer = "broker-j"
    product = "qpid"
    _ready = re.compile("BRK-1004")

    def __init__(self, work: Path) -> None:
        super().__init__(work)
        self.anonymous_port, self._http_port = free_ports(2)

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
        guest = {"name": self.username, "password": self.password, "type": "managed"}
        return {
            "name": "broker",
            "modelVersion": "9.0",
            "authenticationproviders": [
                {"name": "anonymous", "type": "Anonymous"},
                {
                    "name": "plain",
                    "type": "Plain",
                    "secureOnlyMechanisms": [],
                    "users": [guest],
                },
            ],
            "ports": [
                _port("anonymous", self.anonymous_port),
                _port("plain", self.port),
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
