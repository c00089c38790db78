"""JSON that somebody else may have written: whatever the text, reading it raises ValueError alone.

The standard library's reader recurses as deep as a text is nested.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

Refuse = Callable[[str], object]  # what a number becomes, by how it is written; or it raises


def json_value(
    text: str | bytes, *, fractions: Refuse | None = None, constants: Refuse | None = None
) -> Any:
    """What the text says. ValueError where it is no JSON, or nested too deep.

    `fractions`, `constants`: in place of the usual reading of 1.5, and of NaN and Infinity. Any: as
    `json.loads`.
    """
    try:
        return json.loads(text, parse_float=fractions, parse_constant=constants)
    except RecursionError:
        raise ValueError("nested too deep") from None
