"""Makes the seals of one life of the gateway, on the commit thread; `segment` writes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from gateway.audit.seals import Head

Sign = Callable[[Head], Head]


@final
class Sealer:
    """One life's.

    Attributes:
        life: its number: what another life has left is not its to seal.
        sign: gives a head key and signature; `None`: heads are not signed. Another thread may put
            another one in its place, which counts from the next seal on.
        head: the last one, which is on disk; `None`: there is none yet.
    """

    def __init__(self, life: int, now_ms: Callable[[], int], sign: Sign | None = None) -> None:
        self.life = life
        self.sign = sign
        self.head: Head | None = None
        self._now_ms = now_ms

    def made(self, log: str, segment: int, offset: int, sequence: int, sha256: str) -> Head:
        """What the log is now, by this gateway's clock and key."""
        head = Head(log, segment, offset, sequence, self._now_ms(), sha256)
        sign = self.sign
        return head if sign is None else sign(head)
