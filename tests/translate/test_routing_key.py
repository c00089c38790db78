"""A routing key rides as an annotation, and goes again; all else of the message stays as it was."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.face_1_0 import message

from gateway.amqp_1_0 import _spec, sections, types
from gateway.errors import DecodeError
from gateway.translate import mapping_rows, routing_key
from gateway.translate.context import Counts
from gateway.wire.buffers import Writer
from gateway.wire.tagged import Tagged

OWN = [(Tagged(types.SYMBOL, "x-own"), Tagged(types.STRING, "kept"))]


def with_delivery_annotations(payload):
    writer = Writer()
    sections.write_map(writer, _spec.DELIVERY_ANNOTATIONS, OWN)
    return writer.getvalue() + payload


MESSAGES = [
    message(),
    message(properties=_spec.Properties(subject="s")),
    message(header=_spec.Header(durable=True), properties=_spec.Properties(to="t")),
    message(annotations=OWN, application={"a": Tagged(types.STRING, "b")}),
    with_delivery_annotations(message(annotations=OWN)),
]


@pytest.mark.parametrize("payload", MESSAGES)
@given(key=st.text(max_size=300))
def test_what_is_annotated_comes_back_as_it_was(payload, key):
    sent = routing_key.annotated(payload, key)
    assert routing_key.take(sent) == (key, payload)
    again = routing_key.annotated(sent, "another")
    assert routing_key.take(again) == ("another", payload)


@pytest.mark.parametrize("payload", MESSAGES)
def test_the_bare_message_keeps_its_octets(payload):
    sent = routing_key.annotated(payload, "k")
    before, after = sections.scan(payload), sections.scan(sent)
    assert sent[after.bare_at :] == payload[before.bare_at :]


@pytest.mark.parametrize("payload", MESSAGES)
def test_a_message_without_the_annotation_is_not_touched(payload):
    assert routing_key.take(payload) == (None, payload)
    named = message(routing_key.OCTETS, annotations=OWN)
    assert routing_key.take(named) == (None, named)


def test_an_annotation_that_is_no_text_is_no_key_and_goes_all_the_same():
    odd = [(Tagged(types.SYMBOL, routing_key.ANNOTATION), Tagged(types.ULONG, 1))]
    assert routing_key.take(message(annotations=odd)) == (None, message())


def test_what_is_no_message_has_no_key():
    with pytest.raises(DecodeError):
        routing_key.take(routing_key.OCTETS)


def test_a_subject_is_told_without_a_body():
    assert routing_key.subject_of(message(properties=_spec.Properties(subject="s"))) == "s"
    assert routing_key.subject_of(message()) == ""
    assert routing_key.subject_of(b"") == ""


def test_a_key_that_is_not_told_is_counted():
    counts = Counts()
    (loss,) = routing_key.lose(counts)
    assert (loss.row, loss.policy) == ("delivery.routing-key", "narrow")
    assert counts.lost[mapping_rows.number(loss.row)] == 1
