"""What attackers begin with."""

from __future__ import annotations

from pathlib import Path

from support.gateway_process import GatewayProcess
from support.raw_peers import Raw010, Raw10

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.session import Session
from gateway.amqp_0_10.structs import write_header
from gateway.amqp_1_0 import _spec
from gateway.net.listening.users import make_user, write_users

FULL = 2**31 - 1  # more than there ever is


def logged_in(gateway: GatewayProcess) -> tuple[Raw010, Session]:
    """A client with a session."""
    client = Raw010(gateway.amqp_port, patience_s=120).log_in()
    return client, client.attach()


def receiving(gateway: GatewayProcess, source: _spec.Source, credit: int) -> Raw10:
    """A client of 1.0 with a link from there, with credit."""
    receiver = Raw10(gateway.amqp_port, patience_s=5).log_in()
    receiver.begin()
    receiver.performs(
        _spec.Attach(name="r", handle=0, role=_spec.RECEIVER, source=source, target=_spec.Target()),
        _spec.Flow(
            next_incoming_id=0,
            incoming_window=FULL,
            next_outgoing_id=0,
            outgoing_window=FULL,
            handle=0,
            delivery_count=0,
            link_credit=credit,
        ),
    )
    return receiver


def header_of(**properties: object) -> bytes:
    """The header of a message; `key`: its routing key."""
    return write_header(
        spec.DeliveryProperties(routing_key=str(properties.pop("key", "q"))),
        spec.MessageProperties(**properties),  # type: ignore[arg-type]  # as given
    )


def write_mallory(directory: Path) -> None:
    """A users file with one user; the polite client has no login."""
    write_users(directory / "users.yaml", {"mallory": make_user("m", 4096)})
