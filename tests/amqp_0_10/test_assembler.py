"""A file's body is handed over in parts, before the command is whole; no other's is."""

import pytest

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.assembler import Assembler
from gateway.amqp_0_10.errors import ResourceLimitExceededError
from gateway.amqp_0_10.frames import (
    BODY,
    COMMAND,
    FIRST_FRAME,
    FIRST_SEGMENT,
    HEADER,
    LAST_FRAME,
    LAST_SEGMENT,
)
from gateway.wire.accounts import Account
from gateway.wire.limits import Limits

WHOLE = FIRST_FRAME | LAST_FRAME
STAGE = b"\x09\x08\x01\x00\x00\x00"
TRANSFER = b"\x04\x01\x01\x00\x00\x00"


def assembler(**limits: int) -> Assembler:
    return Assembler(Limits(**limits), spec.SERVER_COMMANDS, Account(1 << 20))


def begun(made: Assembler, command: bytes = STAGE) -> Assembler:
    """Its command and header have come, and one frame of its body."""
    made.add(FIRST_SEGMENT | WHOLE, COMMAND, command, 0, len(command))
    made.add(WHOLE, HEADER, b"header", 0, 6)
    made.add(LAST_SEGMENT | FIRST_FRAME, BODY, b"begin", 0, 5)
    return made


def test_what_has_come_of_a_file_is_handed_over_once() -> None:
    made = begun(assembler())
    assert made.take_part(6) is None
    assert made.take_part(1) == b"begin"
    assert made.payload == b"header"
    assert made.take_part(1) is None
    made.add(LAST_SEGMENT, BODY, b"more", 0, 4)
    assert made.take_part(1) == b"more"
    assert made.received() == len(STAGE) + len(b"headerbeginmore")
    assert made.add(LAST_SEGMENT | LAST_FRAME, BODY, b"end", 0, 3)
    assert (made.payload, made.body_at, made.empty_body) == (b"headerend", 6, False)


def test_what_was_handed_over_counts_as_long_as_the_body_does() -> None:
    made = begun(assembler(message_size_max=8))
    assert made.take_part(1) == b"begin"
    with pytest.raises(ResourceLimitExceededError):
        made.add(LAST_SEGMENT, BODY, b"more", 0, 4)


def test_a_file_that_ends_with_what_was_handed_over_is_not_empty() -> None:
    made = begun(assembler())
    made.take_part(1)
    assert made.add(LAST_SEGMENT | LAST_FRAME, BODY, b"", 0, 0)
    assert (made.payload, made.empty_body) == (b"header", False)


def test_the_next_command_begins_anew() -> None:
    made = begun(assembler())
    made.take_part(1)
    made.add(LAST_SEGMENT | LAST_FRAME, BODY, b"end", 0, 3)
    begun(made)
    assert made.add(LAST_SEGMENT | LAST_FRAME, BODY, b"!", 0, 1)
    assert made.payload == b"headerbegin!"


def test_a_message_is_not_handed_over_in_parts() -> None:
    assert begun(assembler(), TRANSFER).take_part(1) is None
