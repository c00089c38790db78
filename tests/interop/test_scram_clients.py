"""SCRAM of foreign clients at the gateway: Cyrus SASL by Proton, and the Java client of 0-10."""

from typing import Any

import pytest
from interop.addresses import jms_queue
from interop.foreign import PASSWORD, USER, Client
from support.gateway_process import GatewayProcess

MECHANISMS = pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])


def accepted(gateway: GatewayProcess, mechanism: str) -> float:
    """How many logins by that mechanism the gateway has accepted."""
    name = f'gateway_authentications_total{{mechanism="{mechanism}",outcome="accepted"}}'
    return gateway.metrics()[name]


@MECHANISMS
def test_cyrus_and_the_gateway_know_each_other(
    proton: Client, gateway: GatewayProcess, queue: str, mechanism: str
) -> None:
    before = accepted(gateway, mechanism)
    alice: dict[str, Any] = {"user": USER, "password": PASSWORD, "mechanism": mechanism}
    message = {"body": ["string", "proved"]}
    proton.run("send", gateway.amqp_port, [message], address=queue, **alice)
    [received] = proton.run("receive", gateway.amqp_port, address=queue, **alice).received
    assert received["body"] == ["string", "proved"]
    assert accepted(gateway, mechanism) == before + 2


@MECHANISMS
def test_cyrus_is_refused_with_a_wrong_password(
    proton: Client, gateway: GatewayProcess, queue: str, mechanism: str
) -> None:
    said = proton.start(
        *("receive", gateway.amqp_port),
        address=queue,
        user=USER,
        password="looking-glass",
        mechanism=mechanism,
    ).finish()
    assert said.exit_code == 1
    assert said.errors


def test_the_java_client_of_0_10_proves_its_password(
    jms: Client, proton: Client, gateway: GatewayProcess, name: str
) -> None:
    mechanism = "SCRAM-SHA-256"
    before = accepted(gateway, mechanism)
    message = {"body": ["text", "proved"]}
    jms.run(
        *("publish", gateway.amqp_port, [message]),
        destination=jms_queue(name),
        user=USER,
        password=PASSWORD,
        mechanism=mechanism,
    )
    assert accepted(gateway, mechanism) == before + 1
    assert len(proton.run("receive", gateway.amqp_port, address=name).received) == 1
