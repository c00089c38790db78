"""One connection to the admin port: whose request is read at all, and how much of it.

A request is judged by its head. A body is read only of a request that has one by its nature, may be
made, says how long it is and is short; of any other nothing is read, and nothing goes to a file.
Requests are looked at one by one, each when the answer before it has left, in turn with those of
other connections (`pieces`); meanwhile little more is read. When there are too many connections,
the one that has been idle or unfinished longest gives way, so that probes get in whoever else holds
connections.
"""

# twisted.web has no annotations.
# mypy: disallow-untyped-calls=False

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final, Protocol, cast, final
from urllib.parse import unquote_to_bytes

from twisted.internet.interfaces import IDelayedCall, ITCPTransport
from twisted.internet.protocol import connectionDone
from twisted.python.failure import Failure
from twisted.web.http import RESPONSES, HTTPChannel, Request

from gateway.net.admin.pieces import Pieces
from gateway.net.admin.tokens import Refused, Tokens
from gateway.net.admin.unread import HEAD_MAX, Unread
from gateway.net.reading import Buffered, read_at_most
from gateway.wire.accounts import Account
from gateway.wire.work import ASKED, ASKED_OCTET, WORK

BODY_MAX: Final = 64 * 1024
REQUEST_S: Final = 10  # for all of a request to come, however steadily it does
READ_S: Final = 60  # for an answer to be read
AHEAD: Final = 16 * 1024  # octets that are read, or written, ahead
PATH_TOLD: Final = 80  # octets
LINGER_S: Final = 2  # how long a peer has to read why it is refused
# What Twisted has no words for.
REASONS: Final = {**RESPONSES, 422: b"Unprocessable Content", 429: b"Too Many Requests"}
CTL: Final = "/ctl/"
AMQP: Final = b"AMQP"
AMQP_TOLD: Final = (
    "This is the admin port of an AMQP gateway, which speaks HTTP. AMQP clients connect to"
    " another port."
)


class Surroundings(Protocol):
    """What all connections share; `http.AdminSite` has it."""

    tokens: Tokens
    requests: Pieces
    kept: Account

    def attached(self, channel: AdminChannel) -> None:
        """One more."""

    def detached(self, channel: AdminChannel) -> None:
        """It is over."""

    def speaks_amqp(self, address: str) -> None:
        """Somebody has taken this for the AMQP port."""

    def speaks_clear(self, address: str) -> None:
        """Somebody speaks plain HTTP where HTTPS is spoken."""


