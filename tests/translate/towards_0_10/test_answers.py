"""The reply-to of a header segment: read as far as it can be, and changed with nothing else."""

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import STR16
from gateway.amqp_0_10.structs import read_header, write_header
from gateway.translate.towards_0_10.answers import reply_to_of, with_reply_to
from gateway.wire.tagged import Tagged

PROPERTIES = spec.MessageProperties(
    content_length=3,
    message_id=bytes(16),
    correlation_id=b"c",
    reply_to=spec.ReplyTo(exchange="e", routing_key="r"),
    content_type="t",
    content_encoding="u",
    user_id=b"guest",
    app_id=b"a",
    application_headers=[("h", Tagged(STR16, "v"))],
)


def found(header):
    return reply_to_of(header, len(header))


def test_a_reply_to_is_found_behind_what_stands_before_it():
    header = write_header(spec.DeliveryProperties(), PROPERTIES)
    assert reply_to_of(header, len(header)) == PROPERTIES.reply_to
    assert found(write_header(None, spec.MessageProperties(app_id=b"a"))) is None
    assert reply_to_of(b"", 0) is None
    octets = write_header(None, spec.MessageProperties(reply_to=PROPERTIES.reply_to))
    assert found(octets.replace(b"\x01e", b"\x7fe")) is None  # it does not decode


def test_another_takes_its_place_and_all_around_it_stays():
    header = write_header(spec.DeliveryProperties(routing_key="q"), PROPERTIES)
    pair = spec.ReplyTo(exchange="amq.direct", routing_key="elsewhere")
    changed = with_reply_to(header + b"body", len(header), pair)
    delivery, _, message = read_header(changed, len(changed))
    assert delivery == spec.DeliveryProperties(routing_key="q")
    assert message.reply_to == pair
    message.reply_to = PROPERTIES.reply_to
    assert message == PROPERTIES
