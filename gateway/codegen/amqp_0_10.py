"""Generates the AMQP 0-10 codec, `gateway/amqp_0_10/_spec*.py`, from `amqp_0_10_tables`.

One final class per control, command and struct, with straight-line ``decode`` and
``encode_fields``: packing flags are two octets, the first octet holding the flags of the first
eight fields, lowest bit first. A field that is absent is ``None``; a ``bit`` is a ``bool``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from gateway.codegen import amqp_0_10_tables as tables
from gateway.codegen.emit import (
    ACYCLIC,
    NOTICE,
    REUSED,
    class_name,
    constant_name,
    field_name,
    formatted,
)

PACKAGE: Final = "amqp_0_10"


class Codec(NamedTuple):
    """How a field of one type is typed, read and written; ``{}`` is the value's expression."""

    annotation: str
    read: str
    write: str


CODECS: Final = {
    "uint8": Codec("int", "reader.u8()", "writer.u8({})"),
    "uint16": Codec("int", "reader.u16()", "writer.u16({})"),
    "uint32": Codec("int", "reader.u32()", "writer.u32({})"),
    "uint64": Codec("int", "reader.u64()", "writer.u64({})"),
    "sequence-no": Codec("int", "reader.u32()", "writer.u32({})"),
    "datetime": Codec("int", "reader.i64()", "writer.i64({})"),
    "uuid": Codec("bytes", "reader.take(16)", "put_uuid(writer, {})"),
    "str8": Codec("str", "get_str8(reader)", "put_str8(writer, {})"),
    "str16": Codec("str", "get_str16(reader)", "put_str16(writer, {})"),
    "vbin8": Codec("bytes", "get_vbin8(reader)", "put_vbin8(writer, {})"),
    "vbin16": Codec("bytes", "get_vbin16(reader)", "put_vbin16(writer, {})"),
    "vbin32": Codec("bytes", "get_vbin32(reader)", "put_vbin32(writer, {})"),
    "map": Codec("FieldTable", "read_map(reader, depth)", "write_map(writer, {})"),
    "array": Codec("Array", "read_array(reader, depth)", "write_array(writer, {})"),
    "str16-array": Codec("list[str]", "read_str16_array(reader)", "write_str16_array(writer, {})"),
    "struct32": Codec("Struct32", "read_struct32(reader)", "write_struct32(writer, {})"),
    "sequence-set": Codec("Ranges", "get_sequence_set(reader)", "put_sequence_set(writer, {})"),
    "byte-ranges": Codec("Ranges", "get_byte_ranges(reader)", "put_byte_ranges(writer, {})"),
    "bit": Codec("bool", "", ""),
}

# An array of text by its domain, which the type alone does not tell.
TEXT_ARRAYS: Final = {"str16-array", "connection.amqp-host-array"}

STRUCT_NAMES: Final = {struct.name for struct in tables.STRUCTS}
DOMAIN_TYPES: Final = {domain.name: domain.type for domain in tables.DOMAINS}

# Structs that each message makes and drops again: the memory of one is kept for the next.
SHORT_LIVED: Final = {"DeliveryProperties", "MessageProperties"}
# What nearly all objects are, between the octets that came and their end; of plain values alone.
FREQUENT: Final = {"MessageTransfer"}

IMPORTS: Final = """
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Final, final

from mypy_extensions import mypyc_attr

from gateway.amqp_0_10.decoding import (
    read_array, read_map, read_str16_array, read_struct32
)
from gateway.amqp_0_10.encoding import (
    write_array, write_map, write_str16_array, write_struct32
)
from gateway.amqp_0_10.primitives import (
    Ranges, get_byte_ranges, get_sequence_set, get_str8, get_str16, get_vbin8, get_vbin16,
    get_vbin32, put_byte_ranges, put_sequence_set, put_str8, put_str16, put_uuid, put_vbin8,
    put_vbin16, put_vbin32
)
from gateway.amqp_0_10.types import (
    DEPTH_MAX, Array, Command, Control, FieldTable, Struct, Struct32
)
from gateway.errors import DecodeError
from gateway.wire.buffers import Reader, Writer
"""


class Field(NamedTuple):
    """One field, resolved: its Python name, codec and packing flag."""

    name: str
    codec: Codec
    flag: int

    @property
    def is_bit(self) -> bool:
        """Whether the packing flag is the value."""
        return not self.codec.read


