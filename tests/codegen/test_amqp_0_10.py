"""The generator of the AMQP 0-10 codec, and that what it yields is what is committed."""

from pathlib import Path

import pytest

import gateway
from gateway.codegen import amqp_0_10
from gateway.codegen import amqp_0_10_tables as tables
from gateway.codegen.__main__ import main

PACKAGE = Path(gateway.__file__).parent


@pytest.mark.process
def test_the_committed_files_are_what_the_tables_yield() -> None:
    for name, source in amqp_0_10.files().items():
        assert (PACKAGE / name).read_text(encoding="utf-8") == source, name


def test_an_unknown_argument_is_an_error_of_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--wrong"]) == 2
    assert "usage" in capsys.readouterr().err


def test_the_first_eight_fields_have_their_flags_in_the_first_octet() -> None:
    fields = amqp_0_10.fields_of("message", " ".join(f"f{n}:bit" for n in range(10)))
    assert [field.flag for field in fields[:2]] == [0x0100, 0x0200]
    assert [field.flag for field in fields[7:]] == [0x8000, 0x0001, 0x0002]


def test_a_domain_is_looked_up_in_its_own_class_first() -> None:
    assert amqp_0_10.resolve("session", "name").annotation == "bytes"
    assert amqp_0_10.resolve("queue", "name").annotation == "str"
    assert amqp_0_10.resolve("connection", "amqp-host-array").annotation == "list[str]"


@pytest.mark.parametrize("rows", [tables.CONTROLS, tables.COMMANDS, tables.STRUCTS])
def test_codes_are_unique_within_their_kind(rows: tuple) -> None:
    codes = [(row.class_name, row.code) for row in rows if row.code is not None]
    assert len(set(codes)) == len(codes)


def test_every_field_has_a_type_that_the_generator_knows() -> None:
    for row in (*tables.CONTROLS, *tables.COMMANDS, *tables.STRUCTS):
        assert len(amqp_0_10.fields_of(row.class_name, row.fields)) == len(row.fields.split())
