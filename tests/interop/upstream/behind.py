"""A gateway with one broker behind it: names that live at it, and clients of both."""

import contextlib
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from interop.brokers import client
from interop.brokers.broker import Broker
from interop.upstream.talk import Talk
from support.gateway_process import GatewayProcess

from gateway.translate.profiles.loading import load_profile

PATIENCE_S = 60.0
UP = 'gateway_upstream_up{upstream="main"}'
LINKS = 'gateway_upstream_links{upstream="main"}'
PROFILES = {"broker-j": "qpid-broker-j"}  # by the peer's name, where it differs


class Listener(Protocol):
    """A client that something may come to."""

    def quiet(self) -> bool:
        """Whether nothing has come, nor comes within a short time."""


class Behind:
    """The gateway dials the broker for queues ``remote.*``, and for exchanges ``topic-*``.

    Queues ``limited.*`` reject what is too much for them, by the broker's own means; ``missing.*``
    are those that no test makes, and ``absent.*`` those that Artemis does not make, either;
    ``settled.*`` are read settled where a client allows it. With `topics`, those of JMS live there,
    too; `more` are rules.
    """

    def __init__(
        self,
        broker: Broker,
        directory: Path,
        *,
        topics: bool = False,
        more: Sequence[dict[str, object]] = (),
    ) -> None:
        self.broker = broker
        self.name = PROFILES.get(broker.peer, broker.peer)
        directory.mkdir(parents=True, exist_ok=True)
        secret = directory / "password"
        secret.write_text(broker.password)
        upstream = {
            "hosts": [f"amqp://127.0.0.1:{broker.port}"],
            "profile": self.name,
            "username": broker.username,
            "password_file": str(secret),
            "attach_timeout": "20s",
            "back_off": {"initial": "100ms", "maximum": "1s"},
            "redelivery_back_off": {"initial": "20ms", "maximum": "100ms"},
            "max_redeliveries": 3,
        }
        exception = {"queue": "limited.exception.*", "on_rejected": "exception"}
        nodes = [exception, *({"queue": name} for name in ("remote.*", "limited.*"))]
        nodes += [{"queue": "missing.*"}, {"queue": "absent.*"}, {"exchange": "topic-*"}]
        nodes += [{"queue": "settled.*", "settled": load_profile(self.name).settled}, *more]
        if topics:
            nodes.append({"exchange": "amq.topic"})
        self.gateway = GatewayProcess(
            directory,
            {
                "upstreams": {"main": upstream},
                "drain_timeout": "1s",  # brokers that take no more leave publishes waiting
                "nodes": [{**node, "upstream": "main"} for node in nodes],
            },
        )
        self._talks: list[Talk] = []
        self._connections: list[Any] = []

    def is_up(self) -> None:
        """Wait until the gateway is connected to the broker."""
        deadline = time.monotonic() + client.TIME_LIMIT_S
        while self.gateway.metrics()[UP] != 1:
            assert time.monotonic() < deadline, "it does not connect to the broker"

    def links(self) -> int:
        """How many the gateway has to the broker: each stays for whoever uses its node next."""
        return int(self.gateway.metrics()[LINKS])

    def starts_anew(self) -> None:
        """Without links."""
        assert self.gateway.stop() == 0, self.gateway.log()
        self.gateway.start(same_ports=True)
        self.is_up()

    def queue(self, prefix: str = "remote") -> str:
        """A queue of its own at the broker."""
        name = f"{prefix}.{uuid.uuid4().hex[:8]}"
        self.broker.create_queue(name)
        return name

    def limited_queue(self, prefix: str = "limited") -> str:
        """The same, of a queue that is soon full and rejects then."""
        name = f"{prefix}.{uuid.uuid4().hex[:8]}"
        self.broker.create_limited_queue(name)
        return name

    def talk(self) -> Talk:
        """A 0-10 client at the gateway."""
        talk = Talk(self.gateway.amqp_port)
        self._talks.append(talk)
        return talk

    def at_broker(self) -> Any:
        """A 1.0 client at the broker itself: Proton's BlockingConnection."""
        return self._kept(client.connect(self.broker))

    def at_gateway(self, container: str = "") -> Any:
        """A 1.0 client at the gateway, by default with a container-id of its own."""
        from interop.brokers.blocking import Forgetting  # only where Proton is
        from proton.reactor import Container

        address = f"127.0.0.1:{self.gateway.amqp_port}"
        timeout = client.TIME_LIMIT_S
        client_container = Container()
        client_container.container_id = container or uuid.uuid4().hex
        return self._kept(
            Forgetting(
                address, timeout=timeout, container=client_container, allowed_mechs="ANONYMOUS"
            )
        )

    def depth(self, queue: str) -> int:
        """How many messages the broker has in a queue."""
        return self.broker.queue_depth(queue)

    def comes_to(self, depth: int, queue: str) -> bool:
        """Whether a queue has, or soon gets, so many messages at the broker."""
        deadline = time.monotonic() + PATIENCE_S
        while (found := self.depth(queue)) != depth and time.monotonic() < deadline:
            pass
        return found == depth

    def empties(self, queue: str, listener: Listener) -> bool:
        """Whether a queue is empty at the broker before anything more comes to `listener`."""
        deadline = time.monotonic() + PATIENCE_S
        while listener.quiet():
            if self.depth(queue) == 0:
                return True
            assert time.monotonic() < deadline, "what is in the queue does not come"
        return False

    def leave(self) -> None:
        """All clients are done."""
        talks, self._talks = self._talks, []
        connections, self._connections = self._connections, []
        for talk in talks:
            talk.detach()
        for connection in connections:
            with contextlib.suppress(Exception):  # an error may have closed it
                connection.close()

    def _kept(self, connection: Any) -> Any:
        self._connections.append(connection)
        return connection
