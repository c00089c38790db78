"""What the admin port says of a path that nothing is at: one line, as all that it says."""

# twisted.web has no annotations.
# mypy: disallow-untyped-calls=False

from __future__ import annotations

from typing import final

from twisted.web.http import Request
from twisted.web.resource import Resource


@final
class Missing(Resource):
    """Nothing, by any method."""

    isLeaf = True  # Twisted's name

    def render(self, request: Request) -> bytes:
        """Say so."""
        request.setResponseCode(404)
        request.setHeader(b"content-type", b"text/plain; charset=utf-8")
        return b"there is nothing here\n"
