"""`check --may`: what the access rules say to one question.

A node is a queue, or an exchange where `--exchange` says so or where a key follows: EXCHANGE/KEY.
An exchange of the gateway's own, "amq." and something, is one without being told.
"""

from __future__ import annotations

import click

from gateway.config.access import LoadedRules
from gateway.permissions.actions import ACTION_NAMES, Action, ObjectKind
from gateway.permissions.asked import Asked, binding, publishing
from gateway.permissions.rules import UNRESTRICTED, Decision

OWN_PREFIX = "amq."


class Question:
    """One question.

    Raises:
        click.UsageError: there is no such action, or it has no such node.
    """

    def __init__(
        self, user: str, action: str, node: str, *, host: str, address: str, exchange: bool
    ) -> None:
        found = ACTION_NAMES.get(action)
        if found is None:
            raise click.UsageError(f"{action!r} is none of {', '.join(ACTION_NAMES)}")
        self.user = user
        self.host = host
        self.address = address
        self.asked = _asked(found, node, exchange=exchange)

    def decision(self, loaded: LoadedRules) -> Decision:
        """The answer."""
        if loaded.rules is None:
            return UNRESTRICTED
        if self.asked.action == Action.PUBLISH and loaded.rules.publish_unchecked():
            return Decision(True, 0, "no rule is about publishing, and then nobody is asked")
        return loaded.rules.may(self.user, self.host, self.address, self.asked)


def _asked(action: Action, node: str, *, exchange: bool) -> Asked:
    if action == Action.CONNECT:
        return Asked(action, ObjectKind.NOTHING)
    if action == Action.MANAGE:
        return Asked(action, ObjectKind.METHOD, node)
    name, slash, key = node.partition("/")
    is_exchange = exchange or bool(slash) or node.startswith(OWN_PREFIX)
    if action in (Action.BIND, Action.UNBIND):
        queue, _slash, key = key.partition("/")
        if not queue:
            raise click.UsageError(f"to {action.name.lower()} needs EXCHANGE/QUEUE/KEY as node")
        return binding(action, name, queue, key)
    if not is_exchange:
        return publishing("", node) if action == Action.PUBLISH else _queue(action, node)
    if action == Action.PUBLISH and slash:
        return publishing(name, key)
    return Asked(action, ObjectKind.EXCHANGE, name, key=None)


def _queue(action: Action, name: str) -> Asked:
    return Asked(action, ObjectKind.QUEUE, name)
