"""Escrow: values without a place in the other protocol, carried beside the message as one string.

The string is a format digit and the base64url of an encoded AMQP 1.0 map: field path -> a list of
the digest of the visible value (null: nothing is visible) and the original value (left out: the
field was absent). Towards 1.0 it is the message annotation `x-opt-amqp-0-10`, towards 0-10 the
header `x-amqp-1.0`. A value is restored only where the visible one is still what the gateway made
it, so that a client's edit wins. What comes back is a peer's word: it is decoded under the usual
limits.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode
from binascii import b2a_base64
from typing import Final, final

from mypy_extensions import mypyc_attr
from xxhash import xxh3_64_intdigest

from gateway.amqp_1_0 import types
from gateway.errors import DecodeError
from gateway.wire.buffers import Reader, Writer
from gateway.wire.tagged import Tagged

FORMAT: Final = "1"
ANNOTATION: Final = "x-opt-amqp-0-10"
HEADER: Final = "x-amqp-1.0"
NOTHING: Final = -1
"""The digest of a visible value that is absent."""
_URLSAFE: Final = bytes.maketrans(b"+/", b"-_")

# Strings of short escrows: a publisher that leaves out a field makes the same one every time.
_TEXTS: Final[dict[bytes, str]] = {}
_TEXTS_MAX: Final = 256
_SHORT: Final = 64


def digest(octets: bytes) -> int:
    """The digest of a visible value's octets."""
    return xxh3_64_intdigest(octets)


def digest_text(text: str | None) -> int:
    """The digest of a visible text; `NOTHING` if there is none."""
    return NOTHING if text is None else xxh3_64_intdigest(text.encode("utf-8"))


def digest_octets(octets: bytes | None) -> int:
    """The digest of visible octets; `NOTHING` if there are none."""
    return NOTHING if octets is None else xxh3_64_intdigest(octets)


def digest_number(number: int | None) -> int:
    """The digest of a visible number; `NOTHING` if there is none."""
    return NOTHING if number is None else xxh3_64_intdigest(b"%d" % number)


def digest_node(exchange: str, key: str) -> int:
    """The digest of a visible pair of exchange and routing key."""
    return xxh3_64_intdigest(f"{exchange}\0{key}".encode())


def digest_value(value: Tagged | None) -> int:
    """The digest of a visible 1.0 value; `NOTHING` if there is none."""
    return NOTHING if value is None else xxh3_64_intdigest(types.to_bytes(value))


@final
@mypyc_attr(free_list_len=1)
class Deposit:
    """The escrow of a message that is being translated."""

    __slots__ = ("_count", "_octets_max", "_writer")

    def __init__(self, text_max: int) -> None:
        # Three octets make four characters; the digit and the map's own header go off first.
        self._octets_max = (text_max - 1) * 3 // 4 - 9
        self._writer: Writer | None = None  # made for the first value: most messages have none
        self._count = 0

    def keep(self, path: str, visible: int, original: Tagged | None) -> bool:
        """Put one value in; `False` if there is no room. `None`: the field was absent."""
        writer = self._writer
        if writer is None:
            writer = Writer()
            self._writer = writer
        before = writer.size()
        types.encode_string(writer, path)
        start = types.begin_compound(writer, types.LIST)
        if visible == NOTHING:
            writer.u8(types.NULL)
        else:
            types.encode_integer(writer, types.ULONG, visible)
        if original is not None:
            types.encode(writer, original)
        types.finish_compound(writer, types.LIST, start, 1 if original is None else 2)
        if writer.size() > self._octets_max:
            writer.truncate(before)
            return False
        self._count += 1
        return True

    def text(self) -> str | None:
        """The string; `None` if nothing was put in."""
        writer = self._writer
        if writer is None or self._count == 0:
            return None
        content = writer.getvalue()
        if len(content) > _SHORT:
            return self._text_of(content)
        text = _TEXTS.get(content)
        if text is None:
            if len(_TEXTS) >= _TEXTS_MAX:
                _TEXTS.clear()
            text = self._text_of(content)
            _TEXTS[content] = text
        return text

    def _text_of(self, content: bytes) -> str:
        whole = Writer()
        whole.u8(types.MAP)
        whole.u32(len(content) + 4)
        whole.u32(2 * self._count)
        whole.raw(content)
        text = b2a_base64(whole.getvalue(), newline=False).translate(_URLSAFE)
        return FORMAT + text.rstrip(b"=").decode("ascii")


@final
class Entry:
    """One restored value; `present` is false where the original field was absent."""

    __slots__ = ("present", "value", "visible")

    def __init__(self, visible: int, value: Tagged | None) -> None:
        self.visible = visible
        self.present = value is not None
        self.value = Tagged(types.NULL, None) if value is None else value


@final
class Withdrawal:
    """The escrow that a message brought, taken out value by value.

    Attributes:
        entries: those that nobody has asked for.
        stale: how many originals were asked for in vain: what was visible of them was edited.
    """

    __slots__ = ("entries", "stale")

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self.stale = 0

    def take(self, path: str, visible: int) -> Entry | None:
        """The original of a field; `None` if there is none or the visible value was edited."""
        entry = self.entries.get(path)
        if entry is None:
            return None
        del self.entries[path]
        if entry.visible != visible:
            if entry.present:
                self.stale += 1
            return None
        return entry

    def lost(self) -> int:
        """How many originals nobody has taken out; where there was none, none is lost."""
        return self.stale + sum([entry.present for entry in self.entries.values()])


NOTHING_BROUGHT: Final = Withdrawal()
"""Of all messages that brought no escrow: nothing is ever taken out of it."""


def open_escrow(text: str, text_max: int, depth: int) -> Withdrawal:
    """The escrow in a string; `DecodeError` if it is none, or breaks a limit."""
    if len(text) > text_max or not text.startswith(FORMAT):
        raise DecodeError("no escrow")
    try:
        octets = urlsafe_b64decode(text[1:] + "=" * (-(len(text) - 1) % 4))
    except ValueError as error:
        raise DecodeError("no base64url") from error
    reader = Reader(octets)
    code = reader.u8()
    if code != 0xC1 and code != types.MAP:
        raise DecodeError("no map")
    pairs = types.decode_map(reader, code, depth)
    if reader.remaining():
        raise DecodeError("octets behind the escrow")
    withdrawal = Withdrawal()
    for key, value in pairs:
        _enter(withdrawal, key, value)
    return withdrawal


def _enter(withdrawal: Withdrawal, key: Tagged, value: Tagged) -> None:
    path = key.value
    fields = value.value
    if key.code != types.STRING or value.code != types.LIST:
        raise DecodeError("no escrow entry")
    assert isinstance(path, str) and isinstance(fields, list)
    if not 1 <= len(fields) <= 2:
        raise DecodeError("no escrow entry")
    seen: Tagged = fields[0]
    visible = NOTHING
    if seen.code == types.ULONG:
        assert isinstance(seen.value, int)
        visible = seen.value
    elif seen.code != types.NULL:
        raise DecodeError("no digest")
    original: Tagged | None = fields[1] if len(fields) == 2 else None
    withdrawal.entries[path] = Entry(visible, original)
