"""The rules of the specifications, and which tests prove them: writes `tests/spec/README.md`.

Those that are not kept to the letter are shown in `docs/protocols.md`, too.

    PYTHONPATH=tests python tests/spec/table.py [--check]

Tests are read, not imported: a rule belongs to the tests below whose decorators it stands, or whose
decorators name the table of the module that it stands in.
"""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from support.rules import PROTOCOLS, Rule, rules

TESTS = Path(__file__).parent.parent
README = TESTS / "spec" / "README.md"
PROTOCOLS_PAGE = TESTS.parent / "docs" / "protocols.md"
COMMAND = "PYTHONPATH=tests python tests/spec/table.py"
BEGIN = f"<!-- rules: begin, written by `{COMMAND}` -->\n"
END = "<!-- rules: end -->\n"

Key = tuple[str, str, str]
Found = dict[Key, list[tuple[Path, str]]]

HEAD = f"""\
# Rules of the specifications, and their tests

Written by `{COMMAND}`; do not edit. The rules are in
`tests/spec/rules_0_10.yaml`, which has the specification's own names, and `rules_1_0.yaml`, in
which sections are numbered as in the specification, and names are the project's. A test says what
it proves with `@rule(...)` (`tests/support/rules.py`).

*Departs*: deployed clients are served, not the letter; the tests prove what is done instead, and
that `strict: true` keeps the letter where a row says so. *Not kept*: the gateway does not
do it so far. What may be done and is not is *not applicable*.
"""


def named(node: ast.AST) -> Iterator[Key]:
    """The rules that are called by name somewhere in a piece of source."""
    for one in ast.walk(node):
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id == "rule":
            protocol, where, name = [ast.literal_eval(argument) for argument in one.args]
            yield protocol, where, name


def in_module(tree: ast.Module) -> Iterator[tuple[str, Key]]:
    """Each test of a module with each rule that it proves."""
    tables: dict[str, list[Key]] = {}
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    tables[target.id] = list(named(statement.value))
        elif isinstance(statement, ast.FunctionDef) and statement.name.startswith("test_"):
            for decorator in statement.decorator_list:
                for key in named(decorator):
                    yield statement.name, key
                for one in ast.walk(decorator):
                    if isinstance(one, ast.Name):
                        for key in tables.get(one.id, []):
                            yield statement.name, key


@cache
def collect() -> Found:
    """The tests of each rule that has any."""
    found: Found = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        source = path.read_text(encoding="utf-8")
        if "support.rules" in source:
            for test, key in in_module(ast.parse(source)):
                tests = found.setdefault(key, [])
                if (path.relative_to(TESTS), test) not in tests:
                    tests.append((path.relative_to(TESTS), test))
    return found


def linked(path: Path, test: str) -> str:
    return f"[{test.removeprefix('test_').replace('_', ' ')}](../{path})"


def verdict(rule: Rule, tests: list[tuple[Path, str]]) -> str:
    """What a row says of its rule's tests."""
    said = [linked(path, test) for path, test in tests]
    if rule.departs:
        kept = " (strict: kept)" if rule.strict else ""
        said.insert(0, f"*departs*: {rule.departs}{kept}")
    if rule.not_applicable:
        said.insert(0, f"*not applicable*: {rule.not_applicable}")
    if rule.not_kept:
        said.insert(0, f"**not kept**: {rule.not_kept}")
    return "; ".join(said) or "**no test yet**"


def summary(protocol: str, found: Found) -> str:
    """How many rules stand how."""
    counts = dict.fromkeys(("kept", "departs", "not_applicable", "not_kept", "open"), 0)
    for one in rules(protocol).values():
        if one.departs:
            counts["departs"] += 1
        elif one.not_applicable:
            counts["not_applicable"] += 1
        elif one.not_kept:
            counts["not_kept"] += 1
        else:
            tested = (protocol, one.where, one.name) in found
            counts["kept" if tested else "open"] += 1
    return (
        f"{sum(counts.values())} rules: {counts['kept']} are kept, as tests show; "
        f"{counts['departs']} are departed from for clients, {counts['not_kept']} are not kept, "
        f"{counts['not_applicable']} are not applicable; {counts['open']} have no test yet."
    )


def markdown(found: Found) -> str:
    """The whole page."""
    page = [HEAD]
    for protocol in PROTOCOLS:
        where = "Section" if protocol == "1.0" else "Where"
        page += [f"## AMQP {protocol}", "", summary(protocol, found), ""]
        page += [f"| {where} | Rule | Level | Binds | Tests |", "|---|---|---|---|---|"]
        for one in rules(protocol).values():
            tests = found.get((protocol, one.where, one.name), [])
            name = f"{one.name} ({one.raises})" if one.raises else one.name
            row = [one.where, name, one.level, one.binds, verdict(one, tests)]
            page.append(f"| {' | '.join(row)} |")
        page.append("")
    return "\n".join(page)


def exceptions() -> str:
    """The rules that are departed from or not kept, for whoever writes clients."""
    page = ["| | Where | Rule | Instead |", "|---|---|---|---|"]
    for protocol in PROTOCOLS:
        for one in rules(protocol).values():
            if one.departs or one.not_kept:
                instead = one.departs or f"not kept: {one.not_kept}"
                if one.strict:
                    instead += " (strict: kept)"
                page.append(f"| {protocol} | {one.where} | {one.name} | {instead} |")
    return "\n".join(page) + "\n"


def shown(text: str) -> str:
    """The page on protocols with those rules as they are now."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{exceptions()}{END}{after}"


def main(arguments: list[str]) -> int:
    text = PROTOCOLS_PAGE.read_text(encoding="utf-8")
    pages = {README: markdown(collect()), PROTOCOLS_PAGE: shown(text)}
    if "--check" in arguments:
        return int(any(path.read_text(encoding="utf-8") != page for path, page in pages.items()))
    for path, page in pages.items():
        path.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
