"""Links and deliveries of 1.0 (2.6, 2.7.5, 2.8, 3.2, 3.5), most of them at the server's face."""

import pytest
from support.face_1_0 import Hub, message
from support.frames_1_0 import octets_of, read_frames
from support.pair_1_0 import T0, Pair
from support.rules import rule

from gateway.amqp_1_0 import _spec, events, sections, types
from gateway.wire.tagged import Tagged


@pytest.fixture
def hub():
    hub = Hub()
    hub.world.queue("q")
    yield hub
    hub.end()


@rule("1.0", "2.6.1", "names-are-unique-by-direction")
def test_one_name_may_be_that_of_a_sender_and_of_a_receiver(hub):
    client = hub.client()
    session = client.session()
    sender = client.sender("q", session=session, name="same")
    receiver = client.receiver("q", session=session, name="same")
    client.send(sender, message(b"x"))
    assert sender.attached
    assert receiver.attached
    assert len(client.received()) == 1


@rule("1.0", "2.6.4", "detach-is-answered")
@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("role", [_spec.SENDER, _spec.RECEIVER])
def test_a_detach_is_answered_in_kind(hub, role, closed):
    client = hub.client()
    link = client.sender("q") if role == _spec.SENDER else client.receiver("q")
    link.send_detach(closed=closed)
    client.step()
    assert bool(client.take(events.DetachReceived).detach.closed) == closed


@rule("1.0", "2.6.12", "delivery-tags-are-unique")
@rule("1.0", "2.7.5", "unsettled-mode-does-not-settle")
def test_unsettled_deliveries_have_tags_of_their_own(hub):
    client = hub.client()
    sender = client.sender("q")
    for number in range(5):
        client.send(sender, message(), tag=bytes([number]))
    client.receiver("q", snd_settle_mode=_spec.SND_UNSETTLED)
    came = client.take_all(events.DeliveryReceived)
    assert len({event.tag for event in came}) == 5
    assert not any(event.settled for event in came)


@rule("1.0", "2.6.14", "links-may-be-interleaved")
def test_parts_of_deliveries_on_several_links_may_come_in_turns():
    pair = Pair().open()
    session, _ = pair.begin()
    for name in ("a", "b"):
        _, receiver = pair.attach(session, _spec.SENDER, name=name)
        receiver.send_flow(credit=1)
    pair.step()
    found = []
    for part, more in ((b"1", True), (b"2", True), (b"3", None)):
        for handle in (0, 1):
            transfer = _spec.Transfer(
                handle=handle, delivery_id=handle, delivery_tag=b"t", more=more
            )
            found += pair.server.receive_data(octets_of(transfer, payload=part), T0)
    assert [(event.link.name, event.payload) for event in found] == [("a", b"123"), ("b", b"123")]


@rule("1.0", "2.8.7", "tags-have-32-octets-at-most")
@pytest.mark.parametrize("size", [32, 33])
def test_a_delivery_tag_has_32_octets_at_most(size):
    pair = Pair().open()
    session, _ = pair.begin()
    _, receiver = pair.attach(session, _spec.SENDER)
    receiver.send_flow(credit=1)
    pair.step()
    transfer = _spec.Transfer(handle=0, delivery_id=0, delivery_tag=b"t" * size)
    [event] = pair.server.receive_data(octets_of(transfer, payload=b"x"), T0)
    assert isinstance(event, events.DeliveryReceived if size == 32 else events.Violation)


@rule("1.0", "3.2.10", "other-unknown-keys-detach")
def test_annotations_that_nobody_knows_are_carried_whatever_they_are_called(hub):
    client = hub.client()
    note = [(Tagged(types.SYMBOL, "own"), Tagged(types.INT, 1))]
    sender = client.sender("q")
    assert client.send(sender, message(annotations=note)) == _spec.Accepted()
    client.receiver("q")
    [got] = client.received()
    found = sections.scan(got)
    assert sections.annotations(got, found.message_annotations) == note


