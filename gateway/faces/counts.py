"""What all server faces of the process count together; `metrics` reads it at scrape."""

from __future__ import annotations

from typing import final

from gateway.faces.features import Feature
from gateway.message import Condition
from gateway.permissions.actions import Action


@final
class FaceCounts:
    """Plain ints, which only go up.

    A list has one place for each `Encoding`: its protocol's number.
    """

    __slots__ = (
        "access_refused",
        "arguments_ignored",
        "authentication_failures",
        "connections_closed",
        "connections_opened",
        "connections_redirected",
        "links_closed",
        "links_ended_for",
        "links_failed",
        "links_opened",
        "protocol_errors",
        "sessions_closed",
        "sessions_ended_for",
        "sessions_failed",
        "sessions_opened",
        "transactions_declared",
        "transactions_discharged",
        "transactions_refused",
        "unsupported",
        "user_ids_unchecked",
    )

    def __init__(self) -> None:
        self.connections_opened = [0, 0]
        self.connections_closed = [0, 0]
        self.connections_redirected = [0, 0]  # which so were never opened
        self.sessions_opened = [0, 0]
        self.sessions_closed = [0, 0]
        self.links_opened = [0, 0]  # 0-10: subscriptions
        self.links_closed = [0, 0]
        self.protocol_errors = [0, 0]  # each ended a connection
        self.sessions_failed = [0, 0]  # broke the protocol, and their connections went on
        self.links_failed = [0, 0]
        # Ended or refused by the gateway for what was asked or happened, by condition.
        self.sessions_ended_for = [[0 for _ in Condition] for _ in range(2)]
        self.links_ended_for = [[0 for _ in Condition] for _ in range(2)]
        self.authentication_failures = [0, 0]
        self.access_refused = [0 for _ in Action]  # by action
        self.transactions_declared = 0  # by 1.0 clients
        self.transactions_discharged = 0  # or rolled back with their control links
        self.transactions_refused = 0  # beyond the limit
        self.arguments_ignored = 0  # of declare, bind and subscribe: kept, without effect
        self.user_ids_unchecked = 0  # messages of clients without a login that say a user
        self.unsupported = [0 for _ in Feature]  # uses of what is not offered, by feature
