"""Clients that are sent to another gateway, or told of one."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest
from interop import foreign
from interop.addresses import jms_queue
from interop.declaring import declare_queues
from interop.foreign import Client
from interop.needed import needed
from support.gateway_process import GatewayProcess

BODY = {"body": ["string", "here"]}


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    """Where clients are sent."""
    with GatewayProcess(tmp_path_factory.mktemp("other"), {"anonymous": True}) as running:
        yield running


@pytest.fixture(scope="module")
def gateway(
    tmp_path_factory: pytest.TempPathFactory, other: GatewayProcess
) -> Iterator[GatewayProcess]:
    """Sends all clients there who do not insist."""
    place = f"amqp://127.0.0.1:{other.amqp_port}"
    elsewhere = {"default": {"redirect": place, "known_hosts": [place, "amqps://localhost:1"]}}
    config = {"anonymous": True, "elsewhere": elsewhere}
    with GatewayProcess(tmp_path_factory.mktemp("gateway"), config) as running:
        yield running


@pytest.fixture
def queue(other: GatewayProcess, name: str) -> str:
    """A queue that the other gateway has, and this one has not."""
    declare_queues(other.amqp_port, name)
    return name


@pytest.fixture
def qpid_jms() -> Client:
    """The Java JMS client of 1.0."""
    needed("jms")
    needed("artemis")
    return dataclasses.replace(foreign.JMS_1_0, options={"protocol": "1.0", "failover": "yes"})


def test_the_python_client_reads_where_it_is_sent_and_goes_there(
    qpid_python: Client, gateway: GatewayProcess, other: GatewayProcess, queue: str
) -> None:
    said = qpid_python.run("send", gateway.amqp_port, [BODY], address=queue, follow="yes")
    there = f"amqp:tcp:127.0.0.1:{other.amqp_port}"
    [redirected] = said.named("redirected")
    assert redirected["host"] == there
    assert redirected["known-hosts"] == [there, "amqp:ssl:localhost:1"]
    received = qpid_python.run("receive", other.amqp_port, address=queue).received
    assert [each["body"] for each in received] == [["string", "here"]]


def test_the_python_client_as_it_is_ends_at_a_redirect(
    qpid_python: Client, gateway: GatewayProcess, queue: str
) -> None:
    said = qpid_python.start("send", gateway.amqp_port, [BODY], address=queue).finish()
    [error] = said.errors
    assert error["class"] == "InternalError"
    assert "do_connection_redirect" in error["text"]


def test_the_java_client_of_0_10_insists_and_stays(
    jms: Client, gateway: GatewayProcess, name: str
) -> None:
    message = {"body": ["text", "here"]}
    jms.run("publish", gateway.amqp_port, [message], destination=jms_queue(name))
    [received] = jms.run("consume", gateway.amqp_port, destination=jms_queue(name)).received
    assert received["body"] == ["text", "here"]


def test_the_java_client_of_1_0_goes_where_it_is_sent(
    qpid_jms: Client, proton: Client, gateway: GatewayProcess, other: GatewayProcess, queue: str
) -> None:
    message = {"body": ["text", "there"]}
    qpid_jms.run("publish", gateway.amqp_port, [message], destination=f"QUEUE:{queue}")
    [received] = proton.run("receive", other.amqp_port, address=queue).received
    assert received["body"] == ["string", "there"]


def test_proton_is_told_where_to_go(proton: Client, gateway: GatewayProcess, queue: str) -> None:
    said = proton.start("send", gateway.amqp_port, [BODY], address=queue).finish()
    assert said.exit_code == 1
    assert "amqp:connection:redirect" in str(said.errors)


def test_the_java_client_of_1_0_goes_on_at_a_known_host_when_it_has_lost_its_own(
    qpid_jms: Client, proton: Client, other: GatewayProcess, queue: str, tmp_path: Path
) -> None:
    known = {"default": {"known_hosts": [f"amqp://127.0.0.1:{other.amqp_port}"]}}
    first = GatewayProcess(tmp_path, {"anonymous": True, "elsewhere": known}).start()
    try:
        declare_queues(first.amqp_port, queue)
        client = qpid_jms.start("consume", first.amqp_port, destination=f"QUEUE:{queue}")
        client.until("ready")
    finally:
        first.kill()
    proton.run("send", other.amqp_port, [BODY], address=queue)
    [received] = client.finish().without_error().received
    assert received["body"] == ["text", "here"]
