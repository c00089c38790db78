"""Data directories of gateways that do not run: what their stores hold, and how they were left."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path
from typing import Any

from support.whole_gateway import WholeGateway

from gateway.clients.client import Delivered, Subscription
from gateway.clients.letter import Letter, Typed


def filled(directory: Path, messages: int = 3, queue: str = "orders", **facts: Any) -> Path:
    """A gateway with a durable queue has run, has got messages of 0-10, and was stopped."""
    gateway = WholeGateway(directory).start()
    fill(gateway, messages, queue, **facts)
    gateway.stop()
    return directory


def fill(gateway: WholeGateway, messages: int, queue: str = "orders", **facts: Any) -> None:
    """Durable messages: "1", "2" ..."""
    client = gateway.connect_0_10()
    gateway.result(client.declare_queue(queue, durable=True))
    for number in range(1, messages + 1):
        letter = Letter(body=Typed("string", f"{number}"), durable=True, **facts)
        gateway.result(client.send(queue, letter))


def take(
    gateway: WholeGateway, messages: int, queue: str = "orders", *, outcome: str = "accept"
) -> list[Letter]:
    """Messages that are sent to a client, which settles them so."""
    client = gateway.connect_0_10()
    came: list[Delivered] = []
    gateway.result(client.receive(Subscription(queue, credit=messages, once=True), came.append))
    gateway.run()
    for each in came:
        each.settle(outcome)
    gateway.run()
    return [each.letter for each in came]


def killed(gateway: WholeGateway, copy: Path) -> Path:
    """What the disk would have if it were killed now."""
    gateway.run()
    data = gateway.service.settings.data_directory
    shutil.copytree(data, copy)
    return copy


def held(directory: Path) -> dict[str, int]:
    """How many messages the queues of the default host have, by a gateway that starts and stops."""
    gateway = WholeGateway(directory).start()
    queues = gateway.service.bridge.default_host.topology.queues
    found = {name: queue.depth for name, queue in queues.items()}
    gateway.stop()
    gateway.ledger().assert_balanced()
    return found


def traces(directory: Path) -> dict[str, tuple[str, int, int]]:
    """All that writing would change: each file's octets, its mode, and when it was changed."""
    found: dict[str, tuple[str, int, int]] = {}
    for path in sorted(directory.rglob("*")):
        told = os.lstat(path)
        octets = path.read_bytes() if path.is_file() else b""
        name = str(path.relative_to(directory))
        found[name] = (hashlib.sha256(octets).hexdigest(), told.st_mode, told.st_mtime_ns)
    return found
