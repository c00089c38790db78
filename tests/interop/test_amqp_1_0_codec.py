"""Our codec against Proton's: what one writes the other reads, both ways."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import values_1_0

from gateway.amqp_1_0 import _spec, sections, types
from gateway.wire.buffers import Writer
from gateway.wire.tagged import Tagged

proton = pytest.importorskip(
    "proton", reason="python-qpid-proton is missing: pip install python-qpid-proton"
)

DATA_TYPES = {
    types.NULL: "NULL", types.BOOLEAN: "BOOL", types.UBYTE: "UBYTE", types.BYTE: "BYTE",
    types.USHORT: "USHORT", types.SHORT: "SHORT", types.UINT: "UINT", types.INT: "INT",
    types.CHAR: "CHAR", types.ULONG: "ULONG", types.LONG: "LONG", types.TIMESTAMP: "TIMESTAMP",
    types.FLOAT: "FLOAT", types.DOUBLE: "DOUBLE", types.DECIMAL32: "DECIMAL32",
    types.DECIMAL64: "DECIMAL64", types.DECIMAL128: "DECIMAL128", types.UUID: "UUID",
    types.BINARY: "BINARY", types.STRING: "STRING", types.SYMBOL: "SYMBOL",
    types.DESCRIBED: "DESCRIBED", types.ARRAY: "ARRAY", types.LIST: "LIST", types.MAP: "MAP",
}  # fmt: skip


def put(data, tagged):
    """Build `tagged` with Proton's codec."""
    code, value = tagged.code, tagged.value
    if code == types.LIST:
        data.put_list()
        data.enter()
        for item in value:
            put(data, item)
        data.exit()
    elif code == types.MAP:
        data.put_map()
        data.enter()
        for pair in value:
            put(data, pair[0])
            put(data, pair[1])
        data.exit()
    elif code == types.DESCRIBED:
        data.put_described()
        data.enter()
        put(data, value.descriptor)
        put(data, value.value)
        data.exit()
    elif code == types.ARRAY:
        data.put_array(bool(value.descriptors), getattr(proton.Data, DATA_TYPES[value.code]))
        data.enter()
        for descriptor in value.descriptors:
            put(data, descriptor)
        for item in value.items:
            put(data, Tagged(value.code, item))
        data.exit()
    else:
        put_scalar(data, code, value)


def put_scalar(data, code, value):
    name = DATA_TYPES[code].lower()
    if code == types.NULL:
        data.put_null()
    elif code == types.UUID:
        data.put_uuid(uuid.UUID(bytes=value))
    elif code == types.SYMBOL:
        data.put_symbol(proton.symbol(value))
    elif code in (types.DECIMAL32, types.DECIMAL64):
        getattr(data, "put_" + name)(int.from_bytes(value))
    else:
        getattr(data, "put_" + name)(value)


def simple(tagged):
    """Whether Proton can build it: no arrays of compounds or of several descriptors."""
    if tagged.code == types.ARRAY:
        array = tagged.value
        return (
            len(array.descriptors) <= 1
            and array.code < types.LIST
            and array.code != types.NULL
            and len(array.items) > 0
        )
    if tagged.code == types.LIST:
        return all(simple(item) for item in tagged.value)
    if tagged.code == types.MAP:
        return all(simple(key) and simple(value) for key, value in tagged.value)
    if tagged.code == types.DESCRIBED:
        return simple(tagged.value.descriptor) and simple(tagged.value.value)
    return True


PROTON_VALUES = values_1_0.values.filter(simple)


@given(PROTON_VALUES)
def test_we_read_what_proton_writes(value):
    data = proton.Data()
    put(data, value)
    assert types.from_bytes(bytes(data.encode())) == value


@given(PROTON_VALUES)
def test_proton_reads_what_we_write_and_writes_the_same_value(value):
    data = proton.Data()
    octets = types.to_bytes(value)
    assert data.decode(octets) == len(octets)
    assert types.from_bytes(bytes(data.encode())) == value


def test_proton_reads_a_message_of_ours():
    writer = Writer()
    _spec.Header(durable=True, priority=7, ttl=1234, first_acquirer=True, delivery_count=2).encode(
        writer
    )
    note = Tagged(types.SYMBOL, "x-opt-note")
    sections.write_map(writer, _spec.MESSAGE_ANNOTATIONS, [(note, Tagged(types.INT, 5))])
    identifier = uuid.uuid4()
    _spec.Properties(
        message_id=Tagged(types.UUID, identifier.bytes),
        user_id=b"me",
        to="there",
        subject="key",
        reply_to="back",
        correlation_id=Tagged(types.STRING, "c"),
        content_type="text/plain",
        absolute_expiry_time=5000,
        creation_time=4000,
        group_id="g",
        group_sequence=9,
        reply_to_group_id="r",
    ).encode(writer)
    sections.write_application_properties(writer, {"n": Tagged(types.ULONG, 2**63)})
    sections.write_data(writer, b"body")
    message = proton.Message()
    message.decode(writer.getvalue())
    assert (message.durable, message.priority, message.first_acquirer) == (True, 7, True)
    assert message.delivery_count == 2
    assert message.annotations == {"x-opt-note": 5}
    assert message.id == identifier
    assert (message.user_id, message.address, message.subject) == (b"me", "there", "key")
    assert (message.reply_to, message.correlation_id) == ("back", "c")
    assert (message.group_id, message.group_sequence, message.reply_to_group_id) == ("g", 9, "r")
    assert message.properties == {"n": 2**63}
    assert message.body == b"body"


@given(
    st.one_of(
        st.text(st.characters(exclude_categories=["Cs"])),
        st.binary(),
        st.integers(-(2**31), 2**31),
        st.lists(st.integers(0, 9)),
    ),
    st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"])), st.integers(0, 5), max_size=3
    ),
)
def test_we_read_a_message_of_protons(body, properties):
    message = proton.Message(body=body, properties=properties, id="i", subject="s", priority=5)
    octets = bytes(message.encode())
    found = sections.scan(octets)
    assert sections.header(octets, found).priority == 5
    read = sections.properties(octets, found)
    assert (read.message_id, read.subject) == (Tagged(types.STRING, "i"), "s")
    ours = {k: v.value for k, v in sections.application_properties(octets, found).items()}
    assert ours == properties
    if found.body_kind == _spec.DATA:
        assert b"".join(sections.data(octets, found)) == body
    else:
        value = sections.body_values(octets, found)[0].value
        if isinstance(body, list):
            value = [item.value for item in value]
        assert value == body
