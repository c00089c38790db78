"""A message crosses to the other protocol, a foreign client there sends it on, it comes back whole.

What the other protocol has no place for travels in the escrow that foreign clients carry along.
"""

from typing import Any

import pytest
from interop.declaring import declare_queues
from interop.foreign import Client

JMS_MESSAGES: list[dict[str, Any]] = [
    {
        "body": ["text", "h\u00e9llo"],
        "properties": {
            "a_boolean": ["boolean", True],
            "a_byte": ["byte", -5],
            "a_short": ["short", 300],
            "an_int": ["int", -70000],
            "a_long": ["long", "9223372036854775807"],
            "a_float": ["float", "1.5"],
            "a_double": ["double", "-2.5"],
            "a_string": ["string", "x"],
        },
        "durable": True,
        "priority": 7,
        "jms-type": "order",
        "correlation-id": "c-1",
        "reply-to": "ADDR:amq.direct/replies",
        "group-id": "g",
        "group-sequence": 3,
    },
    {"body": ["bytes", "00ff10"]},
    {"body": ["map", {"i": ["int", 1], "b": ["binary", "00ff"], "c": ["char", "q"]}]},
    {"body": ["stream", [["long", "5"], ["string", "e"], ["boolean", False]]]},
    {"body": ["object", ["string", "kept"]]},
    {},
]

# Numbers as qpid-python sends them on: it makes an int64 of every one, and a changed value wins
MESSAGES_1_0: list[dict[str, Any]] = [
    {
        "body": ["string", "h\u00e9llo"],
        "properties": {
            "a_binary": ["binary", "00ff"],
            "a_uuid": ["uuid", "b62c1a1b-8e83-3ac3-9874-76c503552361"],
            "a_char": ["char", "q"],
            "a_symbol": ["symbol", "sym"],
            "a_timestamp": ["timestamp", "1795242122208"],
            "a_long": ["long", "9223372036854775807"],
            "a_string": ["string", "x"],
        },
        "annotations": {"x-opt-note": ["string", "n"]},
        "durable": True,
        "priority": 7,
        "correlation-id": ["ulong", "7"],
        "subject": "s",
    },
    {"body": ["data", "00ff10"]},
    {"body": ["map", {"i": ["long", "1"]}]},
    {"body": ["list", [["long", "1"], ["null", None]]]},
    {"body": ["sequence", [["long", "1"], ["string", "e"]]]},
    {"body": ["long", "42"]},
]


@pytest.fixture
def queues(port: int, name: str) -> tuple[str, str]:
    """The queue that the first client sends to, and the one from which it reads again."""
    declare_queues(port, name, f"{name}-back")
    return name, f"{name}-back"


@pytest.mark.parametrize("message", JMS_MESSAGES, ids=lambda m: m.get("body", ["message"])[0])
def test_a_jms_message_that_proton_sends_on_is_as_it_was(
    message: dict[str, Any], jms: Client, proton: Client, port: int, queues: tuple[str, str]
) -> None:
    there, back = queues
    jms.run("publish", port, [message], destination=f"ADDR:{there}")
    [original] = jms.run("consume", port, destination=f"ADDR:{there}").received
    jms.run("publish", port, [message], destination=f"ADDR:{there}")
    proton.run("forward", port, address=there, to=back)
    [returned] = jms.run("consume", port, destination=f"ADDR:{back}").received
    # two messages were published: their ids and times differ; where they were sent is another queue
    for line in (original, returned):
        del line["message-id"], line["timestamp-ms"], line["destination"]
    assert returned == original


@pytest.mark.parametrize("message", MESSAGES_1_0, ids=lambda m: m["body"][0])
def test_a_1_0_message_that_qpid_python_sends_on_is_as_it_was(
    message: dict[str, Any],
    proton: Client,
    qpid_python: Client,
    port: int,
    queues: tuple[str, str],
) -> None:
    there, back = queues
    proton.run("send", port, [message], address=there)
    [original] = proton.run("receive", port, address=there).received
    proton.run("send", port, [message], address=there)
    qpid_python.run("forward", port, address=there, to=back)
    [returned] = proton.run("receive", port, address=back).received
    assert returned.pop("to") == ["string", back]
    assert returned == original
