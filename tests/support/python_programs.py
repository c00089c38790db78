"""Programs of some lines, each run by a Python of its own; one may change the gateway it serves."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from subprocess import CompletedProcess
from typing import Final

PATIENCE_S: Final = 50
SERVE: Final = """
import sys
from gateway.cli import main
sys.argv[0] = "amqp-gateway"
main()
"""


def run_python(
    program: str,
    *arguments: str,
    code: int = 0,
    within: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> CompletedProcess[str]:
    """What it wrote, once it has ended with that exit code; `within`: what starts it."""
    done = subprocess.run(
        [*within, sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env=environment,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done


def serve_changed(changes: str, directory: Path, *, code: int = 0) -> CompletedProcess[str]:
    """What a gateway wrote that began with `changes`, and stopped for them, with that exit code."""
    options = ["listen.amqp=127.0.0.1:0", "admin=127.0.0.1:0", f"data_directory={directory}/data"]
    given = [part for option in options for part in ("--set", option)]
    return run_python(changes + SERVE, "serve", *given, code=code)
