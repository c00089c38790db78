"""The audit log that a command is given, and what is known of it that is not in it."""

from __future__ import annotations

import pathlib
from typing import Final

import click

from gateway.audit.elsewhere import known_elsewhere
from gateway.audit.provenance import Provenance
from gateway.audit.reader import segment_paths
from gateway.cli.options import FILE
from gateway.config.settings import default_data_directory
from gateway.errors import GatewayError
from gateway.files.whole import is_file

ANCHORS: Final = click.option(
    "--anchor",
    "anchors",
    multiple=True,
    type=FILE,
    metavar="FILE",
    help="Heads of this log that were kept elsewhere, one on each line: all must still be true.",
)
TRUSTED: Final = click.option(
    "--trust",
    "trusted",
    multiple=True,
    type=FILE,
    metavar="FILE",
    help="Public keys (Ed25519, PEM): seals must be signed by one of them.",
)


BOOKS: Final = click.option(
    "--books",
    type=FILE,
    metavar="DIRECTORY",
    help="Closed books of this log: segments that they cover may have been let go.",
)


def default_log() -> pathlib.Path:
    """Where the log of a gateway without configuration is."""
    return default_data_directory() / "audit"


def elsewhere(anchors: tuple[pathlib.Path, ...], trusted: tuple[pathlib.Path, ...]) -> Provenance:
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
