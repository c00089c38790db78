"""Durable subscriptions of 1.0 clients, as operators see them, and give one to a user.

`ctl subscriptions` and `ctl assign`. What a subscription is, `bridge.durable.subscriptions` says.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, Protocol

from gateway.bridge.bridge import Bridge
from gateway.bridge.durable.subscriptions import may_be_old
from gateway.bridge.queues.queue import Queue
from gateway.bridge.seams import Subscriber
from gateway.errors import ConfigurationError
from gateway.net.admin.census import named_queues
from gateway.wire.work import BINDING, TOLD, WORK

Told = dict[str, Any]  # Any: what JSON holds
BINDINGS: Final = 100  # at a time
TOLD_MAX: Final = 100  # characters of a name that is none


class Users(Protocol):
    """Who may log in."""

    def has(self, name: str) -> bool:
        """Whether a user may be called so."""


def subscriptions(bridge: Bridge) -> Iterator[str]:
    """What `GET /ctl/subscriptions` answers, as JSON, in pieces.

    Subscriptions, and queues that may be such of older versions.
    """
    yield '{"subscriptions": ['
    between = ""
    for _host, queues in named_queues(bridge):
        yield ""
        for queue in queues:
            if queue.settings.subscriber is not None or may_be_old(queue):
                yield between
                yield from _subscription(queue)
                between = ", "
    yield "]}"


def _subscription(queue: Queue) -> Iterator[str]:
    subscriber = queue.settings.subscriber
    told: Told = {
        "virtual_host": queue.host,
        "queue": queue.name,
        "user": None if subscriber is None else subscriber.user,
        "container": None if subscriber is None else subscriber.container,
        "link": None if subscriber is None else subscriber.link,
        "messages": queue.depth,
        "in_use": queue.users.subscriptions > 0,
    }
    WORK.units += TOLD
    yield json.dumps(told, ensure_ascii=False)[:-1] + ', "bound_to": ['
    bound_to = queue.bound_to()  # there may be very many
    for begin in range(0, len(bound_to), BINDINGS):
        part = bound_to[begin : begin + BINDINGS]
        WORK.units += BINDING * len(part)
        names = [f"{exchange}/{key}" if key else exchange for exchange, key in part]
        yield (", " if begin else "") + json.dumps(names, ensure_ascii=False)[1:-1]
    yield "]}"


def assign(
    bridge: Bridge, host_name: str, name: str, subscriber: Subscriber, users: Users | None = None
) -> str:
    """Say whose the subscription is that a queue collects for. Raises ConfigurationError.

    `users`: those whose it may be; `None`: nobody knows them all.
    """
    host = bridge.hosts.get(host_name) if host_name else bridge.default_host
    if host is None:
        problem = f"there is no virtual host {host_name!r}"
        raise ConfigurationError([("virtual_host", problem)])
    user = subscriber.user
    if user and not (user.isprintable() and (users is None or users.has(user))):
        raise ConfigurationError([("user", f"there is no user {user[:TOLD_MAX]!r}")])
    refusal = host.durable_subscriptions.assign(name, subscriber)
    if refusal is not None:
        raise ConfigurationError([("queue", refusal.description)])
    whose = f"user {user}" if user else "clients without a login"
    return (
        f"queue {name} is the subscription {subscriber.link} of container"
        f" {subscriber.container} for {whose}"
    )
