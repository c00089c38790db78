"""What a receiver of a client gets of a queue, and how much of it at a time."""

import pytest
from support.face_1_0 import Hub, body_of, message
from support.rules import rule

from gateway.amqp_0_10 import _spec_constants as old
from gateway.amqp_0_10._spec_structs import DeliveryProperties, MessageProperties
from gateway.amqp_0_10.structs import write_header
from gateway.amqp_1_0 import _spec, events, sections, types
from gateway.translate.facts import arrival_0_10, message_from_0_10
from gateway.translate.view import READER
from gateway.wire.buffers import FLUSH_OCTETS
from gateway.wire.limits import Limits
from gateway.wire.tagged import Tagged

ACCEPTED = _spec.Accepted()


@pytest.fixture
def hub():
    hub = Hub()
    hub.world.queue("q")
    yield hub
    hub.end()


@rule("1.0", "3.2", "bare-message-keeps-its-encoding")
@rule("1.0", "3.2", "no-section-is-inserted")
@rule("1.0", "3.5.3", "accepted-where-nothing-is-named")
@pytest.mark.parametrize("size", [0, 10, 100_000])
def test_a_message_goes_through_a_queue_byte_for_byte(hub, size):
    client = hub.client()
    sent = message(
        bytes(size),
        properties=_spec.Properties(message_id=Tagged(types.STRING, "id"), to="q"),
        application={"n": Tagged(types.INT, 5)},
    )
    assert client.send(client.sender("q"), sent) == ACCEPTED
    receiver = client.receiver("q")
    (event,) = client.take_all(events.DeliveryReceived)
    found = sections.scan(event.payload)
    assert event.payload[found.bare_at :] == sent
    header = sections.header(event.payload, found)
    assert header.first_acquirer is True
    assert not header.delivery_count
    receiver.session.settle_incoming(event.delivery_id, ACCEPTED)
    client.step()
    assert hub.host.topology.find_queue("q").depth == 0


@rule("1.0", "2.6.7", "nothing-without-credit")
def test_receivers_get_no_more_than_their_credit(hub):
    client = hub.client()
    sender = client.sender("q")
    for number in range(5):
        client.send(sender, message(), tag=bytes([number]))
    receiver = client.receiver("q", credit=2)
    assert len(client.received()) == 2
    receiver.send_flow(credit=1)
    client.step()
    assert len(client.received()) == 1


@rule("1.0", "2.6.7", "drain-uses-up-the-credit")
def test_drain_is_answered_when_nothing_is_left(hub):
    client = hub.client()
    client.send(client.sender("q"), message())
    receiver = client.receiver("q", credit=0)
    receiver.send_flow(credit=10, drain=True)
    client.step()
    assert len(client.received()) == 1
    assert receiver.credit == 0
    client.take(events.FlowReceived)


@rule("1.0", "2.6.7", "drain-uses-up-the-credit")
def test_drain_is_answered_when_no_more_may_be_unsettled():
    hub = Hub(limits=Limits(unsettled_max=3))
    hub.world.queue("q")
    client = hub.client()
    sender = client.sender("q")
    for number in range(8):
        client.send(sender, message(b"%d" % number), tag=bytes([number]))
    receiver = client.receiver("q", credit=0)
    for expected in (3, 0):
        receiver.send_flow(credit=5, drain=True)
        client.step()
        assert (len(client.received()), receiver.credit) == (expected, 0)


def test_drain_of_an_empty_queue_is_answered_at_once(hub):
    client = hub.client()
    receiver = client.receiver("q", credit=0)
    receiver.send_flow(credit=10, drain=True)
    client.step()
    assert receiver.credit == 0


def told(client, receiver):
    """What the gateway says is available on a link, when it is asked."""
    client.take_all(events.FlowReceived)
    receiver.send_flow(credit=receiver.credit, echo=True)
    client.step()
    client.take(events.FlowReceived)
    return receiver.available


def test_a_flow_tells_what_waits_for_the_credit_of_a_receiver(hub):
    client = hub.client()
    sender = client.sender("q")
    for number in range(5):
        client.send(sender, message(), tag=bytes([number]))
    receiver = client.receiver("q", credit=2)
    assert len(client.received()) == 2
    assert told(client, receiver) == 3
    client.send(sender, message(), tag=b"more")
    assert told(client, receiver) == 4
    other = client.receiver("q", credit=4)
    assert told(client, other) == 0


def test_a_drained_flow_tells_that_nothing_is_left(hub):
    client = hub.client()
    client.send(client.sender("q"), message())
    receiver = client.receiver("q", credit=0)
    receiver.send_flow(credit=10, drain=True)
    client.step()
    assert (len(client.received()), receiver.available) == (1, 0)


