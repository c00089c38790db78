"""The gateway behind the spool of one that is killed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from faults.kill import text_of
from faults.xa_branches import SPOOLED
from support.gateway_process import GatewayProcess
from support.lines import Lines

from gateway.amqp_0_10 import _spec as spec
from gateway.clients.client import Subscription
from gateway.clients.client_0_10 import Client010
from gateway.clients.letter import Letter


def browsed(lines: Lines, client: Client010, queue: str) -> list[Letter]:
    """What is in a queue."""
    depth = lines.wait_for(client.query(spec.QueueQuery(queue=queue))).message_count or 0
    letters: list[Letter] = []
    browser = Subscription(queue, credit=depth or 1, once=True, settled=True, browse=True)
    lines.wait_for(client.receive(browser, lambda got: letters.append(got.letter)))
    lines.run_until(lambda: len(letters) >= depth)
    return letters


class Behind:
    """The gateway that has the queue behind the spool, and lives as long as the campaign."""

    def __init__(self, directory: Path) -> None:
        self.gateway = GatewayProcess(directory).start()
        self._lines = Lines(self.gateway.amqp_port)
        self._client = self._lines.connect_0_10()
        self._lines.wait_for(self._client.declare_queue(SPOOLED, durable=True))

    def texts(self) -> list[str]:
        """What has come."""
        return [text_of(letter) for letter in browsed(self._lines, self._client, SPOOLED)]

    def config(self) -> dict[str, Any]:  # Any: YAML
        """For who is in front of it."""
        hosts = [f"amqp://127.0.0.1:{self.gateway.amqp_port}"]
        nodes = [{"queue": SPOOLED, "upstream": "behind", "spool": True}]
        return {"upstreams": {"behind": {"hosts": hosts}}, "nodes": nodes}

    def stop(self) -> None:
        """In order."""
        self._lines.hang_up()
        assert self.gateway.stop() == 0
