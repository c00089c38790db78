"""Links by which clients send to one queue or exchange: whoever they are hears that it is deleted.

At once, as long as they are few; very many are told over several turns. They are known by the name
of the node, since two of a kind with one name are never there at the same time.
"""

from __future__ import annotations

from typing import final

from gateway.bridge.seams import NodeSender
from gateway.bridge.spread.spread import Spread
from gateway.message import Condition
from gateway.wire.work import LINK, WORK


@final
class Telling:
    """Those of a node that is gone and who have not been told yet. Implements `Piecework`."""

    __slots__ = ("_book", "_text", "senders")

    def __init__(self, book: Senders, senders: dict[int, NodeSender], text: str) -> None:
        self._book = book
        self._text = text
        self.senders = senders

    def who(self) -> str:
        """See `Piecework`."""
        return "links that sent to a node that was deleted"

    def go_on(self, end: int) -> bool:
        """See `Piecework`; what one does when it is told may end others."""
        senders = self.senders
        while senders:
            if WORK.units > end:
                return False
            WORK.units += LINK
            sender = senders.pop(next(iter(senders)))
            sender.on_cancelled(Condition.RESOURCE_DELETED, self._text)
        self._book.on_told(self)
        return True


@final
class Senders:
    """Those of one virtual host."""

    __slots__ = ("_by_node", "_node_of", "_spread", "_telling")

    def __init__(self, spread: Spread) -> None:
        self._spread = spread
        self._by_node: dict[str, dict[int, NodeSender]] = {}
        self._node_of: dict[int, str] = {}
        self._telling: list[Telling] = []

    def begin(self, kind: str, name: str, link: int, sender: NodeSender) -> None:
        """A link of that number sends to a node; `kind`: what the node is, in a word."""
        node = f"{kind} {name!r}"
        self._node_of[link] = node
        self._by_node.setdefault(node, {})[link] = sender

    def end(self, link: int) -> None:
        """It is gone."""
        node = self._node_of.pop(link, None)
        if node is None:
            return
        senders = self._by_node.get(node)
        if senders is not None and senders.pop(link, None) is not None:
            if not senders:
                del self._by_node[node]
            return
        for telling in self._telling:
            telling.senders.pop(link, None)

    def on_deleted(self, kind: str, name: str) -> None:
        """A node is gone."""
        node = f"{kind} {name!r}"
        senders = self._by_node.pop(node, None)
        if senders is not None:
            telling = Telling(self, senders, f"{node} was deleted")
            self._telling.append(telling)
            self._spread.begin(telling)

    def on_told(self, telling: Telling) -> None:
        """All of a node have been told."""
        self._telling.remove(telling)
