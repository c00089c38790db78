"""Apache Qpid Broker-J as a child process: a real broker of 0-10 and 1.0, to record."""

import json
import socket
import subprocess
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

from interop import installed

_READY = "BRK-1004"
_ALIASES = [{"name": kind, "type": kind} for kind in ("nameAlias", "defaultAlias", "hostnameAlias")]


class BrokerJ:
    """Runs in ``work`` on free loopback ports: one for ANONYMOUS, one for PLAIN guest / guest.

    Queues named ``auto.*`` are made when somebody asks for them.
    """

    def __init__(self, work: Path) -> None:
        self._work = work
        self.anonymous_port, self.plain_port = _free_ports()

    def __enter__(self) -> Self:
        configuration = self._work / "broker.json"
        configuration.write_text(json.dumps(self._configuration()))
        classes = f"{installed.BROKER_J}/lib/*"
        self._process = subprocess.Popen(
            [
                *("java", "-Xmx400m", "-cp", classes, f"-DQPID_WORK={self._work}"),
                *("org.apache.qpid.server.Main", "-st", "Memory", "-icp", str(configuration)),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self._work,
            text=True,
        )
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if _READY in line:
                # what it prints from now on must not fill the pipe
                threading.Thread(target=self._process.stdout.read, daemon=True).start()
                return self
        raise AssertionError("Broker-J ended before it was ready")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.terminate()
        self._process.wait(30)

    def _configuration(self) -> object:
        automatic = {
            "pattern": "auto[.].*",
            "createdOnPublish": "true",
            "createdOnConsume": "true",
            "nodeType": "queue",
            "attributes": {},
        }
        # BDB, since a memory store refuses durable messages from 1.0
        host = {"type": "BDB", "nodeAutoCreationPolicies": [automatic]}
        guest = {"name": "guest", "password": "guest", "type": "managed"}
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
                _port("plain", self.plain_port),
            ],
            "virtualhostnodes": [
                {
                    "name": "default",
                    "type": "Memory",
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


def _free_ports() -> tuple[int, int]:
    with (
        socket.create_server(("127.0.0.1", 0)) as one,
        socket.create_server(("127.0.0.1", 0)) as two,
    ):
        return one.getsockname()[1], two.getsockname()[1]
