"""What attackers begin with."""

from __future__ import annotations

from pathlib import Path

from support.gateway_process import GatewayProcess
from support.raw_peers import Raw010

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.session import Session
from gateway.amqp_0_10.structs import write_header
from gateway.net.listening.users import make_user, write_users

FULL = 2**31 - 1  # more than there ever is


def logged_in(gateway: GatewayProcess) -> tuple[Raw010, Session]:
    """A client with a session."""
    client = Raw010(gateway.amqp_port, patience_s=120).log_in()
    return client, client.attach()


def header_of(**properties: object) -> bytes:
    """The header of a message; `key`: its routing key."""
    return write_header(
        spec.DeliveryProperties(routing_key=str(properties.pop("key", "q"))),
        spec.MessageProperties(**properties),  # type: ignore[arg-type]  # as given
    )


def write_mallory(directory: Path) -> None:
    """A users file with one user; the polite client has no login."""
    write_users(directory / "users.yaml", {"mallory": make_user("m", 4096)})
