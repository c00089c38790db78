"""Entry point: ``python -m gateway.codegen [--check]``."""

from __future__ import annotations

import sys
from pathlib import Path

from gateway.codegen.registry import generate

ROOT = Path(__file__).parent.parent


def main(arguments: list[str]) -> int:
    """Write the generated files, or check them; the exit code."""
    check = arguments == ["--check"]
    if arguments and not check:
        print("usage: python -m gateway.codegen [--check]", file=sys.stderr)
        return 2
    stale = 0
    for name, source in sorted(generate().items()):
        path = ROOT / name
        if path.exists() and path.read_text(encoding="utf-8") == source:
            continue
        stale += 1
        if check:
            print(f"gateway/{name} is not what the tables yield: run python -m gateway.codegen")
        else:
            path.write_text(source, encoding="utf-8")
            print(f"wrote gateway/{name}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
