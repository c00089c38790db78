"""rhea, a 1.0 client that shares no code with Proton, in both directions."""

from typing import Any

import pytest
from interop.foreign import Client

# rhea shows every number as a number, and says nothing of its width
PROPERTIES: dict[str, tuple[Any, Any]] = {
    "a_boolean": (["boolean", True], ["boolean", True]),
    "a_byte": (["byte", -5], ["number", "-5"]),
    "a_ubyte": (["ubyte", 255], ["number", "255"]),
    "an_int": (["int", -70000], ["number", "-70000"]),
    "a_uint": (["uint", 4294967295], ["number", "4294967295"]),
    "a_float": (["float", "1.5"], ["number", "1.5"]),
    "a_string": (["string", "h\u00e9"], ["string", "h\u00e9"]),
    "a_binary": (["binary", "00ff"], ["binary", "00ff"]),
    "a_timestamp": (["timestamp", "1795242122208"], ["timestamp", "1795242122208"]),
    "a_symbol": (["symbol", "sym"], ["string", "sym"]),
}
BODIES = [
    ["data", "00ff"],
    ["string", "h\u00e9"],
    ["map", {"x": ["boolean", True]}],
    ["list", [["string", "e"], ["null", None]]],
    ["sequence", [["string", "e"]]],
]


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body[0])
def test_rhea_receives_what_proton_sends_untouched(
    body: Any, rhea: Client, proton: Client, port: int, queue: str
) -> None:
    message = {"body": body, "properties": {name: pair for name, (pair, _) in PROPERTIES.items()}}
    proton.run("send", port, [message], address=queue)
    [received] = rhea.run("receive", port, address=queue).received
    assert received["body"] == body
    assert received["properties"] == {name: pair for name, (_, pair) in PROPERTIES.items()}
    assert received["annotations"] == {}


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body[0])
def test_proton_receives_what_rhea_sends_untouched(
    body: Any, rhea: Client, proton: Client, port: int, queue: str
) -> None:
    message = {"body": body, "properties": {name: pair for name, (pair, _) in PROPERTIES.items()}}
    [sent] = rhea.run("send", port, [message], address=queue).sent
    assert sent["outcome"] == "accepted"
    [received] = proton.run("receive", port, address=queue).received
    assert received["body"] == body
    assert received["properties"].keys() == PROPERTIES.keys()
    assert received["properties"]["a_uint"] == ["uint", "4294967295"]
    assert received["annotations"] == {}


def test_a_footer_that_rhea_writes_before_the_body_harms_no_message(
    rhea: Client, port: int, queue: str
) -> None:
    message = {"body": ["string", "with a footer"], "footer": {"sum": ["int", 7]}}
    [sent] = rhea.run("send", port, [message], address=queue).sent
    assert sent["outcome"] == "accepted"
    [received] = rhea.run("receive", port, address=queue).received
    assert received["body"] == ["string", "with a footer"]


def test_jms_consumes_what_rhea_sends(rhea: Client, jms: Client, port: int, queue: str) -> None:
    message = {"body": ["string", "x"], "durable": True, "priority": 7, "subject": "s"}
    rhea.run("send", port, [message], address=queue)
    [received] = jms.run("consume", port, destination=f"ADDR:{queue}").received
    assert received["body"] == ["text", "x"]
    assert (received["durable"], received["priority"]) == (True, 7)


def test_rhea_receives_what_jms_publishes(rhea: Client, jms: Client, port: int, queue: str) -> None:
    message = {"body": ["map", {"i": ["int", 1]}], "durable": True, "priority": 7}
    jms.run("publish", port, [message], destination=f"ADDR:{queue}")
    [received] = rhea.run("receive", port, address=queue).received
    assert received["body"] == ["map", {"i": ["number", "1"]}]
    assert (received["durable"], received["priority"]) == (True, 7)


def test_a_browsing_receiver_leaves_the_message(rhea: Client, port: int, queue: str) -> None:
    rhea.run("send", port, [{"body": ["string", "x"]}], address=queue)
    for _ in range(2):
        assert len(rhea.run("receive", port, address=queue, browse="yes").received) == 1


@pytest.mark.parametrize(
    ("outcome", "count"), [("accept", 0), ("reject", 0), ("release", 1), ("modified", 1)]
)
def test_an_outcome_decides_whether_the_message_stays(
    outcome: str, count: int, rhea: Client, jms: Client, port: int, queue: str
) -> None:
    rhea.run("send", port, [{"body": ["string", "x"]}], address=queue)
    rhea.run("receive", port, address=queue, outcome=outcome)
    assert len(jms.run("browse", port, destination=f"ADDR:{queue}").received) == count


def test_an_unknown_address_is_refused_with_not_found(rhea: Client, port: int, name: str) -> None:
    said = rhea.start("receive", port, address=name).finish()
    assert [error["class"] for error in said.errors] == ["amqp:not-found"]
