"""`ctl connections`, `sessions`, `subscriptions` and `branches` for eyes: the answers as text.

What a client says of itself is its own word: what is not to be printed is not printed.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

from gateway.audit.printable import printable
from gateway.cli.ctl_status import spell, table

Told = dict[str, Any]  # Any: what JSON holds

CONNECTION: Final = (
    *("NUMBER", "ADDRESS", "USER", "PROTOCOL", "SINCE", "SESSIONS", "LINKS", "IN", "OUT"),
    "PRODUCT",
)
SESSION: Final = (
    *("NUMBER", "KIND", "NAME", "USER", "CONTAINER", "LAST AT", "NODE", "AWAY FOR", "LEFT"),
    *("UNSETTLED", "KEPT", "HOST"),
)
SUBSCRIPTION: Final = ("QUEUE", "USER", "CONTAINER", "LINK", "BOUND TO", "MESSAGES", "IN USE")
BRANCH: Final = ("BRANCH", "STATE", "USER", "PREPARED", "SESSIONS", "PUBLISHES", "ACCEPTS", "HOST")
XID_WIDTH: Final = 1200
WITHOUT_LOGIN: Final = "(no login)"
WIDTH_MAX: Final = 60
UNITS: Final = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def connection_lines(told: Told) -> Iterator[str]:
    """What `GET /ctl/connections` answered."""
    yield from table(CONNECTION, [_connection(each) for each in told["connections"]])


def _connection(each: Told) -> list[str]:
    if each["open"]:
        who = [shortened(each["user"]) or WITHOUT_LOGIN, each["protocol"]]
        does = [str(each["sessions"]), str(each["links"])]
    else:
        who, does = ["-", "-"], ["-", "-"]
    return [
        str(each["number"]),
        each["address"] + (" (TLS)" if each["tls"] else ""),
        *who,
        f"{each['since']} ({spell(each['since_s'])})",
        *does,
        octets(each["octets_in"]),
        octets(each["octets_out"]),
        shortened(each["product"] or "-"),
    ]


def session_lines(told: Told) -> Iterator[str]:
    """What `GET /ctl/sessions` answered."""
    yield from table(SESSION, [_session(each) for each in told["sessions"]])


def _session(each: Told) -> list[str]:
    left = each["left_s"]
    return [
        str(each["number"]),
        each["kind"],
        shortened(each["name"]),
        shortened(each["user"]) or WITHOUT_LOGIN,
        shortened(each["container"]) or "-",
        each["address"],
        shortened(each["node"]) or "-",
        spell(each["away_s"]),
        "(its session)" if left is None else spell(left),
        str(each["unsettled"]),
        octets(each["octets"]),
        shortened(each["virtual_host"]),
    ]


def subscription_lines(told: Told) -> Iterator[str]:
    """What `GET /ctl/subscriptions` answered."""
    yield from table(SUBSCRIPTION, [_subscription(each) for each in told["subscriptions"]])


def _subscription(each: Told) -> list[str]:
    who = ["(not known)", "-", "-"]
    if each["user"] is not None:
        user = shortened(each["user"]) or WITHOUT_LOGIN
        who = [user, shortened(each["container"]), shortened(each["link"])]
    return [
        shortened(each["queue"], 255),
        *who,
        shortened(", ".join(each["bound_to"]) or "-"),
        str(each["messages"]),
        "yes" if each["in_use"] else "no",
    ]


def branch_lines(told: Told) -> Iterator[str]:
    """What `GET /ctl/branches` answered."""
    yield from table(BRANCH, [_branch(each) for each in told["branches"]])


def _branch(each: Told) -> list[str]:
    prepared = each["prepared_ms"]
    at = datetime.fromtimestamp(prepared / 1000, UTC) if prepared else None
    return [
        shortened(each["branch"], XID_WIDTH),
        each["state"].replace("_", " "),
        shortened(each["user"]) or WITHOUT_LOGIN,
        "-" if at is None else f"{at:%Y-%m-%dT%H:%M:%SZ}",
        str(each["sessions"]),
        str(each["publishes"]),
        str(each["accepts"]),
        shortened(each["virtual_host"]),
    ]


def shortened(text: str, width_max: int = WIDTH_MAX) -> str:
    """A peer's text in one line, without what a terminal would obey."""
    shown = printable(text)
    return shown if len(shown) <= width_max else shown[: width_max - 3] + "..."


def octets(number: int) -> str:
    """A number of octets in its largest unit: "3.1 MiB"."""
    for unit, name in UNITS:
        if number >= unit:
            return f"{number / unit:.1f} {name}"
    return str(number)
