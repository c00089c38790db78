"""Passwords and SCRAM keys from the users file.

A name that nobody has costs as much as a wrong password, and has keys like any other, so that names
cannot be found by timing or by asking for their salt. A password that was right just now is known
again by its digest, under a key that this process alone has, and only until the file changes; so is
one that was wrong.
"""

from __future__ import annotations

import hashlib
import hmac
import pathlib
import secrets
from collections import OrderedDict
from typing import Any, Final, final

from gateway.errors import ConfigurationError
from gateway.net.listening.legacy import SECRETS, LegacySecret, LegacyUsers
from gateway.net.listening.users import (
    DIGESTS,
    ITERATIONS,
    SALT_OCTETS,
    User,
    Verifier,
    derive,
    read_octets,
    scram_verifiers,
    users_of,
)
from gateway.net.logs import NamedLogger
from gateway.net.saslprep import saslprep
from gateway.wire.digest_md5 import DIGEST_MD5
from gateway.wire.sasl import Keys
from gateway.wire.scram import ITERATIONS_MAX, ITERATIONS_MIN

REMEMBERED_MS: Final = 10 * 60 * 1000
REMEMBERED_MAX: Final = 10_000
SECRET_OCTETS: Final = 32
COSTS: Final = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}  # of one iteration, where SHA has its codes


