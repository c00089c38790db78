"""What is known of a log that is not in it: heads that were kept elsewhere, keys that are trusted.

Standard library only, as in `reader`, as long as no keys are given.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gateway.audit.provenance import Anchor, Provenance, Trust, anchors_in
from gateway.files.whole import ANCHORS_MAX, CERTIFICATES_MAX, read_whole


def known_elsewhere(anchors: Sequence[Path], trusted: Sequence[Path]) -> Provenance:
    """By files of heads, one on each line, and of public keys (PEM).

    Raises:
        OSError: one cannot be read.
        ValueError: one is not what it should be; with its name.
    """
    heads: list[Anchor] = []
    for path in anchors:
        try:
            heads += anchors_in(read_whole(path, ANCHORS_MAX), path.name)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
    return Provenance(_keys(trusted) if trusted else None, heads)


def _keys(trusted: Sequence[Path]) -> Trust:
    from gateway.audit.signing import TrustedKeys  # not everywhere is `cryptography`

    pems: list[bytes] = []
    for path in trusted:
        pems.append(read_whole(path, CERTIFICATES_MAX))
        try:
            TrustedKeys(pems[-1:])
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
    return TrustedKeys(pems)
