"""The bases of the Dockerfile, pinned: the tag for people, the digest for whoever builds."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

FROM: Final = re.compile(r"^FROM (\S+?)(@sha256:[0-9a-f]{64})?( AS (\S+))?$", re.MULTILINE)


def bases(dockerfile: str) -> list[tuple[str, str]]:
    """What it builds on, but for its own stages: image with its tag, "@sha256:..." or ""."""
    found = list(FROM.finditer(dockerfile))
    stages = {each[4] for each in found}
    return [(each[1], each[2] or "") for each in found if each[1] not in stages]


def pinned(dockerfile: str, digest: Callable[[str], str]) -> str:
    """The same Dockerfile, each base with the digest that its tag stands for now."""
    now = {image: f"@{digest(image)}" for image in {image for image, _ in bases(dockerfile)}}

    def pin(found: re.Match[str]) -> str:
        return f"FROM {found[1]}{now.get(found[1], '')}{found[3] or ''}"

    return FROM.sub(pin, dockerfile)


def unpinned(dockerfile: str) -> list[str]:
    """Its bases that have no digest."""
    return [image for image, digest in bases(dockerfile) if not digest]
