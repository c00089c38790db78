"""The audit log that a command is given, and what is known of it that is not in it."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Sequence
from typing import Any, Final

import click

from gateway.audit.elsewhere import known_elsewhere
from gateway.audit.provenance import Provenance
from gateway.audit.reader import segment_paths
from gateway.cli.options import FILE, F
from gateway.errors import GatewayError
from gateway.files.own import default_data_directory
from gateway.files.whole import is_file

TRUSTED: Final = click.option(
    "--trust",
    "trusted",
    multiple=True,
    type=FILE,
    metavar="FILE",
    help="Public keys (Ed25519, PEM): seals must be signed by one of them.",
)


def anchors_option(kind: click.ParamType[Any]) -> Callable[[F], F]:
    """``--anchor``, as parameter `anchors`; `kind`: of a path, or of an address."""
    return click.option(
        "--anchor",
        "anchors",
        multiple=True,
        type=kind,
        metavar="FILE",
        help="Heads of this log that were kept elsewhere, one on each line: all must still be "
        "true.",
    )


def books_option(kind: click.ParamType[Any]) -> Callable[[F], F]:
    """``--books``, as parameter `books`; `kind`: as above."""
    return click.option(
        "--books",
        type=kind,
        metavar="DIRECTORY",
        help="Closed books of this log: segments that they cover may have been let go.",
    )


ANCHORS: Final = anchors_option(FILE)
BOOKS: Final = books_option(FILE)


def default_log() -> pathlib.Path:
    """Where the log of a gateway without configuration is."""
    return default_data_directory() / "audit"


def elsewhere(anchors: Sequence[pathlib.Path], trusted: Sequence[pathlib.Path]) -> Provenance:
    """Heads that were kept elsewhere, and keys that are trusted; GatewayError."""
    try:
        return known_elsewhere(anchors, trusted)
    except OSError as error:
        raise GatewayError(f"cannot read {error.filename}: {error.strerror}") from None
    except ValueError as error:
        raise GatewayError(str(error)) from None


def segments_of(path: pathlib.Path) -> list[pathlib.Path]:
    """A single segment, or those of a log in order; GatewayError where there is none."""
    if is_file(path):
        return [path]
    try:
        found = segment_paths(path)
    except OSError as error:  # of a name that none can have
        raise GatewayError(f"cannot read {path}: {error.strerror}") from None
    if not found:
        raise GatewayError(f"there is no audit log in {path}")
    return found
