"""The only two places that touch octets: a bounds-checked `Reader` and an appending `Writer`.

Both are big-endian, as AMQP 0-10 and AMQP 1.0 are. A `Reader` never reads past its `end`, which may
lie before the end of the buffer: a struct, a list or a frame is decoded by a reader that ends where
it ends. Every short read raises `DecodeError`, and so do the protocol packages' own checks; nothing
here returns partial values. A reader also counts the values in the lists, maps and arrays that are
made of its octets: what takes one octet takes a hundred in memory, and the time to make it.
"""

from __future__ import annotations

from typing import Final, final

from librt.strings import (
    BytesWriter,
    read_f32_be,
    read_f64_be,
    read_i16_be,
    read_i32_be,
    read_i64_be,
    write_f32_be,
    write_f64_be,
    write_i16_be,
    write_i32_be,
    write_i64_be,
)
from mypy_extensions import i64 as size_t
from mypy_extensions import mypyc_attr
from mypy_extensions import u8 as octet_t

from gateway.errors import DecodeError, LimitError
from gateway.wire.work import ELEMENT, WORK

SPARE: Final = 256 * 1024  # octets of room that a `Writer` keeps when all has been taken

# Of one connection: beyond that many octets, a message that takes many frames is not written on in
# the same flush, but for one frame of it.
FLUSH_OCTETS: Final = SPARE


@final
@mypyc_attr(acyclic=True, free_list_len=1)
class Reader:
    """Reads fixed-width values, octets and text from `buf[pos:end]`, moving `pos`.

    Attributes:
        elements: how many values in compounds have been read, the keys of 1.0 maps among them.
        keys: how many of them were such keys, which are within no limit: 0-10 has no values there.
    """

    __slots__ = ("buf", "elements", "end", "keys", "pos")

    def __init__(self, buf: bytes, pos: size_t = 0, end: size_t = -1) -> None:
        size: size_t = len(buf)
        if end < 0:
            end = size
        if pos < 0 or pos > end or end > size:
            raise DecodeError(f"window {pos}..{end} is outside of {size} octets")
        self.buf = buf
        self.pos: size_t = pos
        self.end: size_t = end
        self.elements: size_t = 0
        self.keys: size_t = 0

    def spend(self, count: size_t) -> None:
        """A compound of `count` values is read; `LimitError` when that is one value too many."""
        elements = self.elements + count
        if elements - self.keys > WORK.elements_max:
            raise LimitError(f"{elements - self.keys} values are too many")
        self.elements = elements
        WORK.units += count * ELEMENT

    def spend_keys(self, count: size_t) -> None:
        """A map of `count` keys that are values themselves is read, beside what `spend` counts."""
        self.elements += count
        self.keys += count
        WORK.units += count * ELEMENT

    def remaining(self) -> size_t:
        """Octets left before the end of the window."""
        return self.end - self.pos

    def need(self, count: size_t) -> size_t:
        """Consume `count` octets and return their position; `DecodeError` if there are fewer."""
        pos = self.pos
        if count < 0 or count > self.end - pos:
            raise DecodeError(f"{count} octets wanted, {self.end - pos} left")
        self.pos = pos + count
        return pos

    def u8(self) -> int:
        """Unsigned 8-bit."""
        pos = self.pos
        if pos >= self.end:
            self.need(1)  # which refuses: here nothing is called, since most reads are of an octet
        self.pos = pos + 1
        return self.buf[pos]

    def i8(self) -> int:
        """Signed 8-bit, two's complement."""
        pos = self.need(1)
        value: int = self.buf[pos]
        return value - 256 if value > 127 else value

    def u16(self) -> int:
        """Unsigned 16-bit."""
        value = self.i16()
        return value + 65536 if value < 0 else value

    def i16(self) -> int:
        """Signed 16-bit, two's complement."""
        pos = self.need(2)
        value: int = read_i16_be(self.buf, pos)
        return value

    def u32(self) -> int:
        """Unsigned 32-bit."""
        value = self.i32()
        return value + 4294967296 if value < 0 else value

    def i32(self) -> int:
        """Signed 32-bit, two's complement."""
        pos = self.need(4)
        value: int = read_i32_be(self.buf, pos)
        return value

    def u64(self) -> int:
        """Unsigned 64-bit."""
        value = self.i64()
        return value + 18446744073709551616 if value < 0 else value

    def i64(self) -> int:
        """Signed 64-bit, two's complement."""
        pos = self.need(8)
        value: int = read_i64_be(self.buf, pos)
        return value

    def f32(self) -> float:
        """IEEE 754 binary32."""
        pos = self.need(4)
        return read_f32_be(self.buf, pos)

    def f64(self) -> float:
        """IEEE 754 binary64."""
        pos = self.need(8)
        return read_f64_be(self.buf, pos)

    def take(self, count: size_t) -> bytes:
        """The next `count` octets."""
        pos = self.need(count)
        return self.buf[pos : pos + count]

    def skip(self, count: size_t) -> None:
        """Consume `count` octets unread."""
        self.need(count)

    def text(self, count: size_t) -> str:
        """The next `count` octets as UTF-8 text; `DecodeError` if they are not."""
        octets = self.take(count)
        try:
            return octets.decode("utf-8")
        except UnicodeDecodeError as error:
            raise DecodeError("not UTF-8") from error

    def sub(self, count: size_t) -> Reader:
        """A reader of the next `count` octets, which this one has then consumed."""
        pos = self.need(count)
        sub = Reader(self.buf, pos, pos + count)
        sub.elements = self.elements
        sub.keys = self.keys
        return sub

    def rest(self) -> bytes:
        """Everything up to the end of the window."""
        return self.take(self.end - self.pos)


