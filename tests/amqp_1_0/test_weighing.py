"""What decoded values are priced at: never less than they take, and not much more."""

import tracemalloc

import pytest

from gateway.amqp_1_0 import types
from gateway.amqp_1_0._spec import (
    Coordinator,
    Error,
    Modified,
    Rejected,
    Source,
    Target,
    TransactionalState,
)
from gateway.amqp_1_0.weighing import weigh_source, weigh_state, weigh_target, weigh_value
from gateway.wire.tagged import Tagged

COUNT = 2000
NULL = Tagged(types.NULL, None)


def described(depth: int) -> Tagged:
    value = NULL
    for _ in range(depth):
        value = Tagged(types.DESCRIBED, types.Described(Tagged(types.ULONG, 2**40), value))
    return value


VALUES = {
    "nulls": Tagged(types.LIST, [NULL] * COUNT),
    "numbers": Tagged(types.LIST, [Tagged(types.ULONG, 2**62 + n) for n in range(COUNT)]),
    "texts": Tagged(types.LIST, [Tagged(types.STRING, f"text {n}") for n in range(COUNT)]),
    "map": Tagged(types.MAP, [(Tagged(types.INT, n), NULL) for n in range(COUNT)]),
    "lists": Tagged(types.LIST, [Tagged(types.LIST, []) for _ in range(COUNT)]),
    "described": Tagged(types.LIST, [described(10) for _ in range(COUNT // 10)]),
    "array": Tagged(types.ARRAY, types.Array(types.LONG, [2**40 + n for n in range(COUNT)])),
    "text": Tagged(types.STRING, "x" * 100_000),
    "wide": Tagged(types.STRING, "x" * 100_000 + chr(0x1F600)),
    "octets": Tagged(types.BINARY, b"x" * 100_000),
}


@pytest.mark.parametrize("name", list(VALUES))
def test_a_value_is_priced_at_what_it_takes_and_a_little(name: str) -> None:
    octets = types.to_bytes(VALUES[name])
    types.from_bytes(octets)
    tracemalloc.start()
    value = types.from_bytes(octets)
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert taken <= weigh_value(value) <= 4 * taken


def test_a_state_is_priced_by_what_was_said_with_it() -> None:
    assert weigh_state(None) == 0
    assert weigh_state(Modified()) < 200
    assert weigh_state(TransactionalState(txn_id=b"1" * 100)) > 100
    annotations = {"a": VALUES["text"]}
    assert weigh_state(Modified(message_annotations=annotations)) > 100_000
    error = Error(condition="c", description="d" * 1000, info=annotations)
    rejected = TransactionalState(txn_id=b"1", outcome=Rejected(error=error))
    assert weigh_state(rejected) > 101_000


def test_a_terminus_is_priced_by_all_that_is_in_it() -> None:
    assert weigh_source(None) == weigh_target(None) == 0
    large = {"a": VALUES["text"]}
    full = Source(
        address="x" * 1000,
        dynamic_node_properties=large,
        filter=large,
        default_outcome=Modified(message_annotations=large),
        outcomes=["y" * 1000],
        capabilities=["z" * 1000],
    )
    assert 303_000 < weigh_source(full) < 310_000
    target = Target(address="x" * 1000, dynamic_node_properties=large, capabilities=["z" * 1000])
    assert 102_000 < weigh_target(target) < 105_000
    assert weigh_target(Coordinator(capabilities=["z" * 1000])) > 1000