def resolve(class_code_name: str, type_name: str) -> Codec:
    """The codec of a type, domain or struct, as seen from the class it is used in."""
    for name in (type_name, f"{class_code_name}.{type_name}"):
        if name in TEXT_ARRAYS:
            return CODECS["str16-array"]
        if name in DOMAIN_TYPES:
            return resolve(class_code_name, DOMAIN_TYPES[name])
    if type_name in STRUCT_NAMES:
        name = class_name(type_name)
        return Codec(name, f"{name}.decode(reader)", "{}.encode(writer)")
    return CODECS[type_name]


def fields_of(class_code_name: str, text: str) -> list[Field]:
    """The fields of a row of the tables."""
    fields = []
    for index, word in enumerate(text.split()):
        name, _, type_name = word.partition(":")
        flag = 1 << (index % 8 + (8 if index < 8 else 0))
        codec = resolve(class_code_name, type_name)
        fields.append(Field(field_name(name.rstrip("*")), codec, flag))
    return fields


def constructor(fields: Sequence[Field]) -> list[str]:
    """Slots and ``__init__``."""
    lines = [f"    {field.name}: {_annotation(field)}" for field in fields]
    lines += ["", "    def __init__(self, *,"]
    lines += [f"        {f.name}: {_annotation(f)} = {_default(f)}," for f in fields]
    lines += ["    ) -> None:"]
    lines += [f"        self.{field.name} = {field.name}" for field in fields]
    return [*lines, ""]


def _annotation(field: Field) -> str:
    return "bool" if field.is_bit else f"{field.codec.annotation} | None"


def _default(field: Field) -> str:
    return "False" if field.is_bit else "None"


def encoder(fields: Sequence[Field], pack: int) -> list[str]:
    """``encode_fields``."""
    lines = ["    def encode_fields(self, writer: Writer) -> None:"]
    lines += ['        """Write packing flags and fields."""', "        flags = 0"]
    for field in fields:
        test = "" if field.is_bit else " is not None"
        mask = field.flag if pack == 2 else field.flag >> 8
        lines += [f"        if self.{field.name}{test}:", f"            flags |= 0x{mask:04x}"]
    lines.append(f"        writer.u{8 * pack}(flags)")
    for field in fields:
        if not field.is_bit:
            lines.append(f"        {field.name} = self.{field.name}")
            lines.append(f"        if {field.name} is not None:")
            lines.append(f"            {field.codec.write.format(field.name)}")
    return [*lines, ""]


def decoder(name: str, fields: Sequence[Field], pack: int, method: str) -> list[str]:
    """``decode`` of a control or command, ``decode_fields`` of a struct."""
    lines = ["    @staticmethod"]
    lines.append(f"    def {method}(reader: Reader, depth: int = DEPTH_MAX) -> {name}:")
    lines.append('        """Read packing flags and fields, to the end of the reader."""')
    known = sum(field.flag if pack == 2 else field.flag >> 8 for field in fields)
    lines.append(f"        flags = reader.u{8 * pack}()")
    lines.append(f"        if flags & 0x{~known & (1 << 8 * pack) - 1:04x}:")
    lines.append('            raise DecodeError(f"unknown packing flags 0x{flags:04x}")')
    for field in fields:
        mask = field.flag if pack == 2 else field.flag >> 8
        value = "None" if field.codec.read else ""
        read = f"{field.codec.read} if flags & 0x{mask:04x} else {value}"
        lines.append(
            f"        {field.name} = " + (f"flags & 0x{mask:04x} != 0" if field.is_bit else read)
        )
    lines += ["        if reader.remaining():"]
    lines += ['            raise DecodeError(f"{reader.remaining()} octets after the last field")']
    arguments = ", ".join(f"{field.name}={field.name}" for field in fields)
    return [*lines, f"        return {name}({arguments})", ""]


def empty_decoder(name: str) -> list[str]:
    """``decode`` of a control or command without fields: with or without packing flags."""
    return [
        "    @staticmethod",
        f"    def decode(reader: Reader, depth: int = DEPTH_MAX) -> {name}:",
        '        """Read packing flags, which a peer may leave out where there are no fields."""',
        "        if reader.remaining() and (reader.u16() or reader.remaining()):",
        '            raise DecodeError("fields where there are none")',
        f"        return {name}()",
        "",
    ]


def class_lines(name: str, base: str, doc: str, code: int) -> list[str]:
    """The head of a generated class."""
    lines = ["@final", "@dataclass(init=False, slots=True)", f"class {name}{base}:"]
    if name in SHORT_LIVED:
        lines.insert(0, REUSED)
    if name in FREQUENT:
        lines.insert(0, ACYCLIC)
    lines += [f'    """{doc}"""', ""]
    return [*lines, f"    CODE: ClassVar[int] = 0x{code:04x}"] if code else lines


