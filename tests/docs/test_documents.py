"""What the documents promise: their length, their links, and that what they name is there."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import yaml

from gateway.accounting.telling import verdicts
from gateway.config.describe import keys
from gateway.metrics import METRICS, OBJECT_METRICS

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
# It is a list of facts, each with the date of a release: it may name what is gone.
CHANGELOG = ROOT / "CHANGELOG.md"
HISTORY = ROOT / "docs" / "decisions"
WIDTH = 100

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
METRIC = re.compile(r"\bgateway_[a-z_]+\b\*?")
# A package of the gateway that no section of the configuration shares its name with.
PACKAGES = {
    path.name
    for path in (ROOT / "gateway").iterdir()
    if (path / "__init__.py").is_file() and path.name != "audit"
}
FOLDERS = ("gateway/", "tests/", "mappings/", "docs/", "helm/", "image/")


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


each_page = pytest.mark.parametrize("page", PAGES, ids=named)


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def quoted(page: Path) -> Iterator[str]:
    """Pieces of code in the text, outside of whole examples."""
    for found in CODE.finditer(FENCE.sub("", read(page))):
        yield found.group(1)


def anchors(page: Path) -> set[str]:
    """What the headings of a page can be linked to by, as GitHub makes it of them."""
    found = set()
    for line in FENCE.sub("", read(page)).splitlines():
        if line.startswith("#"):
            heading = line.lstrip("#").strip().lower()
            found.add(re.sub(r"[^\w\- ]", "", heading).replace(" ", "-"))
    return found


def module_problem(name: str) -> str:
    """Why a dotted name of a package is not there; "" if it is."""
    parts = name.split(".")
    at = ROOT / "gateway"
    while parts and (at / parts[0]).is_dir():
        at /= parts.pop(0)
    if not parts:
        return ""
    module = at / f"{parts[0]}.py"
    if not module.is_file():
        return f"{name}: there is no {module.relative_to(ROOT)}"
    source = module.read_text(encoding="utf-8")
    for part in parts[1:]:
        if not re.search(rf"\b{re.escape(part)}\b", source):
            return f"{name}: {module.relative_to(ROOT)} has no {part}"
    return ""


@cache
def paths() -> list[str]:
    """Of the keys of the configuration."""
    return [key.path for key in keys()]


def is_key(text: str) -> bool:
    """Whether it is a key of the configuration, or a section; `*` and NAME are any name."""
    wanted = text.removesuffix(".*").replace("*", "NAME")
    inside = (wanted + ".", wanted + "[")
    return any(path == wanted or path.startswith(inside) for path in paths())


def is_value(text: str) -> bool:
    """Whether it is a value of the chart."""
    at = yaml.safe_load((ROOT / "helm" / "values.yaml").read_text(encoding="utf-8"))
    for part in text.split("."):
        if not isinstance(at, dict) or part not in at:
            return False
        at = at[part]
    return True


def test_the_readme_is_for_five_minutes() -> None:
    assert len(read(ROOT / "README.md").splitlines()) <= 140


def test_the_architecture_is_for_half_an_hour() -> None:
    assert len(read(ROOT / "ARCHITECTURE.md").splitlines()) <= 200


def test_the_glossary_has_no_more_terms_than_a_person_keeps() -> None:
    _, _, rest = read(ROOT / "ARCHITECTURE.md").partition("\n## Glossary\n")
    section, _, _ = rest.partition("\n## ")
    rows = [line for line in section.splitlines() if line.startswith("| ")][1:]
    terms = [row.split("|")[1].strip() for row in rows]
    assert 20 < len(terms) <= 40
    assert len(set(terms)) == len(terms)
    assert all(len(row) <= WIDTH + 5 for row in rows), "one line each"


@each_page
def test_prose_is_wrapped(page: Path) -> None:
    long = [
        f"{at}: {line}"
        for at, line in enumerate(read(page).splitlines(), start=1)
        if len(line) > WIDTH and not line.startswith("|")
    ]
    assert not long


@each_page
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    for target in LINK.findall(FENCE.sub("", read(page))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        found = (page.parent / path).resolve() if path else page
        assert found.exists(), target
        if anchor:
            assert anchor in anchors(found), target


@each_page
def test_every_module_that_is_named_is_there(page: Path) -> None:
    problems = []
    for text in quoted(page):
        first, dot, _ = text.partition(".")
        if dot and first in PACKAGES and re.fullmatch(r"[A-Za-z_][\w.]*", text):
            problems.append(module_problem(text))
    assert not [problem for problem in problems if problem]


@each_page
def test_every_path_that_is_named_is_there(page: Path) -> None:
    for text in quoted(page):
        if text.startswith(FOLDERS) and " " not in text:
            assert any(ROOT.glob(text.rstrip("/"))), text


@each_page
def test_every_metric_that_is_named_is_there(page: Path) -> None:
    known = [*(metric.name for metric in (*METRICS, *OBJECT_METRICS)), *verdicts.HELP]
    for text in METRIC.findall(read(page)):
        prefix = text.rstrip("*")
        assert prefix in known or any(name.startswith(prefix) for name in known), text


@each_page
def test_every_key_of_the_configuration_that_is_named_is_there(page: Path) -> None:
    sections = {path.partition(".")[0] for path in paths() if "." in path}
    for text in quoted(page):
        first, dot, _ = text.partition(".")
        if dot and first in sections - PACKAGES and re.fullmatch(r"[A-Za-z_][\w.*]*", text):
            assert is_key(text) or is_value(text) or not module_problem(text), text


def test_every_decision_has_its_date_its_parts_and_its_place_in_the_index() -> None:
    index = read(HISTORY / "README.md")
    for page in HISTORY.glob("*.md"):
        if page.name == "README.md":
            continue
        text = read(page)
        date = page.name[:10]
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", date), page.name
        assert f"\nDate: {date}\n" in text, page.name
        title = text.partition("\n")[0].removeprefix("# ")
        assert f"| {date} | [{title}]({page.name}) |" in index, page.name
        parts = [line for line in text.splitlines() if line.startswith("## ")]
        assert parts == ["## Context", "## Decision", "## Consequence"], page.name


def test_the_readme_has_both_commands_that_are_run_as_they_stand() -> None:
    lines = read(ROOT / "README.md").splitlines()
    begin = "python3 -m venv .venv && .venv/bin/pip install "
    assert begin + "'.[demo]' && .venv/bin/amqp-gateway demo" in lines
    assert begin + "'.[test]' && .venv/bin/pytest" in lines
