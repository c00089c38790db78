"""Kerberos behind SASL GSSAPI: the gateway's keys, and which principals are which users.

The package `gssapi`, which binds MIT's libraries, is an extra: it is imported where it is asked
for. It has types of its own, but need not be there when ours are checked.
"""

from __future__ import annotations

import importlib
import pathlib
from typing import Any, Final, final

from gateway.errors import ConfigurationError
from gateway.net.listening.passwords import prepared_or_none
from gateway.wire.gssapi_server import GssapiRefusedError

PACKAGE: Final = "gssapi"


@final
class Principals:
    """Who is who: principals are what Kerberos calls them, such as alice@EXAMPLE.ORG.

    Args:
        realm: whose principals are users; `strip_realm`: without the realm.
        users: principals, of any realm, that are other users; these go first.
    """

    def __init__(self, realm: str, *, strip_realm: bool = True, users: dict[str, str]) -> None:
        self._realm = realm
        self._strip_realm = strip_realm
        self._users = users

    def user(self, principal: str, authorization: str = "") -> str | None:
        """The user's name; `None`: nobody, or not who it would act for."""
        name = self._users.get(principal)
        if name is None:
            local, _, realm = principal.rpartition("@")
            # An "@" or "/" with a backslash is of the name itself: nobody is called so.
            if realm != self._realm or not local or "\\" in local:
                return None
            name = local if self._strip_realm else principal
        name = prepared_or_none(name)
        own = authorization in ("", name, principal)
        return name if name and own else None


@final
class Kerberos:
    """The gateway's keys.

    Args:
        keytab: the file with them; read again for each login, so that new keys count at once.
        principals: whom to let in.

    Raises:
        ConfigurationError: the package is not there, or the file has no keys.
    """

    def __init__(self, keytab: pathlib.Path, principals: Principals) -> None:
        self.principals = principals
        try:
            self._gssapi = importlib.import_module(PACKAGE)
        except ImportError as error:
            text = f"needs the package {PACKAGE}: pip install 'amqp-gateway[{PACKAGE}]' ({error})"
            raise ConfigurationError([("gssapi", text)]) from None
        try:
            self._credentials = self._gssapi.Credentials(
                usage="accept",
                mechs=[self._gssapi.MechType.kerberos],
                store={"keytab": f"FILE:{keytab}"},
            )
        except self._gssapi.exceptions.GSSError as error:
            raise ConfigurationError([("gssapi.keytab", f"{keytab}: {_text(error)}")]) from None

    def accept(self) -> KerberosContext:
        """For one login."""
        return KerberosContext(self._gssapi, self._credentials)


@final
class KerberosContext:
    """A `SecurityContext`: one login under way."""

    def __init__(self, gssapi: Any, credentials: Any) -> None:  # Any: of a package that is an extra
        self._errors = gssapi.exceptions.GSSError
        self._context = gssapi.SecurityContext(creds=credentials, usage="accept")

    def accept(self, token: bytes) -> bytes:
        """Take a token; reads the keys and writes down what was said, so that it counts once."""
        try:
            return bytes(self._context.step(token) or b"")
        except self._errors as error:
            raise GssapiRefusedError(_text(error)) from None

    def complete(self) -> bool:
        """Whether there is a context."""
        return bool(self._context.complete)

    def initiator(self) -> str:
        """The client's principal."""
        try:
            return str(self._context.initiator_name)
        except (self._errors, UnicodeDecodeError) as error:
            raise GssapiRefusedError(str(error)) from None

    def wrap(self, octets: bytes) -> bytes:
        """Signed, not encrypted."""
        try:
            return bytes(self._context.wrap(octets, False).message)
        except self._errors as error:
            raise GssapiRefusedError(_text(error)) from None

    def unwrap(self, octets: bytes) -> bytes:
        """What was signed by the client."""
        try:
            return bytes(self._context.unwrap(octets).message)
        except self._errors as error:
            raise GssapiRefusedError(_text(error)) from None


def _text(error: Any) -> str:  # Any: of a package that is an extra
    """What the libraries say, in one line."""
    return " ".join(str(error).split())
