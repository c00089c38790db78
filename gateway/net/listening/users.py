"""Users: a file of SCRAM verifiers (RFC 5802, RFC 7677), from which no password can be read.

The file is YAML: user name -> mechanism -> ``iterations:salt:StoredKey:ServerKey``, the last three
in base64. A verifier checks a PLAIN password as well as a SCRAM exchange, so that clients can move
to SCRAM without new passwords. Beside it there may be what `legacy` keeps.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import os
import pathlib
import secrets
import stat
import tempfile
from dataclasses import dataclass
from typing import Final

import yaml

from gateway.errors import ConfigurationError, GatewayError
from gateway.files.whole import USERS_MAX, is_file, read_regular
from gateway.files.yaml_text import load_yaml, said
from gateway.net.listening.legacy import SECRETS, LegacySecret, parse_secret
from gateway.net.saslprep import saslprep
from gateway.wire.scram import ITERATIONS_MAX

DIGESTS: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
# The most that clients with Cyrus SASL take (Proton, qpid's of C++), which refuse a login by SCRAM
# that asks for more, and do not fall back to PLAIN. OWASP's password storage cheat sheet would have
# more, for those who lose the file: `user add --iterations`, and `scram_iterations`.
ITERATIONS: Final = {"SCRAM-SHA-256": 65_536, "SCRAM-SHA-512": 65_536}
SALT_OCTETS: Final = 16
EMPTY: Final = "is empty: for no users, write so in a comment"  # as `write_users` does


@dataclass(frozen=True, slots=True)
class Verifier:
    """What is kept of one password for one mechanism (RFC 5802, 3)."""

    mechanism: str
    iterations: int
    salt: bytes
    stored_key: bytes
    server_key: bytes

    def check(self, password: str) -> bool:
        """Whether this is the password; takes the same time whatever the answer."""
        try:
            made = derive(saslprep(password), self.mechanism, self.salt, self.iterations)
        except ValueError:
            made = derive("", self.mechanism, self.salt, self.iterations)
            return False
        return hmac.compare_digest(made.stored_key, self.stored_key)

    def __str__(self) -> str:
        parts = (self.salt, self.stored_key, self.server_key)
        return ":".join([str(self.iterations), *(base64.b64encode(p).decode() for p in parts)])


User = dict[str, Verifier | LegacySecret]


def derive(password: str, mechanism: str, salt: bytes, iterations: int) -> Verifier:
    """SaltedPassword, StoredKey and ServerKey of an already prepared password (RFC 5802, 3)."""
    digest = DIGESTS[mechanism]
    salted = hashlib.pbkdf2_hmac(digest, password.encode(), salt, iterations)
    client_key = hmac.digest(salted, b"Client Key", digest)
    stored_key = hashlib.new(digest, client_key).digest()
    return Verifier(
        mechanism, iterations, salt, stored_key, hmac.digest(salted, b"Server Key", digest)
    )


def make_user(password: str, iterations: int | None = None) -> User:
    """Verifiers of a new password for every mechanism, each with its own salt.

    Raises:
        ValueError: the password is empty, or has characters that are not allowed.
    """
    prepared = saslprep(password)
    if not prepared:
        raise ValueError("the password is empty")
    return {
        mechanism: derive(
            prepared,
            mechanism,
            secrets.token_bytes(SALT_OCTETS),
            iterations or ITERATIONS[mechanism],
        )
        for mechanism in DIGESTS
    }


def prepare_name(name: str) -> str:
    """A user name as the file has it. Raises ValueError when it cannot be one."""
    prepared = saslprep(name)
    if not prepared:
        raise ValueError("the name is empty")
    return prepared


def scram_verifiers(user: User) -> list[Verifier]:
    """Those of them by which a password can be checked."""
    return [each for each in user.values() if isinstance(each, Verifier)]


def parse_verifier(mechanism: str, text: str) -> Verifier:
    """The inverse of ``str(verifier)``. Raises ValueError."""
    iterations, *rest = text.split(":")
    salt, stored_key, server_key = (base64.b64decode(part, validate=True) for part in rest)
    size = hashlib.new(DIGESTS[mechanism]).digest_size
    if len(stored_key) != size or len(server_key) != size or not salt:
        raise ValueError("a key is too short")
    if not 1 <= int(iterations) <= ITERATIONS_MAX:  # more our own clients would refuse
        raise ValueError("the number of iterations is out of range")
    return Verifier(mechanism, int(iterations), salt, stored_key, server_key)


def read_users(path: pathlib.Path) -> dict[str, User]:
    """All users of a file.

    Raises:
        ConfigurationError: with every entry that cannot be used.
    """
    return users_of(path, read_octets(path))


def read_octets(path: pathlib.Path) -> bytes:
    """What is in the file, as it is. Raises ConfigurationError."""
    try:
        return read_regular(path, USERS_MAX)
    except OSError as error:
        raise ConfigurationError([(str(path), error.strerror or str(error))]) from None


def users_of(path: pathlib.Path, octets: bytes) -> dict[str, User]:
    """All users of what was read there. Raises as `read_users`.

    A file that is being written may be empty, and means nothing: nobody's connection ends for it.
    """
    try:
        raw = load_yaml(octets) or {}
    except yaml.YAMLError as error:
        raise ConfigurationError([(str(path), said(error))]) from None
    if not octets.strip():
        raise ConfigurationError([(str(path), EMPTY)])
    if not isinstance(raw, dict):
        raise ConfigurationError([(str(path), "must be a mapping of user names")])
    users: dict[str, User] = {}
    problems: list[tuple[str, str]] = []
    for name, verifiers in raw.items():
        try:
            prepared = prepare_name(str(name))
            if prepared in users:
                problems.append((f"{path}: {name}", f"is user {prepared!r}, who is there already"))
                continue
            user = {mechanism: _parse(mechanism, text) for mechanism, text in verifiers.items()}
            if not scram_verifiers(user):
                raise ValueError("has no verifier")
            users[prepared] = user
        except (ValueError, AttributeError) as error:
            problems.append((f"{path}: {name}", f"no verifier that can be used ({error})"))
    if problems:
        raise ConfigurationError(problems)
    return users


def _parse(mechanism: str, text: str) -> Verifier | LegacySecret:
    if mechanism in DIGESTS:
        return parse_verifier(mechanism, text)
    if mechanism in SECRETS:
        return parse_secret(mechanism, text)
    raise ValueError(f"{mechanism} is not one of {', '.join((*DIGESTS, *SECRETS))}")


def write_users(path: pathlib.Path, users: dict[str, User]) -> str:
    """Replace the file in one step; a new one only its owner can read.

    Its group can what it could before, for a gateway that is not its owner; but where all others on
    the machine could read or write the file, nobody has chosen that for the group: from then on its
    owner alone can.

    Returns:
        What was taken from others, in one line; "" if nothing was.

    Raises:
        GatewayError: the directory cannot be written.
    """
    if os.path.exists(path) and not is_file(path):
        raise GatewayError(f"cannot write {path}: is no regular file")  # nor takes a device's place
    raw = {
        name: {mechanism: str(verifier) for mechanism, verifier in user.items()}
        for name, user in sorted(users.items())
    }
    text = "# Made by amqp-gateway user: verifiers. No password can be read from them.\n"
    text += yaml.safe_dump(raw, allow_unicode=True, width=1000) if raw else ""
    try:
        # mkstemp makes it readable by its owner only
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.absolute().parent)
    except OSError as error:
        raise GatewayError(f"cannot write {path}: {error.strerror}") from None
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            taken = _keep_access(path, file.fileno())
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise GatewayError(f"cannot write {path}: {error.strerror}") from None
    _sync_directory(path.absolute().parent)
    return taken


def _keep_access(path: pathlib.Path, handle: int) -> str:
    try:
        before = path.stat()
    except FileNotFoundError:
        return ""
    mode = was = stat.S_IMODE(before.st_mode)
    if mode & stat.S_IRWXO:
        mode &= stat.S_IRWXU
    for uid, gid in ((-1, before.st_gid), (before.st_uid, -1)):
        with contextlib.suppress(PermissionError):  # only root gives files away
            os.fchown(handle, uid, gid)
    if os.fstat(handle).st_gid != before.st_gid:
        mode &= ~stat.S_IRWXG  # it was for another group
    os.fchmod(handle, mode)
    if not was & stat.S_IRWXO:
        return ""
    return (
        f"{path}: other users of this machine could use it (mode {was:03o}); now its owner alone"
        f" can ({mode:03o}): chmod {mode | stat.S_IRGRP:03o} for a gateway of its group"
    )


def _sync_directory(path: pathlib.Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
