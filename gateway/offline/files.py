"""Files of an export that were staged and not published, on their way into another store.

One comes as a whole, its row with all its parts; of one that is there already nothing is brought.
It is kept as long from now on as if something had just been heard of it. One that a prepared branch
has published is that branch's again, if it comes along, and else may be published by anybody.
"""

from __future__ import annotations

from typing import Final, final

from gateway.bridge.durable.topology_rows import RowKind
from gateway.bridge.staging.rows import StagedRow, part_row, staged_row
from gateway.offline.branches import ComingBranches
from gateway.store.interface import TopologyRow

KINDS: Final = (int(RowKind.STAGED), int(RowKind.STAGED_PART))
Rows = dict[tuple[int, str], bytes]


@final
class ComingFiles:
    """Those of one export.

    Attributes:
        kept: a line for each that stays as it is.
    """

    def __init__(self, present: Rows) -> None:
        """`present`: what the store has."""
        self.kept: list[str] = []
        self._present = present
        self._files: dict[str, StagedRow] = {}
        self._parts: list[tuple[str, TopologyRow]] = []

    def row(self, row: TopologyRow) -> None:
        """What there is of one; `DecodeError`."""
        if row.kind == RowKind.STAGED_PART:
            part = part_row(row.value)
            whole = StagedRow(part.host, part.user, part.identifier, 0, 0, b"")
            self._parts.append((whole.key(), row))
            return
        file = staged_row(row.value)
        if (row.kind, row.key) in self._present:
            told = f"file {file.identifier!r} of user {file.user!r}"
            self.kept.append(f"{told} is staged already, and stays as it is")
        else:
            self._files[row.key] = file

    def made(self) -> int:
        """How many have come."""
        return len(self._files)

    def rows(self, now_ms: int, branches: ComingBranches) -> Rows:
        """What the store has of them."""
        rows: Rows = {}
        for key, file in self._files.items():
            file.at_ms = now_ms
            if not branches.has(file.host, file.branch):
                file.branch = ""
            rows[int(RowKind.STAGED), key] = file.encoded()
        for key, part in self._parts:
            if key in self._files:
                rows[part.kind, part.key] = part.value
        return rows
