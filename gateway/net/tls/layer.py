"""TLS between a transport and its protocol: what comes is opened in pieces, for what that costs.

Twisted's opens all that a read has brought, and passes each record on by itself; a read may have
thousands. Here a connection may open so much in one turn, by the price of its records
(`records`), and no more than is left of the share of whose it is (`turn_shares`); the rest
waits for the next turn, and meanwhile nothing is read. What a piece held is passed on as one.

Before the handshake is over a peer may send so many octets, fewer of certificates, since each of
them is parsed, and no message may say that it will be larger; what a step of it took is counted,
whatever its price. What TLS keeps of a connection is on everybody's account as long as it stands.
Afterwards it may renew its keys (KeyUpdate of TLS 1.3), which costs what it costs, but not without
end.
"""

# Twisted's transport of TLS has no annotations.
# mypy: disallow-untyped-calls=False

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, cast, final

from OpenSSL.SSL import Error, WantReadError, ZeroReturnError
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import (
    IOpenSSLClientConnectionCreator,
    IOpenSSLContextFactory,
    IProtocol,
    IProtocolFactory,
    IPushProducer,
    IReactorTime,
    IStreamClientEndpoint,
    ITransport,
)
from twisted.internet.protocol import connectionDone
from twisted.protocols.policies import ProtocolWrapper
from twisted.protocols.tls import BufferingTLSTransport, TLSMemoryBIOFactory
from twisted.python.failure import Failure
from zope.interface import implementer

from gateway.net.tls.records import (
    APPLICATION_DATA,
    CHANGE_CIPHER_SPEC,
    HANDSHAKE,
    HELLO_MAX,
    ClearMessages,
    Piece,
    Records,
    is_record,
)
from gateway.net.turn_shares import TurnShare
from gateway.net.turns import TurnLoop
from gateway.wire.accounts import Account
from gateway.wire.work import SHARE, TLS_ENDED, TLS_HANDSHAKE, TLS_KEY_UPDATE, TLS_STEP, WORK

PIECE: Final = SHARE // 4  # units; whoever is out of luck waits for so much of each of the others
MOST: Final = 2 * SHARE  # units of one connection in one turn
CONTENT_MAX: Final = 1 << 14  # octets of a record
KEPT: Final = 40 * 1024  # octets of memory, about, that OpenSSL and Twisted keep of a connection
OCTETS_LEAST: Final = 2 * HELLO_MAX  # of a handshake, whatever the limit
SHOWN_MAX: Final = 18 * 1024  # of a client's: 16 KiB of certificates, and what proves them its own
RENEWALS_MAX: Final = 32  # of keys, without any content between them
TLS_1_3: Final = "TLSv1.3"


class Terms(NamedTuple):
    """What all connections of a kind have in common. Any: whatever protocol TLS is for.

    Attributes:
        account: what is kept for everybody.
        octets_max: how many a peer may send until the handshake is over.
        shown_max: how many of these behind its hello: its certificates; `None`: as many.
        share: whose share of a turn it is; `None`: nobody's.
        who: whose connection it is, for people.
        too_large: tells the protocol that its peer has sent too many.
        restless: tells it that its peer does nothing but renew its keys.
        stepped: tells it that a record of the handshake is opened now.
        lost: is told that the transport is gone; the protocol is when its end has its turn.
    """

    turns: TurnLoop
    account: Account
    octets_max: int
    now_ms: Callable[[], int]
    share: Callable[[Any], TurnShare | None]
    who: Callable[[Any], str]
    shown_max: int | None = None
    too_large: Callable[[Any], None] = lambda _protocol: None
    restless: Callable[[Any], None] = lambda _protocol: None
    stepped: Callable[[Any], None] = lambda _protocol: None
    lost: Callable[[Any], None] = lambda _protocol: None


