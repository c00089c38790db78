"""Which nodes of a virtual host are an upstream's, as far as faces treat them differently.

An upstream may be able to do what the bridge does not: apply a selector.
"""

from __future__ import annotations

from typing import Final

from gateway.bridge.host import VirtualHost
from gateway.wire.tagged import Tagged

# Arguments of 0-10 commands, by the two names that clients use; a binding has the latter.
SELECTOR: Final = "x-apache-selector"
JMS_SELECTOR: Final = "x-filter-jms-selector"
X_MATCH: Final = "x-match"


def is_remote_queue(host: VirtualHost, name: str) -> bool:
    """Whether the queue `name` exists, and is a node of an upstream."""
    queue = host.topology.find_queue(name)
    return queue is not None and queue.placement is not None


def is_remote_exchange(host: VirtualHost, name: str) -> bool:
    """The same of an exchange."""
    exchange = host.topology.find_exchange(name)
    return exchange is not None and exchange.placement is not None


def selector_of(arguments: dict[str, Tagged]) -> str:
    """The selector among a binding's arguments; "" without one."""
    for name in (SELECTOR, JMS_SELECTOR):
        tagged = arguments.get(name)
        if tagged is not None and isinstance(tagged.value, str):
            return tagged.value
    return ""


def matches_headers(arguments: dict[str, Tagged]) -> bool:
    """Whether a binding of a headers exchange wants anything of a message's headers."""
    match = arguments.get(X_MATCH)
    if match is not None and match.value == "any":
        return True
    return any([not name.startswith("x-") for name in arguments])
