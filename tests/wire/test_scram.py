import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.derivations import respond
from support.rules import rule
from support.scram_server import ScramServer

from gateway.errors import LocalProtocolError
from gateway.wire import sasl, scram

MECHANISMS = [scram.SCRAM_SHA_256, scram.SCRAM_SHA_512]

# RFC 7677, 3.
NONCE = "rOprNGfwEbeRWgbNEkqO"
SERVER_FIRST = (
    b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
)
CLIENT_FINAL = (
    b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
    b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
)
SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def client(**arguments):
    arguments.setdefault("nonce", NONCE)
    return scram.ScramClient(scram.SCRAM_SHA_256, "user", "pencil", **arguments)


def at_final(**arguments):
    mechanism = client(**arguments)
    assert respond(mechanism, SERVER_FIRST) == CLIENT_FINAL
    return mechanism


def test_the_exchange_of_the_rfc_is_spoken_word_for_word():
    mechanism = client()
    assert mechanism.name() == "SCRAM-SHA-256"
    assert mechanism.initial() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    assert respond(mechanism, SERVER_FIRST) == CLIENT_FINAL
    assert respond(mechanism, SERVER_FINAL) == b""
    assert mechanism.complete(None)
    assert mechanism.problem() == ""


def test_the_servers_last_word_may_come_with_the_outcome():
    assert at_final().complete(SERVER_FINAL)


def test_a_server_that_asks_for_the_first_message_gets_it():
    mechanism = client()
    assert respond(mechanism, b"") == mechanism.initial()
    assert respond(mechanism, SERVER_FIRST) == CLIENT_FINAL


@pytest.mark.parametrize("data", [None, b"", b"v=", b"v=6rriTRBi", b"v=\xff", b"v=6rri,v=6rri"])
def test_a_server_that_proves_nothing_is_not_believed(data):
    mechanism = at_final()
    assert not mechanism.complete(data)
    assert mechanism.problem()
    assert respond(mechanism, SERVER_FINAL) is None


def test_a_server_that_is_content_at_once_is_not_believed():
    assert not client().complete(None)
    assert not client().complete(SERVER_FINAL)


def test_a_wrong_signature_is_given_up():
    mechanism = at_final()
    assert respond(mechanism, b"v=" + b"A" * 43 + b"=") is None
    assert "signature" in mechanism.problem()
    assert not mechanism.complete(SERVER_FINAL)


def test_what_the_server_says_is_wrong_is_told():
    mechanism = at_final()
    assert respond(mechanism, b"e=unknown-user") is None
    assert mechanism.problem() == "the server said unknown-user"


@pytest.mark.parametrize(
    "challenge",
    [
        b"nonsense",
        b"\xff",
        b"r=rOprNGfwEbeRWgbNEkqO,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
        b"r=another,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
        SERVER_FIRST.replace(b"s=W22ZaJ0SNY7soEsUEjb6gQ==", b"s=!"),
        SERVER_FIRST.replace(b"s=W22ZaJ0SNY7soEsUEjb6gQ==,", b""),
        SERVER_FIRST.replace(b"i=4096", b"i=4095"),
        SERVER_FIRST.replace(b"i=4096", b"i=10000001"),
        SERVER_FIRST.replace(b"i=4096", b"i=99999999999999"),
        SERVER_FIRST.replace(b"i=4096", b"i=-4096"),
        b"m=must," + SERVER_FIRST,
        SERVER_FIRST + b",m=must",
        SERVER_FIRST + b",r=twice",
        SERVER_FIRST + b",x=" + b"x" * 5000,
    ],
)
def test_a_first_message_that_cannot_be_trusted_is_given_up(challenge):
    mechanism = client()
    assert respond(mechanism, challenge) is None
    assert mechanism.problem()
    assert not mechanism.complete(SERVER_FINAL)


def test_an_extension_that_may_be_ignored_is():
    assert respond(client(), SERVER_FIRST + b",x=y") is not None


def test_the_bounds_of_iterations_are_the_callers():
    few = SERVER_FIRST.replace(b"i=4096", b"i=1000")
    assert respond(client(iterations_min=1000), few) is not None
    assert respond(client(iterations_max=4000), SERVER_FIRST) is None


@pytest.mark.parametrize("nonce", ["", "a,b", "a b", "\u00fc"])
def test_a_nonce_that_cannot_be_said_is_our_own_error(nonce):
    with pytest.raises(LocalProtocolError):
        client(nonce=nonce)


def test_there_is_no_scram_of_another_name():
    with pytest.raises(LocalProtocolError):
        scram.ScramClient("SCRAM-SHA-1", "u", "p", nonce="n")


NAMES = st.text(max_size=20).filter(lambda name: "\0" not in name)


@given(
    mechanism=st.sampled_from(MECHANISMS),
    username=NAMES,
    password=st.text(max_size=20),
    authorization=NAMES,
    in_outcome=st.booleans(),
)
def test_both_sides_of_an_exchange_agree(mechanism, username, password, authorization, in_outcome):
    ours = scram.ScramClient(
        mechanism, username, password, nonce="abc", authorization=authorization, iterations_min=1
    )
    theirs = ScramServer(mechanism, password, iterations=2)
    final = theirs.final(respond(ours, theirs.first(ours.initial())))
    assert final is not None
    if in_outcome:
        assert ours.complete(final)
    else:
        assert respond(ours, final) == b""
        assert ours.complete(None)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_wrong_password_convinces_nobody(mechanism):
    ours = scram.ScramClient(mechanism, "user", "pencil", nonce="abc")
    theirs = ScramServer(mechanism, "pen")
    assert theirs.final(respond(ours, theirs.first(ours.initial()))) is None


def test_a_name_with_commas_and_equals_signs_is_escaped():
    ours = scram.ScramClient("SCRAM-SHA-256", "a,b=c", "p", nonce="abc", authorization="x=,")
    assert ours.initial() == b"n,a=x=3D=2C,n=a=2Cb=3Dc,r=abc"


@rule("1.0", "5.3.3", "strongest-mechanism-is-chosen")
def test_scram_takes_its_place_in_the_order_of_preference():
    able = [client(), sasl.plain("user", "pencil")]
    assert sasl.choose(["PLAIN", "SCRAM-SHA-256"], able) is able[0]
    assert sasl.choose(["PLAIN", "SCRAM-SHA-1"], able) is able[1]
