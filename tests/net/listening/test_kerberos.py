"""Kerberos: who is who, and what is told where it cannot be used."""

import pathlib
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from gateway.errors import ConfigurationError
from gateway.net.listening.kerberos import Kerberos, Principals
from gateway.wire.gssapi_server import GssapiRefusedError

STRIPPED = Principals("EXAMPLE", users={"ops/admin@EXAMPLE": "root", "eve@OTHER": "guest"})
WHOLE = Principals("EXAMPLE", strip_realm=False, users={})


@pytest.mark.parametrize(
    ("principal", "stripped", "whole"),
    [
        ("alice@EXAMPLE", "alice", "alice@EXAMPLE"),
        ("alice/host@EXAMPLE", "alice/host", "alice/host@EXAMPLE"),
        ("ops/admin@EXAMPLE", "root", "ops/admin@EXAMPLE"),
        ("eve@OTHER", "guest", None),
        ("alice@OTHER", None, None),
        ("alice@example", None, None),
        ("alice", None, None),
        ("@EXAMPLE", None, None),
        ("", None, None),
        ("alice\\@EXAMPLE@OTHER", None, None),
        ("alice\\@OTHER@EXAMPLE", None, None),
        ("WELLKNOWN/ANONYMOUS@WELLKNOWN:ANONYMOUS", None, None),
        ("al\u0007ice@EXAMPLE", None, None),
    ],
)
def test_principals_of_the_realm_are_users_and_others_only_where_they_are_named(
    principal: str, stripped: str | None, whole: str | None
) -> None:
    assert STRIPPED.user(principal) == stripped
    assert WHOLE.user(principal) == whole


def test_nobody_may_act_for_somebody_else() -> None:
    assert STRIPPED.user("alice@EXAMPLE", "alice") == "alice"
    assert STRIPPED.user("alice@EXAMPLE", "alice@EXAMPLE") == "alice"
    assert STRIPPED.user("alice@EXAMPLE", "root") is None
    assert STRIPPED.user("ops/admin@EXAMPLE", "root") == "root"


def problem(keytab: pathlib.Path) -> tuple[str, str]:
    with pytest.raises(ConfigurationError) as refused:
        Kerberos(keytab, STRIPPED)
    [only] = refused.value.problems
    return only


def test_without_the_package_the_configuration_is_wrong_and_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    monkeypatch.setitem(sys.modules, "gssapi", None)
    path, text = problem(tmp_path / "keytab")
    assert path == "gssapi"
    assert "pip install 'amqp-gateway[gssapi]'" in text


class GssapiError(Exception):
    """What the package raises."""


class FakeContext:
    """A context of the package, which takes one token."""

    def __init__(self, *, creds: object, usage: str) -> None:
        assert usage == "accept"
        self.creds = creds
        self.complete = False
        self.initiator_name = "alice@EXAMPLE"

    def step(self, token: bytes) -> bytes | None:
        if token != b"token":
            raise GssapiError("Major (1):\n  no")
        self.complete = True
        return None

    def wrap(self, octets: bytes, encrypt: bool) -> Any:
        assert not encrypt
        if not self.complete:
            raise GssapiError("no context")
        return SimpleNamespace(message=b"<" + octets)

    def unwrap(self, octets: bytes) -> Any:
        if octets[:1] != b"<":
            raise GssapiError("not wrapped")
        return SimpleNamespace(message=octets[1:])


class Package:
    """As much of the package as is used; keys are there where the file is."""

    exceptions = SimpleNamespace(GSSError=GssapiError)
    MechType = SimpleNamespace(kerberos="krb5")
    SecurityContext = FakeContext

    @staticmethod
    def Credentials(*, usage: str, mechs: list[str], store: dict[str, str]) -> str:
        assert (usage, mechs) == ("accept", ["krb5"])
        kind, _, path = store["keytab"].partition(":")
        assert kind == "FILE"
        if not pathlib.Path(path).exists():
            raise GssapiError("No key table entry found")
        return path


@pytest.fixture
def keytab(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> pathlib.Path:
    monkeypatch.setitem(sys.modules, "gssapi", Package)
    path = tmp_path / "keytab"
    path.write_bytes(b"keys")
    return path


def test_a_file_without_keys_is_a_wrong_configuration(keytab: pathlib.Path) -> None:
    keytab.unlink()
    assert problem(keytab) == ("gssapi.keytab", f"{keytab}: No key table entry found")


def test_a_login_has_a_context_of_its_own_with_our_keys(keytab: pathlib.Path) -> None:
    context = Kerberos(keytab, STRIPPED).accept()
    assert not context.complete()
    assert context.accept(b"token") == b""
    assert context.complete()
    assert context.initiator() == "alice@EXAMPLE"
    assert context.wrap(b"x") == b"<x"
    assert context.unwrap(b"<x") == b"x"


def test_what_the_libraries_refuse_is_told_in_one_line(keytab: pathlib.Path) -> None:
    context = Kerberos(keytab, STRIPPED).accept()
    with pytest.raises(GssapiRefusedError, match=r"^Major \(1\): no$"):
        context.accept(b"another")
    with pytest.raises(GssapiRefusedError, match="no context"):
        context.wrap(b"x")
    with pytest.raises(GssapiRefusedError, match="not wrapped"):
        context.unwrap(b"x")
