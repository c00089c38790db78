"""Clients that come back by themselves live through a stop in order, as through a crash."""

from collections.abc import Callable
from pathlib import Path

import pytest
from interop.foreign import Client
from support.gateway_process import GatewayProcess

ADDRESS = "{name}; {{create: always, node: {{type: queue, durable: true}}}}"
ACCEPTED = 'gateway_messages_total{outcome="accepted",stage="settled"}'
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
            "receive", gateway.amqp_port, address=name, count=2, reconnect="yes", timeout_ms=30_000
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
