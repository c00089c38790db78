"""The digest that a tag of an image stands for now, asked of its registry (OCI distribution).

Anonymous: by the token that a registry gives to everybody who asks. What it says is compared with
the checksum of what it sends.
"""

from __future__ import annotations

import hashlib
import json
import re
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from http.client import HTTPResponse
from typing import Final

# Where the names without a host live, and their namespace.
DEFAULT_HOST: Final = "registry-1.docker.io"
DEFAULT_NAMESPACE: Final = "library/"
LOOPBACK: Final = re.compile(r"(127\.0\.0\.1|localhost)(:\d+)?")
# An index, with one manifest for each architecture, if there is one.
KINDS: Final = ", ".join(
    [
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.docker.distribution.manifest.v2+json",
    ]
)
SIZE: Final = 4 << 20
TIMEOUT_S: Final = 30.0
PARAMETER: Final = re.compile(r'(\w+)="([^"]*)"')


class RegistryError(Exception):
    """A registry does not answer, or not as it should."""


@dataclass(frozen=True)
class Image:
    """An image by its tag: where its registry is, and its name there."""

    host: str
    repository: str
    tag: str

    @property
    def address(self) -> str:
        """Of its manifest."""
        scheme = "http" if LOOPBACK.fullmatch(self.host) else "https"
        return f"{scheme}://{self.host}/v2/{self.repository}/manifests/{self.tag}"


def parsed(reference: str) -> Image:
    """What a name such as `debian:bookworm-slim` or `host:5000/name:tag` says."""
    first, slash, rest = reference.partition("/")
    if not slash or not (set(first) & {".", ":"} or first == "localhost"):
        host, path = DEFAULT_HOST, reference
        path = path if slash else DEFAULT_NAMESPACE + path
    else:
        host, path = first, rest
    repository, _, tag = path.partition(":")
    return Image(DEFAULT_HOST if host == "docker.io" else host, repository, tag or "latest")


def digest(reference: str) -> str:
    """`sha256:...` of what the tag stands for.

    Raises:
        RegistryError: the registry cannot be asked, or contradicts itself.
    """
    image = parsed(reference)
    try:
        with _manifest(image) as answer:
            octets = answer.read(SIZE + 1)
            told = answer.headers.get("Docker-Content-Digest", "")
    except (OSError, ValueError) as error:
        raise RegistryError(f"{reference}: {error}") from error
    found = f"sha256:{hashlib.sha256(octets).hexdigest()}"
    if len(octets) > SIZE or (told and told != found):
        raise RegistryError(f"{reference}: the registry says {told}, and sends {found}")
    return found


def _manifest(image: Image) -> HTTPResponse:
    try:
        return _get(image.address, {"Accept": KINDS})
    except urllib.error.HTTPError as error:
        challenge = error.headers.get("WWW-Authenticate", "")
        if error.code != 401 or not challenge.lower().startswith("bearer "):
            raise
    asked = dict(PARAMETER.findall(challenge))
    query = urllib.parse.urlencode(
        {key: asked[key] for key in ("service", "scope") if key in asked}
    )
    with _get(f"{asked['realm']}?{query}", {}) as answer:
        given = json.loads(answer.read(SIZE))
    token = given.get("token") or given["access_token"]
    return _get(image.address, {"Accept": KINDS, "Authorization": f"Bearer {token}"})


def _get(address: str, headers: dict[str, str]) -> HTTPResponse:
    request = urllib.request.Request(address, headers=headers)
    answer: HTTPResponse = urllib.request.urlopen(request, timeout=TIMEOUT_S)
    return answer