@final
@mypyc_attr(acyclic=True, free_list_len=1)
class Writer:
    """Appends fixed-width values, octets and text; `patch_*` fills in a size that was left open.

    Values wider than their field wrap: the caller has checked them, here nothing looks twice.
    """

    __slots__ = ("out",)

    def __init__(self) -> None:
        self.out = BytesWriter()

    def size(self) -> size_t:
        """Octets written so far: the position of the next one."""
        return len(self.out)

    def u8(self, value: octet_t) -> None:
        """Unsigned 8-bit."""
        self.out.append(value)

    def i8(self, value: int) -> None:
        """Signed 8-bit, two's complement."""
        self.u8(value + 256 if value < 0 else value)

    def u16(self, value: int) -> None:
        """Unsigned 16-bit."""
        write_i16_be(self.out, value - 65536 if value > 32767 else value)

    def i16(self, value: int) -> None:
        """Signed 16-bit, two's complement."""
        write_i16_be(self.out, value)

    def u32(self, value: int) -> None:
        """Unsigned 32-bit."""
        write_i32_be(self.out, value - 4294967296 if value > 2147483647 else value)

    def i32(self, value: int) -> None:
        """Signed 32-bit, two's complement."""
        write_i32_be(self.out, value)

    def u64(self, value: int) -> None:
        """Unsigned 64-bit."""
        write_i64_be(
            self.out, value - 18446744073709551616 if value > 9223372036854775807 else value
        )

    def i64(self, value: int) -> None:
        """Signed 64-bit, two's complement."""
        write_i64_be(self.out, value)

    def f32(self, value: float) -> None:
        """IEEE 754 binary32."""
        write_f32_be(self.out, value)

    def f64(self, value: float) -> None:
        """IEEE 754 binary64."""
        write_f64_be(self.out, value)

    def raw(self, octets: bytes) -> None:
        """Octets as they are."""
        self.out.write(octets)

    def patch_u8(self, at: size_t, value: octet_t) -> None:
        """Overwrite one octet at `at`."""
        self.out[at] = value

    def patch_u16(self, at: size_t, value: int) -> None:
        """Overwrite two octets at `at`, big-endian."""
        self.patch_u8(at, value >> 8)
        self.patch_u8(at + 1, value & 255)

    def patch_u32(self, at: size_t, value: int) -> None:
        """Overwrite four octets at `at`, big-endian."""
        self.patch_u8(at, value >> 24)
        self.patch_u8(at + 1, (value >> 16) & 255)
        self.patch_u8(at + 2, (value >> 8) & 255)
        self.patch_u8(at + 3, value & 255)

    def truncate(self, size: size_t) -> None:
        """Forget everything from `size` on."""
        self.out.truncate(size)

    def getvalue(self) -> bytes:
        """Everything written."""
        return self.out.getvalue()

    def take(self) -> bytes:
        """Everything written, which is then forgotten, with the room that it needed."""
        octets = self.out.getvalue()
        if len(octets) > SPARE:
            self.out = BytesWriter()  # truncated, it would keep its memory
        else:
            self.out.truncate(0)
        return octets
