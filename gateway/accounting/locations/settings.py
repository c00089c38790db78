"""Spark's settings, as somebody gave them, as far as they say how other machines are reached.

The driver needs them before Spark is started, and workers need them for what they read themselves.
Some are secrets: they are in no option, plan, error or report.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, final

from gateway.files.whole import CONFIGURATION_MAX, read_whole

PREFIX: Final = "spark.hadoop."
S3A: Final = "fs.s3a."
SECRET: Final = re.compile(r"(access\.key|secret\.key|session\.token|password)$")
SUBMITTED: Final = "PYSPARK_GATEWAY_PORT"  # in the environment, by `spark-submit`
HIDDEN: Final = "..."
DEFAULTS: Final = "spark-defaults.conf"
NOTHING: Final[Mapping[str, str]] = MappingProxyType({})

_LINE: Final = re.compile(r"((?:\\.|[^\\\s=:])+)\s*[=:]?\s*(.*)")
_GOES_ON: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\\n[ \t\f]*")
_ESCAPED: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")
_CONTROLS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


class SettingsError(Exception):
    """Why something cannot be reached as it is set, in a sentence."""


@final
class Settings:
    """Those of Hadoop's file systems, which Spark has behind `spark.hadoop.`.

    Attributes:
        file: where they stand, for Spark to read them, too; `None`: it has them already.
        names: of everything that stands in the file.
        local_directory: where Spark writes what it does not keep, "," between several; "": where
            a job says.
    """

    def __init__(self, spark: Mapping[str, str] = NOTHING, file: Path | None = None) -> None:
        self.file = file
        self.names = frozenset(() if file is None else spark)
        self.local_directory = spark.get("spark.local.dir", "")
        self._values = {
            name.removeprefix(PREFIX): value
            for name, value in spark.items()
            if name.startswith(f"{PREFIX}fs.")
        }

    def __repr__(self) -> str:
        return "Settings(...)"

    def of_bucket(self, bucket: str, name: str) -> str:
        """One of `fs.s3a.*`, or what this bucket has instead of it; "": nobody has set it."""
        own = self._values.get(f"{S3A}bucket.{bucket}.{name}")
        return self._values.get(f"{S3A}{name}", "") if own is None else own

    def without_secrets(self, text: str) -> str:
        """What somebody else says, to be told to people."""
        for name, value in self._values.items():
            if value and SECRET.search(name):
                text = text.replace(value, HIDDEN)
        return text


NONE: Final = Settings()


def settings_of(file: Path | None, environment: Mapping[str, str] = os.environ) -> Settings:
    """What Spark is told: in that file, by who submitted the program, or in the file of its own.

    Raises:
        SettingsError: it is not to be told so.
        OSError: the file cannot be read.
        ValueError: it is no UTF-8.
    """
    if SUBMITTED in environment:
        if file is not None:
            raise SettingsError("--properties-file is for spark-submit, in front of the program")
        from pyspark import SparkConf, SparkContext

        SparkContext._ensure_initialized()
        return Settings(dict(SparkConf().getAll()))
    if file is not None:
        return Settings(_read(file), file)
    its_own = _its_own(environment)
    return NONE if its_own is None else Settings(_read(its_own))


def _its_own(environment: Mapping[str, str]) -> Path | None:
    directory = environment.get("SPARK_CONF_DIR", "")
    if not directory and environment.get("SPARK_HOME"):
        directory = os.path.join(environment["SPARK_HOME"], "conf")
    path = Path(directory, DEFAULTS) if directory else None
    return path if path is not None and path.is_file() else None


def _read(path: Path) -> dict[str, str]:
    octets = read_whole(path, CONFIGURATION_MAX)
    try:
        return properties(octets.decode())
    except UnicodeDecodeError:
        raise ValueError(f"{path} is no UTF-8") from None


def properties(text: str) -> dict[str, str]:
    """Java's properties: a name and a value on each line, with space, "=" or ":" between."""
    found: dict[str, str] = {}
    lines = re.sub("\r\n?", "\n", text)
    for line in _GOES_ON.sub(r"\1", lines).split("\n"):
        stripped = line.strip()
        if stripped.startswith(("#", "!")):
            continue
        said = _LINE.fullmatch(stripped)
        if said:
            name, value = (_ESCAPED.sub(_plain, each) for each in said.groups())
            found[name] = value.strip()
    return found


def _plain(escaped: re.Match[str]) -> str:
    said = escaped[1]
    return chr(int(said[1:], 16)) if len(said) > 1 else _CONTROLS.get(said, said)
