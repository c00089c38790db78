"""Files that the settings name, read together: what cannot be, and what is perhaps not meant."""

from __future__ import annotations

import datetime
import pathlib
import sys
import time

import pytest
from support.certificates import Authority
from support.keys import Key

from gateway.config import Settings, load
from gateway.errors import ConfigurationError
from gateway.net.listening.legacy import make_secret
from gateway.net.listening.users import make_user, write_users
from gateway.service.files import (
    certificate_expires_s,
    check,
    digest_hosts,
    load_book_keys,
    load_kerberos,
    load_passwords,
    nobodys_names,
)


class Files:
    """A configuration with a users file."""

    def __init__(self, directory: pathlib.Path) -> None:
        self.directory = directory
        self.users = directory / "users.yaml"
        (directory / "data").mkdir(mode=0o700)

    def settings(self, *changes: str) -> Settings:
        given = [f"users_file={self.users}", f"data_directory={self.directory / 'data'}"]
        return load(None, [*given, *changes])

    def write_users(self, *names: str) -> None:
        write_users(self.users, {name: make_user("secret", iterations=4096) for name in names})


@pytest.fixture
def files(tmp_path: pathlib.Path) -> Files:
    return Files(tmp_path)


@pytest.mark.parametrize("name", ["anonymous", "anonymous@BANK"])
def test_no_user_is_called_as_clients_without_a_login_are(files: Files, name: str) -> None:
    files.write_users("alice", name)
    both = files.settings("anonymous=true", "access.qpidd_realm=BANK")
    for read in (check, load_passwords):
        with pytest.raises(ConfigurationError) as caught:
            read(both)
        ((key, problem),) = caught.value.problems
        assert key == f"users_file: {files.users}: {name}"
        assert "rename the user" in problem


def test_a_user_may_be_called_so_where_those_are_not_let_in(files: Files) -> None:
    files.write_users("anonymous", "anonymous@QPID")
    assert check(files.settings()) != []  # warnings
    assert nobodys_names(files.settings()) == frozenset()
    files.write_users("anonymous@elsewhere")
    assert load_passwords(files.settings("anonymous=true")) is not None


def test_an_authority_that_lets_nobody_in_is_told(files: Files) -> None:
    authority = Authority(files.directory)
    certificate, key = authority.issue("gateway")
    issuing, _key = authority.issue("issuing")
    files.write_users("alice")
    settings = files.settings(
        f"tls.certificate={certificate}", f"tls.key={key}", f"tls.client_ca={issuing}"
    )
    told = (
        "tls.client_ca: 'issuing' lets no client in: add the authority that issued it,"
        " 'CN=authority'"
    )
    assert told in check(settings)
    issuing.write_bytes(issuing.read_bytes() + authority.ca.read_bytes())
    assert not any("lets no client in" in line for line in check(settings))


def test_a_certificate_that_has_expired_is_told_and_when_one_will(files: Files) -> None:
    authority = Authority(files.directory)
    files.write_users("alice")
    told: list[list[str]] = []
    expires: list[float] = []
    for days in (1, -1):
        certificate, key = authority.issue("gateway", lasts=datetime.timedelta(days=days))
        settings = files.settings(f"tls.certificate={certificate}", f"tls.key={key}")
        told.append([line for line in check(settings) if "tls.certificate" in line])
        expires.append(certificate_expires_s(settings) - time.time())
    good, (line,) = told
    assert good == []
    assert line.startswith("tls.certificate: 'gateway' has expired (")
    assert expires == [pytest.approx(86400, abs=60), pytest.approx(-86400, abs=60)]
    assert certificate_expires_s(files.settings()) == 0


def test_whose_books_count_is_in_a_file_of_public_keys(files: Files) -> None:
    files.write_users("alice")
    key, path = Key(), files.directory / "keys.pem"
    changes = ("audit.books=/books", f"audit.book_keys_file={path}")
    with pytest.raises(ConfigurationError, match=r"audit\.book_keys_file: cannot read .*keys.pem"):
        load_book_keys(files.settings(*changes))
    path.write_bytes(key.private)
    with pytest.raises(ConfigurationError, match="there is no public key in it"):
        load_book_keys(files.settings(*changes))
    path.write_bytes(key.public)
    trusted = load_book_keys(files.settings(*changes))
    assert trusted is not None
    assert trusted.trusts(key.sign.key)
    assert load_book_keys(files.settings()) is None


def test_how_segments_go_is_told_where_it_may_not_be_meant(files: Files) -> None:
    files.write_users("alice")
    path = files.directory / "keys.pem"
    path.write_bytes(Key().public)
    books = ("audit.keep_age=1d", "audit.books=/books")

    def told(*changes: str) -> list[str]:
        return [line for line in check(files.settings(*changes)) if line.startswith("audit.")]

    assert told(*books, f"audit.book_keys_file={path}") == []
    assert told(*books) == [
        "audit.book_keys_file: whoever can write to /books can have segments let go"
    ]
    assert told("audit.keep_age=1d", "audit.keep_unclosed=false") == [
        "audit.keep_unclosed: segments are deleted that nobody has reconciled, and no archive keeps"
        " them"
    ]
    assert told(
        "audit.keep_age=1d", "audit.keep_unclosed=false", "audit.archive_directory=/nowhere/a"
    ) == ["audit.archive_directory: there is no directory /nowhere/a"]


def test_what_old_mechanisms_cost_is_told(files: Files) -> None:
    alice = make_user("secret", iterations=4096)
    alice["CRAM-MD5"] = make_secret("CRAM-MD5", "alice", "secret")
    write_users(files.users, {"alice": alice})
    told = check(files.settings("legacy_mechanisms=[CRAM-MD5, DIGEST-MD5]"))
    costs, none = [line for line in told if line.startswith("legacy_mechanisms")]
    assert costs.startswith("legacy_mechanisms: CRAM-MD5 costs what SCRAM saves: who reads")
    assert none.startswith("legacy_mechanisms: DIGEST-MD5 is not offered: no user has a verifier")


def test_names_that_clients_give_the_gateway_are_compared_as_those_of_the_dns(
    files: Files,
) -> None:
    files.write_users("alice")
    assert digest_hosts(files.settings("digest_hosts=[A.example., b]")) == {"a.example", "b"}


def test_kerberos_needs_its_package_and_its_keys(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "gssapi", None)
    files.write_users("alice")
    keytab = files.directory / "keytab"
    keytab.touch()
    settings = files.settings(f"gssapi={{keytab: {keytab}, realm: EXAMPLE}}")
    for read in (check, load_kerberos):
        with pytest.raises(ConfigurationError) as refused:
            read(settings)
        [(path, text)] = refused.value.problems
        assert path == "gssapi"
        assert "pip install 'amqp-gateway[gssapi]'" in text
    assert load_kerberos(files.settings()) is None


def test_that_clients_like_kerberos_best_is_told_where_there_are_passwords_too(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.service.files.load_kerberos", lambda settings: None)
    files.write_users("alice")
    keytab = files.directory / "keytab"
    keytab.touch()
    given = f"gssapi={{keytab: {keytab}, realm: EXAMPLE}}"
    assert any(
        line.startswith("gssapi: clients that know GSSAPI choose it")
        for line in check(files.settings(given))
    )
