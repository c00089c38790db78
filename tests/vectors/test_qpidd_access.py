"""What a real qpidd decided by its ACL file, the gateway decides (interop/record_access.py)."""

import json
from typing import Any

import pytest
from support.access_steps import FOLDER, Step, corpus
from support.bridge_world import World
from support.talk_0_10 import Client, Gateway

from gateway.bridge.limits import BridgeLimits
from gateway.permissions.qpidd_rules import QpiddRules

FILES = {file["name"]: file for file in corpus()}
DECIDED = json.loads((FOLDER / "decisions.json").read_text())
QPIDD_QUEUE_SIZE = 104_857_600


def outcome(gateway: Gateway, step: Step) -> tuple[str, Client]:
    """What is answered, in the words of the record."""
    client = Client(gateway)
    connection = client.connection
    client.hears()
    connection.send_start_ok([], "PLAIN", b"\0u\0p", "en_US")
    client.hears()
    client.authenticated(step.user)
    client.hears()
    connection.send_open("")
    heard = client.hears()
    if not connection.open:
        return closed(heard), client
    command = step.command()
    if command is None:
        return "ok", client
    client.attach()
    client.says(command, sync=True, header=step.header())
    for each in client.hears():
        if isinstance(each, tuple) and len(each) == 2:
            return str(each[0]), client
    return "ok", client


def closed(heard: list[object]) -> str:
    [code] = [str(each).removeprefix("closed ") for each in heard if "closed" in str(each)]
    return f"close {code}"


def replayed(file: dict[str, Any]) -> dict[str, str]:
    rules = QpiddRules(file["rules"], "QPID")
    lines = [*file.get("made", []), *file["steps"]]
    if rules.problems:
        return dict.fromkeys(lines, "refused")
    limits = BridgeLimits(queue_size_default=QPIDD_QUEUE_SIZE)
    gateway = Gateway(world=World(limits=limits))
    gateway.settings.access.in_force.rules = rules
    gateway.address = "127.0.0.1"
    told = {}
    for line in lines:
        told[line], client = outcome(gateway, Step(line))
        if not file.get("stay"):
            client.loses_transport()
    return told


@pytest.mark.parametrize("name", FILES)
def test_every_step_is_decided_as_qpidd_decided_it(name: str):
    assert replayed(FILES[name]) == DECIDED[name]


def test_the_record_is_of_this_corpus():
    steps = {name: [*file.get("made", []), *file["steps"]] for name, file in FILES.items()}
    assert {name: list(found) for name, found in DECIDED.items()} == steps
