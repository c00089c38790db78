"""The generated codec: every control, command and struct of the tables."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import values_0_10
from support.examples import examples

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.structs import close_struct, open_struct, read_header, write_header
from gateway.amqp_0_10.types import DEPTH_MAX
from gateway.codegen import amqp_0_10_tables as tables
from gateway.errors import DecodeError
from gateway.wire.buffers import Reader, Writer

OPERATIONS = [*tables.CONTROLS, *tables.COMMANDS]
CODED = [row for row in tables.STRUCTS if row.code is not None]


def name_of(row: object) -> str:
    return f"{row.class_name}.{row.name}"


def fields_of(value: object) -> bytes:
    writer = Writer()
    value.encode_fields(writer)
    return writer.getvalue()


@pytest.mark.parametrize("row", OPERATIONS, ids=name_of)
def test_a_control_or_command_is_read_as_it_was_written(row: object) -> None:
    table = spec.CONTROLS if isinstance(row, tables.Control) else spec.COMMANDS

    @settings(max_examples=examples(30))
    @given(values_0_10.instances(row))
    def check(value: object) -> None:
        decode = table[value.CODE]
        assert decode(Reader(fields_of(value)), DEPTH_MAX) == value

    check()


@pytest.mark.parametrize("row", tables.STRUCTS, ids=name_of)
def test_a_struct_is_read_as_it_was_written(row: object) -> None:
    @settings(max_examples=examples(30))
    @given(values_0_10.instances(row))
    def check(value: object) -> None:
        writer = Writer()
        value.encode(writer)
        reader = Reader(writer.getvalue())
        assert type(value).decode(reader) == value
        assert reader.remaining() == 0

    check()


@pytest.mark.parametrize("row", CODED, ids=name_of)
def test_a_coded_struct_can_be_closed_and_opened(row: object) -> None:
    @settings(max_examples=examples(30))
    @given(values_0_10.instances(row))
    def check(value: object) -> None:
        assert open_struct(close_struct(value)) == value

    check()


@settings(max_examples=examples(2000))
@given(st.sampled_from(OPERATIONS), st.binary(max_size=200))
def test_any_octets_decode_or_raise_a_decode_error(row: object, octets: bytes) -> None:
    table = spec.CONTROLS if isinstance(row, tables.Control) else spec.COMMANDS
    code = values_0_10.python_class(row).CODE
    try:
        value = table[code](Reader(octets), DEPTH_MAX)
    except DecodeError:
        return
    assert table[code](Reader(fields_of(value)), DEPTH_MAX) == value


def test_the_first_field_has_the_lowest_bit_of_the_first_flag_octet() -> None:
    assert fields_of(spec.MessageFlow(destination="d", unit=0, value=5)) == bytes.fromhex(
        "0700 0164 00 00000005".replace(" ", "")
    )


def test_the_ninth_field_has_the_lowest_bit_of_the_second_flag_octet() -> None:
    octets = fields_of(spec.DeliveryProperties(redelivered=True, exchange="e"))
    assert octets == bytes.fromhex("0401") + b"\x01e"


def test_unknown_packing_flags_are_refused() -> None:
    with pytest.raises(DecodeError, match="packing flags"):
        spec.MessageCancel.decode(Reader(b"\x02\x00"))


def test_octets_after_the_last_field_are_refused() -> None:
    with pytest.raises(DecodeError, match="after the last field"):
        spec.MessageCancel.decode(Reader(b"\x01\x00\x01dx"))


def test_an_operation_without_fields_may_leave_its_packing_flags_out() -> None:
    assert spec.ExecutionSync.decode(Reader(b"")) == spec.ExecutionSync()
    assert spec.ExecutionSync.decode(Reader(b"\x00\x00")) == spec.ExecutionSync()
    for octets in (b"\x00", b"\x00\x01", b"\x00\x00\x00"):
        with pytest.raises(DecodeError):
            spec.ExecutionSync.decode(Reader(octets))


def test_an_inverted_range_is_refused() -> None:
    with pytest.raises(DecodeError, match="inverted"):
        spec.MessageAccept.decode(Reader(bytes.fromhex("0100 0008 00000005 00000004")))


def test_a_range_may_wrap_around_zero() -> None:
    value = spec.MessageAccept.decode(Reader(bytes.fromhex("0100 0008 ffffffff 00000001")))
    assert value.transfers == [(0xFFFFFFFF, 1)]


def test_a_struct_of_an_unknown_code_is_not_opened() -> None:
    closed = close_struct(spec.XaResult(status=0))
    closed.code = 0x0199
    with pytest.raises(DecodeError, match="0x0199"):
        open_struct(closed)


def test_a_struct_with_the_code_of_another_is_refused() -> None:
    writer = Writer()
    spec.XaResult(status=0).encode(writer)
    with pytest.raises(DecodeError, match="not a Xid"):
        spec.Xid.decode(Reader(writer.getvalue()))


def test_a_header_segment_holds_its_structs_in_any_order_and_others_beside() -> None:
    delivery = spec.DeliveryProperties(routing_key="k")
    fragment = spec.FragmentProperties(first=True, last=True)
    message = spec.MessageProperties(content_type="t")
    octets = write_header(delivery, message, fragment)
    assert read_header(octets, len(octets)) == (delivery, fragment, message)
    writer = Writer()
    message.encode(writer)
    spec.XaResult(status=0).encode(writer)
    delivery.encode(writer)
    octets = writer.getvalue()
    assert read_header(octets + b"body", len(octets)) == (delivery, None, message)
    assert read_header(b"", 0) == (None, None, None)


def test_the_tables_say_who_handles_what() -> None:
    assert spec.QueueDeclare.CODE in spec.SERVER_COMMANDS
    assert spec.QueueDeclare.CODE not in spec.CLIENT_COMMANDS
    assert spec.SessionFlush.CODE in spec.SERVER_CONTROLS & spec.CLIENT_CONTROLS
    assert {spec.MessageTransfer.CODE, spec.StreamPublish.CODE} <= spec.CONTENT_COMMANDS
    assert spec.RESULTS[spec.QueueQuery.CODE] == spec.QueueQueryResult.CODE
