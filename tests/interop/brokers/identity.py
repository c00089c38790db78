"""An identity endpoint over HTTPS, as OpenID Connect's userinfo: whose is that bearer token?

A broker asks it (``Authorization: Bearer TOKEN``). It knows the tokens that a test names, refuses
all others with 401, and keeps what it was asked.
"""

import json
import ssl
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

from support.certificates import Authority


class Identity:
    """Answers at ``port`` between ``with`` and its end.

    Attributes:
        good: the tokens that are somebody's.
        asked: the tokens that it was asked for, in order.
    """

    def __init__(self, authority: Authority, port: int) -> None:
        self.good: set[str] = set()
        self.asked: list[str] = []
        self._authority = authority
        self._port = port

    def __enter__(self) -> Self:
        certificate, key = self._authority.issue("identity")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        identity = self

        class Asked(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                token = self.headers.get("Authorization", "").removeprefix("Bearer ")
                identity.asked.append(token)
                known = token in identity.good
                body = {"preferred_username": "gateway"} if known else {"error": "invalid_token"}
                self.send_response(HTTPStatus.OK if known else HTTPStatus.UNAUTHORIZED)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(json.dumps(body).encode())

            def log_message(self, format: str, *arguments: object) -> None:
                """Nothing: `asked` says it."""

        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), Asked)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
