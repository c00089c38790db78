import pytest

from gateway.wire import bearer

ERROR = b'{"status":"invalid_token","scope":"queue"}'


def test_oauthbearer_says_what_its_rfc_says():
    mechanism = bearer.oauthbearer(
        "vF9dft4qmT", authorization="user@example.com", host="server.example.com", port=143
    )
    assert mechanism.name() == "OAUTHBEARER"
    assert mechanism.initial() == (
        b"n,a=user@example.com,\x01host=server.example.com\x01port=143\x01"
        b"auth=Bearer vF9dft4qmT\x01\x01"
    )


def test_oauthbearer_may_say_the_token_alone():
    assert bearer.oauthbearer("t").initial() == b"n,,\x01auth=Bearer t\x01\x01"


def test_an_identity_with_commas_is_escaped():
    initial = bearer.oauthbearer("t", authorization="a,b=c").initial()
    assert initial.startswith(b"n,a=a=2Cb=3Dc,\x01")


def test_xoauth2_names_the_user_and_the_token():
    mechanism = bearer.xoauth2("someone", "ya29")
    assert mechanism.name() == "XOAUTH2"
    assert mechanism.initial() == b"user=someone\x01auth=Bearer ya29\x01\x01"


BOTH = pytest.mark.parametrize(
    ("mechanism", "answer"),
    [(bearer.oauthbearer("t"), b"\x01"), (bearer.xoauth2("u", "t"), b"")],
)


@BOTH
def test_an_error_is_answered_so_that_the_outcome_comes_and_is_kept(mechanism, answer):
    assert mechanism.respond(b"") == mechanism.initial()
    assert mechanism.complete(None)
    assert mechanism.respond(ERROR) == answer
    assert mechanism.problem() == ERROR.decode()
    assert not mechanism.complete(None)


@BOTH
def test_the_reason_is_kept_short_and_readable(mechanism, answer):
    assert mechanism.respond(b"\xff" + b"x" * 5000) == answer
    assert len(mechanism.problem()) == 200
