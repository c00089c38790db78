"""Clients that come back by themselves live through a stop in order, as through a crash."""

from collections.abc import Callable
from pathlib import Path

import pytest
from interop.foreign import Client
from support.gateway_process import GatewayProcess

ADDRESS = "{name}; {{create: always, node: {{type: queue, durable: true}}}}"
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
