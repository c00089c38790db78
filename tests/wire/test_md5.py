"""HMAC-MD5 from states that are kept: the same as from the key."""

import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.wire.md5 import hmac_of, hmac_states


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_the_states_do_for_every_message_what_the_key_does(key: bytes, message: bytes) -> None:
    assert hmac_of(hmac_states(key), message) == hmac.digest(key, message, "md5")


@pytest.mark.parametrize("octets", [55, 56, 63, 64, 65, 119, 120, 128])
def test_padding_is_right_at_the_end_of_each_block(octets: int) -> None:
    message = b"m" * octets
    assert hmac_of(hmac_states(b"k"), message) == hmac.digest(b"k", message, "md5")


def test_a_long_key_is_kept_as_its_digest() -> None:
    key = b"k" * 65
    assert hmac_states(key) == hmac_states(hashlib.md5(key).digest()) != hmac_states(key[:64])
