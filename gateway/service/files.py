"""What the settings name by path: certificates, keys and users, read as they are now.

Access rules are read by `config.access`.
"""

from __future__ import annotations

import pathlib
import time
from collections.abc import Iterator
from typing import final

from twisted.internet.interfaces import IOpenSSLContextFactory

from gateway.audit.signing import Signer, TrustedKeys
from gateway.config import Settings
from gateway.config.access import access_notes, load_rules
from gateway.errors import ConfigurationError
from gateway.faces.access.who import NOBODY
from gateway.files.whole import CERTIFICATES_MAX, SECRET_MAX, read_regular
from gateway.net.data_directory import secret
from gateway.net.listening.kerberos import Kerberos, Principals
from gateway.net.listening.passwords import Passwords
from gateway.net.tls.authorities import useless
from gateway.net.tls.files import tls_context
from gateway.net.tls.validity import NO_TIME, expires_s, out_of_date
from gateway.net.tracing.begin import need_package
from gateway.service.exposed import exposed
from gateway.wire.dns_names import dns_name


@final
class NamedFiles:
    """What is in them, read for the start or for a reload; but passwords, which need a secret.

    Attributes:
        tls, admin_tls: for clients, and for the admin port; `None`: in clear text.
        certificate_expires_s: of the one that clients are shown.
        access: the access rules.
        signer, book_keys: who signs heads of the audit log, and whose signatures count.

    Raises:
        ConfigurationError: one cannot be used.
    """

    def __init__(self, settings: Settings) -> None:
        self.access = load_rules(settings)
        self.tls = client_tls(settings)
        self.admin_tls = admin_tls(settings)
        self.certificate_expires_s = certificate_expires_s(settings)
        self.signer = load_signer(settings)
        self.book_keys = load_book_keys(settings)


def doubtful(settings: Settings) -> list[str]:
    """A line for each file that others use who are not meant to, or that is of no use."""
    files = exposed(settings) + useless_certificates(settings) + misplaced_key(settings)
    return files + doubtful_keeping(settings)


def check(settings: Settings) -> list[str]:
    """Read every file that the settings name; what is allowed, but perhaps not meant.

    Raises:
        ConfigurationError: with everything that cannot be used.
    """
    problems: list[tuple[str, str]] = []
    told: list[str] = []
    for look in (
        *(_tls_notes, _rule_notes, _user_notes, _gssapi_notes, _signing_notes, _book_notes),
        _tracing_notes,
    ):
        try:
            told += look(settings)
        except ConfigurationError as error:  # the others are looked at all the same
            problems += error.problems
    if problems:
        raise ConfigurationError(problems)
    return told


def _tls_notes(settings: Settings) -> list[str]:
    client_tls(settings)
    return useless_certificates(settings)


def useless_certificates(settings: Settings) -> list[str]:
    """A line for each authority of clients that lets none in, and of ours that none of them takes.

    They go by wall time.
    """
    tls = settings.tls
    if tls is None:
        return []
    authorities = [] if tls.client_ca is None else useless(tls.client_ca)
    return [
        *[f"tls.certificate: {line}" for line in out_of_date(tls.certificate, time.time())],
        *[f"tls.client_ca: {line}" for line in authorities],
    ]


def certificate_expires_s(settings: Settings) -> float:
    """When the certificate that clients are shown expires, as Unix time; 0 without one."""
    return NO_TIME if settings.tls is None else expires_s(settings.tls.certificate)


def _rule_notes(settings: Settings) -> list[str]:
    notes = access_notes(load_rules(settings), settings)
    return [f"access rules: {note}" for note in notes] + exposed(settings)


def _user_notes(settings: Settings) -> list[str]:
    if settings.users_file is None:
        return []
    passwords = Passwords(settings.users_file, iterations_max=settings.scram_iterations)
    passwords.load()
    _refuse_names(passwords, settings)
    return password_notes(passwords, settings)


def password_notes(passwords: Passwords, settings: Settings) -> list[str]:
    """Which mechanisms are not offered to users, and what others cost, a line each."""
    legacy = passwords.legacy.told(settings.legacy_mechanisms)
    return [*passwords.withheld(), *[f"legacy_mechanisms: {line}" for line in legacy]]


def digest_hosts(settings: Settings) -> frozenset[str]:
    """What clients of DIGEST-MD5 may call the gateway, as it is compared; empty: anything."""
    return frozenset(dns_name(each) for each in settings.digest_hosts)


def _gssapi_notes(settings: Settings) -> list[str]:
    load_kerberos(settings)
    if settings.gssapi is None or settings.users_file is None:
        return []
    return [
        "gssapi: clients that know GSSAPI choose it, with a ticket or not, and fail without one:"
        " those with a password have to name its mechanism"
    ]


def _tracing_notes(settings: Settings) -> list[str]:
    need_package(settings)
    return []


def load_kerberos(settings: Settings) -> Kerberos | None:
    """The gateway's keys, and who may come by them; `None`: nobody."""
    gssapi = settings.gssapi
    if gssapi is None:
        return None
    principals = Principals(gssapi.realm, strip_realm=gssapi.strip_realm, users=gssapi.users)
    return Kerberos(gssapi.keytab, principals)


