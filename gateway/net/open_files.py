"""How many files the process may have open, and how many of these connections may take.

Store, audit log and admin port must have theirs whatever clients do: a process that answers no
probe, and cannot begin the log's next segment, is of no use to anybody. So where the system allows
fewer than `limits.connections` need, fewer connections are let in.
"""

from __future__ import annotations

import os
import resource
from contextlib import suppress
from typing import Final, NamedTuple

OPEN_AT_START: Final = 48  # where the system does not tell: store, log, libraries
SPARE: Final = 16  # ports, the next segment, files that are read again, a backup, names looked up
ADMIN_SHARE: Final = 8  # where there are few, the admin port has this part of them
ADMIN_LEAST: Final = 2


class FileShares(NamedTuple):
    """Who may have how many connections."""

    files: int
    clients: int
    admin: int


def raise_file_limit(needed: int) -> int:
    """Let the process have as many files open as it needs, if it may; how many that are."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return needed if soft == resource.RLIM_INFINITY else soft


def open_files() -> int:
    """How many are open now."""
    for directory in ("/proc/self/fd", "/dev/fd"):
        with suppress(OSError):
            return len(os.listdir(directory))
    return OPEN_AT_START


def share_files(clients: int, admin: int, upstreams: int) -> FileShares:
    """Have as many files as all these connections need, or say how many there may be.

    The gateway is about to listen: what it needs beside connections is open already, but for some.
    """
    taken = open_files() + SPARE + upstreams
    files = raise_file_limit(taken + clients + admin)
    left = max(files - taken, 0)
    if left < clients + admin:
        admin = min(admin, max(left // ADMIN_SHARE, ADMIN_LEAST))
    return FileShares(files, min(clients, max(left - admin, 1)), admin)
