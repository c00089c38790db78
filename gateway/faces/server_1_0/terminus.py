"""What is answered to an attach, the same for the sources and the targets of 1.0 clients."""

from __future__ import annotations

from typing import Final

from gateway.amqp_1_0 import _spec
from gateway.amqp_1_0._spec import Attach, Source, Target
from gateway.amqp_1_0.primitives.fields import Fields
from gateway.faces.arguments.of_nodes import wish_of
from gateway.message import Refusal
from gateway.translate.addresses import Capability, capability_of

OF_QUEUES: Final = frozenset(("queue", "temporary-queue"))
OFFERED: Final = OF_QUEUES | {"topic", "temporary-topic"}


def snd_settle_mode(attach: Attach) -> int:
    """The client's, or mixed."""
    return _spec.SND_MIXED if attach.snd_settle_mode is None else attach.snd_settle_mode


def granted(asked: list[str], *, queue: bool = True) -> list[str] | None:
    """Those of the capabilities asked for that a terminus has; `None` for none.

    `queue`: its node may be one.
    """
    offered = OFFERED if queue else OFFERED - OF_QUEUES
    return [capability for capability in asked if capability in offered] or None


def made_by(terminus: Source | Target) -> Fields:
    """The dynamic-node-properties of a node that was made for a terminus."""
    topic = capability_of(terminus.capabilities or []) == Capability.TOPIC
    wish = wish_of(terminus.dynamic_node_properties, topic=topic)
    assert not isinstance(wish, Refusal)
    return wish.in_place(terminus.dynamic_node_properties or {})
