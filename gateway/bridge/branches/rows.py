"""The rows that the store has of a branch: one of what it is, and pages of what it holds.

A page says which copies the branch has accepted, and where the copies on its shelf are to go. Rows
and pages are written with the turn that prepares the branch, and removed with the one that ends it.
"""

from __future__ import annotations

from typing import Final, final

from gateway.bridge.durable.row_fields import read_text, write_text
from gateway.bridge.durable.topology_rows import VERSION, row_key, row_span
from gateway.errors import DecodeError
from gateway.wire.buffers import Reader, Writer

PAGE: Final = 1000  # copies of a page, and what the last publish is more
Place = tuple[int, int]  # a queue's number, a position


@final
class BranchRow:
    """One branch that is prepared, or that an operator has decided.

    Attributes:
        text: what it is called (`Xid.text`).
        number: of its shelf.
        state: `branch.State`.
        user: who began it.
    """

    __slots__ = ("host", "number", "prepared_ms", "state", "text", "timeout_s", "user")

    def __init__(
        self,
        host: str,
        text: str,
        *,
        number: int = 0,
        state: int = 0,
        prepared_ms: int = 0,
        timeout_s: int = 0,
        user: str = "",
    ) -> None:
        self.host = host
        self.text = text
        self.number = number
        self.state = state
        self.prepared_ms = prepared_ms
        self.timeout_s = timeout_s
        self.user = user

    def key(self) -> str:
        """Its row's key."""
        return row_key(self.host, self.text)

    def encoded(self) -> bytes:
        """Its row's value."""
        out = _begin(self.host, self.text)
        out.i64(self.number)
        out.u8(self.state)
        out.i64(self.prepared_ms)
        out.u32(self.timeout_s)
        write_text(out, self.user)
        return out.getvalue()


def branch_row(value: bytes) -> BranchRow:
    """Decode; `DecodeError`."""
    data = _open(value)
    return BranchRow(
        read_text(data),
        read_text(data),
        number=data.i64(),
        state=data.u8(),
        prepared_ms=data.i64(),
        timeout_s=data.u32(),
        user=read_text(data),
    )


@final
class PageRow:
    """A page of what a branch holds; numbers ascend.

    Attributes:
        accepts: queue and position of each copy.
        held: of each publish, the exchange that it was routed by, and for each of its queues the
            position on the shelf.
    """

    __slots__ = ("accepts", "held", "host", "number", "text")

    def __init__(self, host: str, text: str, number: int) -> None:
        self.host = host
        self.text = text
        self.number = number
        self.accepts: list[Place] = []
        self.held: list[tuple[str, list[Place]]] = []

    def key(self) -> str:
        """Its row's key."""
        return row_key(self.host, self.text, f"{self.number:08x}")

    def encoded(self) -> bytes:
        """Its row's value."""
        out = _begin(self.host, self.text)
        out.u32(self.number)
        _places(out, self.accepts)
        out.u32(len(self.held))
        for exchange, places in self.held:
            write_text(out, exchange)
            _places(out, places)
        return out.getvalue()


def page_row(value: bytes) -> PageRow:
    """Decode; `DecodeError`."""
    data = _open(value)
    page = PageRow(read_text(data), read_text(data), data.u32())
    page.accepts = _read_places(data)
    page.held = [(read_text(data), _read_places(data)) for _ in range(data.u32())]
    return page


def pages_of(host: str, text: str) -> tuple[str, str]:
    """The keys of a branch's pages: the least, and what is above all of them."""
    return row_span(host, text)


def _begin(host: str, text: str) -> Writer:
    out = Writer()
    out.u8(VERSION)
    write_text(out, host)
    write_text(out, text)
    return out


def _open(value: bytes) -> Reader:
    data = Reader(value)
    version = data.u8()
    if version != VERSION:
        raise DecodeError(f"branch row of version {version}")
    return data


def _places(out: Writer, places: list[Place]) -> None:
    out.u32(len(places))
    for queue, position in places:
        out.i64(queue)
        out.i64(position)


def _read_places(data: Reader) -> list[Place]:
    return [(data.i64(), data.i64()) for _ in range(data.u32())]
