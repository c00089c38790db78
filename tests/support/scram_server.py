"""The server's side of SCRAM for tests, which knows StoredKey and ServerKey but no password."""

from __future__ import annotations

import base64
import hashlib
import hmac

HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}


class ScramServer:
    """One exchange; `final` answers the client-final-message, or is `None` for a wrong proof."""

    def __init__(self, mechanism, password, *, nonce="server", salt=b"salty", iterations=4096):
        self.hash = HASHES[mechanism]
        self.nonce = nonce
        self.salt = salt
        self.iterations = iterations
        salted = hashlib.pbkdf2_hmac(self.hash, password.encode(), salt, iterations)
        self.stored = hashlib.new(self.hash, self._mac(salted, b"Client Key")).digest()
        self.server_key = self._mac(salted, b"Server Key")

    def _mac(self, key, message):
        return hmac.digest(key, message, self.hash)

    def first(self, client_first):
        header, bare = client_first.split(b",,", 1) if b",," in client_first else (b"", b"")
        if not bare:
            gs2, authorization, bare = client_first.split(b",", 2)
            header = gs2 + b"," + authorization
            self.header = header + b","
        else:
            self.header = header + b",,"
        self.bare = bare
        self.nonce = bare.rpartition(b",r=")[2].decode() + self.nonce
        salt = base64.b64encode(self.salt).decode()
        self.message = f"r={self.nonce},s={salt},i={self.iterations}".encode()
        return self.message

    def final(self, client_final):
        without, proof = client_final.split(b",p=")
        assert without == b"c=" + base64.b64encode(self.header) + f",r={self.nonce}".encode()
        message = self.bare + b"," + self.message + b"," + without
        mask = self._mac(self.stored, message)
        key = bytes(a ^ b for a, b in zip(base64.b64decode(proof), mask, strict=True))
        if hashlib.new(self.hash, key).digest() != self.stored:
            return None
        return b"v=" + base64.b64encode(self._mac(self.server_key, message))
