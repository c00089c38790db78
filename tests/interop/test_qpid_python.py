"""The Python 2.7 client of AMQP 0-10 on one side, 1.0 clients on the other."""

from typing import Any

import pytest
from interop.foreign import PASSWORD, USER, Client
from support.gateway_process import GatewayProcess

CREATE = "{name}; {{create: always, node: {{type: queue}}}}"
PROPERTIES: dict[str, Any] = {
    "a_long": ["long", "-7"],
    "a_boolean": ["boolean", True],
    "a_double": ["double", "1.5"],
    "a_uuid": ["uuid", "b62c1a1b-8e83-3ac3-9874-76c503552361"],
    "a_timestamp": ["timestamp", "1795242122000"],
    "a_string": ["string", "h\u00e9llo"],
}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (["string", "h\u00e9"], ["data", "68c3a9"]),
        (["binary", "00ff"], ["data", "00ff"]),
        (["map", {"x": ["long", "1"]}], ["map", {"x": ["long", "1"]}]),
        (["list", [["long", "1"], ["null", None]]], ["list", [["long", "1"], ["null", None]]]),
    ],
)
def test_proton_receives_what_it_sends(
    body: Any, expected: Any, qpid_python: Client, proton: Client, port: int, name: str
) -> None:
    message = {"body": body, "properties": PROPERTIES, "durable": True, "subject": "s"}
    qpid_python.run("send", port, [message], address=CREATE.format(name=name))
    [received] = proton.run("receive", port, address=name).received
    assert received["body"] == expected
    assert received["properties"] == PROPERTIES
    assert received["durable"]
    assert received["subject"] == ["string", "s"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (["string", "h\u00e9"], ["string", "h\u00e9"]),
        (["data", "00ff"], ["binary", "00ff"]),
        (["map", {"x": ["int", "1"]}], ["map", {"x": ["long", "1"]}]),
        (["list", [["int", "1"], ["null", None]]], ["list", [["long", "1"], ["null", None]]]),
    ],
)
def test_it_receives_what_rhea_sends(
    body: Any, expected: Any, qpid_python: Client, rhea: Client, port: int, name: str
) -> None:
    qpid_python.run("send", port, [], address=CREATE.format(name=name))
    message = {"body": body, "properties": PROPERTIES, "durable": True, "subject": "s"}
    rhea.run("send", port, [message], address=name)
    [received] = qpid_python.run("receive", port, address=name).received
    assert received["body"] == expected
    assert received["durable"]
    assert received["subject"] == "s"
    properties = received["properties"]
    assert {key: properties[key] for key in PROPERTIES} == PROPERTIES


@pytest.mark.parametrize("body", [["string", ""], ["binary", ""], ["null", None]])
def test_an_empty_body_is_not_an_absent_one(
    body: Any, qpid_python: Client, port: int, name: str
) -> None:
    message = {"body": body, "durable": True}
    address = CREATE.format(name=name)
    qpid_python.run("send", port, [message], address=address)
    [received] = qpid_python.run("receive", port, address=name).received
    assert received["body"] == body


@pytest.mark.parametrize(
    ("body", "expected"),
    [(["data", ""], ["binary", ""]), (["null", None], ["null", None])],
)
def test_an_empty_body_of_proton_is_not_an_absent_one(
    body: Any, expected: Any, qpid_python: Client, proton: Client, port: int, name: str
) -> None:
    qpid_python.run("send", port, [], address=CREATE.format(name=name))
    proton.run("send", port, [{"body": body}], address=name)
    [received] = qpid_python.run("receive", port, address=name).received
    assert received["body"] == expected


def test_it_receives_from_a_topic_exchange(qpid_python: Client, proton: Client, port: int) -> None:
    waiting = qpid_python.start("receive", port, address="amq.topic/chess.#")
    waiting.until("ready")
    message = {"body": ["string", "e4"], "subject": "chess.opening"}
    proton.run("send", port, [message], address="amq.topic")
    [received] = waiting.finish().without_error().received
    assert received["body"] == ["string", "e4"]


def test_it_logs_in_with_a_password(
    qpid_python: Client, proton: Client, port: int, name: str
) -> None:
    alice: dict[str, Any] = {"user": USER, "password": PASSWORD}
    address = CREATE.format(name=name)
    qpid_python.run("send", port, [{"body": ["binary", "00"]}], address=address, **alice)
    assert len(proton.run("receive", port, address=name).received) == 1


def test_a_wrong_password_is_refused(qpid_python: Client, port: int) -> None:
    said = qpid_python.start(
        "receive", port, address="any", user=USER, password="looking-glass"
    ).finish()
    assert said.exit_code == 1
    assert said.errors


def test_a_management_request_is_answered_with_the_address_of_the_admin_api(
    qpid_python: Client, gateway: GatewayProcess
) -> None:
    request = {
        "body": ["map", {}],
        "correlation-id": "7",
        "properties": {
            "x-amqp-0-10.app-id": ["binary", b"qmf2".hex()],
            "method": ["string", "request"],
            "qmf.opcode": ["string", "_query_request"],
        },
    }
    asked = qpid_python.run(
        "request", gateway.amqp_port, [request], address="qmf.default.direct/broker"
    )
    [reply] = asked.received
    assert reply["correlation-id"] == "7"
    assert reply["properties"]["qmf.opcode"] == ["string", "_exception"]
    [kind, values] = reply["body"][1]["_values"]
    assert kind == "map"
    assert f":{gateway.admin_port}" in values["error_text"][1]
