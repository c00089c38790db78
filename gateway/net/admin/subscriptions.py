"""Durable subscriptions of 1.0 clients, as operators see them, and give one to a user.

`ctl subscriptions` and `ctl assign`. What a subscription is, `bridge.durable.subscriptions` says.
"""

from __future__ import annotations

from typing import Any

from gateway.bridge.bridge import Bridge
from gateway.bridge.durable.subscriptions import may_be_old
from gateway.bridge.queues.queue import Queue
from gateway.bridge.seams import Subscriber
from gateway.errors import ConfigurationError

Told = dict[str, Any]  # Any: what JSON holds


def subscriptions(bridge: Bridge) -> Told:
    """What `GET /ctl/subscriptions` answers: those, and queues that may be of older versions."""
    return {
        "subscriptions": [
            _subscription(queue)
            for host in bridge.hosts.values()
            for queue in host.topology.queues.values()
            if queue.settings.subscriber is not None or may_be_old(queue)
        ]
    }


def _subscription(queue: Queue) -> Told:
    subscriber = queue.settings.subscriber
    return {
        "virtual_host": queue.host,
        "queue": queue.name,
        "user": None if subscriber is None else subscriber.user,
        "container": None if subscriber is None else subscriber.container,
        "link": None if subscriber is None else subscriber.link,
        "bound_to": [
            f"{exchange}/{key}" if key else exchange for exchange, key in queue.bound_to()
        ],
        "messages": queue.depth,
        "in_use": queue.users.subscriptions > 0,
    }


def assign(bridge: Bridge, host_name: str, name: str, subscriber: Subscriber) -> str:
    """Say whose the subscription is that a queue collects for. Raises ConfigurationError."""
    host = bridge.hosts.get(host_name) if host_name else bridge.default_host
    if host is None:
        problem = f"there is no virtual host {host_name!r}"
        raise ConfigurationError([("virtual_host", problem)])
    refusal = host.durable_subscriptions.assign(name, subscriber)
    if refusal is not None:
        raise ConfigurationError([("queue", refusal.description)])
    user = f"user {subscriber.user}" if subscriber.user else "clients without a login"
    return (
        f"queue {name} is the subscription {subscriber.link} of container"
        f" {subscriber.container} for {user}"
    )
