"""``python -m gateway`` is ``amqp-gateway``, the command, which begins here."""

from __future__ import annotations

import os
import sys
from typing import Final

MEMORY_REFUSED: Final = 70  # the exit code; sysexits.h calls it an internal software error
# How the system refuses a thread its stack, and a library its room: neither is a MemoryError.
REFUSALS: Final = ("can't start new thread", "failed to map segment")


def main() -> None:
    """Load the command, which takes a moment, and run it; also the former may be interrupted."""
    try:
        try:
            from gateway.cli import main as command
        except KeyboardInterrupt:
            sys.exit("amqp-gateway: interrupted")
        command()
    except (MemoryError, RuntimeError, ImportError) as error:
        if not isinstance(error, MemoryError) and not any(each in str(error) for each in REFUSALS):
            raise
        _end(error)


def _end(error: Exception) -> None:
    """As if it were killed: nothing is left to end in good order with."""
    try:
        told = str(error) or "there is no more"
        sys.stderr.write(f"amqp-gateway: it is refused memory, or threads: {told}\n")
        sys.stderr.flush()
    finally:
        os._exit(MEMORY_REFUSED)


if __name__ == "__main__":
    main()
