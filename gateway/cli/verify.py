"""`audit verify`: is a log as it was written, and as the store beside it remembers it?"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterable
from typing import Final

import click

from gateway.audit.ahead import KNOWS_NOTHING, Known, ahead
from gateway.audit.elsewhere import take_books
from gateway.audit.ends import differences, log_id_in
from gateway.audit.printable import printable
from gateway.audit.reader import octets_at, other_files, segment_paths
from gateway.audit.verify import verify, verify_segment
from gateway.cli.logs import ANCHORS, BOOKS, TRUSTED, default_log, elsewhere, segments_of
from gateway.cli.options import FILE
from gateway.errors import GatewayError, StoreError
from gateway.net.data_directory import AUDIT_FOLDER, UNFINISHED_FILE
from gateway.store import outside
from gateway.store.sqlite import FILE_NAME

NOT_COMPARED: Final = 3


@click.command("verify")
@click.argument("log", required=False, type=FILE)
@ANCHORS
@TRUSTED
@BOOKS
def verify_log(
    log: pathlib.Path | None,
    anchors: tuple[pathlib.Path, ...],
    trusted: tuple[pathlib.Path, ...],
    books: pathlib.Path | None,
) -> None:
    """Check a whole log: checksums, gapless numbers, the chain of segments, seals.

    Whoever can write the log can make all these right again, unless heads of it were kept elsewhere
    (--anchor) or its seals are signed (--trust). A line says which of that there is.

    Of a data directory, all of the store is read, too, and the log is compared with what the store
    knows of it, unless a gateway is using it: only so is it seen when the newest segment is gone,
    or when the store is older than the log. The directory may be read-only. What a gateway found
    changed when it started is in the log, and counts for ever. What the gateway let go, as a record
    of the log or a closed book says, is not missing.

    Exit code 0: whole; 1: something is missing, reordered, edited or cut off, or the store is
    older, now or at a start, or it is damaged, or a book is, or the directory is a backup that is
    not finished; 3: nothing is, but the log could not be compared with the store.
    """
    data = log or default_log().parent
    inside = log is None or os.path.isdir(data / AUDIT_FOLDER)
    log = data / AUDIT_FOLDER if inside else data
    known, untold = _known(data) if inside else (KNOWS_NOTHING, "")
    broken = _damage(data) if inside else []
    files = segment_paths(log) if known.ends.last is not None else segments_of(log)
    provenance = elsewhere(anchors, trusted)
    wrong = [] if books is None else take_books(provenance, books, log_id_in(log))
    try:
        octets = sum(octets_at(file) for file in files)
        different = differences(log, known.ends)
        older = ahead(log, known, as_remembered=not different)
        alone = not log.is_dir()
        checked = verify_segment(log, provenance) if alone else verify(log, provenance)
    except OSError as error:
        raise GatewayError(f"cannot read {error.filename}: {error.strerror}") from None
    found = [*checked.damages, *different, *older, *provenance.found()]
    _tell("LOG_GAP", map(str, found))
    _tell("BOOK", wrong)
    for line in broken:
        click.echo(click.style("STORE ", fg="red") + line)
    if untold:
        click.echo(f"not compared with the store: {untold}", err=True)
    if checked.unfinished is not None:
        click.echo(f"half written, as by a gateway at work: {checked.unfinished}", err=True)
    for other in other_files(log):
        click.echo(f"no segment, and not looked at: {printable(other.name)}", err=True)
    for line in provenance.lines():
        click.echo(line)
    bad = bool(found or broken or wrong)
    if not bad:
        whole = "whole" if checked.unfinished is None else "whole, up to a block half written"
        whole = "no damage found, but where it ends nobody knows" if untold else whole
        click.echo(f"{len(files)} segments, {octets} octets: {whole}")
    click.get_current_context().exit(1 if bad else NOT_COMPARED if untold else 0)


def _tell(what: str, lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(click.style(f"{what} ", fg="red") + printable(line))


def _known(data: pathlib.Path) -> tuple[Known, str]:
    """What the store of a data directory knows of the log, or why that cannot be told."""
    try:
        known = outside.known(data)
    except StoreError as error:
        return KNOWS_NOTHING, str(error)
    return known, "" if known.ends.last is not None else "it knows nothing of a log"


def _damage(data: pathlib.Path) -> list[str]:
    """What is wrong with the store of a data directory, if that can be told."""
    unfinished = data / UNFINISHED_FILE
    told = [f"a backup that is not finished: {unfinished}"] if os.path.exists(unfinished) else []
    try:
        return told + [f"{data / FILE_NAME}: {line}" for line in outside.damage(data)]
    except StoreError:
        return told  # as it is told of what the log is compared with
