"""The headers exchange: publishers of one protocol, receivers of the other, chosen by headers."""

import json
from typing import Any

import pytest
from interop.addresses import jms_exchange
from interop.foreign import Client

RED: dict[str, Any] = {"colour": ["string", "red"], "size": ["int", 3]}
BLUE: dict[str, Any] = {"colour": ["string", "blue"], "size": ["int", 3]}
GREEN: dict[str, Any] = {"colour": ["string", "green"], "size": ["int", 5]}
FILTER = "apache.org:legacy-amqp-headers-binding:map"


def choosing(rule: str, **arguments: Any) -> str:
    """The legacy headers-binding filter, as the peers take it."""
    binding = {"x-match": ["string", rule], **arguments}
    return json.dumps({"headers": [FILTER, ["map", binding]]})


@pytest.mark.parametrize(
    ("rule", "arguments", "colours"),
    [
        ("all", RED, ["red"]),
        ("any", RED, ["blue", "red"]),
        ("all", {"size": ["int", 3]}, ["blue", "red"]),
        ("all", {"colour": ["null", None], "size": ["long", 5]}, ["green"]),
    ],
    ids=["all", "any", "one", "presence"],
)
def test_a_1_0_receiver_gets_what_its_binding_chooses_of_what_jms_publishes(
    rule: str, arguments: dict[str, Any], colours: list[str], jms: Client, proton: Client, port: int
) -> None:
    filters = choosing(rule, **arguments)
    waiting = proton.start(
        "receive", port, address="amq.match", filters=filters, count=len(colours)
    )
    waiting.until("ready")
    sent = [{"body": ["text", "x"], "properties": one} for one in (BLUE, GREEN, RED)]
    jms.run("publish", port, sent, destination=jms_exchange("amq.match", "any"))
    received = waiting.finish().without_error().received
    assert [one["properties"]["colour"][1] for one in received] == colours


def test_the_python_client_gets_what_its_binding_chooses_of_what_proton_publishes(
    qpid_python: Client, proton: Client, port: int
) -> None:
    address = (
        "amq.match; {link: {x-bindings: [{exchange: 'amq.match', key: red, "
        "arguments: {'x-match': all, colour: red}}]}}"
    )
    waiting = qpid_python.start("receive", port, address=address, count=1)
    waiting.until("ready")
    sent = [{"body": ["string", one["colour"][1]], "properties": one} for one in (BLUE, RED)]
    proton.run("send", port, sent, address="amq.match")
    [received] = waiting.finish().without_error().received
    assert received["body"] == ["string", "red"]
