"""Shadows of queues, for an operator: what to begin, what to end, how many copies there were."""

from __future__ import annotations

from typing import Any, Final

from gateway.bridge.bridge import Bridge
from gateway.config.raw import validated
from gateway.config.upstreams import ShadowSection
from gateway.errors import ConfigurationError

KEYS: Final = ("upstream", "queue", "share", "max_size", "ttl")


def asked_shadow(asked: dict[str, Any]) -> ShadowSection | None:  # Any: what JSON holds
    """What a rule is to say of the shadow of its queues; `None`: that they have none.

    Raises:
        ConfigurationError: it is none of both.
    """
    if asked.get("stop") is True:
        return None
    given = {key: asked[key] for key in KEYS if asked.get(key) is not None}
    if "upstream" not in given:
        raise ConfigurationError([("upstream", "must be given, or stop: true")])
    made, problems = validated(ShadowSection, given)
    if problems:
        raise ConfigurationError(problems)
    return made


def shadow_copies(bridge: Bridge) -> dict[str, int]:
    """How many were put in line, and how many were not."""
    counts = bridge.counts
    return {"mirrored": counts.shadowed - counts.unshadowed, "dropped": counts.unshadowed}
