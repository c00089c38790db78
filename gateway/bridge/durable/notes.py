"""Notes: small things of others that outlive the process, in pages, until they are too many or old.

A note is opaque here: a key, the time of it, a value. Whoever has some is a `NoteSource` of a
virtual host. What came new in a turn becomes one page, one row of the store's topology, written
with that turn: one statement however many notes it has, and none in a turn without. A page is never
changed; it is removed as a whole once all its notes are too old or enough newer ones are kept.
"""

from __future__ import annotations

from collections import deque
from typing import Final, Protocol, final

from gateway.bridge.durable.topology_rows import NotesRow, RowKind, notes_row
from gateway.errors import DecodeError
from gateway.store.interface import TopologyRow
from gateway.store.writes import TurnWriter

NOTES_MAX: Final = 100_000
OCTETS_MAX: Final = 32 * 1024 * 1024
AGE_MAX_MS: Final = 24 * 3600 * 1000

Note = tuple[bytes, int, bytes]


class NoteSource(Protocol):
    """Has notes to keep, and gets them back after a restart."""

    def take_new(self) -> list[Note]:
        """What is to be kept and was not handed over yet: key, time in gateway ms, value."""

    def restore(self, entries: list[Note]) -> None:
        """What was kept; a key may come more than once, the latest time counts."""


@final
class Page:
    """A row of notes, as far as one has to know it to remove it."""

    __slots__ = ("at_ms", "key", "notes", "octets")

    def __init__(self, key: str, notes: int, octets: int, at_ms: int) -> None:
        self.key = key
        self.notes = notes
        self.octets = octets
        self.at_ms = at_ms


@final
class Notebook:
    """The notes of one virtual host.

    Attributes:
        notes, octets: kept now.
    """

    __slots__ = (
        "_age_max_ms",
        "_host",
        "_notes_max",
        "_number",
        "_octets_max",
        "_pages",
        "_recovered",
        "_source",
        "notes",
        "octets",
    )

    def __init__(
        self,
        host: str,
        *,
        notes_max: int = NOTES_MAX,
        octets_max: int = OCTETS_MAX,
        age_max_ms: int = AGE_MAX_MS,
    ) -> None:
        self.notes = 0
        self.octets = 0
        self._host = host
        self._notes_max = notes_max
        self._octets_max = octets_max
        self._age_max_ms = age_max_ms
        self._number = 1
        self._pages: deque[Page] = deque()
        self._recovered: list[Note] = []
        self._source: NoteSource | None = None

    def recover(self, row: NotesRow, size: int) -> None:
        """A page that the store brought back; numbers ascend."""
        self._number = row.number + 1
        self._put(row, size)
        self._recovered += row.notes

    def attach(self, source: NoteSource) -> None:
        """From now on `source` has the notes of this host; what was recovered is its own."""
        self._source = source
        source.restore(self._recovered)
        self._recovered = []

    def collect(self, writes: TurnWriter, now_ms: int) -> None:
        """Write what is new with the turn under way."""
        source = self._source
        if source is None:
            return
        new = source.take_new()
        if not new:
            return
        row = NotesRow(self._host, self._number, new)
        self._number += 1
        value = row.encoded()
        writes.topology(RowKind.NOTES, row.key(), value)
        self._put(row, len(value))
        self.trim(writes, now_ms)

    def trim(self, writes: TurnWriter, now_ms: int) -> None:
        """Remove the pages that nobody needs any more, the oldest first."""
        pages = self._pages
        while pages:
            oldest = pages[0]
            enough = (
                self.notes - oldest.notes >= self._notes_max
                or self.octets - oldest.octets >= self._octets_max
            )
            if not enough and now_ms - oldest.at_ms <= self._age_max_ms:
                return
            pages.popleft()
            self.notes -= oldest.notes
            self.octets -= oldest.octets
            writes.topology_removed(RowKind.NOTES, oldest.key)

    def _put(self, row: NotesRow, size: int) -> None:
        latest_ms = max([note[1] for note in row.notes], default=0)
        self._pages.append(Page(row.key(), len(row.notes), size, latest_ms))
        self.notes += len(row.notes)
        self.octets += size


def recover_notes(
    rows: list[TopologyRow], notebooks: dict[str, Notebook], problems: list[str]
) -> None:
    """Put the pages among `rows` back; those of hosts that are not configured stay as they are."""
    for row in rows:
        if row.kind != RowKind.NOTES:
            continue
        try:
            page = notes_row(row.value)
        except DecodeError as error:
            problems.append(f"notes {row.key!r} are unreadable: {error}")
            continue
        notebook = notebooks.get(page.host)
        if notebook is not None:
            notebook.recover(page, len(row.value))
