"""Listeners: who may connect, and which face a connection gets by its first eight octets.

A connection begins with a `Threshold`, which reads the protocol header and then gives way to the
protocol's own face. TLS comes first on the `amqps` port, and on the other one where the header asks
for it (`AMQP 2 1 0 0`). Before that it may have to wait for its turn, or a proxy says whose it is
(`first_faces`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, final

from twisted.internet.interfaces import IAddress, IOpenSSLContextFactory
from twisted.internet.protocol import ServerFactory

from gateway.faces.face import Authenticator, Ending, Face, Peer
from gateway.net.alarm import Later
from gateway.net.counts import NetCounts
from gateway.net.listening.admission import WITH_ENDING, Admission
from gateway.net.listening.authenticate import Authentication
from gateway.net.listening.first_faces import PassedOn, Unheard
from gateway.net.listening.first_octets import HEADER_1_0_TLS, HEADER_OCTETS, Ask
from gateway.net.listening.login import PeerAuthenticator
from gateway.net.listening.proxy_header import shown
from gateway.net.listening.silence import Silence
from gateway.net.listening.threshold import Threshold
from gateway.net.listening.turned_away import TurnedAway
from gateway.net.logs import NamedLogger
from gateway.net.patience import Patience
from gateway.net.pump import LINGER_MS, Pump
from gateway.net.tls.files import Doubt, channel_bindings, client_doubt
from gateway.net.tls.layer import SHOWN_MAX, Terms, begin_tls
from gateway.net.transport import Layer
from gateway.net.turns import TurnLoop
from gateway.wire.accounts import Account


class FaceMaker(Protocol):
    """Makes a protocol's server face for one connection."""

    def __call__(self, authenticator: Authenticator, peer: Peer, now_ms: int) -> Face:
        """The face, which has read nothing yet."""


