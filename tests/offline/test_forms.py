"""What people read of a message: values with their types, also those that JSON does not have."""

from __future__ import annotations

import json
import math
import uuid

import pytest
from support.stores import message

from gateway.clients.letter import Typed
from gateway.offline.forms import message_in, message_line, moment, row_in, row_line, typed
from gateway.offline.living import Copy
from gateway.store.interface import TopologyRow


@pytest.mark.parametrize(
    "value, told",
    [
        (Typed("void", None), {"type": "void", "value": None}),
        (Typed("int8", -1), {"type": "int8", "value": -1}),
        (Typed("boolean", True), {"type": "boolean", "value": True}),
        (Typed("double", math.inf), {"type": "double", "value": "inf"}),
        (Typed("string", "ü"), {"type": "string", "value": "ü"}),
        (Typed("binary", b"abc"), {"type": "binary", "base64": "YWJj", "text": "abc"}),
        (Typed("binary", b"\xff"), {"type": "binary", "base64": "/w=="}),
        (
            Typed("uuid", bytes(16)),
            {"type": "uuid", "value": str(uuid.UUID(int=0))},
        ),
        (
            Typed("map", {"a": Typed("list", [Typed("int8", 1)])}),
            {
                "type": "map",
                "value": {"a": {"type": "list", "value": [{"type": "int8", "value": 1}]}},
            },
        ),
    ],
)
def test_a_value_has_the_name_of_its_type(value: Typed, told: object) -> None:
    assert typed(value) == told
    json.dumps(told, allow_nan=False)


@pytest.mark.parametrize("number", range(1, 12))
def test_a_message_is_the_same_when_it_is_read_again(number: int) -> None:
    given = message(number, bytes(range(256)))
    line = json.loads(json.dumps(message_line(Copy(5, 6, 7, b"notes", given), "h", "q")))
    assert message_in(line, number) == (given, 7, b"notes")


def test_a_message_that_nobody_can_decode_is_told_and_kept() -> None:
    given = message(1, b"\xff" * 20, message_format=0, encoding=1)
    line = message_line(Copy(5, 6, 0, b"", given), "h", "q")
    assert line["readable"] is False
    assert "body" not in line
    assert message_in(line, 1)[0] == given


def test_a_row_is_the_same_when_it_is_read_again_whatever_is_in_it() -> None:
    for kind in (1, 2, 3, 7, 10, 12, 14, 99):
        line = json.loads(json.dumps(row_line(TopologyRow(kind, "key", b"\x09\xff"))))
        assert row_in(line) == TopologyRow(kind, "key", b"\x09\xff")
        assert ("unreadable" in line) == (kind != 99)


def test_a_time_that_no_calendar_has_is_none() -> None:
    assert moment(0) == "1970-01-01T00:00:00.000Z"
    assert moment(1 << 62) is None
