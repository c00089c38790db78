"""SASLprep (RFC 4013): user names and passwords in the one form in which they are compared."""

from __future__ import annotations

import stringprep
import unicodedata

# RFC 4013, 2.3: what the prepared string must not contain.
_PROHIBITED = (
    stringprep.in_table_c12,
    stringprep.in_table_c21_c22,
    stringprep.in_table_c3,
    stringprep.in_table_c4,
    stringprep.in_table_c5,
    stringprep.in_table_c6,
    stringprep.in_table_c7,
    stringprep.in_table_c8,
    stringprep.in_table_c9,
)


def saslprep(text: str) -> str:
    """The prepared form, as a stored string: unassigned code points are refused, too.

    Raises:
        ValueError: the text has characters that a name or password must not have.
    """
    if text.isascii() and text.isprintable():
        return text
    mapped = "".join(
        " " if stringprep.in_table_c12(each) else each
        for each in text
        if not stringprep.in_table_b1(each)
    )
    prepared = unicodedata.ucd_3_2_0.normalize("NFKC", mapped)
    for each in prepared:
        if any(prohibited(each) for prohibited in _PROHIBITED) or stringprep.in_table_a1(each):
            raise ValueError(f"the character U+{ord(each):04X} is not allowed")
    _check_directions(prepared)
    return prepared


def _check_directions(prepared: str) -> None:
    """RFC 3454, 6: right-to-left text has no left-to-right characters and is so at both ends."""
    right = [stringprep.in_table_d1(each) for each in prepared]
    if not any(right):
        return
    if not (right[0] and right[-1]) or any(stringprep.in_table_d2(each) for each in prepared):
        raise ValueError("left-to-right and right-to-left characters are mixed")
