"""Hypothesis strategies for AMQP 1.0 values and composites.

Each is made once: hypothesis looks at one that it has not seen, and that takes longer than to draw.
"""

from __future__ import annotations

from functools import cache

from hypothesis import strategies as st

from gateway.amqp_1_0 import types
from gateway.codegen.amqp_1_0_tables import COMPOSITES, Composite
from gateway.wire.tagged import Tagged

CHARACTERS = st.characters(exclude_categories=["Cs"])
TEXT = st.text(CHARACTERS, max_size=300)
SYMBOLS = st.text(st.characters(max_codepoint=127), max_size=40)
UINT = st.one_of(st.integers(0, 300), st.integers(0, 2**32 - 1))

SCALARS = {
    types.NULL: st.none(),
    types.BOOLEAN: st.booleans(),
    **{
        code: st.one_of(
            st.integers(-1, 1).filter(lambda n, low=low: n >= low), st.integers(low, high)
        )
        for code, (low, high) in types.RANGES.items()
    },
    types.FLOAT: st.floats(width=32, allow_nan=False),
    types.DOUBLE: st.floats(allow_nan=False),
    **{code: st.binary(min_size=n, max_size=n) for code, n in types.WIDTHS.items()},
    types.CHAR: CHARACTERS,
    types.BINARY: st.binary(max_size=300),
    types.STRING: TEXT,
    types.SYMBOL: SYMBOLS,
}


@cache
def scalar(code: int) -> st.SearchStrategy[Tagged]:
    return SCALARS[code].map(lambda value: Tagged(code, value))


scalars = st.sampled_from(sorted(SCALARS)).flatmap(scalar)


def _distinct(pairs: list[tuple[Tagged, Tagged]]) -> list[tuple[Tagged, Tagged]]:
    seen = {}
    for key, value in pairs:
        seen.setdefault(types.to_bytes(key), (key, value))
    return list(seen.values())


_KEYS = st.one_of(
    SYMBOLS.map(lambda s: Tagged(types.SYMBOL, s)),
    TEXT.map(lambda s: Tagged(types.STRING, s)),
    st.integers(0, 2**64 - 1).map(lambda n: Tagged(types.ULONG, n)),
)


def _arrays(inner: st.SearchStrategy[Tagged]) -> st.SearchStrategy[types.Array]:
    descriptors = st.lists(_KEYS, max_size=2)

    @cache
    def of(code: int) -> st.SearchStrategy[types.Array]:
        return st.builds(
            types.Array, st.just(code), st.lists(SCALARS[code], max_size=6), descriptors
        )

    of_scalars = st.sampled_from(sorted(SCALARS)).flatmap(of)
    of_lists = st.builds(
        types.Array,
        st.just(types.LIST),
        st.lists(st.lists(inner, max_size=3), max_size=3),
        descriptors,
    )
    of_maps = st.builds(
        types.Array,
        st.just(types.MAP),
        st.lists(st.lists(st.tuples(_KEYS, inner), max_size=3).map(_distinct), max_size=3),
    )
    of_arrays = st.builds(types.Array, st.just(types.ARRAY), st.lists(of_scalars, max_size=3))
    return st.one_of(of_scalars, of_lists, of_maps, of_arrays)


def _compounds(inner: st.SearchStrategy[Tagged]) -> st.SearchStrategy[Tagged]:
    return st.one_of(
        st.lists(inner, max_size=5).map(lambda items: Tagged(types.LIST, items)),
        st.lists(st.tuples(_KEYS, inner), max_size=4).map(
            lambda pairs: Tagged(types.MAP, _distinct(pairs))
        ),
        _arrays(inner).map(lambda array: Tagged(types.ARRAY, array)),
        st.tuples(_KEYS, inner).map(lambda d: Tagged(types.DESCRIBED, types.Described(*d))),
    )


values = st.recursive(scalars, _compounds, max_leaves=12)
fields = st.dictionaries(SYMBOLS, values, max_size=3)


def _archetype(name: str) -> list[Composite]:
    return [c for c in COMPOSITES if name in c.archetypes]


def _any_of(name: str) -> st.SearchStrategy[object]:
    return st.deferred(lambda: st.one_of([composite(c) for c in _archetype(name)]))


KINDS: dict[str, st.SearchStrategy[object]] = {
    "boolean": st.booleans(),
    "ubyte": st.integers(0, 255),
    "ushort": st.integers(0, 65535),
    "uint": UINT,
    "ulong": st.one_of(UINT, st.integers(0, 2**64 - 1)),
    "timestamp": st.integers(-(2**63), 2**63 - 1),
    "binary": st.binary(max_size=300),
    "string": TEXT,
    "symbol": SYMBOLS,
    "symbols": st.lists(SYMBOLS, min_size=1, max_size=4),
    "fields": fields,
    "value": values.filter(lambda value: value.code != types.NULL),
    "message-id": st.sampled_from([types.ULONG, types.UUID, types.BINARY, types.STRING]).flatmap(
        scalar
    ),
    "tag": st.binary(max_size=32),
    "txn-id": st.binary(max_size=32),
    "sender-settle-mode": st.integers(0, 2),
    "receiver-settle-mode": st.integers(0, 1),
    "sasl-code": st.integers(0, 4),
    "terminus-durability": st.integers(0, 2),
    "error": _any_of("error"),
    "source": _any_of("source"),
    "target": _any_of("target"),
    "delivery-state": _any_of("delivery-state"),
    "outcome": _any_of("outcome"),
    "unsettled": st.dictionaries(
        st.binary(max_size=32), st.one_of(st.none(), _any_of("delivery-state")), max_size=3
    ),
}


@cache
def composite(described: Composite) -> st.SearchStrategy[object]:
    """Values of one generated class."""
    from gateway.amqp_1_0 import _spec
    from gateway.codegen.amqp_1_0 import pascal, snake

    arguments = {
        snake(f.name): KINDS[f.type] if f.mandatory else st.one_of(st.none(), KINDS[f.type])
        for f in described.fields
    }
    made = getattr(_spec, pascal(described.name))
    return st.fixed_dictionaries(arguments).map(lambda values: made(**values))
