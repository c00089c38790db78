"""Which rule of nodes is meant, by the name that an operator gives, and the rules with another."""

from __future__ import annotations

from gateway.config import Settings
from gateway.config.placement import matches
from gateway.errors import ConfigurationError


def rule_of(settings: Settings, name: str) -> int:
    """The number of the rule that is meant.

    Raises:
        ConfigurationError: none is, or more than one.
    """
    found = [
        at
        for at, node in enumerate(settings.nodes)
        if name in (f"nodes.{at}", node.pattern, f"{node.kind}:{node.pattern}")
    ]
    if not found:
        raise ConfigurationError(
            [("nodes", f"there is no rule {name!r}{_fitting(settings, name)}")]
        )
    if len(found) > 1:
        which = ", ".join(f"nodes.{at}" for at in found)
        raise ConfigurationError([("nodes", f"{name!r} is more than one rule: {which}")])
    return found[0]


def with_rule(settings: Settings, at: int, change: dict[str, object]) -> Settings:
    """The same with another rule."""
    nodes = [*settings.nodes]
    nodes[at] = nodes[at].model_copy(update=change)
    return settings.model_copy(update={"nodes": nodes})


def _fitting(settings: Settings, name: str) -> str:
    """Told of a name that is no rule's: by which rules a queue or an exchange of it would live."""
    rules: dict[str, str] = {}
    for at, node in enumerate(settings.nodes):
        if matches(node.pattern, name):
            rules.setdefault(node.kind, f"{node.kind}:{node.pattern} (nodes.{at})")
    return f"; the rule for that name is {' or '.join(rules.values())}" if rules else ""