def test_a_flow_tells_nothing_of_what_is_available_where_that_is_not_counted(hub):
    client = hub.client()
    selector = types.Described(
        Tagged(types.SYMBOL, "apache.org:selector-filter:string"), Tagged(types.STRING, "a = 1")
    )
    wanted = {"selector": Tagged(types.DESCRIBED, selector)}
    client.send(client.sender("q"), message())
    assert told(client, client.receiver("q", credit=0, filter=wanted)) is None
    browser = client.receiver("q", credit=0, distribution_mode=_spec.DISTRIBUTION_COPY)
    assert told(client, browser) is None


@rule("1.0", "2.6.10", "stop-is-echoed")
def test_stopped_receivers_get_nothing(hub):
    client = hub.client()
    receiver = client.receiver("q", credit=10)
    receiver.send_flow(credit=0, echo=True)
    client.step()
    client.take(events.FlowReceived)
    client.send(client.sender("q"), message())
    assert client.received() == []


@rule("1.0", "3.5.2", "copy-leaves-the-node-alone")
@rule("1.0", "3.5.3", "distribution-mode-is-told")
def test_a_browser_sees_and_takes_nothing(hub):
    client = hub.client()
    client.send(client.sender("q"), message())
    browser = client.receiver("q", distribution_mode="copy")
    event = client.take(events.DeliveryReceived)
    assert browser.attach.source.distribution_mode == "copy"
    browser.session.settle_incoming(event.delivery_id, ACCEPTED)
    client.step()
    assert hub.host.topology.find_queue("q").depth == 1


@rule("1.0", "2.7.3", "max-message-size-is-respected")
def test_a_message_larger_than_the_receiver_takes_is_not_sent(hub):
    client = hub.client(limits=Limits(message_size_max=200))
    client.send(client.sender("q"), message(b"x" * 300))
    client.send(client.sender("q"), message(b"small"))
    client.receiver("q")
    assert [body_of(payload) for payload in client.received()] == [b"small"]


@rule("1.0", "3.2.2", "delivery-annotations-are-for-one-hop")
@rule("1.0", "3.2.3", "message-annotations-are-propagated")
@rule("1.0", "3.2.10", "opt-keys-are-ignored-if-unknown")
def test_annotations_travel_and_delivery_annotations_do_not(hub):
    client = hub.client()
    note = [(Tagged(types.SYMBOL, "x-opt-n"), Tagged(types.INT, 1))]
    payload = b"\x00\x53\x71\xc1\x01\x00" + message(annotations=note)
    client.send(client.sender("q"), payload)
    client.receiver("q")
    (got,) = client.received()
    found = sections.scan(got)
    assert sections.annotations(got, found.message_annotations) == note
    assert found.delivery_annotations == sections.ABSENT


@rule("1.0", "3.2.1", "ttl-that-is-left")
@rule("1.0", "3.2.1", "expired-is-not-sent")
def test_ttl_shrinks_as_time_passes_and_an_expired_message_is_not_sent(hub):
    client = hub.client()
    payload = message(header=_spec.Header(ttl=1000))
    client.send(client.sender("q"), payload)
    hub.world.now_ms += 400
    client.receiver("q", credit=1)
    event = client.take(events.DeliveryReceived)
    assert sections.header(event.payload, sections.scan(event.payload)).ttl == 600
    client.send(client.sender("q"), payload)
    hub.world.now_ms += 1000
    client.receiver("q")
    assert client.received() == []


def test_a_foreign_message_format_is_passed_on_untouched(hub):
    client = hub.client()
    client.send(client.sender("q"), b"opaque", message_format=0x80013701)
    client.receiver("q")
    event = client.take(events.DeliveryReceived)
    assert (event.payload, event.message_format) == (b"opaque", 0x80013701)


def test_a_queue_that_is_deleted_detaches_its_receivers(hub):
    hub.world.queue("gone")
    client = hub.client()
    client.send(client.sender("gone"), message())
    client.receiver("gone")
    hub.host.declaring.delete_queue("gone")
    client.step()
    assert client.refused() == "amqp:resource-deleted"


def test_a_full_transport_holds_deliveries_back(hub):
    client = hub.client()
    receiver = client.receiver("q")
    client.face.write_blocked(True)
    client.send(client.sender("q"), message())
    assert client.received() == []
    client.face.write_blocked(False)
    client.step()
    assert len(client.received()) == 1
    assert receiver.credit == 9


def test_a_small_session_window_holds_deliveries_back_and_all_arrive(hub):
    client = hub.client(limits=Limits(session_window=2, max_frame_size=512))
    sender = client.sender("q")
    for number in range(10):
        client.send(sender, message(bytes([number]) * 700), tag=bytes([number]))
    client.receiver("q", credit=100)
    assert [body_of(payload)[0] for payload in client.received()] == list(range(10))


LARGE = bytes(3 * 1024 * 1024)


def published(hub, *bodies):
    """A client that has published so much to the queue."""
    client = hub.client()
    sender = client.sender("q")
    for number, body in enumerate(bodies):
        client.send(sender, message(body), tag=b"%d" % number)
    return client


