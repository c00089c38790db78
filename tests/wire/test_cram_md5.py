"""CRAM-MD5, by the example of RFC 2195 and with what is no message of it."""

import hmac

import pytest

from gateway.errors import LocalProtocolError
from gateway.wire.cram_md5 import (
    CRAM_MD5,
    CRAM_MD5_HASHED,
    CRAM_SECRET,
    CramProof,
    CramServer,
    cram_secret,
)
from gateway.wire.sasl import StepKind

SECRET = cram_secret(CRAM_MD5, "tanstaaftanstaaf")


def begun(told: list[tuple[str, str]] | None = None) -> CramServer:
    heard = [] if told is None else told
    server = CramServer(
        CRAM_MD5, nonce="n0nce", host="here", told=lambda name, why: heard.append((name, why))
    )
    step = server.respond(None)
    assert (step.kind, step.octets) == (StepKind.CHALLENGE, b"<n0nce@here>")
    return server


def test_the_digest_of_the_rfcs_example_matches() -> None:
    challenge = b"<1896.697170952@postoffice.reston.mci.net>"
    assert CramProof(challenge, b"b913a602c7eda7a495b4e6e7334d3890").matches(SECRET)
    assert not CramProof(challenge, b"b913a602c7eda7a495b4e6e7334d3891").matches(SECRET)
    assert not CramProof(b"<another>", b"b913a602c7eda7a495b4e6e7334d3890").matches(SECRET)


def test_what_is_kept_is_not_the_password() -> None:
    assert len(SECRET) == CRAM_SECRET
    assert b"tanstaaf" not in SECRET


def test_a_hashed_password_is_the_key_as_java_spells_it() -> None:
    """md5("secret") begins with 5e be 22: characters 005e ffbe 0022 in Java."""
    key = bytes.fromhex("5e" + "efbebe" + "22" + "efbe94")
    spelled = key + b"".join(
        chr(each if each < 128 else 0xFF00 + each).encode()
        for each in bytes.fromhex("5ebe2294ecd0e0f08eab7690d2a6ee69")[4:]
    )
    digest = hmac.digest(spelled, b"<c>", "md5").hex().encode()
    assert CramProof(b"<c>", digest).matches(cram_secret(CRAM_MD5_HASHED, "secret"))
    assert not CramProof(b"<c>", digest).matches(cram_secret(CRAM_MD5, "secret"))


def test_an_answer_is_verified_and_the_verdict_is_the_end() -> None:
    for granted, kind in ((True, StepKind.GRANTED), (False, StepKind.DENIED)):
        server = begun()
        digest = hmac.digest(b"tanstaaftanstaaf", b"<n0nce@here>", "md5").hex()
        step = server.respond(f"t\u00efm of old {digest}".encode())
        assert step.kind == StepKind.VERIFY
        assert step.credentials is not None
        assert step.credentials.username == "t\u00efm of old"
        assert step.credentials.mechanism == CRAM_MD5
        assert step.credentials.proof is not None
        assert step.credentials.proof.matches(SECRET)
        assert server.resolve(granted).kind == kind


@pytest.mark.parametrize(
    "response",
    [
        None,
        b"",
        b"tim",
        b"tim ",
        b" " + b"0" * 32,
        b"0" * 32,
        b"tim " + b"0" * 31,
        b"tim " + b"0" * 33,
        b"tim " + b"F" * 32,
        b"tim " + b"g" * 32,
        b"t\0m " + b"0" * 32,
        b"\xff " + b"0" * 32,
        b"t" * 5000 + b" " + b"0" * 32,
    ],
)
def test_what_is_no_answer_is_denied_unasked_and_told(response: bytes | None) -> None:
    told: list[tuple[str, str]] = []
    assert begun(told).respond(response).kind == StepKind.DENIED
    assert [why for _, why in told] == ["what came is no message of that mechanism"]


def test_a_client_does_not_begin() -> None:
    server = CramServer(CRAM_MD5, nonce="n", host="here")
    assert server.respond(b"tim " + b"0" * 32).kind == StepKind.DENIED


def test_there_is_one_answer_to_a_challenge() -> None:
    server = begun()
    assert server.respond(b"tim " + b"0" * 32).kind == StepKind.VERIFY
    assert server.respond(b"tim " + b"0" * 32).kind == StepKind.DENIED


def test_a_challenge_has_a_nonce() -> None:
    with pytest.raises(LocalProtocolError):
        CramServer(CRAM_MD5, nonce="", host="here")
