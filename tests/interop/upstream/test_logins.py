"""Who the gateway is at an upstream: each mechanism against a server that really asks."""

from pathlib import Path
from typing import Any

import pytest
from interop.brokers.broker_j import BrokerJ
from support.certificates import Authority
from support.gateway_process import GatewayProcess

LETTERS = ("--count", "2", "--body", "letter {n}")


def behind(directory: Path, upstream: dict[str, Any]) -> GatewayProcess:
    """A gateway whose queue `orders` lives at that upstream."""
    nodes = [{"queue": "orders", "upstream": "main"}]
    return GatewayProcess(directory, {"upstreams": {"main": upstream}, "nodes": nodes})


def goes_through(gateway: GatewayProcess) -> None:
    """A 0-10 client's messages reach the upstream, and come back from there."""
    to = ("--protocol", "0-10", "--port", str(gateway.amqp_port))
    sent = gateway.tool("send", *to, "--to", "orders", *LETTERS)
    assert sent.returncode == 0, sent.stderr + gateway.log()
    received = gateway.tool("receive", *to, "--from", "orders", "--count", "2")
    assert "letter 1" in received.stdout, received.stderr + gateway.log()
    assert "letter 2" in received.stdout


@pytest.mark.parametrize(
    ("mechanism", "profile"),
    [
        ("SCRAM-SHA-256", "qpid-broker-j"),
        ("PLAIN", "qpid-broker-j"),
        ("SCRAM-SHA-256", "qpid-0-10"),
    ],
)
def test_a_password_is_shown_or_proved(
    broker_j: BrokerJ, tmp_path: Path, mechanism: str, profile: str
) -> None:
    broker_j.create_queue("orders")
    (tmp_path / "password").write_text(f"{broker_j.password}\n")
    upstream = {
        "hosts": [f"amqp://127.0.0.1:{broker_j.port}"],
        "profile": profile,
        "username": broker_j.username,
        "password_file": str(tmp_path / "password"),
        "mechanisms": [mechanism],
    }
    if profile == "qpid-0-10":
        upstream["hostname"] = "default"  # of its virtual host
    with behind(tmp_path / "gateway", upstream) as gateway:
        goes_through(gateway)


def test_a_wrong_password_that_is_proved_by_scram_is_refused_and_said(
    broker_j: BrokerJ, tmp_path: Path
) -> None:
    (tmp_path / "password").write_text("wrong\n")
    upstream = {
        "hosts": [f"amqp://127.0.0.1:{broker_j.port}"],
        "profile": "qpid-broker-j",
        "username": broker_j.username,
        "password_file": str(tmp_path / "password"),
        "mechanisms": ["SCRAM-SHA-256"],
    }
    with behind(tmp_path / "gateway", upstream) as gateway:
        assert gateway.said("refused our credentials"), gateway.log()


def test_a_certificate_is_who_we_are(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    server, server_key = authority.issue("server")
    own, own_key = authority.issue("legacy-gateway")
    far = GatewayProcess(
        tmp_path / "far",
        {
            "listen": {"amqp": None, "amqps": "127.0.0.1:0"},
            "tls": {
                "certificate": str(server),
                "key": str(server_key),
                "client_ca": str(authority.ca),
                "require_client_certificate": True,
            },
        },
    )
    with far:
        upstream = {
            "hosts": [f"amqps://127.0.0.1:{far.ports['AMQP over TLS']}"],
            "mechanisms": ["EXTERNAL"],
            "tls": {"ca": str(authority.ca), "certificate": str(own), "key": str(own_key)},
        }
        with behind(tmp_path / "near", upstream) as near:
            assert near.said("upstream main: connected"), near.log()
        accepted = 'gateway_authentications_total{mechanism="EXTERNAL",outcome="accepted"}'
        assert far.metrics()[accepted] >= 1


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_gateway_behind_a_gateway_proves_its_password(tmp_path: Path, mechanism: str) -> None:
    users = tmp_path / "users.yaml"
    (tmp_path / "password").write_text("pencil, sharp=yes")
    far = GatewayProcess(tmp_path / "far", {"users_file": str(users)})
    add = ("user", "add", "--file", str(users), "--password-stdin", "near,=gateway")
    assert far.tool(*add, given="pencil, sharp=yes").returncode == 0
    with far:
        upstream = {
            "hosts": [f"amqp://127.0.0.1:{far.amqp_port}"],
            "username": "near,=gateway",
            "password_file": str(tmp_path / "password"),
            "mechanisms": [mechanism],
        }
        with behind(tmp_path / "near", upstream) as near:
            assert near.said("upstream main: connected"), near.log()
            checked = near.tool(
                "check", "--config", str(tmp_path / "near/gateway.yaml"), "--connect"
            )
            assert f"({mechanism}" in checked.stdout or mechanism in checked.stdout, checked.stdout
        accepted = f'gateway_authentications_total{{mechanism="{mechanism}",outcome="accepted"}}'
        assert far.metrics()[accepted] >= 2