class TlsLayer(BufferingTLSTransport):
    """That of one connection, in the place of Twisted's; `turns.Flushed`."""

    factory: TlsFactory

    def __init__(
        self, factory: TlsFactory, wrappedProtocol: IProtocol, _connectWrapped: bool = True
    ) -> None:
        super().__init__(factory, wrappedProtocol, _connectWrapped)
        terms = self.terms = factory.terms
        self._records = Records()
        self._octets_left = max(terms.octets_max, OCTETS_LEAST)
        self._shown_left = terms.shown_max or self._octets_left
        self._clear: ClearMessages | None = ClearMessages(self._shown_left)
        self._begun = False  # a first record has come
        self._paused = False  # the protocol wants nothing for now
        self._waits = False  # what has come is for the next turn
        self._over: Failure | None = None  # why the transport is gone, but not all is opened
        self._ended = False
        self._kept = 0
        self._turn = -1
        self._used = 0  # units, in that turn
        self._content = 0  # octets, of the last piece
        self._renewals = 0  # since there was content
        self._began_ms = 0

    # What Twisted calls.

    def makeConnection(self, transport: ITransport) -> None:
        """The transport is there."""
        self.terms.turns.attach(self, self)
        self._keep(KEPT)
        super().makeConnection(transport)

    def dataReceived(self, data: bytes) -> None:
        """Octets from the peer, before they are opened."""
        self._records.add(data)
        if not self._waits:
            self._open()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """The transport is gone: the protocol hears of it when all that has come is opened."""
        if self._over is None:
            self._over = reason
            self.terms.lost(self.wrappedProtocol)
            if (self._waits and not self._aborted) or self._has_had_enough():
                self.terms.turns.touch(self)
            else:
                self._end(reason)

    def pauseProducing(self) -> None:
        """IPushProducer, of what is opened."""
        self._paused = True
        self._tcp().pauseProducing()

    def resumeProducing(self) -> None:
        """IPushProducer: first what has come."""
        self._paused = False
        if self._waits:
            self.terms.turns.touch(self)
        else:
            self._tcp().resumeProducing()

    def abortConnection(self) -> None:
        """ITCPTransport."""
        super().abortConnection()
        if self._over is not None:
            self.terms.turns.touch(self)

    def _flushReceiveBIO(self) -> None:
        """As Twisted's, but that what all records hold is passed on as one."""
        opened: list[bytes] = []
        while not self._lostTLSConnection:
            try:
                opened.append(self._tlsConnection.recv(CONTENT_MAX))
            except WantReadError:
                break
            except ZeroReturnError:
                self._pass_on(opened)
                self._shutdownTLS()
                self._tlsShutdownFinished(None)
                return
            except Error:
                failure = Failure()
                self._pass_on(opened)
                self._tlsShutdownFinished(failure)
                return
        self._pass_on(opened)
        self._flushSendBIO()

    @property
    def behind(self) -> bool:
        """Something has come that waits to be opened."""
        return self._waits

    # What the turn calls.

    def who(self) -> str:
        """Whose connection it is."""
        whose = "one that is over" if self._ended else self.terms.who(self.wrappedProtocol)
        return f"TLS of {whose}"

    def waits(self) -> bool:
        """Something has come, or it is over, and whose it is has had enough of this turn."""
        ends = self._over is not None and not self._ended
        return (self._may_open() or ends) and self._has_had_enough()

    def comes_after(self) -> bool:
        """Whose it is asks for so much that others are flushed first."""
        share = self._share()
        return share is not None and share.greedy(self.terms.turns.number)

    def flush(self, now_ms: int) -> None:
        """Open more of what has come."""
        if self._may_open():
            self._waits = False
            self._open()
            if not (self._waits or self._paused or self._aborted) and self._over is None:
                self._tcp().resumeProducing()
        left = self._waits and not self._aborted
        if self._over is not None and not (left or self._ended):
            self._end(self._over)

    def _may_open(self) -> bool:
        """Something waits, and nobody minds."""
        return self._waits and not self._aborted and (not self._paused or self._over is not None)

    # Opening.

    def _open(self) -> None:
        """What has come, as far as it may go in this turn."""
        self._began_ms = self.terms.now_ms()
        while self._has_more() and not (self._paused and self._over is None):
            if self._has_had_enough():
                break
            if self._handshakeDone:
                piece = self._records.piece(PIECE)
                self._has_cost(piece.units)
                self._content = 0
                super().dataReceived(piece.data)
                self._look_for_renewals(piece)
            else:
                self._shake_hands(self._records.whole())
        self.terms.turns.stalls.over(self._began_ms, "read", self)
        if self._has_more():
            self._wait()
        self._keep(KEPT + self._records.octets)

    def _has_more(self) -> bool:
        """Something can be opened."""
        if self._aborted or self._lostTLSConnection:
            self._records.clear()
            return False
        return self._records.ready if self._handshakeDone else self._records.has_whole

    def _shake_hands(self, record: bytes) -> None:
        """One record of a handshake, or what is none: it costs what it took, its price at least.

        What that will be nobody can tell: certificates are parsed in it, and verified, which may be
        hundreds of times as much as is usual.
        """
        price = TLS_STEP if self._begun else TLS_HANDSHAKE
        self._has_cost(price)
        self._begun = True
        self.terms.stepped(self.wrappedProtocol)
        self._octets_left -= len(record)
        if record[0] == APPLICATION_DATA:  # whatever is not in clear in TLS 1.3
            self._shown_left -= len(record)
        if min(self._octets_left, self._shown_left) < 0 or self._says_too_much(record):
            self.terms.too_large(self.wrappedProtocol)
            self.abortConnection()
            return
        worked = self.terms.turns.worked_units
        before = worked()
        super().dataReceived(record)
        self._has_cost(max(0, worked() - before - price))
        if not is_record(record) and not self._lostTLSConnection:
            self.abortConnection()  # a hello of SSL 2, which OpenSSL takes, and nobody sends

    def _look_for_renewals(self, piece: Piece) -> None:
        """Of keys, in what was opened: they are told by what there was no content of."""
        if self._content:
            self._renewals = 0
        renewals = piece.key_updates(self._content)
        if renewals == 0 or self._tlsConnection.get_protocol_version_name() != TLS_1_3:
            return
        self._has_cost(TLS_KEY_UPDATE * renewals)
        if self._content:
            return
        self._renewals += renewals
        if self._renewals > RENEWALS_MAX and not (self._aborted or self._lostTLSConnection):
            self.terms.restless(self.wrappedProtocol)
            self.abortConnection()

    def _says_too_much(self, record: bytes) -> bool:
        """Whether a message in clear says that it will be larger than any is."""
        if self._clear is None:
            return False
        if record[0] == CHANGE_CIPHER_SPEC:
            # TLS 1.3 has it for show, and perhaps a hello behind it.
            if self._tlsConnection.get_protocol_version_name() != TLS_1_3:
                self._clear = None
            return False
        return record[0] == HANDSHAKE and self._clear.too_large(record)

    def _pass_on(self, opened: list[bytes]) -> None:
        if opened and not self._aborted:
            self.terms.turns.stalls.over(self._began_ms, "read", self)
            content = opened[0] if len(opened) == 1 else b"".join(opened)
            self._content = len(content)
            ProtocolWrapper.dataReceived(self, content)
            self._began_ms = self.terms.now_ms()

    def _wait(self) -> None:
        """The rest is for the next turn, or until the protocol wants it."""
        self._waits = True
        self._tcp().pauseProducing()
        if not self._paused or self._over is not None:
            self.terms.turns.touch(self)

    # Whose it is.

    def _share(self) -> TurnShare | None:
        return None if self._ended else self.terms.share(self.wrappedProtocol)

    def _has_had_enough(self) -> bool:
        """Whether it has had its share of this turn, or its user, or its address."""
        turn = self.terms.turns.number
        if self._turn != turn:
            self._turn = turn
            self._used = 0
        share = self._share()
        return self._used >= MOST or (share is not None and share.used_up(turn))

    def _has_cost(self, units: int) -> None:
        WORK.units += units
        self._used += units
        share = self._share()
        if share is not None:
            share.use(self._turn, units)

    def _keep(self, octets: int) -> None:
        """So much is kept of it now."""
        if octets != self._kept:
            self.terms.account.note(octets - self._kept)
            self._kept = octets

    def _tcp(self) -> IPushProducer:
        return cast(IPushProducer, self.transport)

    def _end(self, reason: Failure) -> None:
        """All that has come is opened, or nobody wants it."""
        self._waits = False
        self._has_cost(TLS_ENDED)
        self._ended = True
        self._records.clear()
        self.terms.turns.detach(self)
        super().connectionLost(reason)
        self._keep(0)


