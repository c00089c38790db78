"""Who reconciled a log, when, and with what: a report without that is nobody's word."""

from __future__ import annotations

import getpass
import importlib.metadata
import platform
import socket
from dataclasses import dataclass
from typing import Final

from gateway import __version__

UNKNOWN: Final = "not known"


@dataclass(frozen=True)
class Ran:
    """One reconciliation.

    Attributes:
        who: the user of the machine that ran it, and the machine; nobody has proved either.
        versions: of what took part, by name.
        bounds: what the job was told to take for too long, in words.
    """

    who: str
    began_s: float
    ended_s: float
    versions: dict[str, str]
    bounds: str


def here(began_s: float, ended_s: float, bounds: str) -> Ran:
    """By this process."""
    return Ran(f"{_user()} on {socket.gethostname()}", began_s, ended_s, _versions(), bounds)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a number without a name, as in a container
        return UNKNOWN


def _versions() -> dict[str, str]:
    try:
        spark = importlib.metadata.version("pyspark")
    except importlib.metadata.PackageNotFoundError:  # that of a cluster
        spark = UNKNOWN
    return {"amqp-gateway": __version__, "Spark": spark, "Python": platform.python_version()}
