"""Clients that come back by themselves live through a stop in order, as through a crash."""

from collections.abc import Callable
from pathlib import Path

import pytest
from interop.foreign import Client
from support.gateway_process import GatewayProcess

ADDRESS = "{name}; {{create: always, node: {{type: queue, durable: true}}}}"
ACCEPTED = 'gateway_messages_total{outcome="accepted",stage="settled"}'
ENTERED = 'gateway_messages_total{outcome="entered",stage="queued"}'
WAYS = [GatewayProcess.stop, GatewayProcess.kill]


@pytest.mark.parametrize("end", WAYS, ids=["a stop", "a crash"])
def test_a_python_client_of_0_10_goes_on_behind(
    end: Callable[[GatewayProcess], object], qpid_python: Client, tmp_path: Path, name: str
) -> None:
    with GatewayProcess(tmp_path) as gateway:
        address = ADDRESS.format(name=name)
        receiving = qpid_python.start(
            "receive", gateway.amqp_port, address=address, count=1, reconnect="yes"
        )
        receiving.until("ready")
        end(gateway)
        gateway.start(same_ports=True)
        qpid_python.run("send", gateway.amqp_port, [{"body": ["string", "x"]}], address=address)
        said = receiving.finish().without_error()
        assert [each["body"] for each in said.received] == [["string", "x"]]


def test_what_a_python_client_of_0_10_had_not_confirmed_is_sent_again(
    qpid_python: Client, tmp_path: Path, name: str
) -> None:
    with GatewayProcess(tmp_path) as gateway:
        address = ADDRESS.format(name=name)
        bodies = [str(number) for number in range(2000)]
        messages = [{"body": ["string", body], "durable": True} for body in bodies]
        sending = qpid_python.start(
            "send", gateway.amqp_port, messages, address=address, window=100, reconnect="yes"
        )
        for entered in (300, 300):
            while gateway.metrics()[ENTERED] < entered:
                pass
            gateway.kill()
            gateway.start(same_ports=True)
        sending.finish().without_error()
        stored = gateway.recovered + int(gateway.metrics()[ENTERED])
        said = qpid_python.run("receive", gateway.amqp_port, address=address, count=stored)
        received = [each["body"][1] for each in said.received]
        assert list(dict.fromkeys(received)) == bodies
        assert len(received) <= len(bodies) + 2 * 100


def test_what_a_python_client_of_0_10_sends_unreliably_comes_once_or_not_at_all(
    qpid_python: Client, tmp_path: Path, name: str
) -> None:
    with GatewayProcess(tmp_path) as gateway:
        made = ADDRESS.format(name=name).replace("{create", "{link: {reliability: %s}, create")
        bodies = [str(number) for number in range(2000)]
        messages = [{"body": ["string", body], "durable": True} for body in bodies]
        unsure = made % "unreliable"
        sending = qpid_python.start(
            "send", gateway.amqp_port, messages, address=unsure, window=100, reconnect="yes"
        )
        while gateway.metrics()[ENTERED] < 300:
            pass
        gateway.kill()
        gateway.start(same_ports=True)
        sending.finish().without_error()
        stored = gateway.recovered + int(gateway.metrics()[ENTERED])
        said = qpid_python.run(
            "receive", gateway.amqp_port, address=made % "at-most-once", count=stored
        )
        received = [int(each["body"][1]) for each in said.received]
        assert received == sorted(set(received))
        assert len(received) == stored


@pytest.mark.parametrize("end", WAYS, ids=["a stop", "a crash"])
def test_a_java_client_of_0_10_goes_on_behind(
    end: Callable[[GatewayProcess], object], jms: Client, tmp_path: Path, name: str
) -> None:
    with GatewayProcess(tmp_path, {"anonymous": True}) as gateway:
        address = "ADDR:" + ADDRESS.format(name=name)
        again = {"failover": "singlebroker", "retries": 200, "delay_ms": 100}
        jms.run("publish", gateway.amqp_port, [{"body": ["text", "x"]}], destination=address)
        receiving = jms.start("consume", gateway.amqp_port, destination=address, count=2, **again)
        receiving.until("received")
        while not gateway.metrics()[ACCEPTED]:
            pass  # what it asks for when the end comes is refused by itself
        end(gateway)
        gateway.start(same_ports=True)
        jms.run("publish", gateway.amqp_port, [{"body": ["text", "y"]}], destination=address)
        assert [each["body"][1] for each in receiving.finish().received] == ["x", "y"]


@pytest.mark.parametrize("end", WAYS, ids=["a stop", "a crash"])
def test_a_proton_client_that_has_nothing_to_say_comes_back_at_once(
    end: Callable[[GatewayProcess], object], proton: Client, tmp_path: Path, name: str
) -> None:
    with GatewayProcess(tmp_path) as gateway:
        send(gateway, name)
        receiving = proton.start(
            "receive", gateway.amqp_port, address=name, count=2, reconnect="yes"
        )
        receiving.until("received")
        end(gateway)
        gateway.start(same_ports=True)
        send(gateway, name)
        assert len(receiving.finish().without_error().received) == 2


def send(gateway: GatewayProcess, queue: str) -> None:
    """A durable message, into a queue that is there by then."""
    given = ("-p", "0-10", "--to", queue, "--create", "--durable")
    assert gateway.tool("send", "--port", str(gateway.amqp_port), *given).returncode == 0
