"""`ctl status` for eyes: what the admin port tells of upstreams and rules, as lines of text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

Told = dict[str, Any]  # Any: what JSON holds

UPSTREAM: Final = (
    *("UPSTREAM", "STATE", "SINCE", "HOST", "LINKS"),
    *("HELD", "SPOOLED", "FETCHED", "PAUSED", "MOVING"),
)
RULE: Final = ("RULE", "FOR", "UPSTREAM", "STATE", "NODES", "WAITING", "UNSETTLED")
# Of a longest unit, and what comes after it.
UNITS: Final = ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s"))


def lines(told: Told) -> Iterator[str]:
    """What `GET /ctl/status` answered."""
    upstreams: list[Told] = told["upstreams"]
    yield from table(UPSTREAM, [_upstream(each) for each in upstreams])
    for each in upstreams:
        for fact in _facts(each):
            yield f"  {each['name']}: {fact}"
    yield ""
    yield from table(RULE, [_rule(each) for each in told["rules"]])
    if any(each["changed_by_ctl"] for each in told["rules"]):
        yield "* changed by ctl, until the next reload or restart"
    if told["under_way"]:
        yield f"{told['under_way']} is under way"


def spell(seconds: float) -> str:
    """A span of time in its two largest units: "3 min 5 s"."""
    whole = int(seconds)
    for unit, name, lesser, lesser_name in UNITS:
        if whole >= unit:
            rest = whole % unit // lesser
            return f"{whole // unit} {name}" + (f" {rest} {lesser_name}" if rest else "")
    return f"{whole} s"


def _upstream(each: Told) -> list[str]:
    return [
        each["name"],
        each["state"],
        f"{each['since']} ({spell(each['since_s'])})",
        each["host"] or "-",
        f"{each['links']} of {each['links_wanted']}",
        *(str(each[key]) for key in ("held", "spooled", "fetched", "paused", "moving")),
    ]


def _facts(each: Told) -> Iterator[str]:
    """What does not fit into the table, where there is something to say."""
    if each["failed_tries"]:
        yield f"{each['failed_tries']} tries in a row have failed{_next(each)}"
    elif each["next_try"]:
        yield f"not tried again yet{_next(each)}"
    for detour in each["detours"]:
        yield f"redirects links to {detour['host']}: {detour['links']} there, {detour['state']}"
    if each["last_error"]:
        yield f"last problem, {each['last_error_at']}: {each['last_error']}"
    if each["oldest_s"] is not None and (each["oldest_s"] >= 1 or each["state"] != "up"):
        yield f"the oldest message to it has been in the gateway for {spell(each['oldest_s'])}"


def _next(each: Told) -> str:
    if each["next_try"] is None:
        return "; it is tried now"
    return f"; the next is in {spell(each['next_try_in_s'])}, {each['next_try']}"


def _rule(each: Told) -> list[str]:
    return [
        each["key"],
        f"{each['kind']} {each['pattern']}" + (" (spool)" if each["spool"] else ""),
        each["upstream"] or "-",
        each["state"] + ("*" if each["changed_by_ctl"] else ""),
        *(str(each[key]) for key in ("nodes", "waiting", "unsettled")),
    ]


def table(head: tuple[str, ...], rows: list[list[str]]) -> Iterator[str]:
    """Rows below their heads, in columns."""
    lines = [[*head], *rows]
    widths = [max(len(row[at]) for row in lines) for at in range(len(head))]
    for row in lines:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        yield "  ".join(cells).rstrip()
