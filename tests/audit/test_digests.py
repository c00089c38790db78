"""Digests are those of the library, and copies do not cancel one another."""

import xxhash
from hypothesis import given
from hypothesis import strategies as st

from gateway.audit.digests import digest, entry_mix
from gateway.audit.schema import unsigned


@given(st.binary(max_size=100))
def test_a_digest_is_xxh3_in_twos_complement(octets: bytes):
    assert unsigned(digest(octets)) == xxhash.xxh3_64_intdigest(octets)


def test_neighbouring_copies_have_shares_that_do_not_cancel():
    shares = {entry_mix(message, position) for message in range(100) for position in range(100)}
    assert len(shares) == 10_000
