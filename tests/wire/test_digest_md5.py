"""DIGEST-MD5, by the example of RFC 2831 and with what is no answer to a challenge."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.digest_client import digest_response

from gateway.errors import LocalProtocolError
from gateway.wire.digest_md5 import DigestProof, DigestServer, digest_secret
from gateway.wire.sasl import StepKind

NONCE = "OA6MG9tEQGm2hh"
SECRET = digest_secret("chris", "QPID", "secret")


def begun(
    *hosts: str, told: list[tuple[str, str]] | None = None, realm: str = "QPID"
) -> DigestServer:
    heard = [] if told is None else told
    server = DigestServer(
        nonce=NONCE,
        realm=realm,
        hosts=frozenset(hosts),
        told=lambda name, why: heard.append((name, why)),
    )
    step = server.respond(None)
    assert step.kind == StepKind.CHALLENGE
    assert step.octets == (
        f'realm="{realm}",nonce="{NONCE}",qop="auth",charset=utf-8,algorithm=md5-sess'.encode()
    )
    return server


def answer(**changes: str | None) -> bytes:
    return digest_response("chris", "secret", **{"nonce": NONCE, **changes})


def test_the_digests_of_the_rfcs_example_are_ours() -> None:
    proof = DigestProof(
        {
            b"nonce": b"OA6MG9tEQGm2hh",
            b"cnonce": b"OA6MHXh6VqTrRk",
            b"nc": b"00000001",
            b"digest-uri": b"imap/elwood.innosoft.com",
            b"response": b"d388dad90d4bbd760a152321f2143af7",
        }
    )
    assert proof.matches(digest_secret("chris", "elwood.innosoft.com", "secret"))
    assert proof.answer == b"rspauth=ea40f60335c427b5527b84dbabcdfffd"
    assert not proof.matches(digest_secret("chris", "elwood.innosoft.com", "Secret"))


def test_a_right_answer_is_verified_and_answered_with_our_own_proof() -> None:
    server = begun()
    step = server.respond(answer())
    assert step.kind == StepKind.VERIFY
    assert step.credentials is not None and step.credentials.proof is not None
    assert (step.credentials.username, step.credentials.authorization) == ("chris", "")
    assert step.credentials.proof.matches(SECRET)
    granted = server.resolve(True)
    assert granted.kind == StepKind.GRANTED
    assert granted.octets.startswith(b"rspauth=")
    other = begun()
    other.respond(answer(response="0" * 32))
    assert other.resolve(False).kind == StepKind.DENIED


@pytest.mark.parametrize(
    "changes",
    [
        {"qop": None},
        {"charset": None},
        {"authzid": "chris"},
        {"digest-uri": "QPIDD/here/there"},
        {"maxbuf": "65536", "cipher": "rc4", "unheard": "of"},
    ],
)
def test_what_need_not_be_there_is_not_missed_and_what_may_be_counts(
    changes: dict[str, str | None],
) -> None:
    step = begun().respond(answer(**changes))
    assert step.credentials is not None and step.credentials.proof is not None
    assert step.credentials.proof.matches(SECRET)
    assert step.credentials.authorization == (changes.get("authzid") or "")


@pytest.mark.parametrize(
    ("name", "charset"), [("m\u00fcller", None), ("m\u00fcller", "utf-8"), ("\u03bb", "utf-8")]
)
def test_one_secret_does_for_clients_of_either_encoding(name: str, charset: str | None) -> None:
    octets = digest_response(name, "p\u00e4ss", nonce=NONCE, charset=charset)
    step = begun().respond(octets)
    assert step.credentials is not None and step.credentials.proof is not None
    assert step.credentials.username == name
    assert step.credentials.proof.matches(digest_secret(name, "QPID", "p\u00e4ss"))


def test_a_name_in_utf_8_is_read_also_where_the_client_does_not_say_so() -> None:
    octets = digest_response("m\u00fcller", "x", nonce=NONCE)
    step = begun().respond(octets.replace(b",charset=utf-8", b""))
    assert step.credentials is not None and step.credentials.proof is not None
    assert step.credentials.username == "m\u00fcller"
    assert step.credentials.proof.matches(digest_secret("m\u00fcller", "QPID", "x"))


@pytest.mark.parametrize(
    "changes",
    [
        {"username": None},
        {"username": ""},
        {"username": "a\0b"},
        {"nonce": None},
        {"nonce": "of-another-challenge"},
        {"cnonce": None},
        {"cnonce": ""},
        {"nc": "00000002"},
        {"nc": None},
        {"realm": "ELSEWHERE"},
        {"realm": None},
        {"qop": "auth-int"},
        {"qop": "auth-conf"},
        {"charset": "latin-1"},
        {"digest-uri": None},
        {"digest-uri": "imap/here"},
        {"digest-uri": "amqp"},
        {"digest-uri": "amqp/"},
        {"response": None},
        {"response": "0" * 31},
        {"response": "G" * 32},
        {"response": "A" * 32},
    ],
)
def test_what_does_not_answer_the_challenge_is_denied_unasked_and_told(
    changes: dict[str, str | None],
) -> None:
    told: list[tuple[str, str]] = []
    assert begun(told=told).respond(answer(**changes)).kind == StepKind.DENIED
    assert [why for _, why in told] == ["what came is no message of that mechanism"]


@pytest.mark.parametrize(
    "octets",
    [
        None,
        b"",
        b"=",
        b"username",
        b'username="chris',
        b'username="chris"x',
        b'username="chris\\',
        b"a=1,a=2",
        b"x" * 4096,
        b'username="\xff",charset=utf-8',
    ],
)
def test_what_is_no_list_of_directives_is_denied_unasked(octets: bytes | None) -> None:
    assert begun().respond(octets).kind == StepKind.DENIED


def test_a_directive_that_comes_twice_is_denied() -> None:
    assert begun().respond(answer() + b',username="root"').kind == StepKind.DENIED


def test_the_name_of_the_server_counts_where_it_has_one() -> None:
    uri = {"digest-uri": "amqp/Gateway.Example."}
    assert begun("gateway.example").respond(answer(**uri)).kind == StepKind.VERIFY
    assert begun("other.example").respond(answer(**uri)).kind == StepKind.DENIED


def test_an_answer_is_good_for_one_challenge_and_once() -> None:
    first = begun()
    octets = answer()
    assert first.respond(octets).kind == StepKind.VERIFY
    assert first.respond(octets).kind == StepKind.DENIED
    second = DigestServer(nonce="another", realm="QPID", hosts=frozenset())
    second.respond(None)
    assert second.respond(octets).kind == StepKind.DENIED


def test_who_would_go_on_with_an_earlier_login_is_told_that_it_is_stale() -> None:
    server = DigestServer(nonce="another", realm="QPID", hosts=frozenset())
    step = server.respond(answer(nc="00000002"))
    assert step.kind == StepKind.CHALLENGE
    assert b",stale=true," in step.octets
    fresh = digest_response("chris", "secret", nonce="another")
    assert server.respond(fresh).kind == StepKind.VERIFY


@given(st.binary(max_size=300))
def test_any_octets_are_an_answer_or_none(octets: bytes) -> None:
    step = begun().respond(octets)
    assert step.kind == StepKind.DENIED


@pytest.mark.parametrize(("nonce", "realm"), [("", "R"), ('"', "R"), ("n", '"'), ("n", "\u00fc")])
def test_what_cannot_stand_in_a_challenge_is_an_error_of_ours(nonce: str, realm: str) -> None:
    with pytest.raises(LocalProtocolError):
        DigestServer(nonce=nonce, realm=realm, hosts=frozenset())
