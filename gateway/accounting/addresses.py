"""Addresses, as command lines have them."""

from __future__ import annotations

import argparse
from pathlib import Path

from gateway.accounting.locations import location
from gateway.accounting.locations.settings import NONE


def address(text: str) -> str:
    """What an argument says, which means something. Raises ArgumentTypeError."""
    try:
        location.at(text, NONE)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def address_here(text: str) -> str:
    """The same, of where a book is put. Raises ArgumentTypeError."""
    if not isinstance(location.at(address(text), NONE), Path):
        raise argparse.ArgumentTypeError(
            "a book is put in its place at once, which only a file system of this machine can"
        )
    return text
