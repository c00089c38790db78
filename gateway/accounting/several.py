"""Several logs in one run: what is asked of each.

A copy is with one gateway: what that sends to another one is another message there, and `comparing`
holds the two against each other. So each log has a ledger of its own, and is reconciled by itself,
one after the other in one session, with a state and a part of the run that are called as its id.
"""

from __future__ import annotations

import argparse
import re
from typing import Final

from gateway.accounting.locations import location

OF_ONE: Final = ("anchor", "books", "follow")  # which say something of one log
_ID: Final = re.compile(r"[0-9a-f]{1,64}")  # as gateways make them


def each_of(options: argparse.Namespace) -> dict[str, argparse.Namespace]:
    """What is asked of each log, by its id; of one by itself, by no name.

    Raises:
        ValueError: they cannot be told apart.
        OSError: one of them cannot be read.
    """
    if not getattr(options, "others", None):
        return {"": options}
    found: dict[str, argparse.Namespace] = {}
    for log in (options.log, *options.others):
        name = location.log_id(log)
        if not _ID.fullmatch(name):
            raise ValueError(f"{log} has no id: it can be reconciled by itself")
        if name in found:
            raise ValueError(f"{found[name].log} and {log} are one log, with id {name}")
        state = None if options.state is None else options.state / name
        found[name] = argparse.Namespace(**vars(options) | {"log": log, "state": state})
    return found
