"""What is built again when a source changes: all that compiled modules may import, nothing else."""

import ast
import configparser
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

if not (ROOT / "setup.py").is_file():
    pytest.skip("no setup.py: these tests need a clone", allow_module_level=True)


def constant(name: str) -> set[str]:
    """The words of a constant of setup.py, which cannot be imported without being carried out."""
    tree = ast.parse((ROOT / "setup.py").read_text(encoding="utf-8"))
    assigned = (node for node in tree.body if isinstance(node, ast.Assign))
    value = next(node.value for node in assigned if ast.unparse(node.targets[0]) == name)
    found = (node.value for node in ast.walk(value) if isinstance(node, ast.Constant))
    return {text for text in found if isinstance(text, str)}


def test_what_is_not_in_the_checksum_is_above_all_that_is_compiled():
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter")
    layers = contracts["importlinter:contract:layers"]["layers"].split("\n")
    names = [set(re.findall(r"\w+", layer)) for layer in layers if layer]
    compiled = {
        path.split("/")[0] for name in ("HOT_PACKAGES", "HOT_MODULES") for path in constant(name)
    } | {"store"}
    highest = min(level for level, layer in enumerate(names) if layer & compiled)
    assert constant("ABOVE") == set().union(*names[:highest])