@final
class Passwords:
    """The users file, read again whenever it changes.

    Used from threads, but for `load` at the start: `refresh`, `recall` and `keys`, which may read
    the file, from one at a time, `check` from several.

    Args:
        secret: what the keys of names are made of that nobody has: the same after a restart, since
            those of users are.

    Attributes:
        mechanisms: of SCRAM, those for which every user has a verifier that clients take: of 4096
            iterations or more (RFC 7677, 4), and at most `iterations_max`; the strongest first.
        legacy: who can log in by mechanisms from before SCRAM.
        digest: SHA-256 of the file as it was read last.
    """

    log = NamedLogger("gateway.net.passwords.Passwords")

    def __init__(
        self, path: pathlib.Path, secret: bytes = b"", *, iterations_max: int = ITERATIONS_MAX
    ) -> None:
        self.path = path
        self._iterations_max = iterations_max
        self.mechanisms: list[str] = []
        self.legacy = LegacyUsers({}, [], 0)
        self.digest = ""
        self._users: dict[str, User] = {}
        self._seen: tuple[int, int, int] | None = None
        self._secret = secret or secrets.token_bytes(SECRET_OCTETS)
        self._nobody = derive("", "SCRAM-SHA-256", b"nobody", 1)
        self._key = secrets.token_bytes(SECRET_OCTETS)
        self._remembered: OrderedDict[bytes, tuple[str, User, int]] = OrderedDict()
        self._wrong: OrderedDict[bytes, int] = OrderedDict()

    def load(self) -> None:
        """Read the file if it is not the one read last. Raises ConfigurationError."""
        try:
            stat = self.path.stat()
        except OSError as error:
            raise ConfigurationError([(str(self.path), error.strerror or str(error))]) from None
        seen = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
        if seen != self._seen:
            octets = read_octets(self.path)
            users = users_of(self.path, octets)
            self.digest = hashlib.sha256(octets).hexdigest()
            self._users = users
            self._remembered = OrderedDict()
            self._wrong = OrderedDict()
            self._seen = seen
            self.legacy = _legacy_users(users)
            self.mechanisms = [
                mechanism
                for mechanism in sorted(DIGESTS, reverse=True)
                if users and not self._without(mechanism)
            ]

    def has(self, name: str) -> bool:
        """Whether the file, as it was read last, has that user."""
        return prepared_or_none(name) in self._users

    def user(self, name: str) -> User | None:
        """The verifiers of that user, in the file as it was read last."""
        return self._users.get(prepared_or_none(name))

    def _without(self, mechanism: str) -> list[str]:
        """The users for whom the mechanism cannot be offered."""
        return [
            name
            for name, user in self._users.items()
            if not any(
                each.mechanism == mechanism
                and ITERATIONS_MIN <= each.iterations <= self._iterations_max
                for each in scram_verifiers(user)
            )
        ]

    def withheld(self) -> list[str]:
        """Why mechanisms are not offered, a line each."""
        told = []
        for mechanism in sorted(DIGESTS, reverse=True):
            names = self._without(mechanism)
            if names:
                more = f" and {len(names) - 1} more users" if len(names) > 1 else ""
                told.append(
                    f"{mechanism} is not offered: {names[0]}{more} can not use it (no verifier of"
                    f" {ITERATIONS_MIN} to {self._iterations_max} iterations);"
                    " `amqp-gateway user password` makes one, `scram_iterations` allows more"
                )
        return told

    def recall(self, name: str, password: str, now_ms: int) -> str | None:
        """As `check`, of what was checked before: "" was wrong; `None` where it was not."""
        self.refresh()
        return self.recall_again(name, password, now_ms)

    def refresh(self) -> None:
        """As `load`, but what cannot be read is told in the log, and changes nothing."""
        try:
            self.load()
        except ConfigurationError as error:
            # The users known so far stay; a broken edit must not lock everybody out.
            self.log.error("users file not read: {error}", error=error)

    def recall_again(self, name: str, password: str, now_ms: int) -> str | None:
        """As `recall`, in the file as it was read last."""
        digest = self._digest(name, password)
        if now_ms < self._wrong.get(digest, 0):
            return ""
        prepared, user, until_ms = self._remembered.get(digest, ("", {}, 0))
        known = self._users.get(prepared) is user and now_ms < until_ms
        return prepared if known and user else None

    def check(self, name: str, password: str, now_ms: int) -> str | None:
        """The user's name as the file has it, or `None`."""
        prepared = prepared_or_none(name)
        users, remembered, wrong = self._users, self._remembered, self._wrong
        user = users.get(prepared)
        verifier = self._decoy(name) if user is None else _cheapest(user)
        matched = verifier.check(password)
        # What is said of the file that was read then is not kept beside another one.
        digest = self._digest(name, password)
        if not matched or user is None:
            wrong[digest] = now_ms + REMEMBERED_MS
            _keep_new(wrong)
            return None
        remembered[digest] = (prepared, user, now_ms + REMEMBERED_MS)
        _keep_new(remembered)
        return prepared

    def keys(self, name: str, mechanism: str) -> tuple[str | None, Keys]:
        """The user's name as the file has it, or `None`; and keys in any case."""
        self.refresh()
        prepared = prepared_or_none(name)
        verifier = self._users.get(prepared, {}).get(mechanism)
        if isinstance(verifier, Verifier):
            return prepared, _keys(verifier)
        return None, self._decoy_keys(prepared or name, mechanism)

    def secret(self, name: str, mechanism: str) -> tuple[str | None, bytes]:
        """The user's name as the file has it, or `None`; and a secret of `legacy` in any case."""
        self.refresh()
        prepared = prepared_or_none(name)
        kept = self._users.get(prepared, {}).get(mechanism)
        if isinstance(kept, LegacySecret):
            return prepared, kept.secret
        return None, self._known(prepared or name, f"secret {mechanism}")[: SECRETS[mechanism]]

    def _digest(self, name: str, password: str) -> bytes:
        told = f"{len(name)} {name}{password}"
        return hmac.digest(self._key, told.encode("utf-8", "surrogatepass"), "sha256")

    def _known(self, name: str, what: str) -> bytes:
        """Octets that are the same each time for one name, which may hold lone surrogates."""
        told = f"{what} {name}".encode("utf-8", "surrogatepass")
        return hmac.digest(self._secret, told, "sha512")

    def _decoy(self, name: str) -> Verifier:
        """A verifier that takes as long as some real one; the same one each time for one name."""
        costs = {
            (verifier.mechanism, verifier.iterations)
            for verifier in map(_cheapest, self._users.values())
        } or {("SCRAM-SHA-256", ITERATIONS["SCRAM-SHA-256"])}
        mechanism, iterations = max(costs, key=lambda cost: self._known(name, f"cost {cost}"))
        nobody = self._nobody
        return Verifier(mechanism, iterations, nobody.salt, nobody.stored_key, nobody.server_key)

    def _decoy_keys(self, name: str, mechanism: str) -> Keys:
        """Keys that nobody knows the password of, as some real ones look."""
        looks = {
            (each.iterations, len(each.salt))
            for user in self._users.values()
            for each in scram_verifiers(user)
            if each.mechanism == mechanism
        } or {(ITERATIONS[mechanism], SALT_OCTETS)}
        # Of each the same as long as some user looks so: only what looks new may change it.
        iterations, octets = max(looks, key=lambda look: self._known(name, f"look {look}"))
        size = len(hmac.digest(b"", b"", DIGESTS[mechanism]))
        return Keys(
            self._known(name, f"salt {mechanism}")[:octets],
            iterations,
            stored_key=self._known(name, f"stored {mechanism}")[:size],
            server_key=self._known(name, f"server {mechanism}")[:size],
        )


def prepared_or_none(name: str) -> str:
    """The name as the file would have it; "" where nobody can have it."""
    try:
        return saslprep(name)
    except ValueError:
        return ""


def _legacy_users(users: dict[str, User]) -> LegacyUsers:
    names: dict[str, list[str]] = {}
    realms = set()
    for mechanism in SECRETS:
        for name, user in users.items():
            kept = user.get(mechanism)
            if isinstance(kept, LegacySecret):
                names.setdefault(mechanism, []).append(name)
                if mechanism == DIGEST_MD5:
                    realms.add(kept.realm)
    return LegacyUsers(names, sorted(realms), len(users))


def _keys(verifier: Verifier) -> Keys:
    return Keys(
        verifier.salt,
        verifier.iterations,
        stored_key=verifier.stored_key,
        server_key=verifier.server_key,
    )


def _cheapest(user: User) -> Verifier:
    def cost(verifier: Verifier) -> int:
        return verifier.iterations * COSTS[verifier.mechanism]

    return min(scram_verifiers(user), key=cost)


def _keep_new(table: OrderedDict[bytes, Any]) -> None:  # Any: whatever it has
    while len(table) > REMEMBERED_MAX:
        table.popitem(last=False)
