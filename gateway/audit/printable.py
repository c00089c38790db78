"""Names that peers have chosen, for a terminal: they neither move its cursor nor end a line.

Standard library only, as in `reader`.
"""

from __future__ import annotations


def printable(text: str) -> str:
    """The same text, with an escape for each character that is none to be seen."""
    if text.isprintable():
        return text
    escaped = [
        each if each.isprintable() else each.encode("unicode_escape").decode("ascii")
        for each in text
    ]
    return "".join(escaped)


def printable_json(text: str) -> str:
    """The same of a line of JSON, which has escapes of its own; it is read as the same."""
    if text.isprintable():
        return text
    return "".join([each if each.isprintable() else _json_escape(each) for each in text])


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
