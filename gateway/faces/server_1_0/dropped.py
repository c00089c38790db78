"""Deliveries that nobody takes: their messages are in the books, and their transactions fail.

They came when the gateway had ended their link, session or connection, or are why it did so.
"""

from __future__ import annotations

from gateway.amqp_1_0._spec import DeliveryState
from gateway.amqp_1_0.link import Link
from gateway.amqp_1_0.transactions import coordination_of
from gateway.audit.schema import Reason
from gateway.bridge.confirming import Told
from gateway.errors import DecodeError
from gateway.faces.client import Client
from gateway.faces.server_1_0.arrivals import Arrivals
from gateway.faces.server_1_0.control_link import ControlLink
from gateway.faces.server_1_0.producer import Producer
from gateway.faces.server_1_0.transactions import Transactions


def drop(
    client: Client,
    transactions: Transactions,
    link: Link | None,
    payload: bytes,
    message_format: int,
    state: DeliveryState | None,
) -> None:
    """Nobody takes one delivery; `link`: by which it came, unless that is not known any more."""
    transactions.lose(state)
    held = None if link is None else link.context
    if isinstance(held, Producer):
        held.record(payload, message_format, Reason.LINK_DETACHED)
    elif not isinstance(held, ControlLink) and client.visit.opened and not _coordinates(payload):
        reason = Reason.SESSION_ENDED if link is None else Reason.LINK_DETACHED
        nobody = Told(client.bridge.confirming, 0, client.peer.connection_id)
        Arrivals(client, None, nobody).record_unread(payload, message_format, reason)


def _coordinates(payload: bytes) -> bool:
    """Whether it is for a coordinator, and no message that anybody publishes."""
    try:
        coordination_of(payload)
    except DecodeError:
        return False
    return True
