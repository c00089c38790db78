"""Application headers <-> application properties: the ones that have no meaning of their own.

The names in `properties_to_1_0` and `properties_to_0_10` have been taken out before.
"""

from __future__ import annotations

from typing import Final, cast

from gateway.amqp_0_10.types import FieldTable
from gateway.amqp_1_0 import types
from gateway.errors import DecodeError, LocalProtocolError
from gateway.translate import names
from gateway.translate.crossing import ESCROW_MALFORMED, Crossing
from gateway.translate.escrow import HEADER, NOTHING, digest_value
from gateway.translate.mapping_rows import number
from gateway.translate.values import (
    COMPOUNDS,
    Conversion,
    decode_0_10,
    digest_0_10,
    encode_0_10,
    row_0_10,
    row_1_0,
    short_enough,
)
from gateway.wire.tagged import Tagged

HEADERS_KEY: Final = number("headers.key")
MALFORMED: Final = number("header.malformed")
PREFIX: Final = "app."
ODD: Final = "odd-names"


def table_of(crossing: Crossing, fields: FieldTable | None) -> dict[str, Tagged]:
    """The application headers by name; of a name that comes twice the later one stays."""
    table: dict[str, Tagged] = {}
    if fields is not None:
        for name, value in fields:
            if name in table:
                crossing.lose(MALFORMED)
            table[name] = value
    return table


def headers_to_1_0(crossing: Crossing, headers: dict[str, Tagged], out: dict[str, Tagged]) -> None:
    """Add `headers` to the application properties `out`."""
    conversion = Conversion()
    for name, value in headers.items():
        if crossing.has_escrow and _restored(crossing, name, value, out):
            continue
        if value.code in COMPOUNDS:
            crossing.keep(PREFIX + name, NOTHING, encode_0_10(value), row_0_10(value.code))
            continue
        conversion.exact = True
        visible = conversion.to_1_0(value)
        out[name] = visible
        if not conversion.exact:
            keep_header(crossing, name, digest_value(visible), value)


def _restored(crossing: Crossing, name: str, value: Tagged, out: dict[str, Tagged]) -> bool:
    """Restore the application property that became the header `name`, if it is in escrow."""
    path = PREFIX + name
    visible = digest_0_10(value) if path in crossing.withdrawal.entries else NOTHING
    entry = crossing.take(path, visible, row_0_10(value.code))
    if entry is None:
        return False
    if entry.present:
        out[name] = entry.value
    return True


def give_back(
    crossing: Crossing, name: str, visible: int, headers: dict[str, Tagged], out: dict[str, Tagged]
) -> None:
    """Restore the application property that a 1.0 message had under the name of a header."""
    entry = crossing.take(PREFIX + name, visible, names.ROW_SUBJECT)
    if entry is None:
        return
    headers.pop(name, None)
    if entry.present:
        out[name] = entry.value


def keep_header(crossing: Crossing, name: str, visible: int, original: Tagged) -> bool:
    """Put a 0-10 header in escrow."""
    return crossing.keep(PREFIX + name, visible, encode_0_10(original), row_0_10(original.code))


def restore_application_properties(
    crossing: Crossing, out: dict[str, Tagged], odd: types.Map
) -> None:
    """Add the application properties of which nothing was visible in 0-10."""
    if not crossing.has_escrow:
        return
    names = [name for name in crossing.withdrawal.entries if name.startswith(PREFIX)]
    for path in names:
        name = path[len(PREFIX) :]
        if name in out:
            continue
        entry = crossing.take(path, NOTHING, HEADERS_KEY)
        if entry is not None and entry.present:
            out[name] = entry.value
    entry = crossing.take_typed(ODD, NOTHING, HEADERS_KEY, types.MAP)
    if entry is not None and entry.present:
        for key, value in cast(types.Map, entry.value.value):
            if key.code != types.STRING or key.value not in out:
                odd.append((key, value))


def read_properties(crossing: Crossing, pairs: types.Map, out: dict[str, Tagged]) -> None:
    """Sort the application properties of a 1.0 message: into `out`, or odd ones into escrow."""
    odd: types.Map = []
    for key, value in pairs:
        name = key.value
        if (
            key.code == types.STRING
            and isinstance(name, str)
            and name != HEADER
            and short_enough(name)
        ):
            out[name] = value
        else:
            odd.append((key, value))
    if odd:
        if crossing.keep_quietly(ODD, NOTHING, Tagged(types.MAP, odd), HEADERS_KEY):
            return
        for _ in odd:
            crossing.lose(HEADERS_KEY)


def headers_to_0_10(crossing: Crossing, properties: dict[str, Tagged], out: FieldTable) -> None:
    """Add `properties` to the application headers `out`."""
    conversion = Conversion(crossing.context.java)
    for name, value in properties.items():
        path = PREFIX + name
        if crossing.has_escrow and path in crossing.withdrawal.entries:
            entry = crossing.take(path, digest_value(value), row_1_0(value.code))
            if entry is not None:
                if entry.present:
                    restore_header(crossing, name, entry.value, out)
                continue
        conversion.exact = True
        conversion.possible = value.code < types.LIST and value.code != types.DESCRIBED
        visible = conversion.to_0_10(value) if conversion.possible else value
        if not conversion.possible:
            crossing.keep(path, NOTHING, value, row_1_0(value.code))
            continue
        out.append((name, visible))
        if not conversion.exact:
            crossing.keep(path, digest_0_10(visible), value, row_1_0(value.code))


def restore_header(crossing: Crossing, name: str, kept: Tagged, out: FieldTable) -> bool:
    """Add a header as the escrow has it; `False` if that is no 0-10 value."""
    try:
        value = decode_0_10(kept, crossing.context.depth_max)
        encode_0_10(value)
    except (DecodeError, LocalProtocolError):
        crossing.lose(ESCROW_MALFORMED)
        return False
    out.append((name, value))
    return True


def restore_headers(crossing: Crossing, out: FieldTable) -> None:
    """Add the headers of which nothing was visible in 1.0."""
    if not crossing.has_escrow:
        return
    present = {name for name, _ in out}
    names = [path for path in crossing.withdrawal.entries if path.startswith(PREFIX)]
    for path in names:
        name = path[len(PREFIX) :]
        if name in present or not short_enough(name):
            continue
        entry = crossing.take(path, NOTHING, HEADERS_KEY)
        if entry is not None and entry.present:
            restore_header(crossing, name, entry.value, out)
