"""Queues that a 0-10 client declares by its address options, used by clients of both protocols."""

import json
from typing import Any

from interop.foreign import PASSWORD, USER, Client
from support.lines import Lines

from gateway.clients.client import Delivered, Login, Subscription

Messages = list[dict[str, Any]]


def declaring(name: str, **arguments: object) -> str:
    """The address by which the Python client makes a queue with these arguments."""
    declared = json.dumps(arguments).replace('"', "'")
    options = f"node: {{type: queue, x-declare: {{arguments: {declared}}}}}"
    return f"{name}; {{create: always, {options}}}"


def messages(*bodies: str, **more: Any) -> Messages:
    return [{"body": ["string", body], **more} for body in bodies]


def texts(received: Messages) -> list[str]:
    """Bodies as text, by whichever client."""
    found = []
    for each in received:
        kind, value = each["body"]
        found.append(bytes.fromhex(value).decode() if kind in ("data", "binary") else value)
    return found


def test_a_ring_has_the_last_ones(
    qpid_python: Client, proton: Client, port: int, name: str
) -> None:
    ring = declaring(name, **{"qpid.policy_type": "ring", "qpid.max_count": 2})
    qpid_python.run("send", port, messages("1", "2", "3"), address=ring)
    proton.run("send", port, [{"body": ["string", "4"]}], address=name)
    assert texts(proton.run("receive", port, address=name, count=2).received) == ["3", "4"]


def test_the_highest_priority_is_received_first(
    qpid_python: Client, proton: Client, port: int, name: str
) -> None:
    queue = declaring(name, **{"qpid.priorities": 10})
    low = messages("none") + messages("1", priority=1)
    qpid_python.run("send", port, low, address=queue)
    both = [{"body": ["string", "9"], "priority": 9}, {"body": ["string", "4"]}]
    proton.run("send", port, both, address=name)
    received = qpid_python.run("receive", port, address=name, count=4).received
    assert texts(received) == ["9", "4", "1", "none"]


def test_the_last_value_of_each_key_is_there(
    qpid_python: Client, proton: Client, port: int, name: str
) -> None:
    queue = declaring(name, **{"qpid.last_value_queue_key": "symbol"})
    values = [
        {"body": ["string", body], "properties": {"symbol": ["string", body[0]]}}
        for body in ("a1", "b1", "a2")
    ]
    qpid_python.run("send", port, values, address=queue)
    newest = {"body": ["string", "b2"], "properties": {"symbol": ["string", "b"]}}
    proton.run("send", port, [newest], address=name)
    assert texts(proton.run("receive", port, address=name, count=2).received) == ["a2", "b2"]


def test_a_group_of_1_0_is_a_group_of_0_10(
    qpid_python: Client, proton: Client, port: int, name: str
) -> None:
    arguments = {"qpid.group_header_key": "JMSXGroupID", "qpid.shared_msg_group": 1}
    qpid_python.run("send", port, [], address=declaring(name, **arguments))
    grouped = [
        {"body": ["string", body], "group-id": ["string", body[0]]} for body in ("a1", "a2", "b1")
    ]
    proton.run("send", port, grouped, address=name)
    held: list[Delivered] = []
    lines = Lines(port, Login(USER, PASSWORD))
    lines.wait_for(lines.connect_0_10().receive(Subscription(name, credit=1), held.append))
    lines.run_until(lambda: len(held) == 1)
    assert texts(proton.run("receive", port, address=name).received) == ["b1"]
    lines.hang_up()
    assert texts(qpid_python.run("receive", port, address=name, count=2).received) == ["a1", "a2"]
