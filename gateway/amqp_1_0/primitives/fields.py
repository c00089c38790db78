"""Typed reads and writes of single fields, called by the generated codec.

A `read_*` function reads constructor and value and raises `DecodeError` when the constructor is
not one of that type; a `write_*` function writes the smallest encoding. Absent fields never get
here: the generated code asks `absent` first, and writes null itself.
"""

from __future__ import annotations

from typing import Final

from gateway.amqp_1_0 import types
from gateway.errors import DecodeError, LocalProtocolError
from gateway.wire.buffers import Reader, Writer
from gateway.wire.tagged import Tagged

DELIVERY_TAG_MAX: Final = 32
TRANSACTION_ID_MAX: Final = 255  # Artemis gives ids of 36 octets

Fields = dict[str, Tagged]


def absent(reader: Reader) -> bool:
    """Whether the next field is null; if so it has been consumed."""
    pos = reader.pos
    if pos < reader.end and reader.buf[pos] == types.NULL:
        reader.pos = pos + 1
        return True
    return False


def _wrong(code: int, name: str) -> DecodeError:
    return DecodeError(f"constructor 0x{code:02x} where {name} belongs")


def read_descriptor(reader: Reader, symbols: dict[str, int]) -> int:
    """The numeric code of the descriptor of the described value that comes; -1 if we know none.

    `reader` is left at the constructor of the value proper.
    """
    code = reader.u8()
    if code != types.DESCRIBED:
        raise _wrong(code, "a described value")
    code = reader.u8()
    if code == 0x53:
        return reader.u8()
    if code == types.ULONG:
        return reader.u64()
    if code == 0xA3:
        return symbols.get(types.ascii_text(reader, reader.u8()), -1)
    if code == types.SYMBOL:
        return symbols.get(types.ascii_text(reader, reader.u32()), -1)
    reader.pos -= 1
    types.skip(reader)
    return -1


def enter_list(reader: Reader, name: str, fields: int) -> int:
    """Open the list that represents a composite of `fields` fields; how many are in it."""
    code = reader.u8()
    if code == 0x45:
        reader.end = reader.pos
        return 0
    if code != 0xC0 and code != types.LIST:
        raise _wrong(code, f"the list of {name}")
    count = types.enter(reader, code)
    if count > fields:
        raise DecodeError(f"{name} has {fields} fields, not {count}")
    return count


def missing(name: str) -> DecodeError:
    """The error for a mandatory field that is null or left out."""
    return DecodeError(f"{name} is mandatory")


def read_boolean(reader: Reader) -> bool:
    """boolean."""
    code = reader.u8()
    if code == 0x41:
        return True
    if code == 0x42:
        return False
    if code != types.BOOLEAN:
        raise _wrong(code, "a boolean")
    octet = reader.u8()
    if octet > 1:
        raise DecodeError(f"a boolean of octet 0x{octet:02x}")
    return octet == 1


def read_ubyte(reader: Reader) -> int:
    """ubyte."""
    code = reader.u8()
    if code != types.UBYTE:
        raise _wrong(code, "a ubyte")
    return reader.u8()


def read_ushort(reader: Reader) -> int:
    """ushort."""
    code = reader.u8()
    if code != types.USHORT:
        raise _wrong(code, "a ushort")
    return reader.u16()


def read_uint(reader: Reader) -> int:
    """uint."""
    code = reader.u8()
    if code == 0x52:
        return reader.u8()
    if code == 0x43:
        return 0
    if code != types.UINT:
        raise _wrong(code, "a uint")
    return reader.u32()


def read_ulong(reader: Reader) -> int:
    """ulong."""
    code = reader.u8()
    if code == 0x53:
        return reader.u8()
    if code == 0x44:
        return 0
    if code != types.ULONG:
        raise _wrong(code, "a ulong")
    return reader.u64()


def read_timestamp(reader: Reader) -> int:
    """timestamp, in milliseconds since the epoch."""
    code = reader.u8()
    if code != types.TIMESTAMP:
        raise _wrong(code, "a timestamp")
    return reader.i64()


def read_binary(reader: Reader) -> bytes:
    """binary."""
    code = reader.u8()
    if code == 0xA0:
        return reader.take(reader.u8())
    if code != types.BINARY:
        raise _wrong(code, "a binary")
    return reader.take(reader.u32())


def read_string(reader: Reader) -> str:
    """string."""
    code = reader.u8()
    if code == 0xA1:
        return reader.text(reader.u8())
    if code != types.STRING:
        raise _wrong(code, "a string")
    return reader.text(reader.u32())


def read_symbol(reader: Reader) -> str:
    """symbol."""
    code = reader.u8()
    if code == 0xA3:
        return types.ascii_text(reader, reader.u8())
    if code != types.SYMBOL:
        raise _wrong(code, "a symbol")
    return types.ascii_text(reader, reader.u32())


def read_symbols(reader: Reader) -> list[str]:
    """Symbol, multiple: one symbol or an array of them (1.4)."""
    pos = reader.pos
    code = reader.u8()
    if code != 0xE0 and code != types.ARRAY:
        reader.pos = pos
        return [read_symbol(reader)]
    outer = reader.end
    count = types.enter(reader, code)
    reader.spend(count)
    element = reader.u8()
    if element != 0xA3 and element != types.SYMBOL:
        raise _wrong(element, "an array of symbols")
    if count > reader.remaining():
        raise DecodeError(f"{count} symbols in {reader.remaining()} octets")
    symbols: list[str] = []
    for _ in range(count):
        size = reader.u8() if element == 0xA3 else reader.u32()
        symbols.append(types.ascii_text(reader, size))
    types.leave(reader, outer)
    return symbols