def _signing_notes(settings: Settings) -> list[str]:
    load_signer(settings)
    return misplaced_key(settings)


def load_signer(settings: Settings) -> Signer | None:
    """What signs the audit log's seals; `None` without a key."""
    path = settings.audit.signing_key_file
    if path is None:
        return None
    try:
        return Signer(read_regular(path, SECRET_MAX))
    except OSError as error:
        problem = f"cannot read {path}: {error.strerror}"
    except ValueError as error:
        problem = f"{path}: {error}"
    raise ConfigurationError([("audit.signing_key_file", problem)])


def misplaced_key(settings: Settings) -> list[str]:
    """A line if the key lies with what it is to protect."""
    path, directory = settings.audit.signing_key_file, settings.data_directory
    if path is None or not path.resolve().is_relative_to(directory.resolve()):
        return []
    return [
        f"audit.signing_key_file: {path} is in the data directory: whoever can write the audit log"
        " can sign it"
    ]


def _book_notes(settings: Settings) -> list[str]:
    load_book_keys(settings)
    return doubtful_keeping(settings)


def load_book_keys(settings: Settings) -> TrustedKeys | None:
    """Whose signatures of closed books count; `None`: they need none."""
    path = settings.audit.book_keys_file
    if path is None:
        return None
    try:
        return TrustedKeys([read_regular(path, CERTIFICATES_MAX)])
    except OSError as error:
        problem = f"cannot read {path}: {error.strerror}"
    except ValueError as error:
        problem = f"{path}: {error}"
    raise ConfigurationError([("audit.book_keys_file", problem)])


def doubtful_keeping(settings: Settings) -> list[str]:
    """Lines on how segments of the audit log are let go, where that may not be what is meant."""
    audit = settings.audit
    told: list[str] = []
    if audit.lets_go and not audit.keep_unclosed and not audit.archives:
        told.append(
            "audit.keep_unclosed: segments are deleted that nobody has reconciled, and no archive"
            " keeps them"
        )
    if audit.lets_go and audit.keep_unclosed and audit.book_keys_file is None:
        told.append(
            f"audit.book_keys_file: whoever can write to {audit.books} can have segments let go"
        )
    directory = audit.archive_directory
    if directory is not None and not directory.is_dir():
        told.append(f"audit.archive_directory: there is no directory {directory}")
    return told


def nobodys_names(settings: Settings) -> frozenset[str]:
    """What clients without a login are called, which then no user may be: also in a realm.

    Accounts, quotas, sessions, a qpidd's rules and the audit log know a client by its name.
    """
    if not settings.anonymous_allowed:
        return frozenset()
    return frozenset((NOBODY, f"{NOBODY}@{settings.access.qpidd_realm}"))


def _refuse_names(passwords: Passwords, settings: Settings) -> None:
    problem = (
        "clients without a login are called so, and anonymous lets them in: rename the user, or"
        " say anonymous: false"
    )
    names = sorted(name for name in nobodys_names(settings) if passwords.has(name))
    if names:
        raise ConfigurationError(
            [(f"users_file: {passwords.path}: {each}", problem) for each in names]
        )


def load_passwords(settings: Settings) -> Passwords | None:
    """Those of the users file; `None` without one."""
    if settings.users_file is None:
        return None
    passwords = Passwords(
        settings.users_file,
        secret(settings.data_directory),
        iterations_max=settings.scram_iterations,
    )
    passwords.load()
    _refuse_names(passwords, settings)
    return passwords


def kept(settings: Settings) -> Iterator[tuple[pathlib.Path, int]]:
    """What a running gateway looks up again and again, and of how many octets at most."""
    for path in (settings.admin_token_file, settings.metrics_token_file):
        if path is not None:
            yield path, SECRET_MAX
    for upstream in settings.upstreams.values():
        for path in (upstream.password_file, upstream.token_file, upstream.sas_key_file):
            if path is not None:
                yield path, SECRET_MAX
        tls = upstream.tls
        for path in () if tls is None else (tls.ca, tls.certificate, tls.key):
            if path is not None:
                yield path, CERTIFICATES_MAX


def takes_certificates(settings: Settings) -> bool:
    """Whether clients may log in by a certificate."""
    return settings.tls is not None and settings.tls.client_ca is not None


def client_tls(settings: Settings) -> IOpenSSLContextFactory | None:
    """For the clients' ports; `None` without a certificate."""
    tls = settings.tls
    if tls is None:
        return None
    return tls_context(
        tls.certificate,
        tls.key,
        tls.client_ca,
        client_crl=tls.client_crl,
        require_client_certificate=tls.require_client_certificate,
    )


def admin_tls(settings: Settings) -> IOpenSSLContextFactory | None:
    """The same certificate; who asks shows a token, and no certificate."""
    tls = settings.tls
    if tls is None or not settings.admin_tls:
        return None
    return tls_context(tls.certificate, tls.key, None, require_client_certificate=False)