def test_a_large_message_is_written_in_many_turns_and_what_is_behind_it_follows(hub):
    published(hub, b"before", LARGE, b"behind", LARGE, b"last")
    limits = Limits(max_frame_size=64 * 1024, session_window=1000)
    reader = hub.client("reader", limits=limits)
    link = reader.receiver("q", credit=0)
    link.send_flow(credit=10)
    reader.face.receive_data(reader.connection.data_to_send(), hub.world.now_ms)
    flushes = []
    while True:
        hub.turns.touched.clear()
        hub.world.turn()
        octets = reader.face.data_to_send()
        if not octets and reader.face not in hub.turns.touched:
            break
        flushes.append(len(octets))
        reader.events += reader.connection.receive_data(octets, hub.world.now_ms)
    assert max(flushes) <= FLUSH_OCTETS + 64 * 1024
    sizes = [len(body_of(each)) for each in reader.received()]
    assert sizes == [6, len(LARGE), 6, len(LARGE), 4]


def test_a_large_message_waits_for_a_full_transport_and_what_is_behind_it_for_both(hub):
    published(hub, LARGE, b"behind")
    reader = hub.client("reader")
    link = reader.receiver("q", credit=0)
    link.send_flow(credit=10)
    reader.face.receive_data(reader.connection.data_to_send(), hub.world.now_ms)
    account = reader.face.client.account
    before = account.held
    hub.world.turn()
    octets = reader.face.data_to_send()
    while octets:
        reader.face.write_blocked(True)
        assert before < account.held <= before + len(LARGE) + 4 * FLUSH_OCTETS
        hub.world.turn()
        assert reader.face.data_to_send() == b""
        reader.events += reader.connection.receive_data(octets, hub.world.now_ms)
        reader.face.write_blocked(False)
        hub.world.turn()
        octets = reader.face.data_to_send()
    assert [len(body_of(each)) for each in reader.received()] == [len(LARGE), 6]
    assert account.held == before


def test_a_large_message_comes_back_whose_reader_goes_in_the_middle(hub):
    published(hub, LARGE)
    reader = hub.client("reader")
    link = reader.receiver("q", credit=0)
    link.send_flow(credit=10)
    reader.face.receive_data(reader.connection.data_to_send(), hub.world.now_ms)
    hub.world.turn()
    octets = reader.face.data_to_send()
    assert 0 < len(octets) <= 2 * FLUSH_OCTETS
    reader.face.receive_eof(hub.world.now_ms)
    hub.clients.remove(reader)
    other = hub.client("other")
    other.receiver("q")
    assert [len(body_of(each)) for each in other.received()] == [len(LARGE)]


def test_a_stop_waits_for_a_settled_delivery_that_is_half_written(hub):
    published(hub, LARGE)
    reader = hub.client("reader")
    link = reader.receiver("q", credit=0, snd_settle_mode=_spec.SND_SETTLED)
    link.send_flow(credit=10)
    reader.face.receive_data(reader.connection.data_to_send(), hub.world.now_ms)
    hub.world.turn()
    octets = reader.face.data_to_send()
    reader.face.drain(hub.world.now_ms)
    assert not reader.face.drained()
    reader.events += reader.connection.receive_data(octets, hub.world.now_ms)
    reader.step()
    assert reader.face.drained()
    assert [len(body_of(each)) for each in reader.received()] == [len(LARGE)]


def publish_0_10(hub, exchange, key, jms_type):
    """A client of 0-10 publishes."""
    headers = [("x-jms-type", Tagged(old.STR16, jms_type))]
    header = write_header(
        DeliveryProperties(routing_key=key), MessageProperties(application_headers=headers)
    )
    made = message_from_0_10(
        arrival_0_10(header, len(header)),
        header,
        len(header),
        id=hub.world.bridge.numbers.next_message(),
        exchange=exchange,
        now_ms=hub.world.now_ms,
        publisher=1,
        times_in_ms=True,
        reader=READER,
    )
    hub.host.publishing.publish(made, None, 0)


@pytest.mark.parametrize(
    ("capabilities", "to", "subject"),
    [
        (["topic"], "amq.topic/news", "order"),
        (["temporary-topic"], "amq.topic/news", "order"),
        (["other"], "amq.topic", "news"),
        (None, "amq.topic", "news"),
    ],
)
def test_receivers_that_attach_as_those_of_jms_do_have_the_type_as_subject(
    hub, capabilities, to, subject
):
    client = hub.client()
    client.receiver("amq.topic/news", capabilities=capabilities)
    publish_0_10(hub, "amq.topic", "news", "order")
    client.step()
    (payload,) = client.received()
    properties = sections.properties(payload, sections.scan(payload))
    assert (properties.to, properties.subject) == (to, subject)
