"""The filters that our receivers ask for, and whether an attach reply has them in place (3.5.8)."""

from __future__ import annotations

import hashlib
from typing import Final

from gateway.amqp_1_0 import _spec, types
from gateway.amqp_1_0.primitives.fields import Fields
from gateway.bridge.exchanges.exchange import TOPIC
from gateway.faces.source_filters import selects
from gateway.wire.tagged import Tagged

SELECTOR: Final = "apache.org:selector-filter:string"
DIRECT_BINDING: Final = "apache.org:legacy-amqp-direct-binding:string"
TOPIC_BINDING: Final = "apache.org:legacy-amqp-topic-binding:string"
COPY: Final = "copy"
NEVER: Final = "never"
# Of a source, as JMS clients say it, whose mapping brokers know: its name is not the container's
# alone; several may read it together.
GLOBAL: Final = "global"
SHARED: Final = ["shared", GLOBAL]
NAME_MAX: Final = 120


def selector_filter(selector: str) -> Fields | None:
    """The filter set of a receiver with that selector; `None` without one."""
    if not selector:
        return None
    return {SELECTOR: _described(_spec.SELECTOR_FILTER_CODE, selector)}


def binding_filter(key: str, *, topic: bool) -> Fields:
    """The filter set of a subscription to an exchange with that binding key."""
    if topic:
        return {TOPIC_BINDING: _described(_spec.LEGACY_AMQP_TOPIC_BINDING_CODE, key)}
    return {DIRECT_BINDING: _described(_spec.LEGACY_AMQP_DIRECT_BINDING_CODE, key)}


def shared_name(group: str, *parts: str) -> str:
    """The link name of a subscription that is the same from all gateways of a group.

    `parts`: what tells it from others; the first is told. Behind a "|" JMS clients tell links of
    one subscription apart, so there is none in it.
    """
    told = f"{group}.{parts[0]}".replace("|", "_")[:NAME_MAX]
    whole = "\0".join((group, *parts)).encode()
    return f"{told}.{hashlib.sha256(whole).hexdigest()[:16]}"


def _described(code: int, text: str) -> Tagged:
    value = types.Described(Tagged(types.ULONG, code), Tagged(types.STRING, text))
    return Tagged(types.DESCRIBED, value)


def filters_of_binding(key: str, kind: str, selector: str) -> Fields | None:
    """The filter set of a subscription; `kind`: "" where the key is in its address already."""
    filters = selector_filter(selector) or {}
    if kind:
        filters.update(binding_filter(key, topic=kind == TOPIC))
    return filters or None


def selector_in_place(source: _spec.Source | None) -> bool:
    """Whether the peer applies the selector that was asked for."""
    return source is not None and selects(source.filter)


def binding_in_place(source: _spec.Source | None, asked: Fields) -> bool:
    """Whether the peer applies the filters that a subscription asked for."""
    if source is None or source.filter is None:
        return False
    for name in asked:
        if name == SELECTOR and selector_in_place(source):
            continue
        found = source.filter.get(name)
        if found is None or found.code == types.NULL:
            return False
    return True
