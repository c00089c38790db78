"""Builds what `spark-submit` needs: `python -m gateway.accounting.bundle accounting.zip`.

The zip holds exactly what the jobs import of this project, all of it plain Python; beside it comes
a start script of the same name. On a cluster, with a log and an output directory that all its
machines see at the same path, or by a URI:

    spark-submit --master MASTER --py-files accounting.zip accounting.py reconcile LOG --out DIR
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent.parent
MODULES: Final = (
    *("__init__.py", "audit/__init__.py", "audit/schema.py", "audit/reader.py", "audit/salvage.py"),
    *("audit/printable.py", "audit/seals.py", "audit/seen.py", "audit/provenance.py"),
    *("audit/ends.py", "audit/elsewhere.py", "audit/books.py", "audit/shelf.py"),
    *("audit/let_go.py", "audit/shares.py", "audit/story.py"),
    *("audit/segment_file.py", "audit/whereabouts.py"),  # whose `sync_directory` books take
    "audit/signing.py",  # for the driver, with trusted keys only
    *("files/__init__.py", "files/json_text.py", "files/own.py", "files/whole.py"),
)
_START: Final = """import sys

from gateway.accounting.__main__ import main

sys.exit(main([*sys.argv[1:], "--master", ""]))  # the master is the one that was submitted to
"""
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)  # the same sources give the same zip


def sources() -> list[Path]:
    """The files that go in."""
    package = ROOT / "gateway"
    return [*(package / name for name in MODULES), *sorted((package / "accounting").rglob("*.py"))]


def build(out: Path) -> None:
    """Write the zip, and the start script beside it."""
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as bundle:
        for path in sources():
            name = path.relative_to(ROOT).as_posix()
            bundle.writestr(zipfile.ZipInfo(name, _EPOCH), path.read_bytes())
    out.with_suffix(".py").write_text(_START)


if __name__ == "__main__":
    if len(sys.argv) != 2 or not sys.argv[1].endswith(".zip"):
        sys.exit("usage: python -m gateway.accounting.bundle OUT.zip  (writes OUT.py beside it)")
    build(Path(sys.argv[1]))
