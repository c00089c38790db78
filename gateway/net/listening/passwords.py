"""PLAIN passwords against the users file.

A name that nobody has costs as much as a wrong password, so that names cannot be found by timing.
"""

from __future__ import annotations

import hmac
import pathlib
import secrets
from typing import final

from twisted.logger import Logger

from gateway.errors import ConfigurationError
from gateway.net.listening.users import ITERATIONS, User, Verifier, derive, read_users
from gateway.net.saslprep import saslprep


@final
class Passwords:
    """The users file, read again whenever it changes. Used from threads only, but for `load`."""

    log = Logger(namespace="gateway.net.passwords.Passwords")

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        self._users: dict[str, User] = {}
        self._seen: tuple[int, int, int] | None = None
        self._secret = secrets.token_bytes(32)
        self._nobody = derive("", "SCRAM-SHA-256", b"nobody", 1)

    def load(self) -> None:
        """Read the file if it is not the one read last. Raises ConfigurationError."""
        try:
            stat = self.path.stat()
        except OSError as error:
            raise ConfigurationError([(str(self.path), error.strerror or str(error))]) from None
        seen = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
        if seen != self._seen:
            self._users = read_users(self.path)
            self._seen = seen

    def check(self, name: str, password: str) -> str | None:
        """The user's name as the file has it, or `None`."""
        try:
            self.load()
        except ConfigurationError as error:
            # The users known so far stay; a broken edit must not lock everybody out.
            self.log.error("users file not read: {error}", error=error)
        try:
            prepared = saslprep(name)
        except ValueError:
            prepared = ""
        user = self._users.get(prepared)
        verifier = self._decoy(name) if user is None else _cheapest(user)
        matched = verifier.check(password)
        return prepared if matched and user is not None else None

    def _decoy(self, name: str) -> Verifier:
        """A verifier that takes as long as some real one; the same one each time for one name."""
        costs = sorted(
            (verifier.mechanism, verifier.iterations)
            for verifier in map(_cheapest, self._users.values())
        ) or [("SCRAM-SHA-256", ITERATIONS["SCRAM-SHA-256"])]
        # Names may hold lone surrogates, which have no UTF-8.
        known = hmac.digest(self._secret, name.encode("utf-8", "surrogatepass"), "sha256")
        mechanism, iterations = costs[int.from_bytes(known, "big") % len(costs)]
        nobody = self._nobody
        return Verifier(mechanism, iterations, nobody.salt, nobody.stored_key, nobody.server_key)


def _cheapest(user: User) -> Verifier:
    return min(user.values(), key=lambda verifier: verifier.mechanism)
