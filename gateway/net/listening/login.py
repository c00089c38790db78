"""Who a peer is: the SASL mechanisms behind the faces' `Authenticator`.

Passwords are checked in threads (a PBKDF2 of 600,000 rounds takes a tenth of a second); the answer
comes back as a call on the reactor's thread, in a later turn. Before that a login waits as long as
`throttle` says, unless its password is remembered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, final

from twisted.python.failure import Failure

from gateway.faces.face import AuthenticationWaiter, Peer
from gateway.net.listening.authenticate import Authentication, Threads
from gateway.net.listening.offers import server_side, user_mechanisms
from gateway.net.listening.password_threads import GivenUpError
from gateway.net.listening.passwords import Passwords, prepared_or_none
from gateway.net.listening.throttle import REPEATED_MS
from gateway.net.listening.users import User
from gateway.net.logs import NamedLogger
from gateway.wire.gssapi_server import GSSAPI
from gateway.wire.sasl import (
    ANONYMOUS,
    EXTERNAL,
    PLAIN,
    Credentials,
    Keys,
    Proof,
    ServerMechanism,
)
from gateway.wire.scram import PLUS, is_scram
from gateway.wire.scram_server import NO_BINDING, OTHER_BINDING

NAME_COMPARED: Final = 255  # characters of a name by which its failures are counted
BROKEN_OFF: Final = {
    NO_BINDING: "it says that no channel binding was offered, but it was: somebody between the two"
    " may have hidden that",
    OTHER_BINDING: "its channel binding is not that of this connection: somebody may be between",
}


@final
class PeerAuthenticator:
    """`faces.face.Authenticator` for one connection: one question at a time."""

    log = NamedLogger("gateway.net.authenticate.PeerAuthenticator")

    def __init__(self, shared: Authentication, peer: Peer) -> None:
        self.shared = shared
        self.peer = peer
        self._waiter: AuthenticationWaiter | None = None
        self._username = ""
        self._compared = ""
        self._known: str | None = None  # SCRAM: the user whose keys these are
        self._granted = ""
        self._identity = ""
        self._verifiers: User | None = None  # of the user when the password was checked, or before

    def mechanisms(self) -> list[str]:
        """Those by which this peer can succeed, best first."""
        shared, peer = self.shared, self.peer
        offered = []
        if peer.certificate_name:
            offered.append(EXTERNAL)
        if shared.kerberos is not None:
            offered.append(GSSAPI)
        if shared.passwords is not None:
            offered += user_mechanisms(shared.passwords, peer, shared.legacy)
        if shared.anonymous_allowed:
            offered.append(ANONYMOUS)
        if peer.secure:
            return offered
        return [each for each in offered if each not in shared.require_tls_for]

    def begin(self, mechanism: str) -> ServerMechanism | None:
        """The server's side of one of them; `None`: it is not among them, and the login refused."""
        if mechanism not in self.mechanisms():
            self.shared.count_refusal(mechanism)
            return None

        def told(name: str, error: str) -> None:
            self._on_broken_off(mechanism, name, error)

        shared = self.shared
        return server_side(
            mechanism, self.peer, shared.passwords, shared.kerberos, shared.digest_hosts, told
        )

    def authenticate(self, credentials: Credentials, waiter: AuthenticationWaiter) -> None:
        """Start checking; the waiter is told in a later turn."""
        self._waiter = waiter
        self.peer.held(True)
        mechanism = credentials.mechanism
        passwords, threads = self.shared.passwords, self.shared.threads
        if credentials.task is not None and threads is not None:
            self._run(threads, mechanism, credentials.task)
            return
        # Nobody may act for somebody else.
        own = credentials.authorization in ("", credentials.username)
        ours = passwords is not None and threads is not None and own
        if is_scram(mechanism) and credentials.keys is not None:
            known = self._known if credentials.proven and own else None
            self._later(lambda: self._judge(mechanism, known))
            return
        self._username = credentials.username
        self._compared = _compared(credentials.username)
        proof = credentials.proof
        if not ours or not (is_scram(mechanism) or mechanism == PLAIN or proof is not None):
            identity = self._at_once(credentials)
            self._later(lambda: self._answer(mechanism, identity))
            return
        assert passwords is not None and threads is not None
        if mechanism == PLAIN:
            self._recall(passwords, threads, credentials)
        elif proof is not None:
            self._wait(mechanism, lambda: self._prove(passwords, threads, credentials, proof))
        else:
            self._wait(mechanism, lambda: self._look_up(passwords, threads, credentials))

    def withdrawn(self) -> str:
        """Why it could not log in again as it has; "" if it could. `tls` knows of certificates."""
        shared, mechanism = self.shared, self._granted
        if mechanism in ("", ANONYMOUS):
            return "" if shared.anonymous_allowed else "a login is needed by now"
        if self._identity in shared.nobodys_names:
            return f"{self._identity!r} is what clients without a login are called"
        if mechanism in (EXTERNAL, GSSAPI):
            return ""
        now = None if shared.passwords is None else shared.passwords.user(self._identity)
        if now is None:
            return "the user was removed"
        return "" if now == self._verifiers else "the password was changed"

    def by_certificate(self) -> bool:
        """Whether it is who its certificate says that it is."""
        return self._granted == EXTERNAL

    def forget(self, waiter: AuthenticationWaiter) -> None:
        """The connection is gone: nobody is told."""
        self._waiter = None

    def _later(self, call: Callable[[], None], wait_ms: int = 0) -> None:
        self.shared.later.callLater(wait_ms / 1000, call)

    def _at_once(self, credentials: Credentials) -> str | None:
        if credentials.mechanism == ANONYMOUS and self.shared.anonymous_allowed:
            return self.shared.anonymous_name
        if credentials.mechanism == EXTERNAL and self.peer.certificate_name:
            own = credentials.username in ("", self.peer.certificate_name)
            return self.peer.certificate_name if own else None
        kerberos = self.shared.kerberos
        if credentials.mechanism == GSSAPI and kerberos is not None:
            return kerberos.principals.user(credentials.username, credentials.authorization)
        return None

    def _run(self, threads: Threads, mechanism: str, task: Callable[[], None]) -> None:
        """GSSAPI: a token is taken in a thread; the mechanism knows what came of it."""
        answer = threads.run(lambda: task() if self._waiter else None, self.peer.address, "")

        def done(_none: object) -> None:
            waiter, self._waiter = self._waiter, None
            if waiter is not None:
                self._tell(waiter, mechanism)

        answer.addCallbacks(done, lambda failure: self._failed(mechanism, failure))

    # Passwords. A peer that left while it waited for its time or for a thread costs nothing.

    def _wait(self, mechanism: str, then: Callable[[], None]) -> None:
        """As long as those have to who have failed."""
        shared = self.shared
        wait_ms = shared.throttle.begin(self.peer.address, self._compared, shared.now_ms())
        if wait_ms is None:
            self._later(lambda: self._refuse_unheard(mechanism))
        elif wait_ms:
            self._later(lambda: then() if self._waiter is not None else None, wait_ms)
        else:
            then()

    def _recall(self, passwords: Passwords, threads: Threads, credentials: Credentials) -> None:
        """PLAIN: perhaps we know this password."""
        username, password = credentials.username, credentials.password
        now_ms = self.shared.now_ms()

        def recall() -> str | None:
            identity = passwords.recall(username, password, now_ms)
            self._verifiers = passwords.user(username)
            return identity

        answer = threads.look(lambda: recall() if self._waiter else None)

        def recalled(identity: str | None) -> None:
            if identity is not None:
                self._judge_again(identity)
            elif self._waiter is not None:
                self._wait(PLAIN, lambda: self._check(passwords, threads, credentials))

        answer.addCallbacks(recalled, lambda failure: self._failed(PLAIN, failure))

    def _check(self, passwords: Passwords, threads: Threads, credentials: Credentials) -> None:
        username, password = credentials.username, credentials.password
        now_ms, address = self.shared.now_ms(), self.peer.address
        throttle = self.shared.throttle

        def check() -> tuple[str | None, str | None]:
            self._verifiers = passwords.user(username)
            # Of the one before us in the queue, perhaps.
            again = passwords.recall_again(username, password, now_ms)
            if again is not None:
                return again, None
            return None, passwords.check(username, password, now_ms)

        def checked(answer: tuple[str | None, str | None]) -> None:
            again, identity = answer
            if again is None:
                self._judge(PLAIN, identity)
            else:
                self._judge_again(again)

        def failed(failure: Failure) -> None:
            if isinstance(failure.value, GivenUpError):
                self._refuse_unheard(PLAIN)
            else:
                self._failed(PLAIN, failure)

        answer = threads.run(
            lambda: check() if self._waiter else (None, None),
            address,
            self._compared,
            known=throttle.knows(address, self._compared, now_ms),
            failed=throttle.has_failed(address, self._compared, now_ms),
            floods=throttle.floods(address, self._compared, now_ms),
        )
        answer.addCallbacks(checked, failed)

    def _prove(
        self, passwords: Passwords, threads: Threads, credentials: Credentials, proof: Proof
    ) -> None:
        """CRAM-MD5, DIGEST-MD5: with what is kept of the user, or such as it might be."""
        username, mechanism = credentials.username, credentials.mechanism

        def prove() -> str | None:
            known, secret = passwords.secret(username, mechanism)
            self._verifiers = passwords.user(username)
            return known if proof.matches(secret) else None

        answer = threads.look(lambda: prove() if self._waiter else None)
        answer.addCallbacks(
            lambda identity: self._judge(mechanism, identity),
            lambda failure: self._failed(mechanism, failure),
        )

    def _look_up(self, passwords: Passwords, threads: Threads, credentials: Credentials) -> None:
        """SCRAM: the keys of the user, or such as it might have."""
        username = credentials.username
        mechanism = credentials.mechanism

        def look_up() -> tuple[str | None, Keys]:
            keys = passwords.keys(username, mechanism.removesuffix(PLUS))
            self._verifiers = passwords.user(username)
            return keys

        answer = threads.look(look_up)

        def found(known: Any) -> None:  # Any: a Deferred does not say
            self._known, credentials.keys = known
            waiter, self._waiter = self._waiter, None
            if waiter is not None:
                self._tell(waiter, username)

        answer.addCallbacks(found, lambda failure: self._failed(mechanism, failure))

    def _failed(self, mechanism: str, failure: object) -> None:
        unchecked = self.shared.unchecked
        if unchecked.may_tell():
            self.log.error(
                "a password could not be checked: {failure}{more}",
                failure=failure,
                more=unchecked.more(),
            )
        self._answer(mechanism, None)

    def _refuse_unheard(self, mechanism: str) -> None:
        if self._waiter is not None:
            self.shared.throttled += 1
        self._answer(mechanism, None)

    def _judge_again(self, identity: str) -> None:
        """A password that came before, and was wrong if `identity` is ""."""
        if identity:
            self._judge(PLAIN, identity)
        else:
            self._later(lambda: self._answer(PLAIN, None), REPEATED_MS)

    def _judge(self, mechanism: str, identity: str | None) -> None:
        """The answer, where a password was shown or proved."""
        if self._waiter is not None:
            shared, address, now_ms = self.shared, self.peer.address, self.shared.now_ms()
            if identity is None:
                shared.throttle.failed(address, self._compared, now_ms)
            else:
                shared.throttle.succeeded(address, self._compared, now_ms)
                if mechanism == PLAIN:
                    shared.note_password(self.peer, identity)
        self._answer(mechanism, identity)

    def _answer(self, mechanism: str, identity: str | None) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is None:
            return
        why = ""
        if identity is not None:
            self._granted, self._identity = mechanism, identity
            why = self.withdrawn()  # meanwhile, perhaps
            if why:
                identity = None
        self.shared.on_read()
        if identity is None:
            self.shared.count_refusal(mechanism)
            self.shared.tell_refusal(self.peer, mechanism, self._username, why)
        else:
            self.shared.accepted[mechanism] += 1
        self._tell(waiter, identity)

    def _on_broken_off(self, mechanism: str, name: str, error: str) -> None:
        """An exchange has failed before there was anything to verify."""
        self.shared.count_refusal(mechanism)
        self.shared.tell_refusal(self.peer, mechanism, name, BROKEN_OFF.get(error, error))

    def _tell(self, waiter: AuthenticationWaiter, identity: str | None) -> None:
        self.peer.held(False)
        waiter.on_authenticated(identity, self.shared.now_ms())


def _compared(name: str) -> str:
    """The name by which its failures are counted, however it is spelled."""
    short = name[:NAME_COMPARED]
    return prepared_or_none(short) or short
