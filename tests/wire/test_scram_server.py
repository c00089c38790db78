import base64
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.derivations import respond

from gateway.errors import LocalProtocolError
from gateway.net.listening.users import derive
from gateway.wire import scram, scram_server
from gateway.wire.sasl import Keys, StepKind
from gateway.wire.scram import PLUS, SCRAM_SHA_256, SCRAM_SHA_512, ScramClient
from gateway.wire.scram_server import SCRAM, ScramInput, ScramServer, ScramState

# RFC 7677, 3.
CLIENT_NONCE = "rOprNGfwEbeRWgbNEkqO"
SERVER_NONCE = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
SALT = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
CLIENT_FIRST = f"n,,n=user,r={CLIENT_NONCE}".encode()
SERVER_FIRST = f"r={CLIENT_NONCE}{SERVER_NONCE},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode()
CLIENT_FINAL = (
    f"c=biws,r={CLIENT_NONCE}{SERVER_NONCE},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
).encode()
SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
BINDINGS = {"tls-exporter": b"\x01" * 32, "tls-server-end-point": b"\x02" * 32}


def keys_of(password, mechanism=SCRAM_SHA_256, iterations=4096):
    made = derive(password, mechanism.removesuffix(PLUS), SALT, iterations)
    return Keys(SALT, iterations, stored_key=made.stored_key, server_key=made.server_key)


def server(mechanism=SCRAM_SHA_256, bindings=None):
    return ScramServer(mechanism, nonce=SERVER_NONCE, bindings=bindings or {})


def at_final(password="pencil", **arguments):
    mechanism = server(**arguments)
    step = mechanism.respond(CLIENT_FIRST)
    step.credentials.keys = keys_of(password)
    assert mechanism.resolve(True).octets == SERVER_FIRST
    return mechanism


def said(step):
    return step.kind, step.octets


def test_the_exchange_of_the_rfc_is_answered_word_for_word():
    mechanism = server()
    step = mechanism.respond(CLIENT_FIRST)
    assert step.kind == StepKind.VERIFY
    credentials = step.credentials
    assert (credentials.mechanism, credentials.username) == ("SCRAM-SHA-256", "user")
    assert (credentials.authorization, credentials.keys, credentials.proven) == ("", None, False)
    credentials.keys = keys_of("pencil")
    assert said(mechanism.resolve(True)) == (StepKind.CHALLENGE, SERVER_FIRST)
    step = mechanism.respond(CLIENT_FINAL)
    assert (step.kind, step.credentials) == (StepKind.VERIFY, credentials)
    assert credentials.proven
    assert said(mechanism.resolve(True)) == (StepKind.GRANTED, SERVER_FINAL)


@pytest.mark.parametrize("nothing", [None, b""])
def test_a_client_that_says_nothing_at_first_is_asked_once(nothing):
    mechanism = server()
    assert said(mechanism.respond(nothing)) == (StepKind.CHALLENGE, b"")
    assert said(mechanism.respond(b"")) == (StepKind.DENIED, b"e=other-error")
    mechanism = server()
    mechanism.respond(nothing)
    assert mechanism.respond(CLIENT_FIRST).kind == StepKind.VERIFY


def test_a_wrong_password_and_a_name_that_nobody_has_are_told_alike():
    wrong = at_final("pen")
    step = wrong.respond(CLIENT_FINAL)
    assert (step.kind, step.credentials.proven) == (StepKind.VERIFY, False)
    assert said(wrong.resolve(False)) == (StepKind.DENIED, b"e=invalid-proof")
    right = at_final()
    right.respond(CLIENT_FINAL)
    assert said(right.resolve(False)) == (StepKind.DENIED, b"e=invalid-proof")


def test_whoever_is_not_proven_is_not_let_in_by_a_yes():
    mechanism = at_final("pen")
    mechanism.respond(CLIENT_FINAL)
    assert mechanism.resolve(True).kind == StepKind.DENIED


def test_without_keys_nothing_goes_on():
    for granted in (True, False):
        mechanism = server()
        mechanism.respond(CLIENT_FIRST)
        assert mechanism.resolve(granted).kind == StepKind.DENIED
        assert mechanism.respond(CLIENT_FINAL).kind == StepKind.DENIED