class TlsFactory(TLSMemoryBIOFactory):
    """Has its protocols inside TLS, on these terms."""

    def __init__(
        self,
        context: IOpenSSLContextFactory | IOpenSSLClientConnectionCreator,
        isClient: bool,
        wrappedFactory: Any,  # Any: of any kind, or None
        terms: Terms,
        *,
        protocol: type[TlsLayer] = TlsLayer,
        clock: IReactorTime | None = None,
    ) -> None:
        super().__init__(context, isClient, wrappedFactory, clock)
        self.terms = terms
        self.protocol = protocol


@final
@implementer(IStreamClientEndpoint)
class WithinTls:
    """An endpoint, and TLS on what it connects."""

    def __init__(
        self,
        creator: IOpenSSLClientConnectionCreator,
        plain: IStreamClientEndpoint,
        terms: Terms,
    ) -> None:
        self._creator = creator
        self._plain = plain
        self._terms = terms

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[IProtocol]:
        """Connect; the protocol is the caller's."""
        factory = TlsFactory(self._creator, True, protocolFactory, self._terms)
        connected = self._plain.connect(cast(IProtocolFactory, factory))
        return connected.addCallback(lambda layer: cast(TlsLayer, layer).wrappedProtocol)


def begin_tls(protocol: Any, context: IOpenSSLContextFactory, terms: Terms) -> TlsLayer:
    """Everything from here on is TLS, for a protocol that has a transport. Any: of any kind."""
    transport = protocol.transport
    layer = TlsLayer(TlsFactory(context, False, None, terms), protocol, False)
    transport.unregisterProducer()
    transport.protocol = layer
    layer.makeConnection(transport)
    protocol.transport = layer
    layer.registerProducer(protocol, True)
    return layer