@final
class AdminChannel(HTTPChannel):
    """As Twisted's, with limits."""

    site: Surroundings

    def __init__(self) -> None:
        super().__init__()
        self._begun = False
        self._refused = False
        self._answered = False
        self._until: IDelayedCall | None = None
        self._unread = Unread()
        self._looked_at = False  # it has its turn among those that are
        self._full = False  # the peer has not read what was written
        self._written = 0  # octets since it had
        self._kept = 0  # octets on the account
        self._lost = False
        self._asked = b""

    @property
    def busy(self) -> bool:
        """A request has come and there is no answer yet."""
        return bool(self._handlingRequest) and not (self._refused or self._answered)

    @property
    def address(self) -> str:
        """The peer's."""
        assert self.transport is not None
        return str(getattr(self.transport.getPeer(), "host", "unknown"))

    def connectionMade(self) -> None:
        """Begin."""
        super().connectionMade()
        assert self.transport is not None
        read_at_most(cast(Buffered, self.transport), AHEAD)
        self._limit(REQUEST_S)
        self.site.attached(self)

    def on_transport_lost(self) -> None:
        """The transport is gone, and TLS has the end wait: its place is free, it asks no more."""
        self._refused = self._lost = True
        self._unread.clear()
        self._count()
        self.site.detached(self)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """The end."""
        self._limit(None)
        self.on_transport_lost()
        if self.site.requests.last is self:
            self.site.requests.last = self.site.requests
        self._written = 0
        self._count()
        super().connectionLost(reason)

    def dataReceived(self, data: bytes) -> None:
        """Octets from the peer; none are looked at behind a refusal."""
        if self._refused:
            return
        if not self._begun:
            self._begun = True
            if data.startswith(AMQP):
                self.site.speaks_amqp(self.address)
                self.refuse(Refused(400, AMQP_TOLD))
                return
        if self._until is None and not self._handlingRequest:
            self._limit(REQUEST_S)  # the next request on a connection that is kept
        self.resetTimeout()
        self._unread.add(data)
        self._go_on()

    def _go_on(self) -> None:
        """See that what has come is looked at; read on, unless much waits for that."""
        if self._over:
            self._unread.clear()
        elif not self._handlingRequest and self._unread.too_long:
            self.refuse(Refused(400, f"the head of a request is longer than {HEAD_MAX} octets"))
            self._unread.clear()
        elif not self._looked_at and self._may_look():
            self._looked_at = True
            self.site.requests.gather(self._look()).addErrback(self._broke)
        self._count()
        if self._lost or self._closing:
            return
        if len(self._unread) > AHEAD:
            self._networkProducer.pauseProducing()
        else:
            self._networkProducer.resumeProducing()

    @property
    def _closing(self) -> bool:
        return bool(getattr(self.transport, "disconnecting", False))

    @property
    def _over(self) -> bool:
        """Nothing more is looked at."""
        # A request that is the last one may still have a body to come.
        last = not self.persistent and self._unread.body_left == 0
        return self._refused or self._closing or last

    def _may_look(self) -> bool:
        waits = self._over or self._full or self._handlingRequest
        return not waits and self._unread.ready > 0

    def _look(self) -> Iterator[None]:
        """At one request after the other, as far as they have come and are answered."""
        while self._may_look():
            octets = self._unread.take()
            WORK.units += ASKED + ASKED_OCTET * len(octets)
            self._written = 0
            self.site.requests.last = self
            super().dataReceived(octets)
            if not (self._refused or self._handlingRequest):
                self._unread.body_left = self._unread.body_left or self.length or 0
            yield
        self._looked_at = False
        self._go_on()

    def _broke(self, failure: Failure) -> None:
        """A defect: this connection cannot go on."""
        self._log.failure("a connection to the admin port broke", failure)
        self._limit(None)
        self._cut_off()

    def who(self) -> str:
        """Whose work it is: of the request that came last."""
        return f"the admin port: {self._asked.decode('ascii', 'replace')} from {self.address}"

    def speaks_clear(self) -> None:
        """The peer does not speak TLS: see `clear`."""
        self._refused = True
        self.site.speaks_clear(self.address)

    def rawDataReceived(self, data: bytes) -> None:
        """A body."""
        if not self._refused:
            super().rawDataReceived(data)

    def allHeadersReceived(self) -> None:
        """The head of a request: decide whether there is more to read."""
        self._asked = self._command + b" " + self._path[:PATH_TOLD]
        refused = self._judge()
        if refused is not None:
            self.refuse(refused)
            self.length = None  # whatever it says: nothing of it is taken for a request
            return
        super().allHeadersReceived()

    def allContentReceived(self) -> None:
        """All of it has come."""
        self._limit(None)
        super().allContentReceived()

    def is_answered(self) -> None:
        """The answer is there; the peer has a time to read it."""
        self._answered = True
        self._limit(READ_S)

    def requestDone(self, request: Request) -> None:
        """The answer is written; what is not read by then is cut off."""
        self._answered = False
        self._limit(READ_S if self._full or not self.persistent else None)
        if not self.persistent:
            self._go_on()  # TLS ends with what the peer says
        super().requestDone(request)
        if self._full:
            self.setTimeout(None)
        self._go_on()

    def write(self, data: bytes) -> None:
        """A piece of an answer."""
        self._written += len(data)
        super().write(data)
        self._count()

    def writeSequence(self, iovec: Iterable[bytes]) -> None:
        """The same, of a chunk."""
        self.write(b"".join(iovec))

    def pauseProducing(self) -> None:
        """The transport takes no more for now."""
        self._full = True
        super().pauseProducing()
        self._count()

    def resumeProducing(self) -> None:
        """What was written has left."""
        self._full = False
        self._written = 0
        super().resumeProducing()
        if not (self._full or self._refused or self._handlingRequest):
            self._limit(REQUEST_S if self._unread else None)
            self.setTimeout(self._savedTimeOut)
        self._go_on()

    def _count(self) -> None:
        """Have on the account what is kept now."""
        kept = len(self._unread) + (self._written if self._full else 0)
        self.site.kept.note(kept - self._kept)
        self._kept = kept

    def _judge(self) -> Refused | None:
        # As Twisted reads it to find what answers: "%6d" is an "m" to it.
        path = unquote_to_bytes(self._path.split(b"?")[0]).decode("ascii", "replace")
        shown = self.requests[-1].requestHeaders.getRawHeaders(b"authorization", [b""])[0]
        refused = self.site.tokens.judge(path, shown, self.address)
        if refused is not None:
            return refused
        refused = self._judge_body(path)
        if refused is not None:
            self.site.tokens.counts.refused["body"] += 1
            return refused
        return self._judge_method(path)

    def _judge_method(self, path: str) -> Refused | None:
        known = (b"GET", b"HEAD", b"POST") if path.startswith(CTL) else (b"GET", b"HEAD")
        if self._command in known:
            return None
        allow = b", ".join(known).decode()
        return Refused(405, f"it can be asked for by {allow} only", allow=allow)

    def _judge_body(self, path: str) -> Refused | None:
        if self.length == 0:
            return None
        if self._command != b"POST" or not path.startswith(CTL):
            return Refused(400, "no body is expected here")
        if self.length is None:
            return Refused(411, "say how long the body is")
        if self.length > BODY_MAX:
            return Refused(413, f"the body is longer than {BODY_MAX} octets")
        return None

    def refuse(self, refused: Refused) -> None:
        """Answer, read no more, and close when the peer had time to read the answer."""
        self._refused = True
        told: dict[str, Any] = {"problems": [{"key": "", "problem": refused.problem}]}
        body = json.dumps(told).encode() + b"\n"
        reason = REASONS.get(refused.code, b"Refused")
        lines = [
            b"HTTP/1.1 %d %s" % (refused.code, reason),
            b"Connection: close",
            b"Cache-Control: no-store",
            b"Content-Type: application/json",
            b"Content-Length: %d" % len(body),
        ]
        if refused.code == 401:
            lines.append(b"WWW-Authenticate: Bearer")
        if refused.allow:
            lines.append(b"Allow: " + refused.allow.encode())
        if refused.wait_s:
            lines.append(b"Retry-After: %d" % refused.wait_s)
        assert self.transport is not None
        head = getattr(self, "_command", b"") == b"HEAD"
        self.transport.write(b"\r\n".join(lines) + b"\r\n\r\n" + (b"" if head else body))
        self.setTimeout(None)
        if self.isSecure():
            self.transport.loseConnection()
        else:
            # Closed with octets unread, it would be reset, and the answer might be lost.
            getattr(self.transport, "loseWriteConnection", self.transport.loseConnection)()
        self._limit(LINGER_S)

    def give_way(self) -> None:
        """There are too many connections."""
        self._limit(None)
        self._cut_off()

    def _limit(self, seconds: float | None) -> None:
        """Cut the connection off after that time; `None`: not."""
        if self._until is not None:
            self._until.cancel()
            self._until = None
        if seconds is not None:
            self._until = self.callLater(seconds, self._cut_off)

    def _cut_off(self) -> None:
        self._until = None
        # Any transport of ours has it, inside TLS, too.
        cast(ITCPTransport, self.transport).abortConnection()
