"""The format's table is consistent in itself."""

import json
from pathlib import Path

from support.audit_logs import balanced_log

from gateway.audit import schema
from gateway.audit.schema import (
    ALIASES,
    FIELD_NAMES,
    FIELDS,
    LAYOUTS,
    RECORD,
    RECORD_OCTETS,
    SCHEMA_VERSION,
    STRUCT_CODES,
)


def test_fields_follow_each_other_without_holes_and_fill_the_record():
    offset = 0
    for field in FIELDS:
        assert field.offset == offset, field.name
        offset += int(field.type[1:]) // 8
    assert offset == RECORD_OCTETS == RECORD.size


def test_every_field_type_has_a_struct_code():
    assert {field.type for field in FIELDS} == set(STRUCT_CODES)


def test_aliases_are_of_fields_that_exist():
    for aliases in ALIASES.values():
        assert set(aliases) <= set(FIELD_NAMES)


def test_kinds_reasons_and_flags_fit_their_fields():
    assert max(schema.Kind) < 128
    assert max(schema.Outcome) < 128
    assert max(schema.Reason) < 32768
    assert max(schema.Flag) < 32768


def test_a_whole_block_of_records_is_a_whole_number_of_records():
    assert schema.MAX_BLOCK_OCTETS % RECORD_OCTETS == 0
    assert schema.MAX_BLOCK_OCTETS < schema.MAX_LENGTH


def test_segment_names_sort_in_the_order_of_the_log():
    names = [schema.segment_name(1, 9), schema.segment_name(1, 10), schema.segment_name(2, 11)]
    assert names == sorted(names)


def test_a_segment_header_describes_the_fields(tmp_path: Path):
    first = sorted(balanced_log(tmp_path).iterdir())[0].read_bytes()
    _magic, _crc, length = schema.SEGMENT_PREAMBLE.unpack_from(first)
    at = schema.SEGMENT_PREAMBLE.size
    header = json.loads(first[at : at + length])
    assert [tuple(field) for field in header["fields"]] == list(FIELDS)
    assert header["record_octets"] == RECORD_OCTETS


def test_a_record_of_an_older_version_is_the_beginning_of_a_new_one():
    assert list(LAYOUTS) == list(range(1, SCHEMA_VERSION + 1))
    for layout in LAYOUTS.values():
        assert layout.fields == FIELDS[: len(layout.fields)]
        assert layout.octets == layout.fields[-1].offset + int(layout.fields[-1].type[1:]) // 8
    assert LAYOUTS[SCHEMA_VERSION].fields == FIELDS
    assert LAYOUTS[1].octets == 96


def test_name_fields_are_the_numbers_of_texts():
    assert {field.type for field in FIELDS if field.name in schema.NAME_FIELDS} == {"i32"}
