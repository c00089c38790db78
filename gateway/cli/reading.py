"""What the verbs that read audit logs have in common: files, records, and telling what is damaged.

A log that somebody writes meanwhile is read as far as it was when that began.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any, final

import click

from gateway.audit.printable import printable
from gateway.audit.reader import Damage, Segment, records, segment_paths
from gateway.audit.salvage import Salvage
from gateway.config.settings import default_data_directory
from gateway.errors import GatewayError
from gateway.files.whole import is_file, read_segment


@final
class Reading:
    """The records of segments, behind damage too; `broken`: there was some, and was told of."""

    def __init__(self, files: list[pathlib.Path]) -> None:
        self.broken = False
        self._files = files
        self._told: list[Damage] = []

    def records(self) -> Iterator[dict[str, Any]]:
        """In their order. Any: as `reader.records`."""
        for file in self._files:
            salvage = Salvage(read(file))
            yield from records(salvage.segment, salvage.blocks())
            for damage in salvage.damages:
                self.broken = True
                if damage not in self._told:  # it may all be read once more
                    self._told.append(damage)
                    click.echo(f"amqp-gateway: {printable(str(damage))}", err=True)


def default_log() -> pathlib.Path:
    """Where the log of a gateway without configuration is."""
    return default_data_directory() / "audit"


def segments(path: pathlib.Path) -> list[pathlib.Path]:
    """Those of a log, in order, or the one that the path is."""
    if is_file(path):
        return [path]
    try:
        found = segment_paths(path)
    except OSError as error:  # of a name that none can have
        raise GatewayError(f"cannot read {path}: {error.strerror}") from None
    if not found:
        raise GatewayError(f"there is no audit log in {path}")
    return found


def read(file: pathlib.Path) -> Segment:
    """One segment's octets."""
    try:
        return Segment(file.name, read_segment(file))
    except OSError as error:
        raise GatewayError(f"cannot read {file}: {error.strerror}") from None