def operation(row: tables.Control | tables.Command, base: str) -> list[str]:
    """The class of one control or command."""
    name = class_name(row.class_name, row.name)
    fields = fields_of(row.class_name, row.fields)
    code = CLASS_CODES[row.class_name] << 8 | row.code
    lines = class_lines(name, f"({base})", f"``{row.class_name}.{row.name}``.", code)
    if not fields:
        return [*lines, "", *empty_decoder(name)]
    return [*lines, *constructor(fields), *encoder(fields, 2), *decoder(name, fields, 2, "decode")]


CLASS_CODES: Final = dict(tables.CLASSES)


def struct_lines(row: tables.Struct) -> list[str]:
    """The class of one struct."""
    name = class_name(row.name)
    fields = fields_of(row.class_name, row.fields)
    if row.code is None:
        code, base = 0, ""
    else:
        code, base = CLASS_CODES[row.class_name] << 8 | row.code, "(Struct)"
    doc = f"Struct ``{row.class_name}.{row.name}``."
    lines = [*class_lines(name, base, doc, code), *constructor(fields)]
    if not row.pack:
        return [*lines, *bare_struct(name, fields)]
    lines += [*encoder(fields, row.pack), *decoder(name, fields, row.pack, "decode_fields")]
    return [*lines, *sized_struct(name, row.size, code)]


def sized_struct(name: str, size: int, code: int) -> list[str]:
    """``encode`` and ``decode`` with size prefix and, when it has one, code."""
    lines = ["    def encode(self, writer: Writer) -> None:"]
    lines += ['        """Write size, code if there is one, packing flags and fields."""']
    lines += ["        at = writer.size()", f"        writer.u{8 * size}(0)"]
    lines += [f"        writer.u16(0x{code:04x})"] if code else []
    lines += ["        self.encode_fields(writer)"]
    lines += [f"        octets: int = writer.size() - at - {size}"]
    lines += [f"        writer.patch_u{8 * size}(at, octets)", ""]
    lines += ["    @staticmethod", f"    def decode(reader: Reader) -> {name}:"]
    lines += ['        """Read what `encode` writes."""']
    lines += [f"        sub = reader.sub(reader.u{8 * size}())"]
    if code:
        lines += [f"        if sub.u16() != 0x{code:04x}:"]
        lines += [f'            raise DecodeError("not a {name}")']
    return [*lines, f"        return {name}.decode_fields(sub)", ""]


def bare_struct(name: str, fields: Sequence[Field]) -> list[str]:
    """``encode`` and ``decode`` of a struct without size and flags: every field is there."""
    lines = ["    def encode(self, writer: Writer) -> None:"]
    lines += ['        """Write all fields; none may be absent."""']
    for field in fields:
        lines.append(f"        assert self.{field.name} is not None")
        lines.append("        " + field.codec.write.format(f"self.{field.name}"))
    lines += ["", "    @staticmethod", f"    def decode(reader: Reader) -> {name}:"]
    lines += ['        """Read all fields."""']
    for field in fields:
        lines.append(f"        {field.name} = {field.codec.read}")
    arguments = ", ".join(f"{field.name}={field.name}" for field in fields)
    return [*lines, f"        return {name}({arguments})", ""]


def constants() -> str:
    """Type codes, enumerations and numbers: a module that imports nothing of the gateway."""
    lines = [f'"""Constants of AMQP 0-10. {NOTICE}"""', ""]
    lines += ["from enum import IntEnum", "from typing import Final", ""]
    lines.append(f"MIN_MAX_FRAME_SIZE: Final = {tables.MIN_MAX_FRAME_SIZE}")
    for row in tables.TYPES:
        if row.code is not None:
            lines.append(f"{constant_name(row.name)}: Final = 0x{row.code:02x}")
    for domain in tables.DOMAINS:
        if domain.choices:
            lines += [*enumeration(domain), ""]
    return "\n".join(lines)


def enumeration(domain: tables.Domain) -> list[str]:
    """An enumerated domain; the class is in its name where two classes have it."""
    class_code_name, _, name = domain.name.rpartition(".")
    twins = [other for other in tables.DOMAINS if other.name.endswith("." + name)]
    words = [class_code_name, name] if len(twins) > 1 else [name]
    lines = [f"class {class_name(*words)}(IntEnum):", f'    """Domain ``{domain.name}``."""', ""]
    for choice in domain.choices.split():
        key, _, value = choice.partition(":")
        lines.append(f"    {constant_name(key)} = {value}")
    return lines


