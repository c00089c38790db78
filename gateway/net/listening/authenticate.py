"""Who a peer is: SASL ANONYMOUS, PLAIN and EXTERNAL behind the faces' `Authenticator`.

Passwords are checked in threads (a PBKDF2 of 600,000 rounds takes a tenth of a second); the answer
comes back as a call on the reactor's thread, in a later turn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from gateway.faces.face import AuthenticationWaiter, Peer
from gateway.net.alarm import Later
from gateway.net.listening.passwords import Passwords
from gateway.wire.sasl import ANONYMOUS, EXTERNAL, PLAIN, Credentials

REFUSALS_TOLD_EVERY_MS: Final = 1000  # whoever guesses passwords must not fill the log
NAME_TOLD: Final = 80  # characters
InThread = Callable[[Callable[[], str | None]], "Deferred[str | None]"]


@final
class Authentication:
    """What all connections share: the rules, the users, the threads and the counts."""

    log = Logger(namespace="gateway.net.authenticate.Authentication")

    def __init__(
        self,
        later: Later,
        now_ms: Callable[[], int],
        *,
        anonymous_allowed: bool,
        passwords: Passwords | None = None,
        in_thread: InThread | None = None,
        anonymous_name: str = "anonymous",
    ) -> None:
        self.later = later
        self.now_ms = now_ms
        self.anonymous_allowed = anonymous_allowed
        self.anonymous_name = anonymous_name
        self.passwords = passwords
        self.in_thread = in_thread
        self.accepted: dict[str, int] = dict.fromkeys((EXTERNAL, PLAIN, ANONYMOUS), 0)
        self.refused: dict[str, int] = dict.fromkeys((EXTERNAL, PLAIN, ANONYMOUS, "other"), 0)

        self._told_ms = -REFUSALS_TOLD_EVERY_MS
        self._untold = 0

    def tell_refusal(self, peer: Peer, mechanism: str, name: str) -> None:
        """Operators are asked why somebody cannot log in: a line, unless there was one just now."""
        now_ms = self.now_ms()
        if now_ms - self._told_ms < REFUSALS_TOLD_EVERY_MS:
            self._untold += 1
            return
        self.log.warn(
            "refused a login from {address}: {mechanism}, {name}{more}",
            address=peer.address,
            mechanism=mechanism,
            name=repr(name[:NAME_TOLD]) if name else "no name",
            more=f"; {self._untold} more since the last such line" if self._untold else "",
        )
        self._told_ms = now_ms
        self._untold = 0

    def for_peer(self, peer: Peer) -> PeerAuthenticator:
        """The `Authenticator` of one connection."""
        return PeerAuthenticator(self, peer)


@final
class PeerAuthenticator:
    """`faces.face.Authenticator` for one connection: one question at a time."""

    log = Logger(namespace="gateway.net.authenticate.PeerAuthenticator")

    def __init__(self, shared: Authentication, peer: Peer) -> None:
        self.shared = shared
        self.peer = peer
        self._waiter: AuthenticationWaiter | None = None
        self._username = ""

    def mechanisms(self) -> list[str]:
        """Those by which this peer can succeed, best first."""
        offered = []
        if self.peer.certificate_name:
            offered.append(EXTERNAL)
        if self.shared.passwords is not None:
            offered.append(PLAIN)
        if self.shared.anonymous_allowed:
            offered.append(ANONYMOUS)
        return offered

    def authenticate(self, credentials: Credentials, waiter: AuthenticationWaiter) -> None:
        """Start checking; the waiter is told in a later turn."""
        self._waiter = waiter
        self._username = credentials.username
        passwords, in_thread = self.shared.passwords, self.shared.in_thread
        mechanism = credentials.mechanism
        # Nobody may act for somebody else.
        own = credentials.authorization in ("", credentials.username)
        if mechanism == PLAIN and passwords is not None and in_thread is not None and own:
            username, password = credentials.username, credentials.password
            # A peer that left while its password waited for a thread costs nothing.
            answer = in_thread(
                lambda: passwords.check(username, password) if self._waiter is not None else None
            )
            answer.addCallbacks(
                lambda identity: self._answer(PLAIN, identity),
                lambda failure: self._failed(failure),
            )
            return
        identity = self._at_once(credentials)
        self.shared.later.callLater(0, lambda: self._answer(mechanism, identity))

    def forget(self, waiter: AuthenticationWaiter) -> None:
        """The connection is gone: nobody is told."""
        self._waiter = None

    def _at_once(self, credentials: Credentials) -> str | None:
        if credentials.mechanism == ANONYMOUS and self.shared.anonymous_allowed:
            return self.shared.anonymous_name
        if credentials.mechanism == EXTERNAL and self.peer.certificate_name:
            own = credentials.username in ("", self.peer.certificate_name)
            return self.peer.certificate_name if own else None
        return None

    def _failed(self, failure: object) -> None:
        self.log.error("a password could not be checked: {failure}", failure=failure)
        self._answer(PLAIN, None)

    def _answer(self, mechanism: str, identity: str | None) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is None:
            return
        counts = self.shared.refused if identity is None else self.shared.accepted
        counts[mechanism if mechanism in counts else "other"] += 1
        if identity is None:
            self.shared.tell_refusal(self.peer, mechanism, self._username)
        waiter.on_authenticated(identity, self.shared.now_ms())
