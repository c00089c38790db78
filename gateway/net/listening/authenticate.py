"""Who may log in, and how: what all connections share of that.

A login itself is `login`'s.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol, TypeVar, final

from twisted.internet.defer import Deferred

from gateway.faces.face import Peer
from gateway.net.alarm import Later
from gateway.net.listening.kerberos import Kerberos
from gateway.net.listening.legacy import SECRETS
from gateway.net.listening.pace import Pace
from gateway.net.listening.passwords import Passwords
from gateway.net.listening.throttle import Throttle
from gateway.net.logs import NamedLogger
from gateway.wire.gssapi_server import GSSAPI
from gateway.wire.sasl import ANONYMOUS, EXTERNAL, PLAIN
from gateway.wire.scram import PLUS, SCRAM_SHA_256, SCRAM_SHA_512

NAME_TOLD: Final = 80  # characters
NAMES_TOLD: Final = 1000  # users who were named for a password in clear text
COUNTED: Final = (
    EXTERNAL,
    GSSAPI,
    SCRAM_SHA_512 + PLUS,
    SCRAM_SHA_256 + PLUS,
    SCRAM_SHA_512,
    SCRAM_SHA_256,
    *SECRETS,
    PLAIN,
    ANONYMOUS,
)
LOOPBACK: Final = ("127.", "::1", "::ffff:127.")
T = TypeVar("T")


class Threads(Protocol):
    """Where passwords are checked."""

    @property
    def waiting(self) -> int:
        """How many wait for a thread."""

    def run(
        self,
        check: Callable[[], T],
        address: str,
        user: str,
        *,
        known: bool = False,
        failed: bool = False,
        floods: bool = False,
    ) -> Deferred[T]:
        """What takes long; fails with `GivenUpError` where the source floods."""

    def look(self, up: Callable[[], T]) -> Deferred[T]:
        """What takes no time, but may have to read a file."""


@final
class Authentication:
    """What all connections share: the rules, the users, the threads and the counts.

    Attributes:
        require_tls_for: mechanisms that are offered inside TLS only.
        legacy: those from before SCRAM that are offered; `digest_hosts`: what clients of DIGEST-MD5
            may call us, empty: anything.
        kerberos: who may log in by it; `None`: nobody.
        certificates: those of clients are asked for, and are users.
        nobodys_names: those that clients without a login have, and nobody else.
        accepted, refused: logins, by mechanism, those refused before anybody was asked included,
            and of all mechanisms that we do not have together; `throttled`: logins refused unheard.
        plain_in_clear: passwords that came without TLS, but from this machine itself.
        on_read: called when the users file may have been read again, before anybody hears of that.
    """

    log = NamedLogger("gateway.net.authenticate.Authentication")

    def __init__(
        self,
        later: Later,
        now_ms: Callable[[], int],
        *,
        anonymous_allowed: bool,
        passwords: Passwords | None = None,
        threads: Threads | None = None,
        require_tls_for: tuple[str, ...] = (),
        legacy: tuple[str, ...] = (),
        digest_hosts: frozenset[str] = frozenset(),
        kerberos: Kerberos | None = None,
        anonymous_name: str = "anonymous",
        certificates: bool = False,
        nobodys_names: frozenset[str] = frozenset(),
    ) -> None:
        self.later = later
        self.now_ms = now_ms
        self.anonymous_allowed = anonymous_allowed
        self.anonymous_name = anonymous_name
        self.certificates = certificates
        self.nobodys_names = nobodys_names
        self.passwords = passwords
        self.threads = threads
        self.require_tls_for = require_tls_for
        self.legacy = legacy
        self.digest_hosts = digest_hosts
        self.kerberos = kerberos
        self.throttle = Throttle()
        self.accepted: dict[str, int] = dict.fromkeys(COUNTED, 0)
        self.refused: dict[str, int] = dict.fromkeys((*COUNTED, "other"), 0)
        self.throttled = 0
        self.plain_in_clear = 0
        self.on_read: Callable[[], None] = lambda: None
        self._refusals = Pace(now_ms)  # whoever guesses passwords must not fill the log
        self.unchecked = Pace(now_ms)
        self._looks = False
        self._told_in_clear: set[str] = set()

    def has(self, name: str) -> bool:
        """`faces.face.Logins`: which names in certificates and tickets may come, nobody knows."""
        passwords = self.passwords
        if name in self.nobodys_names:
            return False
        if self.certificates or self.kerberos is not None:
            return True
        return passwords is not None and passwords.has(name)

    def users(self) -> Authentication | None:
        """Itself where there are users, who have to log in; `None`: everybody is anybody."""
        known = self.certificates or self.kerberos is not None or self.passwords is not None
        return self if known else None

    def users_file(self) -> tuple[str, str]:
        """SHA-256 and path of the users file, as it was read last; "" where there is none."""
        passwords = self.passwords
        return ("", "") if passwords is None else (passwords.digest, str(passwords.path))

    @property
    def waiting(self) -> int:
        """How many passwords wait for a thread."""
        return 0 if self.threads is None else self.threads.waiting

    def count_refusal(self, mechanism: str) -> None:
        """One more by a mechanism; clients may call one as they like."""
        self.refused[mechanism if mechanism in self.refused else "other"] += 1

    def tell_refusal(self, peer: Peer, mechanism: str, name: str, why: str = "") -> None:
        """Operators are asked why somebody cannot log in: a line, unless there was one just now."""
        if not self._refusals.may_tell():
            return
        self.log.warn(
            "connection {connection} from {endpoint}: refused a login: {mechanism},"
            " {name}{why}{more}",
            connection=peer.connection_id,
            endpoint=peer.endpoint(),
            mechanism=mechanism,
            name=repr(name[:NAME_TOLD]) if name else "no name",
            why=f": {why}" if why else "",
            more=self._refusals.more(),
        )

    def note_password(self, peer: Peer, identity: str) -> None:
        """A right password came as it is; operators are to know whose crossed the network so."""
        if peer.secure or peer.address.startswith(LOOPBACK):
            return
        self.plain_in_clear += 1
        if identity in self._told_in_clear or len(self._told_in_clear) >= NAMES_TOLD:
            return
        self._told_in_clear.add(identity)
        self.log.warn(
            "{identity} sends a password in clear text, from {address}: PLAIN without TLS",
            identity=identity,
            address=peer.address,
        )

    def refresh(self) -> None:
        """What is offered depends on the users file: look whether it has changed.

        A look that has not come back is waited for: its disk does not answer.
        """
        passwords, threads = self.passwords, self.threads
        if passwords is None or threads is None or self._looks:
            return
        self._looks = True
        looked = threads.look(passwords.refresh).addBoth(self._have_looked)
        looked.addCallback(lambda _none: self.on_read())
        looked.addErrback(lambda failure: self.log.failure("users file", failure))

    def _have_looked(self, result: T) -> T:
        self._looks = False
        return result
