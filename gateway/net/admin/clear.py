"""Plain HTTP at an admin port that speaks HTTPS: who does that is told so, in clear.

TLS begins with a record of type handshake. What begins with a letter is a request, most likely of a
client that has not been told of `admin_tls`; TLS has no words for it.
"""

from __future__ import annotations

from typing import Any, Final, cast, final

from twisted.internet.interfaces import ITCPTransport

from gateway.net.tls.layer import TlsLayer

LETTERS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
TOLD: Final = b"This port speaks HTTPS.\n"
ANSWER: Final = (
    b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: text/plain\r\n"
    b"Content-Length: %d\r\n\r\n%b" % (len(TOLD), TOLD)
)


@final
class TlsOrTold(TlsLayer):
    """As any, unless the first octet is a letter."""

    _begun = False
    _in_clear = False

    def dataReceived(self, data: bytes) -> None:
        """Octets from the peer; none are looked at behind a request in clear."""
        if not self._begun:
            self._begun = True
            self._in_clear = data[:1] in LETTERS
            if self._in_clear:
                self._tell()
        if not self._in_clear:
            super().dataReceived(data)

    def _tell(self) -> None:
        channel: Any = self.wrappedProtocol  # Any: Twisted's word for it is a protocol
        channel.speaks_clear()
        transport = cast(ITCPTransport, self.transport)
        transport.write(ANSWER)
        transport.loseConnection()
