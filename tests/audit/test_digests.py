"""Digests are those of the library, and copies do not cancel one another."""

import tracemalloc

import xxhash
from hypothesis import given
from hypothesis import strategies as st

from gateway.audit.digests import (
    COPIED_MAX,
    digest,
    digest_part,
    entry_mix,
    is_in_share,
)
from gateway.audit.schema import unsigned
from gateway.audit.shares import SHARES, share_of


@given(st.binary(max_size=100))
def test_a_digest_is_xxh3_in_twos_complement(octets: bytes):
    assert unsigned(digest(octets)) == xxhash.xxh3_64_intdigest(octets)


def test_neighbouring_copies_have_shares_that_do_not_cancel():
    shares = {entry_mix(message, position) for message in range(100) for position in range(100)}
    assert len(shares) == 10_000


@given(st.binary(max_size=100), st.integers(0, 100), st.integers(0, 100))
def test_that_of_a_part_is_that_of_the_part_alone(octets: bytes, one: int, other: int):
    start, end = sorted((min(one, len(octets)), min(other, len(octets))))
    assert digest_part(octets, start, end) == digest(octets[start:end])


def test_a_large_part_is_not_copied_for_it():
    octets = b"x" * (4 * 1024 * 1024)
    for size in (COPIED_MAX, COPIED_MAX + 1, len(octets) - 1):
        assert digest_part(octets, 1, 1 + size) == digest(octets[:size])
    tracemalloc.start()
    digest_part(octets, 1, len(octets))
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < COPIED_MAX


@given(st.binary(min_size=1, max_size=20), st.floats(1e-9, 1), st.floats(1e-9, 1))
def test_what_is_in_a_share_is_in_every_larger_one(id: bytes, one: float, other: float):
    smaller, larger = sorted((share_of(one), share_of(other)))
    assert is_in_share(digest(id), larger) or not is_in_share(digest(id), smaller)
    assert is_in_share(digest(id), SHARES)


def test_a_share_has_its_part_of_all_ids_and_nothing_without_one():
    ids = [digest(b"%d" % number) for number in range(10_000)]
    assert 900 < sum(is_in_share(each, share_of(0.1)) for each in ids) < 1100
    assert not is_in_share(0, SHARES - 1)
    assert is_in_share(0, share_of(1.0))