@rule("1.0", "3.5.3", "properties-only-if-dynamic")
@rule("1.0", "3.5.9", "lifetime-policy-is-one")
@pytest.mark.parametrize("dynamic", [True, False])
def test_node_properties_are_told_of_dynamic_nodes_only(hub, dynamic):
    client = hub.client()
    source = _spec.Source(dynamic=True) if dynamic else _spec.Source(address="q")
    answer = client.attach(_spec.RECEIVER, source=source).attach.source
    assert bool(answer.dynamic) == dynamic
    if not dynamic:
        assert answer.dynamic_node_properties is None
        return
    policy = answer.dynamic_node_properties["lifetime-policy"]
    assert policy.code == types.DESCRIBED
    assert policy.value.descriptor == Tagged(types.ULONG, _spec.DELETE_ON_CLOSE)


@rule("1.0", "3.5.4", "dynamic-target-is-asked-without-an-address")
def test_a_dynamic_target_with_an_address_is_refused(hub):
    client = hub.client()
    client.attach(_spec.SENDER, target=_spec.Target(dynamic=True, address="mine"))
    assert client.refused() == "amqp:invalid-field"


@rule("1.0", "2.6.3", "null-terminus-then-detach")
def test_a_refused_link_is_detached_right_behind_its_attach(hub):
    client = hub.client()
    session = client.session()
    link = session.attach("l", _spec.SENDER)
    link.send_attach(source=_spec.Source(), target=_spec.Target(address="nowhere"))
    client.face.receive_data(client.connection.data_to_send(), hub.world.now_ms)
    octets = client.face.data_to_send()
    attach, detach = [one for _, one in read_frames(octets)]
    assert attach.target is None
    assert (detach.closed, detach.error.condition) == (True, "amqp:not-found")
    client.connection.receive_data(octets, hub.world.now_ms)


@rule("1.0", "3.5.3", "outcomes-are-named-by-descriptor")
def test_a_source_names_its_outcomes_by_their_descriptors(hub):
    source = hub.client().receiver("q").attach.source
    outcomes = {_spec.ACCEPTED, _spec.REJECTED, _spec.RELEASED, _spec.MODIFIED}
    assert {_spec.SYMBOLS[name] for name in source.outcomes} == outcomes
    assert source.default_outcome == _spec.Modified(delivery_failed=True)


def receiving():
    """A pair whose server receives on a link with credit 5: pair, receiver."""
    pair = Pair().open()
    session, _ = pair.begin()
    _, receiver = pair.attach(session, _spec.SENDER)
    receiver.send_flow(credit=5)
    pair.step()
    return pair, receiver


@rule("1.0", "2.7.5", "more-is-ignored-if-aborted")
@rule("1.0", "2.7.5", "aborted-is-settled")
@pytest.mark.parametrize("begun", [True, False])
def test_an_aborted_delivery_is_over_and_settled_even_if_more_is_promised(begun):
    pair, receiver = receiving()
    octets = b""
    if begun:
        part = _spec.Transfer(handle=0, delivery_id=0, delivery_tag=b"t", more=True)
        octets = octets_of(part, payload=b"x")
    over = _spec.Transfer(handle=0, delivery_id=0, delivery_tag=b"t", more=True, aborted=True)
    after = _spec.Transfer(handle=0, delivery_id=1, delivery_tag=b"u")
    found = pair.server.receive_data(octets + octets_of(over, after, payload=b"y"), T0)
    assert [type(event) for event in found] == [events.DeliveryAborted, events.DeliveryReceived]
    assert list(receiver.session.unsettled_in) == [1]


@rule("1.0", "2.6.7", "available-is-not-negative")
def test_what_a_sender_has_available_is_never_counted_below_nothing():
    pair, receiver = receiving()
    flow = _spec.Flow(
        next_incoming_id=0, incoming_window=9, next_outgoing_id=0, outgoing_window=9,
        handle=0, delivery_count=0, link_credit=5, available=1,
    )  # fmt: skip
    pair.server.receive_data(octets_of(flow), T0)
    assert receiver.available == 1
    for number in range(2):
        transfer = _spec.Transfer(handle=0, delivery_id=number, delivery_tag=bytes([number]))
        pair.server.receive_data(octets_of(transfer, payload=b"x"), T0)
        assert receiver.available == 0
