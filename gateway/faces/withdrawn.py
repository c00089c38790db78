"""What a transaction has published, asked for again at its commit if other rules are in force.

A commit is the moment at which messages are published: whoever may not publish there any longer
does not by a transaction that was begun before, and none of it is done. Nor is one of so many
different keys that the rules would be asked too much at once.
"""

from __future__ import annotations

from gateway.bridge.transaction import Transaction
from gateway.faces.client import Client
from gateway.message import Condition, Refusal
from gateway.permissions.permits import Permits
from gateway.wire.work import LOOK, VERB, WORK


def commit_refusal(
    client: Client, before: Permits | None, transaction: Transaction
) -> Refusal | None:
    """Why it must not be committed; `before`: by what it was decided when it was begun.

    `None`: by other rules than are in force.
    """
    if client.access.permits is before:
        return None
    WORK.units += LOOK * (len(transaction.held) + len(transaction.sent))
    end = WORK.units + VERB
    for each in transaction.held:
        message = each.message
        refusal = _refusal(client, message.exchange, message.routing_key, message.id)
        if refusal is not None:
            return refusal
        if WORK.units > end:
            return _too_much()
    for (exchange, key), number in transaction.sent.items():
        refusal = _refusal(client, exchange, key, number)
        if refusal is not None:
            return refusal
        if WORK.units > end:
            return _too_much()
    return None


def _too_much() -> Refusal:
    WORK.refused += 1
    text = "the access rules have changed, and to ask them about all of it is too much work"
    return Refusal(Condition.RESOURCE_LIMIT_EXCEEDED, text)


def _refusal(client: Client, exchange: str, key: str, number: int) -> Refusal | None:
    if client.access.permits.open and exchange:
        return None
    refusal = client.publish_access.refusal(exchange, key)
    if refusal is not None:
        client.publish_access.record_denied(number)
    return refusal
