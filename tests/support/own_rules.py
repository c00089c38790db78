"""The gateway's own access rules, from lines of YAML, as tests write them."""

from __future__ import annotations

import pathlib
import tempfile

from gateway.config.access import load_rules
from gateway.config.load import load
from gateway.permissions.rules import AccessRules


def own_rules(*rules: str) -> AccessRules:
    """Each a rule in braces, without them; connecting is allowed."""
    lines = ["rules:", "- {allow: connect}", *(f"- {{{rule}}}" for rule in rules)]
    with tempfile.TemporaryDirectory() as directory:
        file = pathlib.Path(directory) / "access.yaml"
        file.write_text("\n".join(lines))
        made = load_rules(load(None, [f"access.file={file}"])).rules
    assert made is not None
    return made
