"""The rules of the specifications by name, and the mark of a test that proves one.

The tables `tests/spec/rules_*.yaml` name them; a name that is in none fails where it is written.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
import yaml

TABLES = Path(__file__).parent.parent / "spec"
PROTOCOLS = ("0-10", "1.0")


@dataclass(frozen=True)
class Rule:
    """One row of a table; `where` is a class, command and field, or the number of a section.

    Attributes:
        strict: departed from, but not where the configuration says `strict: true`.
    """

    protocol: str
    where: str
    name: str
    level: str
    binds: str
    raises: str = ""
    not_applicable: str = ""
    departs: str = ""
    strict: bool = False
    not_kept: str = ""


@cache
def rules(protocol: str) -> dict[tuple[str, str], Rule]:
    """The rules of one protocol by place and name, in the order of its table."""
    table = TABLES / f"rules_{protocol.replace('-', '_').replace('.', '_')}.yaml"
    places = yaml.safe_load(table.read_text(encoding="utf-8"))
    return {
        (where, name): Rule(protocol, where, name, **fields)
        for where, named in places.items()
        for name, fields in named.items()
    }


def rule(protocol: str, where: str, name: str) -> pytest.MarkDecorator:
    """Mark a test, or the parameters of one, with the rule that it proves."""
    if (where, name) not in rules(protocol):
        raise LookupError(f"no rule {name!r} at {where!r} of AMQP {protocol}")
    return pytest.mark.rule(protocol, where, name)
