"""Links that send to a node which is deleted end, and what came by them is in the books."""

import pytest
from support.books import books
from support.face_1_0 import Hub, message

from gateway.amqp_1_0 import _spec, events
from gateway.audit.schema import Kind, Reason
from gateway.wire.work import COPY, SHARE


def declared(hub, kind, durable=False):
    """A node of the name q; what deletes it."""
    declaring = hub.host.declaring
    if kind == "queue":
        hub.world.queue("q", durable=durable)
        return lambda: declaring.delete_queue("q")
    hub.world.queue("behind", durable=durable)
    declaring.declare_exchange("q", "fanout", durable=durable)
    assert hub.host.bindings.bind("behind", "q", "", {}, b"") is None
    return lambda: declaring.delete_exchange("q")


@pytest.mark.parametrize("octets", [10, 100_000], ids=["one frame", "many frames"])
@pytest.mark.parametrize("settled", [False, True])
@pytest.mark.parametrize("kind", ["queue", "exchange"])
def test_what_was_under_way_when_a_link_was_detached_is_in_the_books(kind, octets, settled):
    hub = Hub()
    delete = declared(hub, kind)
    client = hub.client()
    sender = client.sender("q")
    delete()
    for tag in (b"1", b"2"):
        sender.send_delivery(tag, b"", message(body=b"x" * octets), settled=settled)
    client.step()
    assert client.take(events.DetachReceived).detach.error.condition == "amqp:resource-deleted"
    assert books(hub.world) == (2, [Reason.LINK_DETACHED] * 2)
    hub.end()


@pytest.mark.parametrize("kind", ["queue", "exchange"])
def test_the_links_that_send_to_a_node_are_detached_when_it_is_deleted(kind):
    hub = Hub()
    delete = declared(hub, kind)
    hub.world.queue("other")
    client, another = hub.client(), hub.client("another")
    gone = [client.sender("q"), client.sender("q"), another.sender("q")]
    staying = [client.sender("other"), another.sender(None)]
    delete()
    hub.step()
    told = client.take_all(events.DetachReceived) + another.take_all(events.DetachReceived)
    assert {event.link for event in told} == set(gone)
    for event in told:
        assert event.detach.closed
        assert event.detach.error.condition == "amqp:resource-deleted"
    assert all(link.attached for link in staying)
    declared(hub, "queue")
    assert client.send(client.sender("q"), message()) == _spec.Accepted()
    hub.end()


@pytest.mark.parametrize("kind", ["queue", "topic"])
def test_who_sends_to_a_temporary_node_hears_that_it_is_deleted(kind):
    hub = Hub()
    one, two = hub.client(), hub.client("another")
    asked = _spec.Target(dynamic=True, capabilities=[f"temporary-{kind}"])
    made = one.attach(_spec.SENDER, target=asked)
    other = two.sender(made.attach.target.address)
    assert two.send(other, message()) == _spec.Accepted()
    one.face.receive_eof(hub.world.now_ms)
    hub.step()
    event = two.take(events.DetachReceived)
    assert (event.link, event.detach.closed) == (other, True)
    assert event.detach.error.condition == "amqp:resource-deleted"
    hub.end()


@pytest.mark.parametrize("kind", ["queue", "exchange"])
def test_what_waits_for_the_disk_has_its_outcome_before_the_link_of_a_deleted_node_ends(kind):
    hub = Hub()
    delete = declared(hub, kind, durable=True)
    client = hub.client()
    hub.world.auto_commit = False
    sender = client.sender("q")
    sent = message(header=_spec.Header(durable=True))
    sender.send_delivery(b"t", b"", sent, settled=False)
    client.step()
    delete()
    client.step()
    assert not client.take_all(events.DetachReceived)
    sender.send_delivery(b"late", b"", sent, settled=False)
    client.step()
    assert client.take(events.DispositionReceived).state.error.condition == "amqp:not-found"
    sender.send_delivery(b"later", b"", sent, settled=True)
    client.step()
    assert not client.take_all(events.DetachReceived)
    assert books(hub.world)[0] == 3
    hub.world.commit()
    client.step()
    hub.world.commit()
    client.step()
    assert client.take(events.DispositionReceived).state == _spec.Accepted()
    error = client.take(events.DetachReceived).detach.error
    assert error.condition == "amqp:resource-deleted"
    hub.world.auto_commit = True
    hub.end()


@pytest.mark.parametrize("kind", ["queue", "topic"])
def test_a_node_may_go_with_the_link_that_sends_to_it(kind):
    hub = Hub()
    client = hub.client()
    sender = client.attach(
        _spec.SENDER,
        target=_spec.Target(dynamic=True, capabilities=[kind]),
        source=_spec.Source(address="here"),
    )
    other = client.sender(sender.attach.target.address)
    sender.send_detach()
    client.step()
    told = {event.link: event.detach.error for event in client.take_all(events.DetachReceived)}
    assert told[sender] is None
    assert told[other].condition == "amqp:resource-deleted"
    hub.end()


@pytest.mark.parametrize("count", [3, SHARE // COPY + 1000], ids=["at once", "over several turns"])
@pytest.mark.parametrize("kind", ["transient", "durable"])
def test_what_a_queue_holds_ends_by_its_name_whoever_has_subscribed_to_it(kind, count):
    hub = Hub()
    hub.world.queue("q", durable=kind == "durable")
    for _ in range(count):
        hub.world.send(b"x", key="q", durable=kind == "durable")
    hub.client().receiver("q", credit=0)
    hub.step()
    hub.host.declaring.delete_queue("q")
    hub.step()
    purged = [each for each in hub.world.blocks.records() if each.kind == Kind.PURGED]
    assert [each.node for each in purged] == ["q"] * count
    hub.end()
