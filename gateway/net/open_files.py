"""How many files the process may have open: each connection is one."""

from __future__ import annotations

import resource


def raise_file_limit(needed: int) -> int:
    """Let the process have as many files open as it needs, if it may; how many that are."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return needed if soft == resource.RLIM_INFINITY else soft
