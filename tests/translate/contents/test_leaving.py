"""Files and streams leave as they came, whatever they say; what is no such content is refused."""

from hypothesis import given
from hypothesis import strategies as st
from translate.contents_cases import as_file, as_message, as_stream, as_transfer
from translate.messages import arrived_0_10, context, sent_to_1_0

from gateway.amqp_0_10._spec_constants import BOOLEAN, INT32, STR16
from gateway.amqp_0_10._spec_structs import FileProperties, MessageProperties, StreamProperties
from gateway.amqp_0_10.structs import write_header
from gateway.errors import DecodeError
from gateway.translate.contents.arriving import read_content
from gateway.translate.contents.leaving import content_header
from gateway.wire.tagged import Tagged

TEXTS = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=40
) | st.sampled_from(["", "q", "x/k", "amq.topic/a/b", "00010203-0405-0607-0809-0a0b0c0d0e0f"])
NAMES = TEXTS | st.sampled_from(["x-amqp-1.0", "x-amqp-0-10", "x-amqp-0-10.filename"])
VALUES = (
    st.builds(Tagged, st.just(STR16), TEXTS)
    | st.builds(Tagged, st.just(INT32), st.integers(-(2**31), 2**31 - 1))
    | st.builds(Tagged, st.just(BOOLEAN), st.booleans())
)
HEADERS = st.none() | st.dictionaries(NAMES, VALUES, max_size=4).map(lambda made: [*made.items()])
TIMES = st.none() | st.integers(0, 2**40)
PRIORITIES = st.none() | st.integers(0, 9)
FILES = st.builds(
    FileProperties,
    content_type=st.none() | TEXTS,
    content_encoding=st.none() | TEXTS,
    headers=HEADERS,
    priority=PRIORITIES,
    reply_to=st.none() | TEXTS,
    message_id=st.none() | TEXTS,
    filename=st.none() | TEXTS,
    timestamp=TIMES,
    cluster_id=st.none() | TEXTS,
)
STREAMS = st.builds(
    StreamProperties,
    content_type=st.none() | TEXTS,
    content_encoding=st.none() | TEXTS,
    headers=HEADERS,
    priority=PRIORITIES,
    timestamp=TIMES,
)


@given(properties=FILES)
def test_a_file_leaves_as_it_came(properties: FileProperties) -> None:
    assert as_file(as_message(properties)) == properties


@given(properties=STREAMS)
def test_a_stream_leaves_as_it_came(properties: StreamProperties) -> None:
    assert as_stream(as_message(properties)) == properties


@given(properties=FILES)
def test_a_file_that_was_a_message_or_a_stream_meanwhile_is_what_it_was(
    properties: FileProperties,
) -> None:
    message = as_message(properties)
    header, _ = as_transfer(message)
    assert as_file(arrived_0_10(header, b"body", "x")) == properties
    assert as_file(as_message(as_stream(message))) == properties


@given(properties=FILES)
def test_a_file_crosses_to_1_0_with_no_loss_but_those_of_odd_headers(
    properties: FileProperties,
) -> None:
    reserved = {"x-amqp-1.0", "x-amqp-0-10", "x-amqp-0-10.filename"}
    if any([name in reserved for name, _ in properties.headers or []]):
        return
    _, losses = sent_to_1_0(as_message(properties), context())
    assert losses == []


@given(octets=st.binary(max_size=60), file=st.booleans())
def test_any_octets_are_properties_or_are_refused(octets: bytes, file: bool) -> None:
    try:
        content = read_content(octets, 32, file=file)
    except DecodeError:
        return
    assert content.struct == octets


@given(octets=st.binary(max_size=80), file=st.booleans())
def test_any_header_of_a_message_becomes_properties(octets: bytes, file: bool) -> None:
    left = content_header(octets, context(), file=file)
    read_content(left.header, 32, file=file)


def test_an_edit_wins_over_what_came() -> None:
    _, segment = as_transfer(as_message(FileProperties(filename="a.txt", content_type="a/b")))
    headers = [
        (name, value if name != "x-amqp-0-10.filename" else Tagged(STR16, "b.txt"))
        for name, value in segment.properties.application_headers
    ]
    properties = MessageProperties(content_type="a/b", application_headers=headers)
    message = arrived_0_10(write_header(segment.delivery, properties), b"body", "x")
    assert as_file(message) == FileProperties(filename="b.txt", content_type="a/b")
