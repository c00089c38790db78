import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import values_1_0
from support.rules import rule

from gateway.amqp_1_0 import _spec, sections, types
from gateway.codegen.amqp_1_0_tables import COMPOSITES
from gateway.errors import DecodeError
from gateway.wire.buffers import Writer
from gateway.wire.tagged import Tagged

BY_NAME = {c.name: c for c in COMPOSITES}

annotations = st.lists(
    st.tuples(
        st.one_of(
            values_1_0.SYMBOLS.map(lambda s: Tagged(types.SYMBOL, s)),
            st.integers(0, 2**64 - 1).map(lambda n: Tagged(types.ULONG, n)),
        ),
        values_1_0.values,
    ),
    max_size=3,
    unique_by=lambda pair: types.to_bytes(pair[0]),
)
simple = values_1_0.scalars.filter(lambda v: v.code < types.LIST)


@st.composite
def messages(draw):
    """Encoded message and what is in it, by section."""
    writer = Writer()
    inside = {}

    def maybe(name, strategy, write):
        value = draw(st.one_of(st.none(), strategy))
        inside[name] = value
        if value is not None:
            write(value)

    maybe("header", values_1_0.composite(BY_NAME["header"]), lambda v: v.encode(writer))
    for name, code in (("delivery", 0x71), ("message", 0x72)):
        maybe(name, annotations, lambda v, code=code: sections.write_map(writer, code, v))
    inside["bare_at"] = int(writer.size())
    maybe("properties", values_1_0.composite(BY_NAME["properties"]), lambda v: v.encode(writer))
    maybe(
        "application",
        st.dictionaries(values_1_0.TEXT, simple, max_size=3),
        lambda v: sections.write_application_properties(writer, v),
    )
    inside["body_at"] = int(writer.size())
    kind = draw(st.sampled_from(["none", "data", "sequence", "value"]))
    inside["kind"] = kind
    if kind == "data":
        inside["body"] = draw(st.lists(st.binary(max_size=300), min_size=1, max_size=3))
        for octets in inside["body"]:
            sections.write_data(writer, octets)
    elif kind == "sequence":
        inside["body"] = draw(
            st.lists(st.lists(values_1_0.values, max_size=3), min_size=1, max_size=3)
        )
        for items in inside["body"]:
            sections.write_sequence(writer, items)
    elif kind == "value":
        inside["body"] = draw(values_1_0.values)
        sections.write_value(writer, inside["body"])
    inside["body_end"] = int(writer.size())
    maybe("footer", annotations, lambda v: sections.write_map(writer, 0x78, v))
    return writer.getvalue(), inside


@given(messages())
def test_every_section_is_found_and_decoded(message):
    payload, inside = message
    found = sections.scan(payload)
    assert sections.header(payload, found) == inside["header"]
    assert sections.properties(payload, found) == inside["properties"]
    assert sections.annotations(payload, found.delivery_annotations) == (inside["delivery"] or [])
    assert sections.annotations(payload, found.message_annotations) == (inside["message"] or [])
    assert sections.annotations(payload, found.footer) == (inside["footer"] or [])
    assert sections.application_properties(payload, found) == (inside["application"] or {})
    assert found.bare_at == inside["bare_at"]
    assert (found.body_at, found.body_end) == (inside["body_at"], inside["body_end"])
    if inside["kind"] == "data":
        assert sections.data(payload, found) == inside["body"]
        assert sections.body_values(payload, found) == []
    elif inside["kind"] == "value":
        assert sections.body_values(payload, found) == [inside["body"]]
    elif inside["kind"] == "sequence":
        assert [v.value for v in sections.body_values(payload, found)] == inside["body"]
    else:
        assert found.body_kind == sections.ABSENT
        assert sections.data(payload, found) == []


@given(messages(), st.data())
def test_a_damaged_message_is_scanned_or_refused(message, data):
    payload, _ = message
    octets = bytearray(payload + b"\0")
    octets[data.draw(st.integers(0, len(octets) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = sections.scan(bytes(octets))
        sections.header(bytes(octets), found)
        sections.properties(bytes(octets), found)
        sections.annotations(bytes(octets), found.message_annotations)
        sections.application_properties(bytes(octets), found)
        sections.data(bytes(octets), found)
        sections.body_values(bytes(octets), found)
    except DecodeError:
        return


HEADER = "00537045"
PROPERTIES = "00537345"
DATA = "005375a00178"
SEQUENCE = "00537645"
VALUE = "00537740"
FOOTER = "005378c10100"


@pytest.mark.parametrize(
    "octets",
    [
        HEADER + HEADER,
        PROPERTIES + HEADER,
        DATA + PROPERTIES,
        DATA + SEQUENCE,
        SEQUENCE + DATA,
        VALUE + VALUE,
        FOOTER + DATA,
        FOOTER + FOOTER,
        "00532445",  # accepted is no section
        "0053ff45",
        "40",
        "00537545",  # data that is a list
        "005370a00178",  # a header that is a binary
        "00537145",  # annotations that are a list
        DATA[:-2],
    ],
)
def test_sections_out_of_order_or_of_the_wrong_kind_are_refused(octets):
    with pytest.raises(DecodeError):
        sections.scan(bytes.fromhex(octets))


def test_symbolic_descriptors_are_as_good_as_numbers():
    octets = b"\x00\xa3\x10amqp:data:binary\xa0\x01x"
    found = sections.scan(octets)
    assert sections.data(octets, found) == [b"x"]
    assert found.body_kind == _spec.DATA


def test_an_annotation_key_must_be_a_symbol_or_a_ulong():
    writer = Writer()
    pairs = [(Tagged(types.STRING, "x"), Tagged(types.NULL, None))]
    sections.write_map(writer, 0x72, pairs)
    payload = writer.getvalue()
    with pytest.raises(DecodeError):
        sections.annotations(payload, sections.scan(payload).message_annotations)


@rule("1.0", "3.2.5", "application-properties-are-simple")
@pytest.mark.parametrize("value", [Tagged(types.LIST, []), Tagged(types.MAP, [])])
def test_an_application_property_must_be_simple(value):
    writer = Writer()
    sections.write_application_properties(writer, {"x": value})
    payload = writer.getvalue()
    with pytest.raises(DecodeError):
        sections.application_properties(payload, sections.scan(payload))


def test_a_footer_is_put_behind_the_body_and_nothing_else_is_moved():
    header, data, footer = (
        b"\x00\x53\x70\x45",
        b"\x00\x53\x75\xa0\x01x",
        b"\x00\x53\x78\xc1\x01\x00",
    )
    assert sections.footer_last(header + footer + data + data) == header + data + data + footer
    for whole in (header + data + footer, header + data, footer + data + footer, b""):
        assert sections.footer_last(whole) == b""
    with pytest.raises(DecodeError):
        sections.footer_last(footer + b"\x00\x53\x75")
