"""Branches of distributed transactions, as operators see them, and end those that nobody ends.

`ctl branches` and `ctl decide`, and the metrics of branches. What a branch is, `bridge.branches`
says.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from gateway.bridge.branches.branch import Branch, State, xid_of
from gateway.bridge.bridge import Bridge
from gateway.errors import ConfigurationError
from gateway.wire.work import COUNTED, TOLD, WORK

Told = dict[str, Any]  # Any: what JSON holds
COMMIT: Final = "commit"
ROLLBACK: Final = "rollback"
FORGET: Final = "forget"
DECISIONS: Final = (COMMIT, ROLLBACK, FORGET)
DONE: Final = {
    COMMIT: "is committed; its manager is told so",
    ROLLBACK: "is rolled back; its manager is told so",
    FORGET: "is forgotten",
}
SHOWN_MAX: Final = 600  # characters of an xid, which has no more


def branches(bridge: Bridge) -> Iterator[str]:
    """What `GET /ctl/branches` answers, as JSON, in pieces: those of all virtual hosts."""
    yield '{"branches": ['
    between = ""
    for host in list(bridge.hosts.values()):
        for branch in list(host.branches.by_xid.values()):
            WORK.units += TOLD
            yield between + json.dumps(_branch(host.name, branch), ensure_ascii=False)
            between = ", "
    yield "]}"


def _branch(host: str, branch: Branch) -> Told:
    transaction = branch.transaction
    return {
        "virtual_host": host,
        "branch": branch.xid.text(),
        "state": branch.state.name.lower(),
        "user": branch.user,
        "prepared_ms": branch.prepared_ms,
        "sessions": len(branch.sessions),
        "publishes": len(transaction.held),
        "accepts": len(transaction.retirements),
    }


def decide(bridge: Bridge, host_name: str, text: str, how: str) -> str:
    """End a prepared branch, or forget one that was so ended. Raises ConfigurationError.

    One that can only be rolled back may be so, which is the end of it.
    """
    if how not in DECISIONS:
        raise ConfigurationError([("decision", f"must be one of {', '.join(DECISIONS)}")])
    host = bridge.hosts.get(host_name) if host_name else bridge.default_host
    if host is None:
        problem = f"there is no virtual host {host_name!r}"
        raise ConfigurationError([("virtual_host", problem)])
    xid = xid_of(text)
    branch = None if xid is None else host.branches.by_xid.get(xid)
    if branch is None:
        raise ConfigurationError([("branch", f"there is no branch {text[:SHOWN_MAX]!r}")])
    decided = branch.state in (State.COMMITTED, State.ROLLED_BACK)
    if how == FORGET and decided:
        host.branches.forget(branch)
    elif how != FORGET and branch.state == State.PREPARED:
        host.branches.decide(branch, commit=how == COMMIT)
    elif how == ROLLBACK and branch.failed:
        if branch.sessions:
            raise ConfigurationError([("branch", "a session works in it")])
        host.branches.drop(branch)
        return f"branch {text}, which had been rolled back, is forgotten"
    else:
        only = "one that an operator has ended" if how == FORGET else "a prepared one"
        problem = f"it is {branch.state.name.lower()}, and {how} is for {only}"
        raise ConfigurationError([("branch", problem)])
    return f"branch {text} {DONE[how]}"


def states(bridge: Bridge) -> dict[str, int]:
    """How many there are, by what they wait for."""
    found = {"open": 0, "doomed": 0, "prepared": 0, "decided": 0}
    for host in bridge.hosts.values():
        WORK.units += COUNTED * len(host.branches.by_xid)
        for branch in host.branches.by_xid.values():
            if branch.failed:
                found["doomed"] += 1
            elif not branch.in_doubt:
                found["open"] += 1
            else:
                found["prepared" if branch.state == State.PREPARED else "decided"] += 1
    return found


def oldest_prepared_s(bridge: Bridge) -> float:
    """For how long the oldest that is prepared has been so; 0: there is none."""
    prepared = [
        branch.prepared_ms
        for host in bridge.hosts.values()
        for branch in host.branches.by_xid.values()
        if branch.state == State.PREPARED
    ]
    return (bridge.now_ms - min(prepared)) / 1000 if prepared else 0
