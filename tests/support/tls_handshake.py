"""A TLS handshake in memory, with a listener's context."""

from __future__ import annotations

import contextlib
import pathlib

from OpenSSL import SSL


class Met:
    """Our listener's context, and a client of OpenSSL's own at it."""

    def __init__(
        self,
        context: SSL.Context,
        *,
        version: int = 0,
        ciphers: bytes = b"",
        own: tuple[pathlib.Path, pathlib.Path] | None = None,
    ) -> None:
        asked = SSL.Context(SSL.TLS_METHOD)
        if version:
            asked.set_max_proto_version(version)
        if ciphers:
            asked.set_cipher_list(ciphers)
        if own is not None:
            asked.use_certificate_chain_file(str(own[0]))
            asked.use_privatekey_file(str(own[1]))
        self.server = SSL.Connection(context, None)
        self.server.set_accept_state()
        self.client = SSL.Connection(asked, None)
        self.client.set_connect_state()
        self.problem = ""
        for _ in range(4):
            for one, other in ((self.client, self.server), (self.server, self.client)):
                try:
                    one.do_handshake()
                except SSL.WantReadError:
                    pass
                except SSL.Error as error:
                    self.problem = self.problem or str(error)
                with contextlib.suppress(SSL.WantReadError):
                    other.bio_write(one.bio_read(1 << 16))

    def getHandle(self) -> SSL.Connection:
        """As a transport of Twisted's, on the server's side."""
        return self.server