FIRSTS = [
    (b"nonsense", b"e=other-error"),
    (b"\xff,,n=user,r=abc", b"e=invalid-encoding"),
    (b"x,,n=user,r=abc", b"e=other-error"),
    (b"n,b=x,n=user,r=abc", b"e=other-error"),
    (b"n,,r=abc,n=user", b"e=other-error"),
    (b"n,,n=user", b"e=other-error"),
    (b"n,,n=user,r=", b"e=other-error"),
    (b"n,,n=user,r=a b", b"e=other-error"),
    (b"n,,n=user,r=abc,r=abc", b"e=other-error"),
    (b"n,,n=user,r=" + b"a" * 513, b"e=other-error"),
    (b"n,,n=,r=abc", b"e=invalid-username-encoding"),
    (b"n,,n=a=b,r=abc", b"e=invalid-username-encoding"),
    (b"n,,n=a\0b,r=abc", b"e=invalid-username-encoding"),
    (b"n,a=x=,n=user,r=abc", b"e=invalid-username-encoding"),
    (b"n,,m=x,n=user,r=abc", b"e=extensions-not-supported"),
    (b"p=tls-exporter,,n=user,r=abc", b"e=other-error"),
    (b"n,,n=user,r=abc,x=" + b"x" * 5000, b"e=other-error"),
]


@pytest.mark.parametrize(("first", "error"), FIRSTS)
def test_a_first_message_that_will_not_do_is_refused_unasked(first, error):
    assert said(server().respond(first)) == (StepKind.DENIED, error)


def test_a_name_is_read_without_its_escapes():
    step = server().respond(b"n,a=x=3D=2C,n=a=2Cb=3Dc,r=abc,x=ignored")
    assert (step.credentials.authorization, step.credentials.username) == ("x=,", "a,b=c")


FINALS = [
    (b"", b"e=other-error"),
    (CLIENT_FINAL.replace(b"c=biws", b"c=eSws"), b"e=channel-bindings-dont-match"),
    (CLIENT_FINAL.replace(b"c=biws", b"c=!"), b"e=channel-bindings-dont-match"),
    (CLIENT_FINAL.replace(b"r=rO", b"r=ro"), b"e=other-error"),
    (CLIENT_FINAL.replace(SERVER_NONCE.encode(), b""), b"e=other-error"),
    (CLIENT_FINAL.partition(b",p=")[0], b"e=other-error"),
    (CLIENT_FINAL + b",x=behind", b"e=other-error"),
    (CLIENT_FINAL.replace(b",p=", b",m=x,p="), b"e=extensions-not-supported"),
]


@pytest.mark.parametrize(("final", "error"), FINALS)
def test_a_final_message_that_does_not_fit_is_refused_unasked(final, error):
    assert said(at_final().respond(final)) == (StepKind.DENIED, error)


@pytest.mark.parametrize("proof", [b"", b"AAAA", b"!", base64.b64encode(b"x" * 32)])
def test_a_proof_that_is_none_proves_nothing(proof):
    mechanism = at_final()
    step = mechanism.respond(CLIENT_FINAL.partition(b",p=")[0] + b",p=" + proof)
    assert (step.kind, step.credentials.proven) == (StepKind.VERIFY, False)


def test_nothing_is_answered_out_of_turn():
    mechanism = server()
    mechanism.respond(CLIENT_FIRST)
    assert mechanism.respond(CLIENT_FINAL).kind == StepKind.DENIED  # nobody was told the nonce
    done = at_final()
    done.respond(CLIENT_FINAL)
    done.resolve(True)
    assert done.respond(CLIENT_FINAL).kind == StepKind.DENIED
    assert server().resolve(True).kind == StepKind.DENIED


@pytest.mark.parametrize("nonce", ["", "a,b", "a b", "\u00fc"])
def test_a_nonce_that_cannot_be_said_is_our_own_error(nonce):
    with pytest.raises(LocalProtocolError):
        ScramServer(SCRAM_SHA_256, nonce=nonce, bindings={})


# Channel binding.


@pytest.mark.parametrize("name", BINDINGS)
def test_a_connection_is_bound_to_by_what_tls_proves_of_it(name):
    ours = ScramClient(
        SCRAM_SHA_256 + PLUS, "user", "pencil", nonce="abc", binding=(name, BINDINGS[name])
    )
    assert finish(ours, server(SCRAM_SHA_256 + PLUS, BINDINGS))
    assert ours.complete(None)


