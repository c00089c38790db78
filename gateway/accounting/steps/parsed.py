"""Expressions as text, each of which Java is asked for once.

Each function of a `Column`, and each number, is asked of the JVM by itself; a text is asked at
once, but parsed, and of a small log a tenth of the work was to parse the same few ones again.
"""

from __future__ import annotations

from functools import cache

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812


@cache
def parsed(text: str) -> Column:
    """The column that a text is: of no frame, so that each may have it."""
    return F.expr(text)
