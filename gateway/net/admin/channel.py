"""One connection to the admin port: whose request is read at all, and how much of it.

A request is judged by its head. A body is read only of a request that has one by its nature, may be
made, says how long it is and is short; of any other nothing is read, and nothing goes to a file.
When there are too many connections, the one that has been idle or unfinished longest gives way, so
that probes get in whoever else holds connections.
"""

# twisted.web has no annotations.
# mypy: disallow-untyped-calls=False

from __future__ import annotations

import json
from typing import Any, Final, Protocol, cast, final
from urllib.parse import unquote_to_bytes

from twisted.internet.interfaces import IDelayedCall, ITCPTransport
from twisted.internet.protocol import connectionDone
from twisted.python.failure import Failure
from twisted.web.http import RESPONSES, HTTPChannel, Request

from gateway.net.admin.tokens import Refused, Tokens

BODY_MAX: Final = 64 * 1024
REQUEST_S: Final = 10  # for all of a request to come, however steadily it does
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
        self._limit(REQUEST_S)
        self.site.attached(self)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """The end."""
        self._limit(None)
        self.site.detached(self)
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
        super().dataReceived(data)

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

    def is_answered(self, read_s: float) -> None:
        """The answer is there; the peer has so much time to read it."""
        self._answered = True
        self._limit(read_s)

    def requestDone(self, request: Request) -> None:
        """The answer is written."""
        self._answered = False
        self._limit(None)
        super().requestDone(request)

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
