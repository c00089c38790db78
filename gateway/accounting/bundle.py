"""Builds the zip for `spark-submit --py-files`: `python -m gateway.accounting.bundle OUT.zip`.

It holds exactly what the jobs import of this project; all of it is plain Python. Run it with
`spark-submit --py-files OUT.zip OUT.zip reconcile AUDIT_DIR --out DIR --master MASTER`, or put
`OUT.zip` beside a script that calls `gateway.accounting.__main__.main`.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent.parent
MODULES: Final = ("__init__.py", "audit/__init__.py", "audit/schema.py", "audit/reader.py")
_START: Final = "import sys\nfrom gateway.accounting.__main__ import main\nsys.exit(main())\n"
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)  # the same sources give the same zip


def sources() -> list[Path]:
    """The files that go in."""
    package = ROOT / "gateway"
    return [*(package / name for name in MODULES), *sorted((package / "accounting").glob("*.py"))]


def build(out: Path) -> None:
    """Write the zip."""
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as bundle:
        for path in sources():
            name = path.relative_to(ROOT).as_posix()
            bundle.writestr(zipfile.ZipInfo(name, _EPOCH), path.read_bytes())
        bundle.writestr(zipfile.ZipInfo("__main__.py", _EPOCH), _START)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m gateway.accounting.bundle OUT.zip")
    build(Path(sys.argv[1]))
