"""The links of one session: by the peer's handle, by name; which handles are free (2.6.1, 2.6.2).

A name may come twice in one direction: an earlier link that was detached before the peer's attach
came still gets that attach.
"""

from __future__ import annotations

from typing import final

from gateway.amqp_1_0.link import NO_HANDLE, Link
from gateway.wire.numbers import Numbers


@final
class Handles:
    """Which link has which handle and name.

    Attributes:
        handle_max: the highest handle that the peer may use: so many links it may attach.
        peer_handle_max: the highest that the peer allows.
        links: by the peer's handle.
    """

    __slots__ = ("_abandoned", "_named", "_numbers", "handle_max", "links", "peer_handle_max")

    def __init__(self, handle_max: int) -> None:
        self.handle_max = handle_max
        self.peer_handle_max = 0xFFFFFFFF
        self.links: dict[int, Link] = {}
        self._named: dict[tuple[str, bool], Link] = {}
        self._abandoned: list[Link] = []
        self._numbers = Numbers()

    @property
    def can_take(self) -> bool:
        """The peer allows one more handle, as far as is known."""
        return self._numbers.lowest() <= self.peer_handle_max

    def take(self) -> int:
        """The lowest free output handle; `NO_HANDLE` beyond what the peer allows."""
        if not self.can_take:
            return NO_HANDLE
        return self._numbers.take()

    def give(self, handle: int) -> None:
        """The output handle is free again."""
        self._numbers.give(handle)

    def name(self, link: Link) -> None:
        """The link has its name from now on."""
        self._named[(link.name, link.role)] = link

    def unname(self, link: Link) -> None:
        """The name is free again, unless another link has it already."""
        key = (link.name, link.role)
        if self._named.get(key) is link:
            del self._named[key]

    def abandon(self, link: Link) -> None:
        """The link was detached before the peer's attach came."""
        self._abandoned.append(link)

    def awaiting(self, name: str, role: bool) -> Link | None:
        """The link that an attach may be for; answers come in the order of what they answer."""
        for link in self._abandoned:
            if link.name == name and link.role == role:
                self._abandoned.remove(link)
                return link
        return self._named.get((name, role))

    def clear(self) -> None:
        """The session has ended."""
        self.links = {}
        self._named = {}
        self._abandoned = []
