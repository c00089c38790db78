"""The Dockerfile's bases, pinned."""

from pathlib import Path

from release.bases import bases, pinned, unpinned
from release.registry import digest
from support.registry import registry

DOCKERFILE = (Path(__file__).parents[2] / "Dockerfile").read_text(encoding="utf-8")
OLD = "@sha256:" + "1" * 64


def test_both_images_are_built_on_one_debian() -> None:
    assert {image for image, _ in bases(DOCKERFILE)} == {"debian:bookworm-slim"}


def test_each_base_gets_the_digest_that_its_tag_has_now_and_stages_none() -> None:
    with registry() as server:
        held = server.holds("debian", "12", b'{"mediaType": "index"}')
        base = f"{server.host}/debian:12"
        text = f"FROM {base} AS build\nRUN x\n\nFROM build AS image\nFROM {base}{OLD}\n"
        now = pinned(text, digest)
    assert now == f"FROM {base}@{held} AS build\nRUN x\n\nFROM build AS image\nFROM {base}@{held}\n"
    assert (unpinned(now), pinned(now, lambda _: held)) == ([], now)


def test_what_has_no_digest_is_told() -> None:
    assert unpinned("FROM a:1 AS x\nFROM x\n" + f"FROM a:1{OLD} AS y\n") == ["a:1"]
