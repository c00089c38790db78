"""The tree as a newcomer finds it: no room too large, and tests where they are sought."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

import gateway

TESTS = Path(__file__).parents[1]
SOURCE = Path(gateway.__file__).parent
ROOMS = sorted(path.parent for path in SOURCE.rglob("__init__.py"))
ROOM_MAX = 26  # modules in one folder, its `__init__` apart

# Tests of no one module stand under a folder of one of these names.
TOGETHER = {
    "structure": "the tree itself",
    "docs": "the documents",
    "spec": "rules of the specifications",
    "vectors": "recorded octets",
    "properties": "what holds whatever happens",
    "scenarios": "several modules at work together",
    "interop": "foreign clients and brokers",
    "fuzz": "what octets may do to parsers",
    "faults": "what is killed, cut or full",
    "helm": "the chart",
    "release": "what a release is made by, in tools/release",
}


def has_namesake(test: Path) -> bool:
    """Whether a module is of that name; a folder named as a module has tests of its parts."""
    name = test.stem.removeprefix("test_")
    room = SOURCE / test.parent.relative_to(TESTS)
    files = [room / f"{spelled}.py" for spelled in (name, f"_{name}", f"__{name}__")]
    return any(file.is_file() for file in [*files, room / name / "__init__.py"]) or (
        room.with_suffix(".py").is_file()
    )


def test_a_test_file_has_a_namesake_or_stands_under_a_folder_that_says_what_it_is():
    tests = [path for path in TESTS.rglob("test_*.py") if not has_namesake(path)]
    lost = [str(path.relative_to(TESTS)) for path in tests]
    assert [path for path in lost if TOGETHER.keys().isdisjoint(Path(path).parts)] == []


def test_no_room_has_outgrown_its_floor():
    modules = [path for path in SOURCE.rglob("*.py") if path.name != "__init__.py"]
    rooms = Counter(str(path.parent.relative_to(SOURCE)) for path in modules)
    assert {room: number for room, number in rooms.items() if number > ROOM_MAX} == {}


def parts(room: Path) -> set[str]:
    """Its modules and the rooms in it; what is generated from a specification is one."""
    modules = {path.stem for path in room.glob("*.py")} - {"__init__"}
    rooms = {path.parent.name for path in room.glob("*/__init__.py")}
    return {"_spec" if name.startswith("_spec") else name for name in modules | rooms}


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: str(room.relative_to(SOURCE.parent)))
def test_the_docstring_of_a_room_names_all_that_is_in_it(room: Path):
    told = ast.get_docstring(ast.parse((room / "__init__.py").read_text(encoding="utf-8"))) or ""
    assert parts(room) - set(re.findall(r"\w+", told)) == set()
