"""How a plan is written: the configuration as people write it, with what they must know on top."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any, Final

import yaml

from gateway.audit.printable import printable
from gateway.migration.document import Survey
from gateway.migration.plan import Plan
from gateway.migration.planned_nodes import Entry

WIDTH: Final = 98


def configuration(plan: Plan, survey: Survey, target: str) -> str:
    """The gateway's configuration file."""
    broker = survey.broker
    head = f"Planned from the survey of {broker.address}, {survey.taken_at}; target: {target}."
    return "\n".join([*_comment(head), *_lists(plan), *_keys(plan.configuration)]) + "\n"


def _lists(plan: Plan) -> Iterator[str]:
    for title, told in (
        ("Not planned; somebody has to decide:", plan.left),
        ("To be known:", plan.told),
        ("To be done:", plan.steps),
    ):
        if told:
            yield "#"
            yield from _comment(title)
            for each in told:
                yield from _comment(each, "- ")


def _comment(text: str, mark: str = "") -> Iterator[str]:
    wrapped = textwrap.wrap(
        mark + printable(text),
        WIDTH,
        subsequent_indent=" " * len(mark),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return (f"# {line}" for line in wrapped)


def _keys(entry: Entry) -> Iterator[str]:
    for key, value in entry.items():
        yield ""
        if not value:
            yield f"{key}: {_flow(value)}"
            continue
        yield f"{key}:"
        if isinstance(value, list):
            for each in value:
                yield from _host(each) if key == "virtual_hosts" else (f"- {_flow(each)}",)
        else:
            for name, each in value.items():
                yield f"  {name}: {_flow(each)}"


def _host(host: Entry) -> Iterator[str]:
    yield f"- name: {_flow(host['name'])}"
    for key in ("exchanges", "queues", "bindings"):
        if host[key]:
            yield f"  {key}:"
            yield from (f"  - {_flow(each)}" for each in host[key])


def _flow(value: Any) -> str:  # Any: what YAML holds
    """In one line."""
    text = str(
        yaml.safe_dump(
            value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10_000
        )
    )
    return text.removesuffix("...\n").strip()