@final
class Door:
    """What all listeners of the gateway share: the faces, the limits, and who is in."""

    log = NamedLogger("gateway.net.listen.Door")

    def __init__(
        self,
        later: Later,
        now_ms: Callable[[], int],
        turns: TurnLoop,
        authentication: Authentication,
        counts: NetCounts,
        makers: dict[Ask, FaceMaker],
        *,
        connections_max: int,
        connections_per_address_max: int,
        entering_per_address_max: int,
        login_octets_max: int,
        handshake_timeout_ms: int,
        tls_context: IOpenSSLContextFactory | None = None,
        account: Account | None = None,
    ) -> None:
        self.later = later
        self.now_ms = now_ms
        self.turns = turns
        self.authentication = authentication
        self.counts = counts
        self.makers = makers
        self.connections_max = connections_max
        self.files_max = connections_max  # as many as the process may have files for
        self.login_octets_max = login_octets_max
        self.handshake_timeout_ms = handshake_timeout_ms
        self.tls_context = tls_context
        terms = self._terms(account or Account())
        self.layer: Callable[[Pump, IOpenSSLContextFactory], Layer] = lambda pump, context: (
            begin_tls(pump, context, terms)
        )
        self.pumps: dict[int, Pump] = {}
        self._vacated: set[int] = set()  # those of them whose transports are gone
        self.logins: dict[int, PeerAuthenticator] = {}
        self._admission = Admission(
            counts,
            lambda let_in: later.callLater(0, let_in),
            turns.strangers,
            turns.shares,
            per_address_max=connections_per_address_max,
            entering_max=entering_per_address_max,
        )
        self.turned_away = TurnedAway(later)
        self.on_empty: Callable[[], None] | None = None
        self.on_doubted: Callable[[Peer, Doubt, int], None] | None = None
        self.on_vacated: Callable[[int], None] | None = None
        self._passed_on: set[int] = set()  # those whose proxy has not said from where they are
        self._last_id = 0
        self._silence = Silence(later, now_ms, counts, self._admission, self.pumps)

    def _terms(self, account: Account) -> Terms:
        """Those of TLS for all who come in here."""
        return Terms(
            self.turns,
            account,
            self.login_octets_max,
            self.now_ms,
            share=lambda pump: pump.turn_share,
            who=lambda pump: pump.who(),
            shown_max=SHOWN_MAX,
            too_large=lambda pump: pump.on_oversized(),
            restless=self._on_restless,
            stepped=lambda pump: pump.on_step(),
            lost=self.vacate,
        )

    def admit(
        self, address: str, *, tls_first: bool, passed_on: bool = False, port: int = 0
    ) -> Pump | None:
        """A pump for a new connection; `None`: it is one too many.

        `passed_on`: a proxy says first from which address it is.
        """
        reason = self._full()
        if reason:
            self.counts.refused[reason] += 1
            self.turned_away.tell(address, reason)
            return None
        if not passed_on and not self._come(address):
            return None
        pump = Pump(self, self.next_id(), address, port)
        pump.entered = False
        pump.early_left = self.login_octets_max
        if tls_first:
            pump.tls_context = self.tls_context
        if passed_on:
            self._passed_on.add(pump.connection_id)
        self.pumps[pump.connection_id] = pump
        self.counts.accepted += 1
        return pump

    def _full(self) -> str:
        """The limit that one more connection would pass; "": none."""
        there = len(self.pumps) - len(self._vacated)
        most = self.connections_max
        if there >= most or len(self.pumps) >= WITH_ENDING * most:
            return "limit"
        return "files" if there >= self.files_max else ""

    def next_id(self) -> int:
        """A number for a connection, in the audit log; upstreams' are numbered with the others."""
        self._last_id += 1
        return self._last_id

    def vacate(self, pump: Pump) -> None:
        """Its transport is gone, and its file is closed: room for another one."""
        number = pump.connection_id
        if number in self._vacated:
            return
        self._vacated.add(number)
        self.counts.ending += 1
        if number not in self._passed_on:
            self._admission.vacate(pump.address, number)
        if self.on_vacated is not None:
            self.on_vacated(number)

    def gone(self, pump: Pump) -> None:
        """The connection is over."""
        number = pump.connection_id
        del self.pumps[number]
        self._vacated.remove(number)
        self.counts.ending -= 1
        self.logins.pop(number, None)
        self.counts.lost += 1
        if number in self._passed_on:
            self._passed_on.remove(number)
        else:
            self._admission.gone(pump.address)
        if not self.pumps and self.on_empty is not None:
            self.on_empty()

    def first_face(self, pump: Pump) -> Face:
        """Nothing is heard before it stands."""
        return Unheard()

    def begin(self, pump: Pump) -> None:
        """A connection stands: hear it, if it may be heard by now."""
        if pump.connection_id not in self._passed_on:
            self._enter(pump, b"")
            return

        def failed(problem: str) -> None:
            self.counts.handshake_failures["proxy"] += 1
            self.turned_away.tell(pump.address, "proxy", problem or "it said nothing")

        told = PassedOn(
            self._begin_waiting(pump),
            lambda address, port, rest: self._on_passed_on(pump, address, port, rest),
            failed,
        )
        pump.become(told, b"")

    def _on_passed_on(self, pump: Pump, address: str, port: int, rest: bytes) -> None:
        """A proxy has said from where a connection is; "": it is the proxy's own."""
        if address:
            pump.address = address
            pump.port = port
        if not self._come(pump.address):
            pump.abort()
            return
        self._passed_on.remove(pump.connection_id)
        self._enter(pump, rest)

    def _come(self, address: str) -> bool:
        """One more connection of an address; `False`: it is one too many."""
        if self._admission.come(address):
            return True
        self.turned_away.tell(address, "address_limit")
        return False

    def _enter(self, pump: Pump, rest: bytes) -> None:
        """Hear a connection now, or when it is its turn."""
        unheard = Unheard()
        number = pump.connection_id
        pump.turn_share = self._admission.turn_share(pump.address)
        if self._admission.enter(pump.address, number, lambda: self._let_in(pump, unheard)):
            self._hear(pump, rest)
        else:
            pump.entry_deadline_ms = None
            pump.patience = None
            pump.become(unheard, rest)
            self._silence.look_later()

    def _let_in(self, pump: Pump, unheard: Unheard) -> None:
        if pump.connection_id in self.pumps and not unheard.closed:
            self._hear(pump, unheard.read)

    def _hear(self, pump: Pump, rest: bytes) -> None:
        """Every connection begins by saying which protocol it speaks, perhaps inside TLS."""
        deadline_ms = self._begin_waiting(pump)
        context = pump.tls_context
        pump.become(Threshold(self, pump, deadline_ms), rest if context is None else b"")
        if context is not None:
            pump.begin_tls(self.layer(pump, context), rest)

    def _begin_waiting(self, pump: Pump) -> int:
        """We wait for what a peer says, until then if we get to it at once."""
        now_ms = self.now_ms()
        deadline_ms = now_ms + self.handshake_timeout_ms
        # In order its face ends it: this is for who is slow with each step anew.
        pump.entry_deadline_ms = deadline_ms + LINGER_MS
        pump.patience = Patience(now_ms, self.handshake_timeout_ms)
        return deadline_ms

    def _on_entered(self, pump: Pump, user: str) -> None:
        """A connection has opened: the next of its address may be heard."""
        if not pump.entered:
            pump.entered = True
            pump.patience = None
            nameless = user == self.authentication.anonymous_name
            pump.turn_share = (
                self._admission.nameless_share(pump.address)
                if nameless
                else self.turns.shares.of(user)
            )
            self._admission.entered(pump.address, pump.connection_id)

    def begin_tls(self, pump: Pump, deadline_ms: int, rest: bytes) -> None:
        """Answer the TLS header; what follows is a new protocol header inside TLS."""
        assert self.tls_context is not None
        self.counts.octets_sent += HEADER_OCTETS
        pump.transport.write(HEADER_1_0_TLS)
        pump.become(Threshold(self, pump, deadline_ms), b"")
        pump.begin_tls(self.layer(pump, self.tls_context), rest)

    def _on_restless(self, pump: Pump) -> None:
        """It renews its keys without end, which is work, and is cut off."""
        self.counts.handshake_failures["keys"] += 1
        self.turned_away.tell(pump.address, "keys")

    def on_tls_failed(self, pump: Pump) -> None:
        """It is gone; if that is for its certificate, it is told."""
        doubt = client_doubt(pump.transport)
        if doubt is not None and self.on_doubted is not None:
            peer = Peer(pump.connection_id, pump.address, secure=True, port=pump.port)
            self.on_doubted(peer, doubt, self.now_ms())

    def make_face(self, ask: Ask, pump: Pump, now_ms: int) -> Face:
        """The face for the protocol that was asked for."""
        peer = Peer(
            pump.connection_id,
            pump.address,
            secure=pump.secure,
            certificate_name=pump.certificate_name,
            port=pump.port,
            bindings=channel_bindings(pump.transport) if pump.secure else None,
            entered=lambda user: self._on_entered(pump, user),
            held=pump.hold_entry,
        )
        login = self.logins[pump.connection_id] = PeerAuthenticator(self.authentication, peer)
        return self.makers[ask](login, peer, now_ms)

    def end(self, pump: Pump, why: Ending) -> None:
        """Tell a client that its connection ends, and end it."""
        is_in = pump.face.status() is not None
        pump.face.force_close(self.now_ms(), why)
        self.turns.touch(pump.face)
        if not is_in:  # it is not waited for
            pump.flush(self.now_ms())
            pump.close()


@final
class Listener(ServerFactory[Pump]):
    """One listening port."""

    noisy = False

    def __init__(self, door: Door, *, tls_first: bool = False, passed_on: bool = False) -> None:
        self.door = door
        self.tls_first = tls_first
        self.passed_on = passed_on

    def buildProtocol(self, addr: IAddress | None) -> Pump | None:
        """A pump, or `None` where a limit is reached: Twisted then closes the connection."""
        host = shown(str(getattr(addr, "host", "unknown")))
        port = int(getattr(addr, "port", 0))
        return self.door.admit(host, tls_first=self.tls_first, passed_on=self.passed_on, port=port)
