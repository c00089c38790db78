"""What both protocols' clients offer, and the Twisted protocol that drives them.

A client is sans-IO, like a face: octets in, octets out, deadlines. What a caller waits for is a
Deferred; whatever ends the connection fails all that are left with a `ClientError`.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol, final

from twisted.internet.defer import Deferred
from twisted.internet.protocol import Protocol as TwistedProtocol
from twisted.internet.protocol import connectionDone
from twisted.python.failure import Failure

from gateway.clients.letter import Letter
from gateway.errors import GatewayError
from gateway.net.alarm import Alarm, Later
from gateway.net.saslprep import saslprep
from gateway.wire.sasl import ClientMechanism, anonymous, plain
from gateway.wire.scram import SCRAM_SHA_256, SCRAM_SHA_512, ScramClient

TRACE: Final = "amqp-gateway"
NONCE_OCTETS: Final = 24
HTTP: Final = b"HTTP/"
NOT_AMQP: Final = "an HTTP server answers there, not AMQP: the gateway's admin port, perhaps"


def login_needed(offered: list[str]) -> str:
    """What is said of a server that takes nobody without a name."""
    return f"a user name is needed (--user): the server offers {', '.join(offered) or 'nothing'}"


class ClientError(GatewayError):
    """The peer, or the way to it, did not let us do what was asked."""


class Delivered(Protocol):
    """A letter that arrived, to be settled unless it came settled."""

    letter: Letter

    def settle(self, outcome: str) -> None:
        """``accept``, ``reject`` or ``release`` it."""


def scram_clients(username: str, password: str) -> list[ClientMechanism]:
    """Those of SCRAM; none where SASLprep does not allow the name or the password."""
    try:
        name, secret = saslprep(username), saslprep(password)
    except ValueError:
        return []
    return [
        ScramClient(mechanism, name, secret, nonce=secrets.token_urlsafe(NONCE_OCTETS))
        for mechanism in (SCRAM_SHA_512, SCRAM_SHA_256)
    ]


@dataclass(frozen=True, slots=True)
class Login:
    """Who the client is: without a name, ANONYMOUS."""

    username: str | None = None
    password: str = ""
    virtual_host: str = ""

    def mechanisms(self) -> list[ClientMechanism]:
        """Fresh ones for one connection, best first."""
        if self.username is None:
            return [anonymous(TRACE)]
        return [*scram_clients(self.username, self.password), plain(self.username, self.password)]


@dataclass(frozen=True, slots=True)
class Subscription:
    """What to receive, and how.

    Attributes:
        address: a queue, or ``exchange/key``.
        credit: letters that may be on their way; renewed as they are settled unless `once`.
        once: no more than `credit` in all.
        settled: letters come settled (0-10 accept-mode none, 1.0 snd-settle-mode settled).
        browse: see copies, take nothing.
    """

    address: str
    credit: int = 100
    once: bool = False
    settled: bool = False
    browse: bool = False


Take = Callable[[Delivered], None]


class Client(Protocol):
    """One connection with one session, of either protocol."""

    flush: Callable[[], None]

    @property
    def closed(self) -> bool:
        """The transport is to be closed."""

    def receive_data(self, data: bytes, now_ms: int) -> None:
        """Octets from the peer."""

    def receive_eof(self, reason: str) -> None:
        """The transport is gone."""

    def data_to_send(self) -> bytes:
        """Octets for the peer."""

    def next_deadline(self) -> int | None:
        """When `handle_deadline` wants to be called."""

    def handle_deadline(self, now_ms: int) -> None:
        """Its time has come."""

    def ready(self) -> Deferred[None]:
        """Fires when letters can be sent and received."""

    def send(self, address: str, letter: Letter) -> Deferred[str]:
        """Publish; fires with the outcome: ``accepted``, ``released``, ``rejected: why`` ..."""

    def receive(self, subscription: Subscription, take: Take) -> Deferred[None]:
        """Have `take` called with what arrives; fires when the peer has agreed."""

    def lost(self) -> Deferred[None]:
        """Never fires; fails with the reason when the connection is over."""

    def close(self, now_ms: int) -> Deferred[None]:
        """End in good order; fires when the connection is over."""


@final
class Waiting:
    """Deferreds that are not fired yet; the end of the connection fails all of them."""

    def __init__(self) -> None:
        self._left: set[Deferred[Any]] = set()  # Any: each waits for something else
        self.error: ClientError | None = None

    def make(self) -> Deferred[Any]:
        """One more; already failed if the connection is over."""
        made: Deferred[Any] = Deferred()
        if self.error is not None:
            made.errback(self.error)
        else:
            self._left.add(made)
        return made

    def fire(self, one: Deferred[Any], result: object = None) -> None:
        """What was waited for has come; `ClientError` for what will not."""
        if one not in self._left:
            return
        self._left.discard(one)
        if isinstance(result, ClientError):
            one.errback(result)
        else:
            one.callback(result)

    def fail(self, reason: str) -> None:
        """Nothing more will come."""
        if self.error is None:
            self.error = ClientError(reason)
        for one in list(self._left):
            self.fire(one, ClientError(reason))


@final
class ClientProtocol(TwistedProtocol):
    """Drives a client over a transport."""

    def __init__(self, client: Client, later: Later, now_ms: Callable[[], int]) -> None:
        self.client = client
        self._later = later
        self._now_ms = now_ms
        self._alarm = Alarm(later, now_ms, self._deadline)
        self._flushing = False
        self._over = False
        self._heard = False
        client.flush = self.schedule

    def connectionMade(self) -> None:
        """Say hello."""
        self._flush()

    def dataReceived(self, data: bytes) -> None:
        """Octets from the peer."""
        if not self._heard:
            self._heard = True
            if data.startswith(HTTP):
                self.client.receive_eof(NOT_AMQP)
                self._over = True
                if self.transport is not None:
                    self.transport.loseConnection()
        if not self._over:
            self.client.receive_data(data, self._now_ms())
            self.schedule()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """The transport is gone."""
        self._over = True
        self._alarm.stop()
        self.client.receive_eof(f"the connection ended: {reason.getErrorMessage()}")

    def schedule(self) -> None:
        """Write what there is, once for everything that is done in this pass."""
        if not self._flushing and not self._over:
            self._flushing = True
            self._later.callLater(0, self._flush)

    def _flush(self) -> None:
        self._flushing = False
        if self._over or self.transport is None:
            return
        data = self.client.data_to_send()
        while data:
            self.transport.write(data)
            data = self.client.data_to_send()
        if self.client.closed:
            self.transport.loseConnection()
        self._alarm.set(self.client.next_deadline())

    def _deadline(self, now_ms: int) -> None:
        self.client.handle_deadline(now_ms)
        self.schedule()
