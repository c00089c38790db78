"""One view of a message for routing, selectors and keys, whichever protocol it came by."""

import pytest
from hypothesis import given
from support.work import units_of
from translate.cases import new_message, old_message, s, sym
from translate.generated import messages_0_10, messages_1_0
from translate.messages import arrived_0_10, arrived_1_0, data

from gateway.amqp_0_10 import _spec_constants as old
from gateway.amqp_1_0 import types as new
from gateway.message import Kind, Message
from gateway.translate.view import READER
from gateway.wire.tagged import Tagged
from gateway.wire.work import HEADER_SEEN

BOTH = [
    (Tagged(old.STR8, "a"), s("a"), Tagged(Kind.STRING, "a")),
    (Tagged(old.STR16_LATIN, "a"), sym("a"), Tagged(Kind.STRING, "a")),
    (Tagged(old.CHAR, "a"), Tagged(new.CHAR, "a"), Tagged(Kind.STRING, "a")),
    (Tagged(old.INT8, -1), Tagged(new.BYTE, -1), Tagged(Kind.INTEGER, -1)),
    (Tagged(old.UINT64, 2**64 - 1), Tagged(new.ULONG, 2**64 - 1), Tagged(Kind.INTEGER, 2**64 - 1)),
    (Tagged(old.BOOLEAN, False), Tagged(new.BOOLEAN, False), Tagged(Kind.BOOLEAN, False)),
    (Tagged(old.DOUBLE, 0.5), Tagged(new.DOUBLE, 0.5), Tagged(Kind.REAL, 0.5)),
    (Tagged(old.FLOAT, 0.5), Tagged(new.FLOAT, 0.5), Tagged(Kind.REAL, 0.5)),
    (Tagged(old.VBIN8, b"a"), Tagged(new.BINARY, b"a"), Tagged(Kind.BINARY, b"a")),
    (Tagged(old.UUID, b"u" * 16), Tagged(new.UUID, b"u" * 16), Tagged(Kind.UUID, b"u" * 16)),
    (Tagged(old.DATETIME, 5), Tagged(new.TIMESTAMP, 5000), Tagged(Kind.TIMESTAMP, 5000)),
    (Tagged(old.VOID, None), Tagged(new.NULL, None), Tagged(Kind.NULL, None)),
    (Tagged(old.LIST, []), Tagged(new.LIST, []), Tagged(Kind.OTHER, [])),
]


@pytest.mark.parametrize(("header", "application", "seen"), BOTH)
def test_a_value_looks_the_same_from_both_sides(
    header: Tagged, application: Tagged, seen: Tagged
) -> None:
    assert READER.header(old_message(headers=[("a", header)]), "a") == seen
    assert READER.header(new_message(application=[(s("a"), application)]), "a") == seen


def test_properties_that_are_headers_in_0_10_are_seen_as_headers() -> None:
    message = new_message(
        subject="s",
        group_id="g",
        group_sequence=3,
        annotations=[(sym("x-opt-delivery-time"), Tagged(new.LONG, 7))],
    )
    assert READER.headers(message) == {
        "qpid.subject": Tagged(Kind.STRING, "s"),
        "JMSXGroupID": Tagged(Kind.STRING, "g"),
        "JMSXGroupSeq": Tagged(Kind.INTEGER, 3),
        "x-qpid-not-valid-before": Tagged(Kind.INTEGER, 7),
    }
    assert READER.headers(old_message(app_id=b"me")) == {
        "x-amqp-0-10.app-id": Tagged(Kind.STRING, "me")
    }


def test_the_escrow_is_not_seen() -> None:
    hidden = old_message(headers=[("x-amqp-1.0", Tagged(old.STR16, "1"))])
    assert READER.headers(hidden) == {}
    assert READER.headers(new_message(application=[(s("x-amqp-1.0"), s("1"))])) == {}


def test_a_reader_does_not_mix_messages_up() -> None:
    one = new_message(subject="one")
    two = new_message(subject="two")
    for message, subject in ((one, "one"), (two, "two"), (one, "one")):
        assert READER.header(message, "qpid.subject") == Tagged(Kind.STRING, subject)


def test_what_a_message_has_of_headers_is_work_once() -> None:
    headers = [(f"h{number}", Tagged(old.INT32, number)) for number in range(100)]
    application = [(s(f"h{number}"), Tagged(new.INT, number)) for number in range(100)]
    for message in (old_message(headers=headers), new_message(application=application)):
        assert units_of(lambda message=message: READER.headers(message)) >= 100 * HEADER_SEEN
        assert units_of(lambda message=message: READER.headers(message)) == 0


def test_what_cannot_be_opened_has_no_headers() -> None:
    assert READER.headers(arrived_0_10(b"", b"", "")) == {}
    assert READER.headers(arrived_1_0(b"opaque", "", "", 9)) == {}
    assert READER.headers(arrived_1_0(b"\x00\x53\x74\xc1\x03\x02\xa1\x09")) == {}


@given(messages_0_10())
def test_the_digest_of_a_0_10_body_can_be_had_again(message: Message) -> None:
    assert READER.body_digest(message) == message.body_digest


@given(messages_1_0())
def test_the_digest_of_a_1_0_body_can_be_had_again(message: Message) -> None:
    assert READER.body_digest(message) == message.body_digest


def test_the_digest_of_an_opaque_message_can_be_had_again_and_of_a_broken_one_differs() -> None:
    foreign = arrived_1_0(b"\x00\x53\x75\xa0\x01x", "", "q", 9)
    assert READER.body_digest(foreign) == foreign.body_digest
    broken = arrived_1_0(data(b"x"), "", "q")
    broken.payload = b"\x00"
    assert READER.body_digest(broken) != broken.body_digest