def module(doc: str, *parts: str) -> str:
    """A generated module."""
    return "\n".join([f'"""{doc} of AMQP 0-10. {NOTICE}"""', IMPORTS, *parts])


def operation_table(
    name: str, base: str, rows: Sequence[tables.Control] | Sequence[tables.Command]
) -> str:
    """Code -> decode function, and which codes each role handles."""
    lines = [f"{name}: Final[dict[int, Callable[[Reader, int], {base}]]] = {{"]
    codes: dict[str, list[str]] = {"server": [], "client": []}
    for row in rows:
        code = f"0x{CLASS_CODES[row.class_name] << 8 | row.code:04x}"
        lines.append(f"    {code}: {class_name(row.class_name, row.name)}.decode,")
        for role in row.receivers.split():
            codes[role].append(code)
    lines.append("}")
    for role, handled in codes.items():
        lines.append(f"{role.upper()}_{name}: Final = frozenset({{{', '.join(handled)}}})")
    return "\n".join(lines)


def command_tables() -> str:
    """What is said of commands beside their classes."""
    content = [row for row in tables.COMMANDS if row.body]
    codes = ", ".join(f"0x{CLASS_CODES[r.class_name] << 8 | r.code:04x}" for r in content)
    results = [
        f"    0x{CLASS_CODES[row.class_name] << 8 | row.code:04x}: {class_name(row.result)}.CODE,"
        for row in tables.COMMANDS
        if row.result
    ]
    return "\n".join(
        [
            operation_table("COMMANDS", "Command", tables.COMMANDS),
            "# Commands that may carry header and body segments.",
            f"CONTENT_COMMANDS: Final = frozenset({{{codes}}})",
            "# Command -> the struct that execution.result carries for it.",
            "RESULTS: Final = {",
            *results,
            "}",
        ]
    )


def struct_table() -> str:
    """Code -> decode function of the coded structs, and the two ways between both forms."""
    lines = ["STRUCTS: Final[dict[int, Callable[[Reader, int], Struct]]] = {"]
    for row in tables.STRUCTS:
        if row.code is not None:
            code = CLASS_CODES[row.class_name] << 8 | row.code
            lines.append(f"    0x{code:04x}: {class_name(row.name)}.decode_fields,")
    return "\n".join([*lines, "}"])


def joined(rows: Sequence[list[str]]) -> str:
    """Classes, one after another."""
    return "\n".join("\n".join(row) for row in rows)


def reexports(names: dict[str, list[str]]) -> str:
    """One module to import everything from; `names` is by module."""
    lines = [f'"""Everything generated for AMQP 0-10. {NOTICE}"""', ""]
    for module_name, exported in names.items():
        lines.append(f"from gateway.amqp_0_10.{module_name} import {', '.join(exported)}")
    every = sorted(name for exported in names.values() for name in exported)
    return "\n".join([*lines, "", f"__all__ = {every!r}", ""])


def exported_names() -> dict[str, list[str]]:
    """What each generated module offers."""
    enums = [enumeration(row)[0].split("(")[0][6:] for row in tables.DOMAINS if row.choices]
    return {
        "_spec_constants": ["MIN_MAX_FRAME_SIZE", *enums],
        "_spec_structs": ["STRUCTS", *(class_name(row.name) for row in tables.STRUCTS)],
        "_spec_controls": [
            *("CONTROLS", "SERVER_CONTROLS", "CLIENT_CONTROLS"),
            *(class_name(row.class_name, row.name) for row in tables.CONTROLS),
        ],
        "_spec_commands": [
            *("COMMANDS", "SERVER_COMMANDS", "CLIENT_COMMANDS", "CONTENT_COMMANDS", "RESULTS"),
            *(class_name(row.class_name, row.name) for row in tables.COMMANDS),
        ],
    }


def files() -> dict[str, str]:
    """All generated files of the protocol."""
    structs = "from gateway.amqp_0_10._spec_structs import " + ", ".join(
        class_name(row.name) for row in tables.STRUCTS
    )
    sources = {
        "_spec": reexports(exported_names()),
        "_spec_constants": constants(),
        "_spec_structs": module(
            "Structs", joined([struct_lines(row) for row in tables.STRUCTS]), struct_table()
        ),
        "_spec_controls": module(
            "Controls",
            joined([operation(row, "Control") for row in tables.CONTROLS]),
            operation_table("CONTROLS", "Control", tables.CONTROLS),
        ),
        "_spec_commands": module(
            "Commands",
            structs,
            joined([operation(row, "Command") for row in tables.COMMANDS]),
            command_tables(),
        ),
    }
    return {f"{PACKAGE}/{name}.py": formatted(source) for name, source in sources.items()}
