"""The records of audit logs, for the verbs that print them; what is damaged is told.

A log that somebody writes meanwhile is read as far as it was when that began.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any, final

import click

from gateway.audit.printable import printable
from gateway.audit.reader import Damage, Segment, records
from gateway.audit.salvage import Salvage
from gateway.errors import GatewayError
from gateway.files.whole import read_segment


@final
class Reading:
    """The records of segments, behind damage too; `broken`: there was some, and was told of."""

    def __init__(self, files: list[pathlib.Path]) -> None:
        self.broken = False
        self._files = files
        self._told: set[Damage] = set()

    def records(self) -> Iterator[dict[str, Any]]:
        """In their order. Any: as `reader.records`."""
        behind = [*self._files[1:], None]
        for file, next_file in zip(self._files, behind, strict=True):
            salvage = Salvage(read(file))
            yield from records(salvage.segment, salvage.blocks())
            for damage in salvage.damages:
                self._tell(damage)
            newest = next_file is None or next_file.parent != file.parent
            if salvage.unfinished is not None and not newest:  # nobody writes it any more
                self._tell(salvage.unfinished)

    def _tell(self, damage: Damage) -> None:
        self.broken = True
        if damage not in self._told:  # it may all be read once more
            self._told.add(damage)
            click.echo(f"amqp-gateway: {printable(str(damage))}", err=True)


def read(file: pathlib.Path) -> Segment:
    """One segment's octets."""
    try:
        return Segment(file.name, read_segment(file))
    except OSError as error:
        raise GatewayError(f"cannot read {file}: {error.strerror}") from None
