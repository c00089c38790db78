"""What a body is: content types on the 0-10 side, body sections on the 1.0 side.

A `shape` says what a 1.0 body is made of: the section's descriptor and, for an amqp-value, the type
of the value. The functions are the plain rules, without escrow; both directions use them, one
to translate and one to know what will come back.
"""

from __future__ import annotations

from typing import Final, cast

from xxhash import xxh3_64_intdigest

from gateway.amqp_0_10.decoding import read_list, read_map
from gateway.amqp_0_10.types import FieldTable
from gateway.amqp_1_0 import types
from gateway.amqp_1_0._spec import AMQP_SEQUENCE, AMQP_VALUE, DATA
from gateway.errors import DecodeError, LimitError
from gateway.translate import typed_bytes
from gateway.translate.mapping_rows import number
from gateway.translate.names import JMS_MSG_TYPE
from gateway.translate.values import Conversion
from gateway.wire.buffers import Reader
from gateway.wire.tagged import Tagged

AMQP_MAP: Final = "amqp/map"
AMQP_LIST: Final = "amqp/list"
JMS_MAP: Final = "jms/map-message"
JMS_STREAM: Final = "jms/stream-message"
JAVA_OBJECT: Final = "application/java-object-stream"
JAVA_OBJECT_1_0: Final = "application/x-java-serialized-object"
OPAQUE: Final = "application/x-amqp-1.0-value"
TEXT_PLAIN: Final = "text/plain"
IDENTITY: Final = "identity"
TEXT_UTF_8: Final = frozenset(("text/plain;charset=utf-8", "text/plain;charset=us-ascii"))

NO_SHAPE: Final = 0
NULL_SHAPE: Final = AMQP_VALUE << 8 | types.NULL
NO_JMS_TYPE: Final = -1
SEGMENT: Final = "mp.body-segment"  # the escrow's path of whether an empty 0-10 body has one
JMS_OBJECT: Final = 1
JMS_MAP_TYPE: Final = 2
JMS_STREAM_TYPE: Final = 4
JMS_TEXT: Final = 5

ROW_DATA: Final = number("body.data")
ROW_MAP: Final = number("body.value-map")
ROW_LIST: Final = number("body.value-list")
ROW_JMS_MAP: Final = number("body.jms-map")
ROW_JMS_STREAM: Final = number("body.jms-stream")
ROW_JAVA_OBJECT: Final = number("body.java-object")
ROW_TEXT: Final = number("body.text")
ROW_BINARY: Final = number("body.value-binary")
ROW_NULL: Final = number("body.value-null")
ROW_EMPTY: Final = number("body.empty")
ROW_OTHER: Final = number("body.value-other")
ROW_SEQUENCE: Final = number("body.sequence")
ROW_OPAQUE: Final = number("body.opaque")
ROW_UNREAD: Final = number("body.unread")
ROW_CONTENT_TYPE: Final = number("properties.content-type")
ROW_CONTENT_ENCODING: Final = number("properties.content-encoding")
ROW_CONTENT_LENGTH: Final = number("properties.content-length")
ROW_JMS_MSG_TYPE: Final = number("annotations.jms-msg-type")

_CHARSETS: Final = frozenset(("ascii", "us-ascii", "utf8", "utf16", "latin1", "latin-1"))
_CHARSET_FAMILIES: Final = ("utf-", "iso-8859-", "windows-", "cp125", "koi8-", "iso8859")


def shape_of(section: int, value: Tagged | None) -> int:
    """The shape of a body of `section`s, whose amqp-value is `value`."""
    return (
        section << 8 | value.code if value is not None and section == AMQP_VALUE else section << 8
    )


def has_segment(shape: int, null: bool) -> bool:
    """Whether an empty 0-10 body has a segment, unless the escrow says otherwise.

    It has where the 1.0 body of that shape has some content, if of no octets. To clients that tell
    the two apart, an absent one is what null is to others; `null`: it says so itself, by a header.
    """
    return shape != NO_SHAPE and (null or value_code(shape) != types.NULL)


def value_code(shape: int) -> int:
    """The type of a shape's amqp-value; -1 if it is another kind of body."""
    return shape & 0xFF if shape >> 8 == AMQP_VALUE else -1


def digest_content(content_type: str | None, body: bytes) -> int:
    """The digest of a visible 0-10 body with its content type."""
    seed = 0 if content_type is None else xxh3_64_intdigest(content_type.encode("utf-8"))
    return xxh3_64_intdigest(body, seed)


def is_charset(encoding: str) -> bool:
    """Whether a content-encoding names a character set, as no registered coding does."""
    name = encoding.lower()
    return name in _CHARSETS or name.startswith(_CHARSET_FAMILIES)


def is_utf_8(body: bytes) -> bool:
    """Whether octets are UTF-8 text."""
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def content_to_1_0(content_type: str | None, encoding: str | None) -> tuple[str | None, str | None]:
    """Content type and encoding beside data sections, of the 0-10 ones."""
    if content_type == JAVA_OBJECT:
        content_type = JAVA_OBJECT_1_0
    if (
        encoding is not None
        and content_type is not None
        and content_type.startswith("text/")
        and "charset=" not in content_type
        and is_charset(encoding)
    ):
        content_type = f"{content_type}; charset={encoding}"
        encoding = None
    if content_type is not None and not content_type.isascii():
        content_type = None
    if encoding is not None and (not encoding.isascii() or encoding.lower() == IDENTITY):
        encoding = None  # where nothing is encoded, 1.0 wants nothing said (3.2.4)
    return content_type, encoding


