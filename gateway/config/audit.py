"""The keys of the audit log: its segments, who signs them, and when they may go."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from gateway.config.section import Section
from gateway.config.units import duration, size

Word = Annotated[str, Field(min_length=1)]


class AuditSettings(Section):
    """The audit log, in the data directory's `audit`."""

    segment_size: Annotated[int, *size("64KiB", "4GiB")] = 64 * 1024 * 1024
    """A segment is closed when it has reached this size ..."""
    segment_age: Annotated[int, *duration("1s", "7d")] = 3_600_000
    """... or this age."""
    checkpoint_interval: Annotated[int, *duration("1s", "24h")] = 60_000
    """Between two checkpoints: depths and checksums of every queue."""
    seal_interval: Annotated[int, *duration("1s", "30s")] = 10_000
    """Between two seals, which say what the log is up to there: what is behind the last one when
    the gateway is killed stays unsealed."""
    signing_key_file: pathlib.Path | None = None
    """A private key (Ed25519, PEM) that seals are signed by, best not on the volume that the log is
    on. Without it they are not signed. Another key counts from the next reload on."""
    keep_age: Annotated[int, *duration("0s", "36500d")] = 0
    """Closed segments whose last record is older than this are let go, the oldest first; 0s: none
    is for its age."""
    keep_size: Annotated[int, *size(0, "1024TiB")] = 0
    """Octets of all segments above which the oldest are let go; 0: none is for that."""
    keep_unclosed: bool = True
    """Segments that no closed book covers stay, however old or many. Without an archive those of a
    book that is not balanced stay, too. If false, neither is asked for."""
    books: pathlib.Path | None = None
    """The directory of closed books."""
    book_keys_file: pathlib.Path | None = None
    """Public keys (Ed25519, PEM): only books that one of them has signed count."""
    archive_directory: pathlib.Path | None = None
    """Segments that are let go are copied to a directory of the log's id in it. Without it, and
    without a command, they are deleted."""
    archive_command: list[Word] = Field(default_factory=list)
    """A program and its arguments, behind which it is given the path of a segment: exit code 0 says
    that it is archived. It may be given the same one again."""

    @property
    def lets_go(self) -> bool:
        """Whether any segment may ever go without that somebody asks for it."""
        return self.keep_age > 0 or self.keep_size > 0

    @property
    def archives(self) -> bool:
        """Whether what goes is kept elsewhere."""
        return self.archive_directory is not None or bool(self.archive_command)


def audit_rules(audit: AuditSettings, log: pathlib.Path) -> Iterator[tuple[list[str], str]]:
    """The rules that span its keys: the keys, the one to blame first, and what is wrong.

    `log`: the directory of segments.
    """
    ages = ["audit.keep_age", "audit.keep_size"]
    if audit.lets_go and audit.keep_unclosed and audit.books is None:
        yield (
            ["audit.books", *ages, "audit.keep_unclosed"],
            "no segment could be let go: set it, or say audit.keep_unclosed: false",
        )
    if 0 < audit.keep_size < audit.segment_size:
        yield ["audit.keep_size", "audit.segment_size"], "must not be below audit.segment_size"
    if audit.book_keys_file is not None and audit.books is None:
        yield ["audit.book_keys_file", "audit.books"], "needs audit.books"
    if audit.archive_directory is not None and audit.archive_command:
        yield ["audit.archive_command", "audit.archive_directory"], "either this or a directory"
    for name in ("archive_directory", "books"):
        directory = getattr(audit, name)
        if directory is not None and directory.is_relative_to(log):
            yield [f"audit.{name}", "data_directory"], f"must not be in the log, {log}"
