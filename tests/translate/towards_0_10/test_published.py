"""The header segment as an old broker is published it: what is changed, and nothing else."""

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import STR16
from gateway.amqp_0_10.structs import read_header, write_header
from gateway.translate.towards_0_10.published import addressed, exchange_of, without_user_id
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


def test_what_is_for_the_queue_already_keeps_its_octets():
    header = write_header(spec.DeliveryProperties(exchange="", routing_key="q"), PROPERTIES)
    assert addressed(header, "", "q") is header


def test_another_exchange_and_key_become_the_queues():
    delivery = spec.DeliveryProperties(exchange="amq.direct", routing_key="k", priority=7)
    header = addressed(write_header(delivery, PROPERTIES), "", "q")
    wanted = spec.DeliveryProperties(exchange="", routing_key="q", priority=7)
    assert header == write_header(wanted, PROPERTIES)


def test_delivery_properties_are_made_where_there_are_none():
    header = addressed(write_header(None, PROPERTIES), "", "q")
    wanted = spec.DeliveryProperties(exchange="", routing_key="q")
    assert header == write_header(wanted, PROPERTIES)


def test_a_user_id_is_cut_out_and_all_around_it_stays():
    delivery = spec.DeliveryProperties(routing_key="q")
    header = without_user_id(write_header(delivery, PROPERTIES))
    found_delivery, _, found = read_header(header, len(header))
    assert found_delivery == delivery
    assert found.user_id is None
    found.user_id = PROPERTIES.user_id
    assert found == PROPERTIES


def test_a_message_without_a_user_id_keeps_its_octets():
    for message in (None, spec.MessageProperties(app_id=b"a")):
        header = write_header(spec.DeliveryProperties(routing_key="q"), message)
        assert without_user_id(header) is header


def test_the_exchange_is_that_of_the_delivery_properties():
    header = write_header(spec.DeliveryProperties(exchange="amq.topic"), PROPERTIES)
    assert exchange_of(header + b"body", len(header)) == "amq.topic"
    header = write_header(None, PROPERTIES)
    assert exchange_of(header, len(header)) == ""
