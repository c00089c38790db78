"""Names of hosts in the DNS, as far as one is the same as another (RFC 4343, RFC 1034 3.1)."""

from __future__ import annotations

from typing import Final

ROOT: Final = "."


def dns_name(text: str) -> str:
    """What all ways of writing that name have in common: neither case nor the root's dot counts."""
    return text.lower().removesuffix(ROOT)
