"""Prepared branches of an export on their way into another store: what they hold gets its place.

A branch's pages name queues and positions as the export has them; those that they have in the store
are known when the messages have come. A branch that is there already stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from gateway.bridge.branches.rows import BranchRow, PageRow, Place, branch_row, page_row
from gateway.bridge.durable.topology_rows import RowKind
from gateway.store.interface import TopologyRow

NOWHERE: Final = -1
Rows = dict[tuple[int, str], bytes]


@final
class ComingBranches:
    """Those of one export.

    Attributes:
        made: how many have come.
        kept: a line for each that stays as it is.
    """

    def __init__(self, present: Rows, number: Callable[[int], int]) -> None:
        """`present`: what the store has; `number`: gives a shelf that of the store."""
        self.made = 0
        self.kept: list[str] = []
        self._present = present
        self._number = number
        self._branches: dict[tuple[str, str], BranchRow] = {}
        self._pages: list[PageRow] = []
        self._places: dict[Place, int] = {}  # those that pages name, and where they are now
        self._shelves: dict[tuple[str, str], int] = {}  # as the export calls them

    def branch(self, row: TopologyRow) -> None:
        """A branch; `DecodeError`."""
        branch = branch_row(row.value)
        if (row.kind, row.key) in self._present:
            self.kept.append(f"branch {branch.text!r} is there, and stays as it is")
            return
        name = (branch.host, branch.text)
        self._shelves[name] = branch.number
        branch.number = self._number(branch.number)
        self._branches[name] = branch
        self.made += 1

    def has(self, host: str, text: str) -> bool:
        """Whether that one comes."""
        return (host, text) in self._branches

    def page(self, row: TopologyRow) -> None:
        """What one holds; `DecodeError`."""
        page = page_row(row.value)
        shelf = self._shelves.get((page.host, page.text))
        if shelf is None:
            return  # it stays as it is, or is in no row
        self._pages.append(page)
        for place in page.accepts:
            self._places[place] = NOWHERE
        for _exchange, places in page.held:
            for _queue, position in places:
                self._places[shelf, position] = NOWHERE

    def moved(self, queue: int, position: int, to: int) -> None:
        """A message of the export has come, and stands there now."""
        if (queue, position) in self._places:
            self._places[queue, position] = to

    def rows(self, queues: dict[int, int]) -> Rows:
        """The rows of all that have come; `queues`: numbers by those of the export."""
        rows: Rows = {}
        for branch in self._branches.values():
            rows[int(RowKind.BRANCH), branch.key()] = branch.encoded()
        for page in self._pages:
            shelf = self._shelves[page.host, page.text]
            page.accepts = self._accepts(page, queues)
            held = [(exchange, self._held(places, shelf, queues)) for exchange, places in page.held]
            page.held = [(exchange, places) for exchange, places in held if places]
            rows[int(RowKind.BRANCH_PAGE), page.key()] = page.encoded()
        return rows

    def _accepts(self, page: PageRow, queues: dict[int, int]) -> list[Place]:
        return [
            (queues[queue], self._places[queue, position])
            for queue, position in page.accepts
            if queue in queues and self._places[queue, position] != NOWHERE
        ]

    def _held(self, places: list[Place], shelf: int, queues: dict[int, int]) -> list[Place]:
        """By the queues that they are for, in which the positions are those of the shelf."""
        return [
            (queues.get(queue, 0), self._places[shelf, position])
            for queue, position in places
            if self._places[shelf, position] != NOWHERE
        ]
