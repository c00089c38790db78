"""Lives of a whole gateway on one data directory, and what their audit log and store tell."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from click.testing import Result
from support.verbs import amqp_gateway
from support.whole_gateway import WholeGateway
from twisted.logger import formatEvent

from gateway.audit.reader import Segment, records, segment_paths
from gateway.clients.letter import Letter, Typed


def lived(directory: Path, *, messages: int = 3, stop: bool = True) -> WholeGateway:
    """A gateway that took some durable messages into queue q."""
    gateway = WholeGateway(directory).start()
    client = gateway.connect_0_10()
    gateway.result(client.declare_queue("q", durable=True))
    for _ in range(messages):
        gateway.result(client.send("q", Letter(body=Typed("string", "x"), durable=True)))
    if stop:
        gateway.stop()
    return gateway


def told(directory: Path, kind: str) -> list[dict[str, Any]]:
    return [
        record
        for path in segment_paths(directory / "audit")
        for record in records(Segment(path.name, path.read_bytes()))
        if record["kind"] == kind
    ]


def depth(gateway: WholeGateway) -> int:
    queue = gateway.service.bridge.default_host.topology.find_queue("q")
    return 0 if queue is None else queue.depth


def empty(directory: Path) -> None:
    for path in directory.glob("store.sqlite*"):
        path.unlink()
    (directory / "store.sqlite").touch()


def remove(directory: Path) -> None:
    for path in directory.glob("store.sqlite*"):
        path.unlink()


def run(*arguments: object) -> Result:
    return amqp_gateway(*[str(each) for each in arguments])


def all_sequences(directory: Path) -> dict[int, str]:
    return {
        record["sequence"]: record["kind"]
        for path in segment_paths(directory / "audit")
        for record in records(Segment(path.name, path.read_bytes()))
    }


def send(gateway: WholeGateway, *, durable: bool) -> None:
    client = gateway.connect_0_10()
    gateway.result(client.send("q", Letter(body=Typed("string", "x"), durable=durable)))


def killed(tmp_path: Path, *, lives: int = 1, durable: bool = False) -> Path:
    """A copy of a gateway's directory in the middle of its last life, before its log is synced."""
    data = tmp_path / "data"
    for _ in range(lives):
        lived(data)
    gateway = WholeGateway(data).start()
    if not lives:
        gateway.result(gateway.connect_0_10().declare_queue("q"))
    for _ in range(5):
        send(gateway, durable=durable)
    gateway.wait_until(lambda: gateway.service.store.counts.turns_waiting == 0)
    shutil.copytree(data, tmp_path / "killed")
    gateway.stop()
    return tmp_path / "killed"


def criticals(captured: Any) -> list[str]:
    return [str(formatEvent(each)) for each in captured if each["log_level"].name == "critical"]
