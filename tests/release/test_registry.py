"""The digest of a tag, asked of a registry."""

import json

import pytest
from release.registry import Image, RegistryError, digest, parsed
from support.registry import registry

INDEX = json.dumps({"mediaType": "application/vnd.oci.image.index.v1+json"}).encode()


@pytest.mark.parametrize(
    ("reference", "image"),
    [
        ("debian:bookworm-slim", ("registry-1.docker.io", "library/debian", "bookworm-slim")),
        ("team/thing", ("registry-1.docker.io", "team/thing", "latest")),
        ("docker.io/team/thing:1", ("registry-1.docker.io", "team/thing", "1")),
        ("images.example:5000/a/b:2", ("images.example:5000", "a/b", "2")),
        ("localhost/a:3", ("localhost", "a", "3")),
    ],
)
def test_a_name_says_where_its_registry_is(reference: str, image: tuple[str, str, str]) -> None:
    assert parsed(reference) == Image(*image)


def test_only_the_loopback_is_asked_in_the_clear() -> None:
    assert parsed("127.0.0.1:80/a:1").address.startswith("http://127.0.0.1:80/v2/a/manifests/1")
    assert parsed("127.0.0.1.example/a:1").address.startswith("https://")
    assert parsed("debian").address.startswith("https://")


@pytest.mark.parametrize("token", [False, True])
def test_the_digest_is_that_of_what_the_registry_sends(token: bool) -> None:
    with registry(token) as server:
        held = server.holds("library/debian", "bookworm-slim", INDEX)
        assert digest(f"{server.host}/library/debian:bookworm-slim") == held
        tokens = [path for path in server.asked if path.startswith("/token")]
    assert len(tokens) == token


def test_a_registry_that_contradicts_itself_is_not_believed() -> None:
    with registry() as server:
        server.holds("debian", "latest", INDEX)
        server.said = "sha256:" + "0" * 64
        with pytest.raises(RegistryError, match=r"says sha256:0000.* and sends sha256:"):
            digest(f"{server.host}/debian")


def test_a_tag_that_is_not_there_is_named() -> None:
    with registry() as server, pytest.raises(RegistryError, match="debian:other: HTTP Error 404"):
        digest(f"{server.host}/debian:other")
