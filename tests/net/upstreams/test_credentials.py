"""What an upstream is shown: mechanisms, tokens for single nodes, and secrets as they are now."""

import base64
import hashlib
import hmac
import json
import pathlib
from urllib.parse import parse_qs, unquote

import pytest
import yaml
from support.rules import rule

from gateway.config import load
from gateway.net.upstreams.credentials import (
    JWT,
    SAS,
    UpstreamCredentials,
    expiry_ms,
    shared_access_signature,
)
from gateway.translate.profiles.loading import load_profile

NOW_MS = 1_790_000_000_123
AUDIENCE = "sb://name.servicebus.windows.net/orders"


def credentials(**keys: object) -> UpstreamCredentials:
    given = {"hosts": ["amqps://name.servicebus.windows.net"], **keys}
    text = "upstreams.up=" + yaml.safe_dump(given, default_flow_style=True)
    section = load(None, [text]).upstreams["up"]
    return UpstreamCredentials("up", section, cbs=load_profile(section.profile).cbs)


def web_token(claims: object) -> str:
    parts = [json.dumps(each).encode() for each in ({"alg": "none"}, claims)]
    return ".".join([base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts]) + "."


def test_a_shared_access_signature_signs_the_audience_and_the_time_with_the_key() -> None:
    text = shared_access_signature(AUDIENCE, name="root", key="a+key=", expires_s=1_790_003_600)
    kind, _, fields = text.partition(" ")
    assert kind == "SharedAccessSignature"
    values = {name: each[0] for name, each in parse_qs(fields).items()}
    assert values["sr"] == AUDIENCE
    assert (values["se"], values["skn"]) == ("1790003600", "root")
    signed = "sb%3A%2F%2Fname.servicebus.windows.net%2Forders\n1790003600"
    digest = hmac.new(b"a+key=", signed.encode(), hashlib.sha256).digest()
    assert base64.b64decode(values["sig"]) == digest
    assert "+" not in fields  # which would be read as a blank
    assert unquote(fields).count("sr=") == 1


def test_the_key_is_read_anew_for_each_token(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "key"
    file.write_text("first\n")
    own = credentials(profile="azure-service-bus", sas_key_name="root", sas_key_file=str(file))
    assert [each.name() for each in own.mechanisms(True)] == ["ANONYMOUS"]
    make = own.tokens
    assert make is not None
    token = make(AUDIENCE, NOW_MS)
    assert (token.kind, token.problem) == (SAS, "")
    assert token.expires_ms == 1_790_003_600_000
    expected = shared_access_signature(
        AUDIENCE, name="root", key="first", expires_s=token.expires_ms // 1000
    )
    assert token.text == expected
    file.write_text("second")
    assert make(AUDIENCE, NOW_MS).text != token.text
    file.unlink()
    assert "No such file" in make(AUDIENCE, NOW_MS).problem


def test_a_bearer_token_goes_to_the_nodes_where_they_want_one(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "token"
    file.write_text(web_token({"exp": 1_790_000_999}) + "\n")
    own = credentials(profile="azure-service-bus", token_file=str(file))
    assert [each.name() for each in own.mechanisms(True)] == ["ANONYMOUS"]
    make = own.tokens
    assert make is not None
    token = make(AUDIENCE, NOW_MS)
    assert (token.kind, token.text) == (JWT, web_token({"exp": 1_790_000_999}))
    assert token.expires_ms == 1_790_000_999_000
    file.write_text(web_token({"exp": 1_790_003_999}))
    assert make(AUDIENCE, NOW_MS).expires_ms == 1_790_003_999_000


def test_elsewhere_a_bearer_token_goes_by_sasl_and_is_read_for_each_connection(
    tmp_path: pathlib.Path,
) -> None:
    file = tmp_path / "token"
    file.write_text("first")
    own = credentials(token_file=str(file))
    assert own.tokens is None
    (mechanism,) = own.mechanisms(True)
    assert mechanism.name() == "OAUTHBEARER"
    assert b"Bearer first" in (mechanism.initial() or b"")
    file.write_text("second")
    assert b"Bearer second" in (own.mechanisms(True)[0].initial() or b"")


def test_a_token_may_go_by_plain_as_its_password(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "token"
    file.write_text("first\n")
    own = credentials(username="me", token_file=str(file), mechanisms=["PLAIN"])
    assert own.mechanisms(True)[0].initial() == b"\0me\0first"
    assert own.shown == "first"
    password = tmp_path / "password"
    password.write_text("secret")
    both = credentials(username="me", token_file=str(file), password_file=str(password))
    names = [each.name() for each in both.mechanisms(True)]
    assert names == ["OAUTHBEARER", "XOAUTH2", "SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"]
    assert both.mechanisms(True)[-1].initial() == b"\0me\0secret"


def test_what_was_shown_and_what_would_be_shown_now_are_known(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "token"
    file.write_text("first")
    own = credentials(token_file=str(file))
    assert (own.shown, own.token()) == ("", "first")
    own.mechanisms(True)
    file.write_text("second")
    assert (own.shown, own.token()) == ("first", "second")
    for broken in (b"", b"\n", b"\xff"):
        file.write_bytes(broken)
        assert own.token() == ""
        assert own.mechanisms(True) == []
        assert own.shown == ""
    put = credentials(profile="azure-service-bus", token_file=str(file))
    file.write_text("third")
    assert put.token() == ""  # it goes to the nodes


def test_a_key_name_and_value_may_also_go_by_plain(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "key"
    file.write_text("value")
    own = credentials(profile="azure-service-bus", username="root", password_file=str(file))
    assert own.tokens is None
    assert "PLAIN" in [each.name() for each in own.mechanisms(True)]


@pytest.mark.parametrize(
    "token",
    [
        *("", "opaque", "a.b.c", web_token({}), web_token([]), web_token({"exp": "soon"})),
        f"a.{base64.urlsafe_b64encode(b'[' * 100_000).decode()}.c",
    ],
    ids=["empty", "opaque", "no JSON", "nothing", "a list", "a word", "nested"],
)
def test_a_token_that_does_not_say_when_it_expires(token: str) -> None:
    assert expiry_ms(token) == 0


@rule("1.0", "5.3.3", "strongest-mechanism-is-chosen")
def test_a_password_is_shown_by_the_strongest_mechanism_first(
    tmp_path: pathlib.Path,
) -> None:
    file = tmp_path / "password"
    file.write_text("pa\u00adss\n")  # a soft hyphen, which SASLprep drops
    own = credentials(username="u", password_file=str(file))
    strong, weaker, plain = own.mechanisms(True)
    assert [each.name() for each in (strong, weaker)] == ["SCRAM-SHA-512", "SCRAM-SHA-256"]
    assert (strong.initial() or b"").startswith(b"n,,n=u,r=")
    assert plain.initial() == "\0u\0pa\u00adss".encode()
    again = own.mechanisms(True)[0]
    assert again.initial() != strong.initial()  # a nonce is used once


def test_a_mechanism_whose_secret_cannot_be_read_is_left_out(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UPSTREAM_PASSWORD", "there")
    own = credentials(username="u", password_env="UPSTREAM_PASSWORD")
    assert len(own.mechanisms(True)) == 3
    monkeypatch.delenv("UPSTREAM_PASSWORD")
    assert own.mechanisms(True) == []
    file = tmp_path / "token"
    file.write_text("token")
    gone = credentials(token_file=str(file), mechanisms=["OAUTHBEARER", "ANONYMOUS"])
    file.unlink()
    assert [each.name() for each in gone.mechanisms(True)] == ["ANONYMOUS"]
