"""What decoded values take of memory, for the accounts: of a link's termini, of delivery states.

Text costs its octets, whatever is decoded a little for each value in it. Looking at all of it is
work; so only what is kept for longer than a turn is weighed.
"""

from __future__ import annotations

from typing import Final

from gateway.amqp_1_0._spec import (
    AnyTarget,
    DeliveryState,
    Modified,
    Rejected,
    Source,
    Target,
    TransactionalState,
)
from gateway.amqp_1_0.primitives.codes import Array, Described
from gateway.wire.accounts import VALUE, weigh
from gateway.wire.tagged import Tagged
from gateway.wire.work import LOOK, WORK

TAGGED: Final = VALUE + 8  # of a value with its type, and its place among others; pure 8 less


def weigh_value(value: object) -> int:
    """Octets that a value takes, a compound with all that is in it."""
    if isinstance(value, Tagged):
        inner = value.value
        return TAGGED if inner is None or isinstance(inner, bool) else TAGGED + weigh_value(inner)
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return weigh(value)
    octets = VALUE
    if isinstance(value, dict):
        WORK.units += LOOK * len(value)
        for key, each in value.items():
            octets += weigh(key) + weigh_value(each)
    elif isinstance(value, (list, tuple)):
        WORK.units += LOOK * len(value)
        for each in value:
            octets += weigh_value(each)
    elif isinstance(value, Described):
        octets += weigh_value(value.descriptor) + weigh_value(value.value)
    elif isinstance(value, Array):
        octets += weigh_value(value.items) + weigh_value(value.descriptors)
    else:
        octets = weigh(value)
    return octets


def weigh_state(state: DeliveryState | None) -> int:
    """Octets that a delivery state takes, or an outcome."""
    octets = VALUE
    if state is None:
        octets = 0
    elif isinstance(state, TransactionalState):
        octets += weigh(state.txn_id) + weigh_state(state.outcome)
    elif isinstance(state, Modified):
        octets += weigh_value(state.message_annotations)
    elif isinstance(state, Rejected) and state.error is not None:
        error = state.error
        octets += weigh(error.condition) + weigh(error.description) + weigh_value(error.info)
    return octets


def weigh_source(source: Source | None) -> int:
    """Octets that a source takes."""
    if source is None:
        return 0
    octets = weigh(source.address) + weigh(source.expiry_policy) + weigh(source.distribution_mode)
    octets += weigh_value(source.dynamic_node_properties) + weigh_value(source.filter)
    octets += weigh_value(source.outcomes) + weigh_value(source.capabilities)
    return octets + weigh_state(source.default_outcome)


def weigh_target(target: AnyTarget | None) -> int:
    """Octets that a target takes."""
    if target is None:
        return 0
    octets = weigh_value(target.capabilities)
    if isinstance(target, Target):
        octets += weigh(target.address) + weigh(target.expiry_policy)
        octets += weigh_value(target.dynamic_node_properties)
    return octets
