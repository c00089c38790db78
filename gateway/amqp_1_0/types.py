"""All AMQP 1.0 primitive encodings <-> `Tagged` (part 1, section 1.6).

`Tagged.code` is one code per *type*, whichever of its encodings was on the wire; the smallest
encoding that fits is written. What `Tagged.value` is:

    NULL                          None
    BOOLEAN                       bool
    UBYTE USHORT UINT ULONG       int
    BYTE SHORT INT LONG           int
    FLOAT DOUBLE                  float
    DECIMAL32 DECIMAL64 DECIMAL128   bytes: 4, 8, 16 octets as encoded
    CHAR                          str of one character
    TIMESTAMP                     int: milliseconds since the epoch, may be negative
    UUID                          bytes: 16 octets
    BINARY                        bytes
    STRING, SYMBOL                str (a symbol is ASCII)
    LIST                          list[Tagged]
    MAP                           list[tuple[Tagged, Tagged]], in wire order, keys distinct
    ARRAY                         Array
    DESCRIBED                     Described
"""

from gateway.amqp_1_0.primitives.codes import (
    ARRAY,
    BINARY,
    BOOLEAN,
    BYTE,
    CANONICAL,
    CHAR,
    DECIMAL32,
    DECIMAL64,
    DECIMAL128,
    DEPTH_MAX,
    DESCRIBED,
    DOUBLE,
    FLOAT,
    INT,
    LIST,
    LONG,
    MAP,
    NULL,
    RANGES,
    SHORT,
    STRING,
    SYMBOL,
    TIMESTAMP,
    TYPE_CODES,
    UBYTE,
    UINT,
    ULONG,
    UNKNOWN,
    USHORT,
    UUID,
    WIDTHS,
    ZERO_WIDTH_MAX,
    Array,
    Described,
    Map,
)
from gateway.amqp_1_0.primitives.decoding import (
    ascii_text,
    decode,
    decode_map,
    decode_untyped,
    enter,
    from_bytes,
    leave,
    skip,
)
from gateway.amqp_1_0.primitives.encoding import (
    begin_compound,
    binary_head,
    encode,
    encode_array,
    encode_binary,
    encode_integer,
    encode_map,
    encode_string,
    encode_symbol,
    finish_compound,
    symbol_octets,
    to_bytes,
)

__all__ = [
    "ARRAY",
    "BINARY",
    "BOOLEAN",
    "BYTE",
    "CANONICAL",
    "CHAR",
    "DECIMAL32",
    "DECIMAL64",
    "DECIMAL128",
    "DEPTH_MAX",
    "DESCRIBED",
    "DOUBLE",
    "FLOAT",
    "INT",
    "LIST",
    "LONG",
    "MAP",
    "NULL",
    "RANGES",
    "SHORT",
    "STRING",
    "SYMBOL",
    "TIMESTAMP",
    "TYPE_CODES",
    "UBYTE",
    "UINT",
    "ULONG",
    "UNKNOWN",
    "USHORT",
    "UUID",
    "WIDTHS",
    "ZERO_WIDTH_MAX",
    "Array",
    "Described",
    "Map",
    "ascii_text",
    "begin_compound",
    "binary_head",
    "decode",
    "decode_map",
    "decode_untyped",
    "encode",
    "encode_array",
    "encode_binary",
    "encode_integer",
    "encode_map",
    "encode_string",
    "encode_symbol",
    "enter",
    "finish_compound",
    "from_bytes",
    "leave",
    "skip",
    "symbol_octets",
    "to_bytes",
]
