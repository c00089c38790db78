"""GSSAPI, the server's side, around a context that says what the test wants."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.wire.gssapi_server import (
    EXCHANGE,
    TOKEN_MAX,
    GssapiInput,
    GssapiRefusedError,
    GssapiServer,
    GssapiState,
)
from gateway.wire.sasl import Step, StepKind

ALICE = "alice@EXAMPLE"


class Context:
    """Takes the tokens b"1" to as many as `tokens`; wraps by brackets."""

    def __init__(self, *, tokens: int = 1, last: bytes = b"last", wraps: bool = True) -> None:
        self.tokens = tokens
        self.last = last
        self.wraps = wraps
        self.taken: list[bytes] = []
        self.named = True

    def accept(self, token: bytes) -> bytes:
        if token != b"%d" % (len(self.taken) + 1):
            raise GssapiRefusedError("a token that will not do")
        self.taken.append(token)
        return self.last if self.complete() else b"more"

    def complete(self) -> bool:
        return len(self.taken) == self.tokens

    def initiator(self) -> str:
        if not self.named:
            raise GssapiRefusedError("nobody")
        return ALICE

    def wrap(self, octets: bytes) -> bytes:
        if not self.wraps:
            raise GssapiRefusedError("no context")
        return b"<" + octets + b">"

    def unwrap(self, octets: bytes) -> bytes:
        if octets[:1] != b"<" or octets[-1:] != b">":
            raise GssapiRefusedError("not wrapped")
        return octets[1:-1]


OFFER = b"<\x01\0\0\0>"


class Talk:
    """A server, and what it has told of failures."""

    def __init__(self, context: Context | None = None) -> None:
        self.told: list[tuple[str, str]] = []
        self.context = context or Context()
        self.server = GssapiServer(self.context, lambda name, why: self.told.append((name, why)))

    def say(self, response: bytes | None, *, ran: bool = True) -> Step:
        """What the server does next; what is to be run for it has been."""
        step = self.server.respond(response)
        task = None if step.credentials is None else step.credentials.task
        if step.kind != StepKind.VERIFY or task is None:
            return step
        if ran:
            task()
        return self.server.resolve(ran)

    def until_offered(self) -> Step:
        self.say(b"1")
        return self.say(b"")


def test_a_client_gets_its_token_then_the_offer_of_no_layer_and_is_named() -> None:
    talk = Talk()
    assert talk.say(b"1").octets == b"last"
    assert talk.say(None).octets == OFFER
    step = talk.say(b"<\x01\0\0\0>")
    assert step.kind == StepKind.VERIFY
    assert step.credentials is not None
    assert step.credentials.task is None
    assert (step.credentials.username, step.credentials.authorization) == (ALICE, "")
    assert talk.server.resolve(True).kind == StepKind.GRANTED
    assert talk.told == []


def test_a_client_without_an_initial_response_is_asked_once() -> None:
    talk = Talk()
    assert talk.say(None).octets == b""
    assert talk.say(b"1").octets == b"last"
    again = Talk()
    again.say(b"")
    assert again.say(b"").kind == StepKind.DENIED


def test_tokens_go_on_until_there_is_a_context() -> None:
    talk = Talk(Context(tokens=3))
    assert [talk.say(b"%d" % each).octets for each in (1, 2, 3)] == [b"more", b"more", b"last"]
    assert talk.say(b"").octets == OFFER


def test_without_a_last_token_the_offer_comes_at_once() -> None:
    assert Talk(Context(last=b"")).say(b"1").octets == OFFER


def test_a_client_may_say_whom_it_acts_for_and_is_not_believed_for_that() -> None:
    talk = Talk()
    talk.until_offered()
    step = talk.say("<\x01\x00\x10\x00r\u00f6\u00f6t>".encode())
    assert step.credentials is not None
    assert step.credentials.authorization == "r\u00f6\u00f6t"
    assert talk.server.resolve(False).kind == StepKind.DENIED
    assert talk.server.resolve(True).kind == StepKind.DENIED


@pytest.mark.parametrize(
    ("choice", "why"),
    [
        (b"<\x02\0\0\0>", "it asks for a security layer"),
        (b"<\x04\0\xff\xffalice>", "it asks for a security layer"),
        (b"<\x05\0\0\0>", "it asks for a security layer"),
        (b"<\0\0\0\0>", "it asks for a security layer"),
        (b"<\x01\0\0>", "it asks for a security layer"),
        (b"<\x01\0\0\0\xff>", "what came is no message of that mechanism"),
        (b"\x01\0\0\0", "not wrapped"),
        (b"", "not wrapped"),
    ],
)
def test_a_choice_that_will_not_do_fails_and_is_told_with_the_name(choice: bytes, why: str) -> None:
    talk = Talk()
    talk.until_offered()
    step = talk.say(choice)
    assert step.kind == StepKind.DENIED
    assert step.credentials is not None and step.credentials.username == ALICE
    assert talk.told == [(ALICE, why)]


@pytest.mark.parametrize("token", [b"2", b"x" * 100])
def test_a_token_that_will_not_do_fails_once_it_was_looked_at(token: bytes) -> None:
    talk = Talk()
    assert talk.say(token).kind == StepKind.DENIED
    assert talk.told == [("", "a token that will not do")]
    assert talk.say(b"1").kind == StepKind.DENIED
    assert len(talk.told) == 1


def test_a_token_that_is_too_long_is_not_looked_at() -> None:
    talk = Talk()
    step = talk.server.respond(b"1" * (TOKEN_MAX + 1))
    assert step.kind == StepKind.DENIED
    assert talk.told == [("", "what came is no message of that mechanism")]


def test_a_token_that_nobody_could_look_at_fails_without_a_word() -> None:
    talk = Talk()
    assert talk.say(b"1", ran=False).kind == StepKind.DENIED
    assert talk.told == []


def test_more_tokens_behind_the_last_one_fail() -> None:
    talk = Talk()
    talk.say(b"1")
    assert talk.say(b"2").kind == StepKind.DENIED


@pytest.mark.parametrize("last", [b"", b"last"])
def test_a_context_that_cannot_wrap_fails(last: bytes) -> None:
    talk = Talk(Context(last=last, wraps=False))
    step = talk.say(b"1")
    assert (step if last == b"" else talk.say(b"")).kind == StepKind.DENIED
    assert talk.told == [(ALICE, "no context")]


def test_a_client_without_a_name_fails() -> None:
    talk = Talk()
    talk.until_offered()
    talk.context.named = False
    assert talk.say(b"<\x01\0\0\0>").kind == StepKind.DENIED
    assert talk.told == [("", "nobody")]


@given(st.lists(st.sampled_from([None, b"", b"1", b"2", b"<\x01\0\0\0>", b"<\x02>", b"x"])))
def test_whatever_is_said_nobody_is_granted_but_behind_a_context_and_a_choice(
    said: list[bytes | None],
) -> None:
    talk = Talk()
    for response in said:
        step = talk.say(response)
        if step.kind == StepKind.VERIFY:
            assert talk.context.complete()
            assert response == b"<\x01\0\0\0>"
        assert step.kind != StepKind.GRANTED


def test_an_exchange_that_is_over_stays_so() -> None:
    for (_, what), after in EXCHANGE.items():
        if after == GssapiState.GRANTED:
            assert what == GssapiInput.GRANT
    assert not [each for each in EXCHANGE if each[0] in (GssapiState.GRANTED, GssapiState.FAILED)]
