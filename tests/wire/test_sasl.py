import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rules import rule

from gateway.wire import sasl
from gateway.wire.sasl import StepKind


def start(name, response):
    mechanism = sasl.server_mechanism(name)
    return mechanism, mechanism.respond(response)


def test_plain_shows_its_credentials_and_waits_for_the_answer():
    mechanism, step = start("PLAIN", b"\0user\0pass")
    assert step.kind == StepKind.VERIFY
    assert step.credentials == sasl.Credentials("PLAIN", username="user", password="pass")
    assert mechanism.resolve(True).kind == StepKind.GRANTED
    assert mechanism.resolve(False).kind == StepKind.DENIED


def test_plain_may_ask_to_act_as_another():
    _, step = start("PLAIN", "boss\0us\u00e9r\0p\u00e4ss".encode())
    assert step.credentials.authorization == "boss"
    assert step.credentials.username == "us\u00e9r"


@pytest.mark.parametrize(
    "response",
    [b"", b"user", b"\0user", b"\0\0pass", b"\0u\0p\0x", b"\0\xff\0p", b"\0u\0" + b"p" * 5000],
)
def test_malformed_plain_is_denied_unasked(response):
    assert start("PLAIN", response)[1].kind == StepKind.DENIED


@pytest.mark.parametrize("name", ["PLAIN", "EXTERNAL"])
def test_a_mechanism_that_needs_a_response_asks_for_it(name):
    mechanism, step = start(name, None)
    assert (step.kind, step.octets) == (StepKind.CHALLENGE, b"")
    assert mechanism.respond(b"\0u\0p").kind == StepKind.VERIFY


@pytest.mark.parametrize("response", [None, b"", b"someone@somewhere", b"\xff"])
def test_anonymous_takes_anything(response):
    _, step = start("ANONYMOUS", response)
    assert step.kind == StepKind.VERIFY
    assert step.credentials.mechanism == "ANONYMOUS"


def test_external_may_name_an_identity():
    assert start("EXTERNAL", b"cn")[1].credentials.username == "cn"
    assert start("EXTERNAL", b"")[1].credentials.username == ""
    assert start("EXTERNAL", b"\xff")[1].kind == StepKind.DENIED


def test_there_is_no_mechanism_of_another_name():
    assert sasl.server_mechanism("GSSAPI") is None


@rule("1.0", "5.3.2", "one-of-them-is-chosen")
def test_a_client_chooses_by_its_own_preference():
    able = [sasl.plain("u", "p"), sasl.anonymous()]
    assert sasl.choose(["ANONYMOUS", "PLAIN"], able) is able[0]
    assert sasl.choose(["ANONYMOUS"], able) is able[1]
    assert sasl.choose(["GSSAPI"], able) is None


@given(st.text(max_size=50), st.text(min_size=1, max_size=50), st.text(max_size=50))
def test_what_a_plain_client_says_a_plain_server_hears(authorization, username, password):
    if "\0" in authorization + username + password:
        return
    client = sasl.plain(username, password, authorization)
    _, step = start("PLAIN", client.initial())
    assert step.credentials == sasl.Credentials(
        "PLAIN", username=username, password=password, authorization=authorization
    )


@pytest.mark.parametrize("client", [sasl.plain("u", "p"), sasl.anonymous(), sasl.external("me")])
def test_a_client_answers_a_challenge_with_what_it_would_have_said_at_first(client):
    assert client.respond(b"") == client.initial()


@pytest.mark.parametrize("client", [sasl.plain("u", "p"), sasl.anonymous(), sasl.external("me")])
def test_a_client_of_one_message_believes_the_outcome(client):
    assert client.complete(None)
    assert client.complete(b"whatever")
    assert client.problem() == ""
