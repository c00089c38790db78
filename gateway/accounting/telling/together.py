"""Tells what a run found in several logs: which of them are balanced, and all that is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from html import escape
from typing import Any

from gateway.accounting.telling import report, tables
from gateway.accounting.telling.page import SEVERAL
from gateway.accounting.telling.verdicts import Told
from gateway.accounting.telling.words import cells, heads, number, table
from gateway.audit.printable import printable


def as_json(logs: Mapping[str, Told]) -> dict[str, Any]:
    """What of all logs is told to other programs; `logs`: by their ids. Any: what JSON holds."""
    results = [told.result for told in logs.values()]
    one = next(iter(logs.values()))
    return {
        "verdict": report.verdict(*results),
        "balanced": all(result.balanced for result in results),
        "final": all(result.final for result in results),
        "ended_s": round(one.ended_s, 3),
        "duration_s": round(one.duration_s, 3),
        "ran": None if one.ran is None else asdict(one.ran),
        "logs": [
            {
                "path": told.result.log,
                "report": f"{name}/report.json",
                "verdict": report.verdict(told.result),
                "balanced": told.result.balanced,
                "final": told.result.final,
                "records": told.result.log_facts["records"] or 0,
                "classes": told.result.classes,
                "unproven": told.result.unproven,
            }
            for name, told in logs.items()
        ],
        "breaks": [
            {"log": result.log, **row, "steps": story.lines, "trace": story.command}
            for result in results
            for row, story in zip(result.breaks, result.stories, strict=True)
        ],
    }


def summary(logs: Mapping[str, Told], page: str) -> str:
    """What is said behind the lines of each log."""
    results = [told.result for told in logs.values()]
    lines = [f"{report.verdict(*results)}: {_how_many(logs)}"]
    lines += [f"  {report.verdict(result)}: {result.log}" for result in results]
    lines.append(f"  report   {page}")
    return "\n".join([printable(line) for line in lines])


def html_page(logs: Mapping[str, Told]) -> str:
    """A page that leads to those of all logs, with what is wrong in any of them."""
    results = [told.result for told in logs.values()]
    balanced = all(result.balanced for result in results)
    head = heads(["log", "verdict"], ["records", "breaks", "cannot be proven"])
    breaks = [
        f"<h2>Breaks of <code>{escape(printable(result.log))}</code></h2>{tables.breaks(result)}"
        for result in results
        if result.breaks
    ]
    return SEVERAL.substitute(
        state="good" if balanced else "bad",
        verdict=escape(report.verdict(*results).capitalize()),
        sentence=f"{_how_many(logs)}.",
        logs=table("Logs", head, [_row(name, told) for name, told in logs.items()]),
        breaks="".join(breaks),
    )


def _how_many(logs: Mapping[str, Told]) -> str:
    balanced = sum(told.result.balanced for told in logs.values())
    return f"{balanced} of {len(logs)} logs are balanced"


def _row(name: str, told: Told) -> str:
    result = told.result
    link = f'<a href="{name}/report.html">{escape(printable(result.log))}</a>'
    counts = (sum(found.values()) for found in (result.classes, result.unproven))
    numbers = [number(each) for each in (result.log_facts["records"] or 0, *counts)]
    return f"<td>{link}</td>" + cells([report.verdict(result)]) + cells(numbers, "n")