def content_to_0_10(
    shape: int, content_type: str | None, encoding: str | None, body: bytes, java: bool
) -> tuple[str | None, str | None]:
    """Content type and encoding of the 0-10 body made of a 1.0 body of `shape`."""
    if shape >> 8 == DATA:
        if encoding is not None and len(encoding) > 255:
            encoding = None
        return _data_type(content_type, body, java), encoding
    code = value_code(shape)
    if code == types.STRING:
        return TEXT_PLAIN, None
    if code == types.MAP:
        return AMQP_MAP, None
    if code == types.BINARY or code == types.NULL or shape == NO_SHAPE:
        return None, None
    return AMQP_LIST, None


def _data_type(content_type: str | None, body: bytes, java: bool) -> str | None:
    if content_type is None or len(content_type) > 255:
        return None
    if content_type == JAVA_OBJECT_1_0:
        return JAVA_OBJECT
    if content_type == TEXT_PLAIN:
        return content_type if is_utf_8(body) else None
    if content_type.startswith(TEXT_PLAIN) and content_type.lower().replace(" ", "") in TEXT_UTF_8:
        if not is_utf_8(body):
            return None
        if java:
            return TEXT_PLAIN
    return content_type


def read_body_map(body: bytes, depth: int) -> FieldTable | None:
    """The map that a whole 0-10 body is; `None` if it is none, or has a key twice.

    Raises:
        LimitError: it may be one, of too many values or levels.
    """
    reader = Reader(body)
    try:
        table = read_map(reader, depth)
    except LimitError:
        raise
    except DecodeError:
        return None
    if reader.remaining() or len({key for key, _ in table}) != len(table):
        return None
    return table


def read_body_list(body: bytes, depth: int) -> list[Tagged] | None:
    """The list that a whole 0-10 body is; `None` if it is none, `LimitError` as of a map."""
    reader = Reader(body)
    try:
        items = read_list(reader, depth)
    except LimitError:
        raise
    except DecodeError:
        return None
    return None if reader.remaining() else items


def value_in(
    content_type: str | None, body: bytes, null: bool, conversion: Conversion, depth: int
) -> Tagged | None:
    """The amqp-value that a 0-10 body becomes by its content type; `None` if it stays data."""
    if null and not body:
        return Tagged(types.NULL, None)
    try:
        return _compound_in(content_type, body, conversion, depth)
    except LimitError:
        conversion.unread = True
        return None


def _compound_in(
    content_type: str | None, body: bytes, conversion: Conversion, depth: int
) -> Tagged | None:
    if content_type == AMQP_MAP:
        table = read_body_map(body, depth)
        return None if table is None else conversion.map_to_1_0(table)
    if content_type == AMQP_LIST:
        items = read_body_list(body, depth)
        return None if items is None else conversion.list_to_1_0(items)
    if content_type == JMS_MAP:
        pairs = typed_bytes.decode_map(body)
        return None if pairs is None else Tagged(types.MAP, pairs)
    if content_type == JMS_STREAM:
        values = typed_bytes.decode_stream(body)
        return None if values is None else Tagged(types.LIST, values)
    return None


def text_in(content_type: str | None, encoding: str | None, body: bytes) -> Tagged | None:
    """The string that a 0-10 text body is; `None` if it is no text, or none that decodes."""
    if content_type is None or not content_type.startswith("text/") or encoding is not None:
        return None
    try:
        return Tagged(types.STRING, body.decode("utf-8"))
    except UnicodeDecodeError:
        return None


def jms_type_of(value: Tagged | None, content_type: str | None) -> int:
    """`x-opt-jms-msg-type` of a body that came from 0-10: its value, or data of a content type."""
    if value is None:
        return JMS_OBJECT if content_type == JAVA_OBJECT else NO_JMS_TYPE
    if value.code == types.NULL:
        return JMS_TEXT
    if value.code == types.MAP:
        for key, item in cast(types.Map, value.value):
            if key.code != types.STRING or item.code not in typed_bytes.CODES:
                return NO_JMS_TYPE
        return JMS_MAP_TYPE
    if value.code == types.LIST:
        for item in cast("list[Tagged]", value.value):
            if item.code not in typed_bytes.CODES:
                return NO_JMS_TYPE
        return JMS_STREAM_TYPE
    return NO_JMS_TYPE


def is_text_of_jms(annotations: dict[str, Tagged]) -> bool:
    """Whether a JMS client says that a message of its own is one of text."""
    told = annotations.get(JMS_MSG_TYPE)
    return told is not None and told.code == types.BYTE and told.value == JMS_TEXT


def row_of(shape: int) -> int:
    """The mapping row of a 1.0 body."""
    section = shape >> 8
    if section == DATA:
        return ROW_DATA
    if section == AMQP_SEQUENCE:
        return ROW_SEQUENCE
    if section != AMQP_VALUE:
        return ROW_EMPTY
    return _VALUE_ROWS.get(shape & 0xFF, ROW_OTHER)


_VALUE_ROWS: Final = {
    types.STRING: ROW_TEXT,
    types.BINARY: ROW_BINARY,
    types.NULL: ROW_NULL,
    types.MAP: ROW_MAP,
    types.LIST: ROW_LIST,
}