def read_tag(reader: Reader) -> bytes:
    """delivery-tag: up to 32 octets (2.8.7)."""
    tag = read_binary(reader)
    if len(tag) > DELIVERY_TAG_MAX:
        raise DecodeError(f"a delivery-tag of {len(tag)} octets")
    return tag


def read_transaction_id(reader: Reader) -> bytes:
    """transaction-id: up to 32 octets (4.5.4); what is longer is taken, too, up to our limit."""
    identifier = read_binary(reader)
    if len(identifier) > TRANSACTION_ID_MAX:
        raise DecodeError(f"a transaction-id of {len(identifier)} octets")
    return identifier


def _read_choice(reader: Reader, greatest: int, name: str) -> int:
    value = read_ubyte(reader)
    if value > greatest:
        raise DecodeError(f"{value} is no {name}")
    return value


def read_sender_settle_mode(reader: Reader) -> int:
    """sender-settle-mode: 0 unsettled, 1 settled, 2 mixed."""
    return _read_choice(reader, 2, "sender-settle-mode")


def read_receiver_settle_mode(reader: Reader) -> int:
    """receiver-settle-mode: 0 first, 1 second."""
    return _read_choice(reader, 1, "receiver-settle-mode")


def read_sasl_code(reader: Reader) -> int:
    """sasl-code: 0 ok, 1 auth, 2 sys, 3 sys-perm, 4 sys-temp."""
    return _read_choice(reader, 4, "sasl-code")


def read_terminus_durability(reader: Reader) -> int:
    """terminus-durability: 0 none, 1 configuration, 2 unsettled-state."""
    value = read_uint(reader)
    if value > 2:
        raise DecodeError(f"{value} is no terminus-durability")
    return value


def read_message_id(reader: Reader) -> Tagged:
    """message-id: a ulong, uuid, binary or string (3.2.11 to 3.2.14)."""
    value = types.decode(reader, 1)
    code = value.code
    if code == types.STRING or code == types.BINARY or code == types.ULONG or code == types.UUID:
        return value
    raise _wrong(code, "a message-id")


def read_value(reader: Reader) -> Tagged:
    """Any value."""
    return types.decode(reader)


def read_map(reader: Reader) -> types.Map:
    """map."""
    code = reader.u8()
    if code != 0xC1 and code != types.MAP:
        raise _wrong(code, "a map")
    pairs: types.Map = types.decode_map(reader, code)
    return pairs


def read_fields(reader: Reader) -> Fields:
    """fields: a map keyed by symbols; string keys, which some peers send, are taken as well."""
    fields: Fields = {}
    for key, value in read_map(reader):
        if key.code != types.SYMBOL and key.code != types.STRING:
            raise _wrong(key.code, "a symbol that is a key")
        fields[str(key.value)] = value
    return fields


def write_boolean(writer: Writer, value: bool) -> None:
    """boolean."""
    writer.u8(0x41 if value else 0x42)


def _check(value: int, greatest: int, name: str) -> None:
    if value < 0 or value > greatest:
        raise LocalProtocolError(f"{value} is no {name}")


def write_ubyte(writer: Writer, value: int) -> None:
    """ubyte."""
    _check(value, 0xFF, "ubyte")
    writer.u8(types.UBYTE)
    writer.u8(value)


def write_ushort(writer: Writer, value: int) -> None:
    """ushort."""
    _check(value, 0xFFFF, "ushort")
    writer.u8(types.USHORT)
    writer.u16(value)


def write_uint(writer: Writer, value: int) -> None:
    """uint."""
    if value == 0:
        writer.u8(0x43)
    elif 0 < value <= 255:
        writer.u8(0x52)
        writer.u8(value)
    else:
        _check(value, 0xFFFFFFFF, "uint")
        writer.u8(types.UINT)
        writer.u32(value)


def write_ulong(writer: Writer, value: int) -> None:
    """ulong."""
    types.encode_integer(writer, types.ULONG, value)


def write_timestamp(writer: Writer, value: int) -> None:
    """timestamp."""
    types.encode_integer(writer, types.TIMESTAMP, value)


def write_binary(writer: Writer, value: bytes) -> None:
    """binary."""
    types.encode_binary(writer, value)


def write_string(writer: Writer, value: str) -> None:
    """string."""
    types.encode_string(writer, value)


def write_symbol(writer: Writer, value: str) -> None:
    """symbol."""
    types.encode_symbol(writer, value)


def write_symbols(writer: Writer, value: list[str]) -> None:
    """Symbol, multiple: one as itself, any other number as an array."""
    if len(value) == 1:
        types.encode_symbol(writer, value[0])
    else:
        types.encode_array(writer, types.Array(types.SYMBOL, list(value)))


def write_value(writer: Writer, value: Tagged) -> None:
    """Any value."""
    types.encode(writer, value)


def write_map(writer: Writer, value: types.Map) -> None:
    """map."""
    types.encode_map(writer, value)


def write_fields(writer: Writer, value: Fields) -> None:
    """fields: a map keyed by symbols."""
    pairs: types.Map = [(Tagged(types.SYMBOL, key), item) for key, item in value.items()]
    types.encode_map(writer, pairs)


def finish_list(writer: Writer, start: int, count: int) -> None:
    """Fill in size and count of the list whose one-octet header (3 octets) is at `start`."""
    types.finish_compound(writer, types.LIST, start, count)
