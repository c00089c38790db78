"""The one view that routing, selectors and keys have of a message, whichever protocol it came by.

Application headers under their 0-10 names, with values in neutral kinds; of a 1.0 message also the
headers that its properties would become. Nothing of an escrow is visible. A reader remembers the
message that it opened last: one message is asked for several headers in a row.
"""

from __future__ import annotations

from typing import Final, cast, final

from gateway.amqp_0_10 import _spec_constants as old
from gateway.amqp_1_0 import sections
from gateway.amqp_1_0 import types as new
from gateway.amqp_1_0.primitives import fields
from gateway.audit.digests import digest
from gateway.errors import DecodeError
from gateway.message import Kind, Message
from gateway.translate import names, selectable
from gateway.translate.escrow import HEADER
from gateway.translate.facts import AMQP_0_10, body_digest_1_0
from gateway.translate.ids import decode_id, octets_of, uuid_in
from gateway.translate.numbered import numbered
from gateway.translate.replies import ReplyTable
from gateway.translate.segment import open_header
from gateway.translate.times import to_ms
from gateway.translate.values import LATIN_OR_UTF16
from gateway.wire.buffers import Reader
from gateway.wire.tagged import Tagged
from gateway.wire.work import HEADER_SEEN, WORK

Headers = dict[str, Tagged]
DEPTH_MAX: Final = 32


def neutral_0_10(value: Tagged) -> Tagged:
    """A 0-10 value in a neutral kind."""
    code = value.code
    if code == old.STR16 or code == old.STR8 or code in LATIN_OR_UTF16:
        is_text = isinstance(value.value, str)
        return Tagged(Kind.STRING if is_text else Kind.BINARY, value.value)
    if code in names.INTEGERS_0_10:
        return Tagged(Kind.INTEGER, value.value)
    if code == old.DATETIME:
        return Tagged(Kind.TIMESTAMP, to_ms(cast(int, value.value)))
    if code == old.CHAR or code == old.CHAR_UTF32:
        return Tagged(Kind.STRING, value.value)
    if isinstance(value.value, bool):
        return Tagged(Kind.BOOLEAN, value.value)
    if isinstance(value.value, float):
        return Tagged(Kind.REAL, value.value)
    if code == old.UUID:
        return Tagged(Kind.UUID, value.value)
    if isinstance(value.value, bytes):
        return Tagged(Kind.BINARY, value.value)
    return Tagged(Kind.NULL if value.value is None else Kind.OTHER, value.value)


def neutral_1_0(value: Tagged) -> Tagged:
    """A 1.0 value in a neutral kind."""
    code = value.code
    if code == new.STRING or code == new.SYMBOL or code == new.CHAR:
        return Tagged(Kind.STRING, value.value)
    if code in names.INTEGERS_1_0:
        return Tagged(Kind.INTEGER, value.value)
    if code == new.BOOLEAN:
        return Tagged(Kind.BOOLEAN, value.value)
    if code == new.FLOAT or code == new.DOUBLE:
        return Tagged(Kind.REAL, value.value)
    if code == new.TIMESTAMP:
        return Tagged(Kind.TIMESTAMP, value.value)
    if code == new.UUID:
        return Tagged(Kind.UUID, value.value)
    if code == new.BINARY:
        return Tagged(Kind.BINARY, value.value)
    return Tagged(Kind.NULL if code == new.NULL else Kind.OTHER, value.value)


def headers_of_0_10(message: Message) -> Headers:
    """The application headers of a 0-10 message; none where they do not decode."""
    found: Headers = {}
    try:
        segment = open_header(message.payload, message.body_at, DEPTH_MAX)
    except DecodeError:
        return found
    table = segment.properties.application_headers
    if table is not None:
        for name, value in table:
            if name != HEADER:
                found[name] = neutral_0_10(value)
    app_id = segment.properties.app_id
    if app_id is not None:
        found[names.APP_ID] = selectable.text_or_binary(app_id)
    return found


def headers_of_1_0(message: Message) -> Headers:
    """The application properties of a 1.0 message, and what its properties become."""
    found: Headers = {}
    if message.message_format != 0:
        return found
    try:
        layout = sections.scan(message.payload)
        if layout.application_properties != sections.ABSENT:
            reader = Reader(message.payload, layout.application_properties)
            for key, value in fields.read_map(reader):
                if key.code == new.STRING and key.value != HEADER:
                    found[cast(str, key.value)] = neutral_1_0(value)
        _add_properties(message, layout, found)
    except DecodeError:
        pass
    return found


