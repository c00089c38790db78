"""The memory of a job: what Spark's Java may have, and what is said where that was too little.

Java keeps what does not fit on disk, so that a larger log takes more time and hardly more memory.
Beside it are the workers, Python processes with a segment each.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
from pathlib import Path
from typing import Final

OPTION: Final = "--memory"
GIB: Final = 2**30
LOG_OCTETS: Final = 4 * GIB  # for each of which there is 1 GiB more
LIMIT: Final = Path("/sys/fs/cgroup/memory.max")  # of a container; "max" where there is none
LEAST_MIB: Final = 512  # below, Spark does not start
_SIZE: Final = re.compile("([1-9][0-9]{0,5})([mg])", re.IGNORECASE)
# Java's, and Spark's own of what it gives to its tasks; of a table for each task it names neither.
_ERROR: Final = re.compile(
    r"\bjava\.lang\.OutOfMemoryError|\bSparkOutOfMemoryError|Unable to acquire \d+ bytes of memory|"
    r"[Nn]ot? enough memory (?:for aggregation|to (?:build|grow))"
)
_ENDED_BY_SPARK: Final = 52  # an executor's exit code where there was no memory
_KILLED: Final = (-9, 128 + 9)


def add_memory(job: argparse.ArgumentParser) -> None:
    """Its option."""
    job.add_argument(
        OPTION,
        type=memory,
        metavar="SIZE",
        help="what Spark's Java may have, as 512m or 4g (default: 1g, and 1g more for "
        "each 4 GiB of the log); beside it are workers, one for each core",
    )


def memory(text: str) -> str:
    """A size, as Java has it. Raises ArgumentTypeError."""
    found = _SIZE.fullmatch(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no size as 512m or 4g")
    mib = int(found[1]) * (1024 if found[2].lower() == "g" else 1)
    if mib < LEAST_MIB:
        raise argparse.ArgumentTypeError(f"{text!r} is too little: {LEAST_MIB}m at least")
    return text.lower()


def usual(octets: int, there_is: int | None = None) -> str:
    """What Java has for so much log if nobody says: half of what there is at most, 1 GiB at least.

    `there_is`: octets of this machine's memory, or of what its processes may have of it.
    """
    half = (_memory_there_is() if there_is is None else there_is) // 2
    return f"{max(min(1 + octets // LOG_OCTETS, half // GIB), 1)}g"


def _memory_there_is() -> int:
    there_is = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with contextlib.suppress(OSError, ValueError):
        there_is = min(there_is, int(LIMIT.read_text()))
    return there_is


def too_little(said: str, ended: int | None, had: str | None) -> str | None:
    """Why a job failed, if it is for want of memory, in a sentence.

    `said`: by whatever has failed; `ended`: the exit code of Java, if it has; `had`: what it was
    to have, if that is known.
    """
    if _ERROR.search(said) or ended == _ENDED_BY_SPARK:
        with_what = f" with {had}" if had else ""
        return f"Java had not enough memory{with_what}: give it more with {OPTION}"
    if ended in _KILLED:
        return (
            f"Java was killed, as by a system without memory: give the job more of it, or less to "
            f"Java with {OPTION}"
        )
    return None if ended is None else f"Java has ended, with exit code {ended}"
