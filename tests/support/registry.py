"""A registry of images on the loopback, as much of OCI distribution as is pulled and pushed by."""

from __future__ import annotations

import hashlib
import json
import threading
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOKEN = "for anybody"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"  # need not say it


def digest_of(octets: bytes) -> str:
    return f"sha256:{hashlib.sha256(octets).hexdigest()}"


class Registry(ThreadingHTTPServer):
    """What it has, by path; `token`: pulls need one, which it gives to whoever asks."""

    def __init__(self, token: bool = False) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.token = token
        self.host = f"127.0.0.1:{self.server_port}"
        self.manifests: dict[str, bytes] = {}
        self.blobs: dict[str, bytes] = {}
        self.said: str | None = None  # instead of the digest of what it sends
        self.asked: list[str] = []

    def holds(self, name: str, tag: str, manifest: bytes) -> str:
        """A manifest, and its digest."""
        for reference in (tag, digest_of(manifest)):
            self.manifests[f"/v2/{name}/manifests/{reference}"] = manifest
        return digest_of(manifest)


class Answers(BaseHTTPRequestHandler):
    server: Registry
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments: object) -> None:
        """Nothing: the test says what was asked."""

    def answer(self, status: int, octets: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(octets)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(octets)

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        self.server.asked.append(self.path)
        if path == "/token":
            asked = urllib.parse.parse_qs(query)
            given = {"token": TOKEN} if asked["scope"] == ["repository:x:pull"] else {}
            self.answer(200, json.dumps(given).encode())
        elif self.server.token and self.headers["Authorization"] != f"Bearer {TOKEN}":
            realm = f'Bearer realm="http://{self.server.host}/token",service="s"'
            self.answer(401, WWW_Authenticate=f'{realm},scope="repository:x:pull"')
        elif (manifest := self.server.manifests.get(path)) is not None:
            kind = json.loads(manifest).get("mediaType", MANIFEST)
            told = self.server.said or digest_of(manifest)
            self.answer(200, manifest, Content_Type=kind, Docker_Content_Digest=told)
        elif (blob := self.server.blobs.get(path.rpartition("/")[2])) is not None:
            self.answer(200, blob, Content_Type="application/octet-stream")
        else:
            self.answer(200 if path == "/v2/" else 404)

    do_HEAD = do_GET

    def do_POST(self) -> None:
        self.answer(202, Location=f"{self.path}one")

    def do_PUT(self) -> None:
        path, _, query = self.path.partition("?")
        octets = self.rfile.read(int(self.headers["Content-Length"]))
        digest = digest_of(octets)
        if "/manifests/" in path:
            name, _, reference = path.removeprefix("/v2/").partition("/manifests/")
            self.server.holds(name, reference, octets)
        else:
            assert urllib.parse.parse_qs(query)["digest"] == [digest]
            self.server.blobs[digest] = octets
        self.answer(201, Location=path, Docker_Content_Digest=digest)


@contextmanager
def registry(token: bool = False) -> Iterator[Registry]:
    """One that runs until the test is over."""
    with Registry(token) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()