def _add_properties(message: Message, layout: sections.Sections, found: Headers) -> None:
    properties = sections.properties(message.payload, layout)
    subject = None
    if properties is not None:
        subject = properties.subject
        if subject is not None:
            found[names.SUBJECT] = Tagged(Kind.STRING, subject)
        if properties.group_id is not None:
            found[names.GROUP_ID] = Tagged(Kind.STRING, properties.group_id)
        if properties.group_sequence is not None:
            found[names.GROUP_SEQUENCE] = Tagged(Kind.INTEGER, properties.group_sequence)
    for key, value in sections.annotations(message.payload, layout.message_annotations):
        if key.value == names.DELIVERY_TIME and isinstance(value.value, int):
            found[names.NOT_VALID_BEFORE] = Tagged(Kind.INTEGER, value.value)
        elif key.value in names.TRACE_CONTEXT and value.code in (new.STRING, new.BINARY):
            found.setdefault(key.value, neutral_1_0(value))
        elif key.value == names.JMS_MSG_TYPE and subject is not None:
            found.setdefault(names.JMS_TYPE, Tagged(Kind.STRING, subject))


def selectable_of_0_10(message: Message, headers: Headers, replies: ReplyTable) -> Headers:
    """What selectors know of a 0-10 message besides `headers`."""
    found = selectable.from_facts(message, headers)
    try:
        segment = open_header(message.payload, message.body_at, DEPTH_MAX)
    except DecodeError:
        return found
    selectable.add_0_10(found, message, headers, segment.delivery, segment.properties)
    if segment.properties.correlation_id is not None:
        _add_request(found, message, segment.properties.correlation_id, replies)
    return found


def selectable_of_1_0(message: Message, headers: Headers, replies: ReplyTable) -> Headers:
    """What selectors know of a 1.0 message besides `headers`."""
    found = selectable.from_facts(message, headers)
    if message.message_format != 0:
        return found
    try:
        properties = sections.properties(message.payload, sections.scan(message.payload))
    except DecodeError:
        return found
    if properties is not None:
        selectable.add_1_0(found, properties)
        if properties.correlation_id is not None:
            _add_request(found, message, octets_of(properties.correlation_id), replies)
    return found


def _add_request(
    found: Headers, message: Message, correlation_id: bytes, replies: ReplyTable
) -> None:
    """Who asked selects the answer by the id that it gave: have the correlation-id be that."""
    uuid = uuid_in(correlation_id)
    known = None if uuid is None else replies.find(uuid, message.arrived_ms)
    request_id = None if known is None else decode_id(known)
    if request_id is not None:
        selectable.add_correlation_id(found, request_id)


@final
class View:
    """The `MessageReader` of all messages of a virtual host, whose reply table is `replies`."""

    __slots__ = ("_headers", "_last", "_last_selected", "_replies", "_selectable")

    def __init__(self, replies: ReplyTable) -> None:
        self._replies = replies
        self._last: Message | None = None
        self._headers: Headers = {}
        self._last_selected: Message | None = None
        self._selectable: Headers = {}

    def header(self, message: Message, name: str) -> Tagged | None:
        """The header `name` in a neutral kind; `None` if the message has none."""
        return self.headers(message).get(name)

    def headers(self, message: Message) -> Headers:
        """All headers, not to be changed."""
        if message is not self._last:
            of_0_10 = message.encoding == AMQP_0_10
            self._headers = headers_of_0_10(message) if of_0_10 else headers_of_1_0(message)
            self._last = message
            WORK.units += HEADER_SEEN * len(self._headers)
        return self._headers

    def selectable(self, message: Message, name: str) -> Tagged | None:
        """What a selector's identifier stands for: a header, or a property by its special name."""
        headers = self.headers(message)
        if not selectable.is_special(name):
            return headers.get(name)
        if message is not self._last_selected:
            if message.encoding == AMQP_0_10:
                self._selectable = selectable_of_0_10(message, headers, self._replies)
            else:
                self._selectable = selectable_of_1_0(message, headers, self._replies)
            self._last_selected = message
        return selectable.find(self._selectable, headers, name)

    def numbered(self, message: Message, name: str, number: int, *, wide: bool) -> Message:
        """See `MessageReader`."""
        return numbered(message, name, number, wide=wide)

    def body_digest(self, message: Message) -> int:
        """The digest of the body as it is stored; another than on arrival tells of damage."""
        if message.encoding == AMQP_0_10:
            return digest(message.body())
        payload = message.payload
        if message.message_format != 0:
            return body_digest_1_0(payload, 0, len(payload))
        try:
            found = sections.scan(payload)
        except DecodeError:
            return digest(payload)  # not what it was when it came
        return body_digest_1_0(payload, found.body_at, found.body_end)


READER: Final = View(ReplyTable())
"""Of a message that is in no virtual host, or not yet: no request is known."""
