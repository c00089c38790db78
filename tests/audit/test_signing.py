"""Keys in PEM, and what they sign."""

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from support.keys import Key

from gateway.audit.seals import Head
from gateway.audit.signing import Signer, TrustedKeys

HEAD = Head("ab", 3, 10, 7, 1, "0" * 64)


def test_what_a_key_has_signed_is_signed_by_it_alone():
    key, other = Key(), Key()
    signed = key.sign(HEAD)
    assert signed._replace(key="", signature="") == HEAD
    assert key.trusted().signed(signed)
    assert not other.trusted().signed(signed)
    assert not key.trusted().signed(signed._replace(sequence=8))
    assert not other.trusted(key).signed(signed._replace(key=other.sign.key))


def test_a_head_that_is_not_signed_is_signed_by_nobody():
    assert not Key().trusted().signed(HEAD)
    assert not Key().trusted().trusts("")


def test_a_file_may_have_several_public_keys():
    keys = [Key(), Key()]
    trusted = TrustedKeys([keys[0].public + b"and\n" + keys[1].public])
    assert all(trusted.signed(each.sign(HEAD)) for each in keys)


def test_what_is_no_private_key_is_refused_with_the_reason():
    encrypted = Ed25519PrivateKey.generate().private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret")
    )
    other = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
    )
    for pem, problem in (
        (b"", "there is no private key in it"),
        (Key().public, "there is no private key in it"),
        (encrypted, "the key is encrypted"),
        (other, "it is no key of Ed25519"),
    ):
        with pytest.raises(ValueError, match=problem):
            Signer(pem)


def test_what_is_no_public_key_is_refused_with_the_reason():
    other = (
        ec.generate_private_key(ec.SECP256R1())
        .public_key()
        .public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    broken = b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"
    for pem, problem in (
        (b"", "there is no public key in it"),
        (Key().private, "there is no public key in it"),
        (broken, "cannot be read"),
        (other, "is not of Ed25519"),
    ):
        with pytest.raises(ValueError, match=problem):
            TrustedKeys([pem])
