"""The disk that fails on order, from the campaign's side: compiled, preloaded.

The library is `disk.c`.
"""

from __future__ import annotations

import mmap
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Final

SOURCE: Final = Path(__file__).with_name("disk.c")
STORE, AUDIT = 1, 2
FAULTS: Final = {"none": 0, "full": 1, "broken": 2, "short": 3, "unsynced": 4, "slow": 5, "cut": 6}
FIELDS: Final = (
    *("fault", "parts", "from", "times", "slow_us"),
    *("store_operations", "audit_operations", "failed", "wall_s"),
)
FOREVER: Final = 1 << 40


def compiler() -> str | None:
    """A C compiler, if there is one."""
    return shutil.which("cc") or shutil.which("gcc")


def compiled(directory: Path) -> Path:
    """The library."""
    found = compiler()
    assert found is not None, "no C compiler: run tests/interop/install proton"
    library = directory / "disk.so"
    subprocess.run(
        [found, "-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl", "-pthread"], check=True
    )
    return library


class Disk:
    """One gateway's disk; `environment` puts the gateway on it."""

    def __init__(self, library: Path, directory: Path) -> None:
        self.path = directory / "disk.control"
        self.path.write_bytes(bytes(8 * len(FIELDS)))
        self._control = _mapped(self.path)
        self.environment = {"LD_PRELOAD": str(library), "FAULTS_CONTROL": str(self.path)}

    @staticmethod
    def attached(path: Path) -> Disk:
        """The disk that this process is on itself."""
        disk = Disk.__new__(Disk)
        disk.path, disk.environment, disk._control = path, {}, _mapped(path)
        return disk

    def __getitem__(self, field: str) -> int:
        return int(struct.unpack_from("q", self._control, 8 * FIELDS.index(field))[0])

    def __setitem__(self, field: str, value: int) -> None:
        struct.pack_into("q", self._control, 8 * FIELDS.index(field), value)

    def fail(self, fault: str, parts: int, *, after: int, times: int, slow_us: int = 0) -> None:
        """So many operations of one part from now on, when as many others have gone well."""
        self["fault"] = 0
        self["store_operations"] = self["audit_operations"] = 0
        self["from"] = after
        self["parts"] = parts
        self["times"] = times
        self["slow_us"] = slow_us
        self["fault"] = FAULTS[fault]

    def set_clock_back(self, seconds: int) -> None:
        """Step the wall clock."""
        self["wall_s"] -= seconds

    def heal(self) -> None:
        """It is as good as new."""
        self["fault"] = 0

    @property
    def failed(self) -> int:
        """How many operations have."""
        return self["failed"]


def _mapped(path: Path) -> mmap.mmap:
    with path.open("r+b") as file:
        return mmap.mmap(file.fileno(), 8 * len(FIELDS))
