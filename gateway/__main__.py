"""``python -m gateway`` is ``amqp-gateway``, the command, which begins here."""

from __future__ import annotations

import sys


def main() -> None:
    """Load the command, which takes a moment, and run it; also the former may be interrupted."""
    try:
        from gateway.cli import main as command
    except KeyboardInterrupt:
        sys.exit("amqp-gateway: interrupted")
    command()


if __name__ == "__main__":
    main()