def test_somebody_in_between_has_another_connection():
    ours = ScramClient(
        SCRAM_SHA_256 + PLUS, "user", "pencil", nonce="abc", binding=("tls-exporter", b"other")
    )
    theirs = server(SCRAM_SHA_256 + PLUS, BINDINGS)
    step = theirs.respond(ours.initial())
    step.credentials.keys = keys_of("pencil")
    final = respond(ours, theirs.resolve(True).octets)
    assert said(theirs.respond(final)) == (StepKind.DENIED, b"e=channel-bindings-dont-match")


def test_who_may_be_in_between_is_told_with_the_users_name():
    told = []
    for first in (b"y,,n=user,r=abc", b"n,a=x", b"\xff,,"):
        theirs = ScramServer(
            SCRAM_SHA_256,
            nonce=SERVER_NONCE,
            bindings=BINDINGS,
            told=lambda *what: told.append(what),
        )
        step = theirs.respond(first)
        assert (step.kind, step.credentials.username) == (StepKind.DENIED, told[-1][0])
    assert told == [
        ("user", "server-does-support-channel-binding"),
        ("", "other-error"),
        ("", "invalid-encoding"),
    ]


def test_who_hides_that_we_could_bind_is_found_out():
    ours = ScramClient(SCRAM_SHA_256, "user", "pencil", nonce="abc", binding=("tls-exporter", b"x"))
    assert said(server(bindings=BINDINGS).respond(ours.initial())) == (
        StepKind.DENIED,
        b"e=server-does-support-channel-binding",
    )
    assert server().respond(ours.initial()).kind == StepKind.VERIFY  # we cannot


@pytest.mark.parametrize(
    ("first", "error"),
    [
        (b"p=tls-unique,,n=user,r=abc", b"e=unsupported-channel-binding-type"),
        (b"n,,n=user,r=abc", b"e=other-error"),
        (b"y,,n=user,r=abc", b"e=other-error"),
    ],
)
def test_a_mechanism_that_binds_is_not_used_without_binding(first, error):
    assert said(server(SCRAM_SHA_256 + PLUS, BINDINGS).respond(first)) == (StepKind.DENIED, error)


def test_a_client_cannot_bind_to_nothing():
    with pytest.raises(LocalProtocolError):
        ScramClient(SCRAM_SHA_256 + PLUS, "user", "pencil", nonce="abc")


# Both sides, and the table.


def finish(ours, theirs, password="pencil", mechanism=SCRAM_SHA_256):
    step = theirs.respond(ours.initial())
    step.credentials.keys = keys_of(password, mechanism, 4096)
    step = theirs.respond(respond(ours, theirs.resolve(True).octets))
    step = theirs.resolve(step.credentials.proven)
    return step.kind == StepKind.GRANTED and respond(ours, step.octets) == b""


TEXT = st.text(min_size=1, max_size=20).filter(lambda text: "\0" not in text)


@given(
    mechanism=st.sampled_from([SCRAM_SHA_256, SCRAM_SHA_512]),
    username=TEXT,
    password=TEXT,
    guess=TEXT,
)
def test_our_client_and_our_server_agree_on_who_is_who(mechanism, username, password, guess):
    ours = ScramClient(mechanism, username, guess, nonce="abc")
    assert finish(ours, server(mechanism), password, mechanism) == (guess == password)


@given(octets=st.binary(max_size=60), first=st.booleans())
def test_any_octets_are_answered_and_none_let_anybody_in(octets, first):
    mechanism = server() if first else at_final()
    step = mechanism.respond(octets)
    if step.kind == StepKind.VERIFY:
        assert not step.credentials.proven


def test_every_state_is_reached_and_every_exchange_can_end():
    reached = {ScramState.WAIT_INITIAL}
    for _ in ScramState:
        reached |= {after for (state, _), after in SCRAM.items() if state in reached}
    assert reached == set(ScramState)
    assert {what for _, what in SCRAM} == set(ScramInput)
    over = (ScramState.GRANTED, ScramState.FAILED)
    for state, what in itertools.product(ScramState, ScramInput):
        assert ((state, what) in SCRAM) <= (state not in over)
        assert state in over or (state, ScramInput.FAIL) in SCRAM


def test_what_scram_is_ours():
    assert scram.is_scram("SCRAM-SHA-512-PLUS") and scram.is_scram("SCRAM-SHA-256")
    assert not scram.is_scram("SCRAM-SHA-1") and not scram.is_scram("PLAIN")
    assert scram_server.NONCE_MAX >= 512
